"""Resumption of a run from a checkpoint: the case it continues with, and reasons for refusal.

A checkpoint notes every setting of its run, the file that the case was read from, and the checksums of all input files. Before anything is
prepared, these are compared with that file in its current state, or with another case that is given. Changes that are allowed between runs
are applied; existing outputs retain their settings, with a warning; any other difference is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from faultwave.base.errors import InputError, Problem
from faultwave.base.log import get_logger
from faultwave.base.types import Record, Settings
from faultwave.base.wording import option
from faultwave.case.load import load_case
from faultwave.case.settings.common import Location
from faultwave.case.settings.model import Case
from faultwave.case.validate import OVERRIDES
from faultwave.comm import World, world
from faultwave.output.checkpoint import Checkpoint, latest
from faultwave.output.folder import find_checkpoints
from faultwave.output.manifest import Digests, read_manifest
from faultwave.output.manifest import given as without_none
from faultwave.run.case_changes import (
    Change,
    compare_cases,
    file_changes,
    merge_cases,
    named_files,
    same_digest,
    settings_of,
)
from faultwave.run.engines import engine_of
from faultwave.run.inputs import load_valid_case

log = get_logger(__name__)

CaseInput = Case | Record | str | Path | None
OF_THE_RUN = ("engine", "order", "precision")
"""Options of the first run that hold also if another case file is given."""
SHOWN = 20
"""Largest number of differences listed in a refusal."""


@dataclass(frozen=True)
class Resumption:
    """Run that can resume.

    Attributes
    ----------
    checkpoint : Checkpoint
        Checkpoint.
    case : Case
        Case it continues with.
    changes : tuple of Change
        Differences from the checkpoint's case.
    warnings : tuple of Problem
        Warnings.
    finished : float or None
        Simulated time [s] reached if the run has already finished this case, else None.
    """

    checkpoint: Checkpoint
    case: Case
    changes: tuple[Change, ...]
    warnings: tuple[Problem, ...]
    finished: float | None

    @property
    def applied(self) -> tuple[Change, ...]:
        """Settings that change from here on."""
        return tuple(c for c in self.changes if c.kind == "applied")


def find_resumption(
    folder: str | Path, case: CaseInput = None, as_recorded: bool = False, **overrides: object
) -> Resumption:
    """Find the last complete checkpoint in ``folder`` and the case to continue with (collective).

    Nothing is prepared.

    Parameters
    ----------
    folder : str or Path
        Folder of the run.
    case : Case, mapping, str or Path, optional
        Case that the run must belong to. By default the file that the run's case was read from.
    as_recorded : bool
        If True, continue with the settings in the checkpoint and ignore that file.
    **overrides
        Options as for ``simulate``; options of the first run hold unless given again.

    Raises
    ------
    InputError
        If no checkpoint is complete, or if the case differs from the checkpoint's: every difference, by its path with both values.
    """
    together = world()
    found = latest(together.agree(lambda: find_checkpoints(folder)), together)
    requested = {**overrides, "output": Path(folder).absolute()}
    given, warnings = together.agree(lambda: _case_as_given(found, case, as_recorded, requested))
    digests = _digests(together, found.notes, given)
    return together.agree(lambda: _resolve_case(found, given, warnings, digests, case is not None, requested))


def find_resumption_of_case(folder: Path, case: Path, **overrides: Any) -> Resumption | None:
    """Return how a run in ``folder`` would resume as ``case``, None without a checkpoint.

    Raises
    ------
    InputError
        For another case.
    """
    if not any(folder.glob("*-checkpoints/[0-9]*/index.json")):
        return None
    return find_resumption(folder, case, **overrides)


def _case_as_given(
    found: Checkpoint, case: CaseInput, as_recorded: bool, current: Mapping[str, object]
) -> tuple[Case | None, tuple[Problem, ...]]:
    """Return the case to compare with, including options of the first run.

    None if only the checkpoint's is available.
    """
    notes = found.notes
    if case is None:
        named = notes.get("case_file")
        if as_recorded or not named:
            return None, ()
        if not Path(named).is_file():
            what = "no longer exists: the run continues with the settings in its checkpoint"
            return None, (Problem(str(named), what, severity="warning"),)
        options = {**_options(notes, tuple(OVERRIDES)), **current}
        try:
            return _loaded(named, options)
        except InputError as error:
            advice = f"Correct it, or continue with the settings in the checkpoint: {option('as_recorded', True)}."
            what = "is the original case of the run, but can no longer be read"
            raise InputError((*error.problems, Problem(str(named), what, advice=advice))) from None
    return _loaded(case, {**_options(notes, OF_THE_RUN), **current})


def _loaded(case: CaseInput, options: Settings) -> tuple[Case, tuple[Problem, ...]]:
    settings, problems = load_valid_case(case, options)
    return settings, problems.warnings


def _options(notes: Record, names: tuple[str, ...]) -> Settings:
    """Return the values of the given options at the start of the run; the folder is the run's current one."""
    found = {}
    for name in notes.get("options", ()):
        value: object = notes["settings"]
        for part in OVERRIDES.get(name, ()):
            value = value.get(part) if isinstance(value, Mapping) else None
        if name in names and name != "output" and value is not None:
            found[name] = value
    return found


