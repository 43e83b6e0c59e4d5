"""All figures of a run folder or of a plan, drawn by every module that registers figures.

Modules of other packages register by the entry point group ``faultwave.plot``. ``pictures(results, stem)`` yields the files drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, describe_bad_values, suggest
from faultwave.base.registry import modules
from faultwave.base.types import Setting
from faultwave.base.units import seconds
from faultwave.base.wording import option
from faultwave.observe.model import Model
from faultwave.output.atomic import translate_os_errors
from faultwave.output.manifest import read_manifest
from faultwave.output.results import Results, load_results
from faultwave.output.trace import Trace
from faultwave.plot import style
from faultwave.plot.field import plot_field
from faultwave.plot.plans import plot_model
from faultwave.plot.style import Look, Pictures, changed_look, checked_look

if TYPE_CHECKING:
    from types import ModuleType


def plot_run(
    folder: str | Path,
    out: str | Path | None = None,
    look: Look | None = None,
    *,
    prefix: str | None = None,
    **changes: object,
) -> Pictures:
    """Draw the results of a run into its folder, or ``out``, and return the figures written.

    The options are described at ``faultwave.plot``. Each ``pictures(results, stem)`` writes files whose names begin with ``stem``. Raises
    InputError for a folder without anything to draw and for invalid options.
    """
    look = changed_look(look, changes)
    results = load_results(folder, prefix)
    results, options, time = _checked(results, look)
    target = Path(out) if out is not None else results.folder
    with translate_os_errors(target):
        target.mkdir(parents=True, exist_ok=True)
    stem = str(target / results.prefix)
    with style.drawn_with(options):
        if look.field is not None:
            with describe_bad_values(str(results.folder), f"'{look.field}' cannot be drawn"):
                return Pictures(plot_field(results, stem, look.field, time))
        pictures = drawn(results, stem)
    if not pictures and pictures.notes:
        raise InputError([replace(note, severity="error") for note in pictures.notes])
    if not pictures:
        raise InputError(
            Problem(
                str(results.folder),
                f"the run '{results.prefix}' has no results to draw",
                advice="Add output (receivers, surface, energies) to the case and run it again.",
            )
        )
    return pictures


def drawn(results: Results, stem: str, skipped: Callable[[ModuleType], bool] = lambda module: False) -> Pictures:
    """Draw every figure that the files allow, and note why others are omitted.

    Parameters
    ----------
    results : Results
        Results of the run.
    stem : str
        Beginning of the names of the figures.
    skipped : callable
        Returns True for modules to skip.
    """
    written: list[Path] = []
    notes = Problems()
    for module in modules("faultwave.plot", "faultwave.plot"):
        draw = getattr(module, "pictures", None)
        if draw is None or skipped(module):
            continue
        kind = module.__name__.rpartition(".")[2].replace("_", " ")
        try:
            with (
                describe_bad_values(str(results.folder), f"the picture of {kind} cannot be drawn"),
                np.errstate(all="ignore"),
            ):
                for path in draw(results, stem):
                    if path is not None:
                        written.append(path)
        except InputError as error:
            notes.extend(replace(problem, severity="warning") for problem in error.problems)
    return Pictures(written, notes.items)


def _checked(results: Results, look: Look) -> tuple[Results, style.Options, float | None]:
    """Return the results to draw, the drawing options and the time [s], or raise InputError with all errors."""
    problems = Problems()
    options = checked_look(look, axes_of(results), problems)
    if look.time is not None and look.field is None:
        problems.error("time", "selects the time of a field, but no field is selected", "field as well")
    if look.stations is not None:
        results = _with_stations(results, look.stations, problems)
    problems.raise_errors()
    return results, options, seconds(look.time, option("time"))


def _with_stations(results: Results, wanted: Iterable[str | int], problems: Problems) -> Results:
    """Return the results with the selected receivers only."""
    traces = results.traces["receiver"]
    names = {name: number for number, trace in traces.items() for name in _called(trace)}
    for name in wanted:
        if str(name) not in names:
            problems.error(
                "stations", f"there is no receiver '{name}'", ", ".join(list(names)[:20]), suggest(str(name), names)
            )
    chosen = {names[str(name)] for name in wanted if str(name) in names}
    return replace(results, traces={**results.traces, "receiver": {n: t for n, t in traces.items() if n in chosen}})


def _called(trace: Trace) -> list[str]:
    """Return the names of a receiver: its number, its code, and network with code."""
    return [str(trace.number), *([trace.station, f"{trace.network}.{trace.station}"] if trace.station else [])]


def axes_of(results: Results) -> tuple[str, str, str]:
    """Return the labels of x, y and z: east, north, up if the projection is not rotated."""
    path = results.folder / f"{results.prefix}-manifest.json"
    case = read_manifest(path).get("case") if path.is_file() else {}
    projection = case.get("projection") if isinstance(case, dict) else None
    if not isinstance(projection, dict) or projection.get("azimuth"):
        return ("x", "y", "z")
    return ("east", "north", "up")


class CapabilityPlan(Protocol):
    """Interface of the result of ``faultwave.plan``."""

    @property
    def case(self) -> Setting: ...

    @property
    def model(self) -> Model: ...


def plot(
    folder: str | Path | CapabilityPlan,
    out: str | Path | None = None,
    look: Look | None = None,
    *,
    prefix: str | None = None,
    **changes: object,
) -> Pictures:
    """Draw the results of a run, or a plan returned by ``faultwave.plan``, and return the figures written.

    Parameters
    ----------
    folder : str, Path or CapabilityPlan
        Run folder, or a plan.
    out : str or Path, optional
        Folder of the figures, by default the run folder, or PREFIX-plan for a plan.
    look : Look, optional
        All of the options below in one record.
    prefix : str, optional
        Prefix of the run's files.
    **changes
        Options. field: draw only maps of this field of the snapshots ('v3', 'PGV', 'slip', 'speed' for the horizontal ground speed, ...);
        time: use the nearest snapshot, in seconds or as a text with a unit, by default the last; format: 'png', 'pdf' or 'svg'; dpi;
        log: logarithmic colours on maps; stations: codes or numbers of the receivers to draw, with their codes on maps, default all;
        axes: labels of x, y and z, default east, north and up if the case's projection implies it. For a plan only format, dpi and axes.

    Returns
    -------
    list of Path
        Written pictures.

    Raises
    ------
    InputError
        If the folder contains nothing to draw, or an option is invalid.
    """
    if isinstance(folder, str | Path):
        return plot_run(folder, out, look, prefix=prefix, **changes)
    if not hasattr(folder, "model"):
        what = f"{folder!r} of type {type(folder).__name__} cannot be drawn"
        raise InputError(Problem("plot", what, "the folder of a run, or what faultwave.plan returned"))
    target = Path(f"{folder.case.output.prefix}-plan") if out is None else Path(out)
    return plot_model(folder.model, target, look, **changes)
