"""Face tags: what each number means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import Problems, suggest
from faultwave.domain.tets.mesh import BoundaryKind

KINDS: dict[str, BoundaryKind] = {
    "regular": BoundaryKind.REGULAR,
    "periodic": BoundaryKind.REGULAR,
    "free-surface": BoundaryKind.FREE_SURFACE,
    "gravity": BoundaryKind.GRAVITY,
    "fault": BoundaryKind.FAULT,
    "dirichlet": BoundaryKind.DIRICHLET,
    "absorbing": BoundaryKind.ABSORBING,
    "analytic": BoundaryKind.ANALYTIC,
    "rigid": BoundaryKind.RIGID,
    "symmetry": BoundaryKind.SYMMETRY,
    "impedance": BoundaryKind.IMPEDANCE,
    "pec": BoundaryKind.PEC,
    "pmc": BoundaryKind.PMC,
}

# Names the same kinds have in the face maps that come with SeisSol decks.
_SYNONYMS = {
    "freeSurface": "free-surface",
    "freeSurfaceGravity": "gravity",
    "dynamicRupture": "fault",
    "outflow": "absorbing",
    "analytical": "analytic",
}

DEFAULT: dict[str, list[int | str]] = {
    "regular": [0],
    "free-surface": [1],
    "gravity": [2],
    "fault": [3, "65-"],
    "dirichlet": [4],
    "absorbing": [5],
    "periodic": [6],
    "analytic": [7],
    "rigid": [8],
    "symmetry": [9],
    "impedance": [10],
    "pec": [11],
    "pmc": [12],
}
"""The community's tags; 8 to 12 are this package's own."""

INTERNAL = (BoundaryKind.REGULAR, BoundaryKind.FAULT)
"""Kinds of faces between two cells; all others bound the mesh."""

UNKNOWN = -1
_LAST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class TagTable:
    """Tag ranges (first, last, kind), both ends included, and what the mesh calls its tags."""

    ranges: tuple[tuple[int, int, BoundaryKind], ...]
    names: Mapping[int, str] = field(default_factory=dict)

    def called(self, tag: int) -> str:
        """The tag for messages, with the name of its surface."""
        return f"{tag} '{self.names[tag]}'" if tag in self.names else f"{tag}"

    def kinds(self, tags: NDArray[np.int32]) -> NDArray[np.int8]:
        """Kind of each tag, ``UNKNOWN`` where the table has none."""
        if tags.size and 0 <= tags.min() and tags.max() < 2**16:
            return self._kinds(np.arange(int(tags.max()) + 1))[tags]  # much faster than sorting the tags
        values, where = np.unique(tags, return_inverse=True)
        return self._kinds(values)[where].reshape(tags.shape)

    def _kinds(self, values: NDArray[np.integer]) -> NDArray[np.int8]:
        kinds = np.full(values.shape, UNKNOWN, np.int8)
        for first, last, kind in self.ranges:
            kinds[(values >= first) & (values <= last)] = kind
        return kinds

    def describe(self) -> str:
        """The table in words, for messages."""
        return ", ".join(
            f"{self.called(a) if a == b else f'{a} and up' if b == _LAST else f'{a}-{b}'} {kind.name.lower().replace('_', '-')}"
            for a, b, kind in sorted(self.ranges)
        )


def tag_table(boundaries: Mapping[str, Sequence[int | str]] | None, names: Mapping[str, int] | None = None) -> TagTable:
    """The meaning of face tags; None is the community's table, anything else replaces it.

    ``names``: tags of the mesh's named surfaces, which may stand for them. Tag 0 stays regular unless it is named. Raises
    InputError for unknown kinds and names, ranges that do not parse and tags given two meanings.
    """
    names = names or {}
    problems = Problems()
    ranges: list[tuple[int, int, BoundaryKind]] = []
    for word, entries in (DEFAULT if boundaries is None else boundaries).items():
        name = _SYNONYMS.get(word, word)
        where = f"mesh.boundaries.{word}"
        if name not in KINDS:
            problems.error(where, f"'{word}' is no kind of boundary", ", ".join(KINDS), suggest(word, KINDS))
            continue
        for entry in entries:
            span = (names[entry], names[entry]) if entry in names else _span(entry)  # type: ignore[index]
            if span is None:
                allowed = "a number, or a range such as 65-70 or '65-'" + "".join(f", {name}" for name in names)
                problems.error(where, f"{entry!r} is no tag", allowed, suggest(str(entry), names))
                continue
            ranges += [(*span, KINDS[name])]
    ranges.sort()
    for (a, b, kind), (c, d, other) in zip(ranges, ranges[1:], strict=False):
        if c <= b and kind != other:
            problems.error(
                "mesh.boundaries", f"tags {a}-{b} are {kind.name} and {c}-{d} are {other.name}: they overlap"
            )
    problems.raise_errors()
    if not any(a <= 0 <= b for a, b, _ in ranges):
        ranges.insert(0, (0, 0, BoundaryKind.REGULAR))
    return TagTable(tuple(ranges), {tag: name for name, tag in names.items()})


def _span(entry: int | str) -> tuple[int, int] | None:
    if isinstance(entry, int) and not isinstance(entry, bool):
        return (entry, entry) if entry >= 0 else None
    found = re.fullmatch(r"\s*(\d+)\s*(?:(-)\s*(\d*)\s*)?", str(entry))
    if not found:
        return None
    first = int(found[1])
    last = first if not found[2] else int(found[3]) if found[3] else _LAST
    return (first, last) if last >= first else None
