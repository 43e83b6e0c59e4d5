"""Face tags and the kinds of boundaries that they represent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import Problems, suggest
from faultwave.domain.tets.mesh import BoundaryKind, Mesh

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
    "sealed-surface": BoundaryKind.SEALED_SURFACE,
}

# Names of the same kinds in the face maps of SeisSol decks.
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
    "sealed-surface": [13],
}
"""Default tags, as in SeisSol meshes; 8 to 13 are specific to this package."""

INTERNAL = (BoundaryKind.REGULAR, BoundaryKind.FAULT)
"""Kinds of faces between two cells; all others bound the mesh."""

UNKNOWN = -1
_LAST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class TagTable:
    """Tag ranges (first, last, kind), inclusive, and the names of tags and their numbers in the file."""

    ranges: tuple[tuple[int, int, BoundaryKind], ...]
    names: Mapping[int, str] = field(default_factory=dict)
    written: Mapping[int, int] = field(default_factory=dict)

    def called(self, tag: int) -> str:
        """Return a tag for messages, with its number in the file and the name of its surface."""
        number = next((number for number, stored in self.written.items() if stored == tag), tag)
        return f"{number} '{self.names[tag]}'" if tag in self.names else f"{number}"

    def kinds(self, tags: NDArray[np.int32]) -> NDArray[np.int8]:
        """Return the kind of each tag, ``UNKNOWN`` if it is not in the table."""
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
        """Return a description of the table for messages."""
        return ", ".join(
            f"{self.called(a) if a == b else f'{a} and up' if b == _LAST else f'{a}-{b}'} {kind.name.lower().replace('_', '-')}"
            for a, b, kind in sorted(self.ranges)
        )


def tag_table(boundaries: Mapping[str, Sequence[int | str]] | None, mesh: Mesh | None = None) -> TagTable:
    """Return the table of face tags; with None the default table, otherwise ``boundaries`` replaces it.

    Names of the mesh's surfaces and the numbers in its file may be used for tags. Without ``boundaries``, surfaces
    named like a kind are of this kind. Tag 0 is regular unless it is listed.

    Raises
    ------
    InputError
        For unknown kinds and names, invalid ranges, tags with two kinds, and named surfaces of unknown kind.
    """
    names, written = ({}, {}) if mesh is None else (mesh.named(2), mesh.written)
    problems = Problems()
    ranges: list[tuple[int, int, BoundaryKind]] = []
    for word, entries in (DEFAULT if boundaries is None else boundaries).items():
        kind, where = kind_of(word), f"mesh.boundaries.{word}"
        if kind is None:
            problems.error(where, f"'{word}' is not a kind of boundary", ", ".join(KINDS), suggest(word, KINDS))
            continue
        for entry in entries:
            span = _tags(entry, names, written)
            if span is None:
                allowed = "a number, or a range such as 65-70 or '65-'" + "".join(f", {name}" for name in names)
                problems.error(where, f"{entry!r} is not a tag", allowed, suggest(str(entry), names))
                continue
            ranges.append((*span, kind))
    if boundaries is None and mesh is not None:
        ranges = _by_name(mesh, ranges, problems)
    ranges.sort()
    for (a, b, kind), (c, d, other) in zip(ranges, ranges[1:], strict=False):
        if c <= b and kind != other:
            problems.error(
                "mesh.boundaries",
                f"tags {a}-{b} are {kind.name} and {c}-{d} are {other.name}: they overlap",
                "one kind per tag",
            )
    problems.raise_errors()
    if not any(a <= 0 <= b for a, b, _ in ranges):
        ranges.insert(0, (0, 0, BoundaryKind.REGULAR))
    return TagTable(tuple(ranges), {tag: name for name, tag in names.items()}, written)


def kind_of(word: str) -> BoundaryKind | None:
    """Return the kind for a word such as free-surface, "Free surface" or freeSurface; None if there is none."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", _SYNONYMS.get(word, word))
    return KINDS.get(re.sub(r"[\s_-]+", "-", spaced.strip()).lower())


def _tags(entry: int | str, names: Mapping[str, int], written: Mapping[int, int]) -> tuple[int, int] | None:
    """Return the first and last tag of a name, a number or a range; numbers are as in the file or tags."""
    if entry in names:
        return names[entry], names[entry]  # type: ignore[index]
    span = _span(entry)
    shift = next((number - tag for number, tag in written.items()), 0)
    if span is None or span[0] < shift or span[0] in written.values():
        return span
    return span[0] - shift, span[1] - (0 if span[1] == _LAST else shift)


def _by_name(
    mesh: Mesh, ranges: list[tuple[int, int, BoundaryKind]], problems: Problems
) -> list[tuple[int, int, BoundaryKind]]:
    """Return the default table with the named surfaces of the mesh replaced by the kinds of their names."""
    table = TagTable(tuple(ranges), {tag: name for name, tag in mesh.named(2).items()}, mesh.written)
    numbered = set(mesh.written.values())
    for name, tag in mesh.named(2).items():
        kind, usual = kind_of(name), int(table.kinds(np.array([tag], np.int32))[0])
        if kind is None and (tag in numbered or usual == UNKNOWN):
            continue  # by its number in the default table, or reported with its faces
        by_number = "" if usual == UNKNOWN else BoundaryKind(usual).name.lower().replace("_", "-")
        if kind is None:
            what = (
                f"the kind of the surface '{name}' is ambiguous: its number {table.called(tag).split()[0]} "
                f"may mean {by_number}, or nothing"
            )
            advice = (
                f"Define it in mesh.boundaries, for example boundaries: {{absorbing: [{name}]}}, for "
                "every named surface."
            )
            problems.error(mesh.name, what, ", ".join(KINDS), advice)
        elif tag in numbered and kind != usual:
            what = f"the surface '{name}' has the number {table.called(tag).split()[0]}, which is that of {by_number or 'no'} faces"
            problems.error(mesh.name, what, advice="Define the correct kind in mesh.boundaries.")
        else:
            ranges = [part for a, b, k in ranges for part in _without(tag, a, b, k)] + [(tag, tag, kind)]
    return ranges


def _without(tag: int, first: int, last: int, kind: BoundaryKind) -> list[tuple[int, int, BoundaryKind]]:
    """Return a range without one tag."""
    if not first <= tag <= last:
        return [(first, last, kind)]
    return [(a, b, kind) for a, b in ((first, tag - 1), (tag + 1, last)) if a <= b]


def _span(entry: int | str) -> tuple[int, int] | None:
    if isinstance(entry, int) and not isinstance(entry, bool):
        return (entry, entry) if entry >= 0 else None
    found = re.fullmatch(r"\s*(\d+)\s*(?:(-)\s*(\d*)\s*)?", str(entry))
    if not found:
        return None
    first = int(found[1])
    last = first if not found[2] else int(found[3]) if found[3] else _LAST
    return (first, last) if last >= first else None