def _digests(together: World, notes: Record, case: Case | None) -> dict[str, Settings]:
    """Return current size and checksum of every file that the case names or the run has read (collective)."""
    names = named_files(notes["settings"] if case is None else settings_of(case)).values()
    own = set(notes["settings"].get("source_files", ()))  # the case files themselves, which are compared by settings
    paths = dict.fromkeys(Path(p) for p in (*names, *notes.get("inputs", {})) if p not in own)
    made = Digests(together, [p for p in paths if p.is_file()])
    return dict(together.broadcast(made.found()))


def _resolve_case(
    found: Checkpoint,
    given: Case | None,
    warnings: tuple[Problem, ...],
    digests: Mapping[str, Record],
    named: bool,
    current: Settings,
) -> Resumption:
    """Compare the cases and merge or refuse the differences."""
    _check_manifest(found)
    notes, changes = found.notes, tuple[Change, ...]()
    then = notes["settings"]
    if given is not None:
        now = settings_of(given)
        changes = compare_cases(then, now, _same_content(notes.get("inputs", {}), digests))
        merged = merge_cases(given.model_dump(mode="json", exclude_unset=True), changes)
    else:
        merged = dict(notes["case"])
    problems = [Problem(c.path, c.values) for c in changes if c.kind == "refused"]
    names = named_files(then if given is None else settings_of(given))
    problems += [
        Problem(where, f"its content has changed: {text}")
        for where, text in file_changes(_still_used(notes, names), digests, names)
    ]
    if problems:
        raise InputError(_refusal(found, problems, named))
    case, reported = load_valid_case(_for_precision(merged, current), current)
    case._overridden = tuple(dict.fromkeys([*notes.get("options", ()), *case.overridden]))
    case._file = given.file if given is not None else (Path(notes["case_file"]) if notes.get("case_file") else None)
    ends_later = case.end_time != then["end_time"]
    if ends_later:
        _refuse_end_in_the_past(case, found)
    if ends_later or ((then.get("grid") or {}).get("step") is not None and case.grid is not None):
        case = engine_of(case).resumed_case(case, notes)
    ignored = tuple(
        Problem(c.path, f"{c.values}: the run uses the value in the checkpoint", advice=KEPT, severity="warning")
        for c in changes
        if c.kind == "ignored"
    )
    for change in changes:
        if change.kind == "applied":
            log.info("%s: %s; the run continues with that of the case", change.path, change.values)
    all_warnings = (*warnings, *reported.warnings) if given is None else (warnings or reported.warnings)
    return Resumption(found, case, changes, (*all_warnings, *ignored), _finished(case, found))


KEPT = "The existing records depend on it; start a new run in another folder to use a different value."


def _still_used(notes: Record, now: Mapping[Location, str]) -> dict[str, Mapping[str, object]]:
    """Return digests of the run's input files, except case files and files that the case now names elsewhere."""
    settings = notes["settings"]
    left = {*named_files(settings).values(), *settings.get("source_files", ())} - set(now.values())
    return {path: entry for path, entry in notes.get("inputs", {}).items() if path not in left}


