"""Differences between two cases by setting: which a resumed run applies, ignores or refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from faultwave.base.types import Record, Settings
from faultwave.case import describe
from faultwave.case.settings.model import Case
from faultwave.case.settings.parameters import units_of
from faultwave.case.validate import dotted
from faultwave.output.manifest import given, plain

Location = tuple[str | int, ...]
Kind = Literal["applied", "ignored", "refused"]

APPLIED: tuple[Location, ...] = (
    ("title",),
    ("end_time",),
    ("stop",),
    *(("numerics", n) for n in ("order", "precision", "backend", "threads", "progress", "progress_cores", "halo")),
    *(("output", n) for n in ("checkpoint", "origin_time", "seissol_layout", "shared_files")),
    ("output", "receivers", "names"),
    ("output", "receivers", "network"),
)
"""Settings that a resumed run takes from the current case.

All others under ``output`` retain their first value, because the existing files hold it; any other difference is another simulation.
"""

NOT_COMPARED: tuple[Location, ...] = (("source_files",), ("output", "folder"))
LONGEST = 60
"""Largest number of characters of a value in a message."""


@dataclass(frozen=True)
class Change:
    """Setting that differs: its location, its value at the start of the run (``then``) and in the case (``now``)."""

    location: Location
    then: object
    now: object

    @property
    def path(self) -> str:
        """Name of the setting, such as 'material.constant.vs'."""
        return dotted(self.location)

    @property
    def kind(self) -> Kind:
        """Treatment of the change in a resumed run."""
        if any(self.location[: len(a)] == a for a in APPLIED):
            return "applied"
        return "ignored" if self.location[0] == "output" else "refused"

    @property
    def values(self) -> str:
        """Text with both values, such as '3464 m/s in the checkpoint, 3000 m/s in the case'."""
        return f"{_shown(self.location, self.then)} in the checkpoint, {_shown(self.location, self.now)} in the case"


def settings_of(case: Case) -> Settings:
    """Return every setting of a case, including defaults, as plain JSON."""
    return dict(plain(case.model_dump(mode="json")))


def compare_cases(
    then: Mapping[str, object], now: Mapping[str, object], same_content: Mapping[tuple[str, str], bool] | None = None
) -> tuple[Change, ...]:
    """Return the settings that differ between two cases.

    Parameters
    ----------
    then, now : mapping
        Settings at the start of the run and of the current case, from ``settings_of``.
    same_content : mapping of (str, str) to bool, optional
        True for pairs of names of input files with equal content. Such a pair is no change, even if the names differ; other pairs of
        different names are changes.

    Returns
    -------
    tuple of Change
    """
    known = same_content or {}
    found = []
    for change in _differences((), then, now):
        if any(change.location[: len(n)] == n for n in NOT_COMPARED) or known.get((str(change.then), str(change.now))):
            continue
        if change.location == ("grid", "step") and change.now is None:
            continue  # without a given step, the grid uses the checkpoint's
        found.append(change)
    return tuple(found)


def merge_cases(now: Mapping[str, object], changes: Sequence[Change]) -> Settings:
    """Return the settings ``now`` with ignored changes reverted."""
    merged = given(now)
    for change in changes:
        if change.kind == "ignored":
            _put(merged, change.location, change.then)
    return dict(given(merged))


def named_files(settings: Mapping[str, object]) -> dict[Location, str]:
    """Return every input file that settings name, by the location of the name."""
    return {loc: str(value) for loc, value in _leaves((), settings) if _is_file_setting(loc, value)}


def _is_file_setting(location: Location, value: object) -> bool:
    if location[:1] == ("source_files",) or not isinstance(value, str):
        return False
    return any(branch.get("format") == "path" for node in describe.at(location) for branch in describe.branches(node))


def _leaves(location: Location, value: object) -> Iterator[tuple[Location, object]]:
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _leaves((*location, name), below)
    elif isinstance(value, list | tuple):
        for number, below in enumerate(value):
            yield from _leaves((*location, number), below)
    else:
        yield location, value


def _differences(location: Location, then: object, now: object) -> Iterator[Change]:
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for name in dict.fromkeys((*then, *now)):
            yield from _differences((*location, name), then.get(name), now.get(name))
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (a, b) in enumerate(zip(then, now, strict=True)):
            yield from _differences((*location, number), a, b)
    elif then != now:
        yield Change(location, then, now)


def _put(settings: Settings, location: Location, value: object) -> None:
    """Set one value, and create the groups along the path."""
    group: Any = settings
    for part, following in zip(location, location[1:], strict=False):
        if isinstance(group, dict) and group.get(part) is None:
            group[part] = [] if isinstance(following, int) else {}
        group = group[part]
    group[location[-1]] = value


def _shown(location: Location, value: Any) -> str:
    """Return a value with its unit as text, '(not given)' if absent; groups and lists are truncated."""
    if value is None:
        return "(not given)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        unit = _unit(location)
        return f"{value:.9g} {unit}".strip()
    if isinstance(value, str):
        text = value
    elif isinstance(value, Mapping):
        text = "{" + ", ".join(f"{k}: {_shown((*location, k), v)}" for k, v in given(dict(value)).items()) + "}"
    else:
        text = "[" + ", ".join(_shown((*location, n), v) for n, v in enumerate(value)) + "]"
    if len(text) <= LONGEST or _is_file_setting(location, value):
        return text
    return f"{text[: LONGEST - 3]}..." + (f" ({len(value)} items)" if isinstance(value, list) else "")


def _unit(location: Location) -> str:
    declared = [str(node["unit"]) for node in describe.at(location) if node.get("unit")]
    if declared:
        return declared[0]
    found = units_of(str(location[-1])) if location[0] in ("material", "fault", "plasticity", "initial") else []
    return found[0] if len(found) == 1 else ""


def file_changes(
    then: Mapping[str, Mapping[str, object]], now: Mapping[str, Mapping[str, object]], names: Mapping[Location, str]
) -> list[tuple[str, str]]:
    """Return place and text for each input file whose content has changed since the start of the run.

    Parameters
    ----------
    then, now : mapping
        Size and checksum of each input file by its path, as ``output.manifest.Digests`` finds them.
    names : mapping of Location to str
        Files that the case names, by setting.

    Returns
    -------
    list of (str, str)
    """
    settings = {path: dotted(location) for location, path in names.items()}
    found = []
    for path, was in then.items():
        if path not in now:
            continue
        if not same_digest(was, now[path]):
            place = f"{settings[path]}: {path}" if path in settings else path
            found.append((place, f"{_digest_text(was)} in the checkpoint, {_digest_text(now[path])} now"))
    return found


def same_digest(a: Record, b: Record) -> bool:
    """Return True if two entries of ``Digests`` describe equal files."""
    sums = {k for k in (*a, *b) if k.startswith("sha256")}
    return a.get("bytes") == b.get("bytes") and bool(sums) and all(a.get(k) == b.get(k) for k in sums)


def _digest_text(entry: Record) -> str:
    checksum = next((str(v) for k, v in entry.items() if k.startswith("sha256")), entry.get("unreadable", "unknown"))
    return f"{entry.get('bytes', '?')} bytes with sha256 {checksum[:12]}"


__all__ = [
    "Change", "compare_cases", "file_changes", "merge_cases", "named_files", "same_digest", "settings_of",
]  # fmt: skip