def _same_content(then: Mapping[str, Record], now: Mapping[str, Record]) -> dict[tuple[str, str], bool]:
    """Return the pairs of a former file and a current file of another name with equal content."""
    return {(a, b): True for a, was in then.items() for b, entry in now.items() if a != b and same_digest(was, entry)}


def _refusal(found: Checkpoint, problems: list[Problem], named: bool) -> list[Problem]:
    shown = problems[:SHOWN]
    if problems[SHOWN:]:
        shown.append(Problem("...", f"{len(problems) - SHOWN} more differences"))
    folder = found.folder.parent.parent
    only_files = all("its content has changed" in p.what for p in problems)
    advice = "Restore the original, or run the case from the start in another folder"
    if not named and not only_files:
        advice += f"; with {option('as_recorded', True)} the run continues with the settings in the checkpoint"
    what = f"its checkpoint at t = {found.notes['time']:g} s belongs to a different case; differences:"
    return [Problem(str(folder), what), *shown[:-1], replace(shown[-1], advice=f"{advice}.")]


def _refuse_end_in_the_past(case: Case, found: Checkpoint) -> None:
    """Raise InputError if the new end lies before existing results, which would be lost."""
    reached = float(found.notes["time"])
    manifest = _manifest(case, found)
    reached = max(reached, manifest.get("time_reached", 0.0))
    if case.end_time < reached * (1 - 1e-9):
        what = f"the run has already reached {reached:.6g} s, and its results up to there would be lost"
        raise InputError(Problem(option("until", f"{case.end_time:g} s"), what, f"at least {reached:.6g} s"))


def _manifest(case: Case, found: Checkpoint) -> Record:
    """Return the manifest of the run in the folder, empty if none is readable."""
    path = found.folder.parent.parent / f"{case.output.prefix}-manifest.json"
    try:
        return read_manifest(path)
    except InputError:
        return {}


def _check_manifest(found: Checkpoint) -> None:
    """Raise InputError if a checkpoint belongs to another run than the manifest next to it."""
    prefix = found.folder.parent.name.removesuffix("-checkpoints")
    manifest = found.folder.parent.parent / f"{prefix}-manifest.json"
    try:
        known, _ = load_case(without_none(read_manifest(manifest)["case"]))
    except (InputError, KeyError):
        return  # no manifest to compare with
    if known is None:
        return
    now = settings_of(known)
    files = {*named_files(now), *named_files(found.notes["settings"])}  # the same file may have been renamed
    other = [
        c.path
        for c in compare_cases(found.notes["settings"], now)
        if c.kind == "refused" and c.location not in files and c.path not in DERIVED_SETTINGS
    ]
    if other:
        what = (
            f"belongs to a different case than {manifest.name}: {', '.join(other)} "
            f"{'differ' if other[1:] else 'differs'}"
        )
        advice = f"Continue in its original folder, or remove it if {manifest.name} is correct."
        raise InputError(Problem(str(found.folder), what, advice=advice))


DERIVED_SETTINGS = ("grid.step", "numerics.compensated")
"""Settings that derive from others in a resumed run."""


def _finished(case: Case, found: Checkpoint) -> float | None:
    """Return the time [s] at which the run finished ``case`` with all files still present, None if work remains."""
    manifest = _manifest(case, found)
    reached = manifest.get("time_reached")
    folder = found.folder.parent.parent
    if manifest.get("status") != "finished" or not isinstance(reached, int | float):
        return None
    if not all((folder / str(name)).exists() for name in manifest.get("outputs", ())):
        return None
    stopped_early = bool(manifest.get("stopped_early")) and not compare_cases(
        {"stop": found.notes["settings"].get("stop"), "end_time": found.notes["settings"]["end_time"]},
        {"stop": settings_of(case).get("stop"), "end_time": case.end_time},
    )
    return float(reached) if stopped_early or reached >= case.end_time * (1 - 1e-9) else None


def _for_precision(settings: Record, current: Record) -> Settings:
    """Return the settings without compensated sums if the run resumes in double precision, which has none."""
    numerics = settings.get("numerics", {})
    if current.get("precision") != "double" or not numerics.get("compensated"):
        return dict(settings)
    return {**settings, "numerics": {**numerics, "compensated": False}}
