"""All pictures of a run, from its folder: those of every module of this package with a function ``pictures``.

Modules of other packages register by the entry point group ``faultwave.plot``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from faultwave.base.asked import option
from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.base.registry import modules
from faultwave.base.units import seconds
from faultwave.output.atomic import explaining
from faultwave.output.manifest import read_manifest
from faultwave.output.results import Results, load_results
from faultwave.output.trace import Trace
from faultwave.plot import style
from faultwave.plot.field import plot_field

INLINE = {"png": "image/png", "svg": "image/svg+xml"}


class Pictures(list[Path]):
    """Paths of the pictures that were written; a notebook shows the pictures themselves."""

    def _repr_html_(self) -> str:
        return "".join(_shown(path) for path in self)


def _shown(path: Path) -> str:
    kind = INLINE.get(path.suffix[1:])
    if kind is None or not path.is_file():
        return f"<p>{escape(str(path))}</p>"
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<p><img src="data:{kind};base64,{data}" alt="{escape(path.name)}" style="max-width:100%"/></p>'


@dataclass(frozen=True)
class Look:
    """What is asked of pictures: see ``plot_run``."""

    field: str | None = None
    time: float | str | None = None
    format: str = "png"
    dpi: int = style.DPI
    log: bool = False
    stations: Sequence[str | int] | None = None
    axes: Sequence[str] | None = None


def plot_run(
    folder: str | Path,
    out: str | Path | None = None,
    look: Look | None = None,
    *,
    prefix: str | None = None,
    **asked: Any,
) -> Pictures:
    """Draw what the files of a run hold and return the pictures written, into its folder unless ``out`` is given.

    field: only maps of this field ('v3', 'PGV', 'slip', 'speed' for the horizontal ground speed, ...) of the snapshots; time: at the
    snapshot nearest to it, seconds or a text with a unit, else the last; format: 'png', 'pdf' or 'svg'; dpi; log: logarithmic colours on
    maps; stations: codes or numbers of the receivers that are drawn, with their codes on maps, default all; axes: what x, y and z are
    called, default east, north and up where the case's projection says so. ``look`` holds the same in one record.
    Raises InputError for a folder without anything to draw and for unknown words.

    Each ``pictures(results, stem)`` gives files that begin with ``stem``.
    """
    look = replace(look or Look(), **_known(asked))
    results = load_results(folder, prefix)
    results, options, time = _checked(results, look)
    target = Path(out) if out is not None else results.folder
    with explaining(target):
        target.mkdir(parents=True, exist_ok=True)
    stem = str(target / results.prefix)
    with style.drawn_with(options):
        if look.field is not None:
            return Pictures(plot_field(results, stem, look.field, time))
        found = [getattr(module, "pictures", None) for module in modules("faultwave.plot", "faultwave.plot")]
        written = [path for draw in found if draw is not None for path in draw(results, stem) if path is not None]
    if not written:
        raise InputError(Problem(str(results.folder), f"the run '{results.prefix}' left nothing to draw"))
    return Pictures(written)


def _known(asked: dict[str, Any]) -> dict[str, Any]:
    names = list(Look.__dataclass_fields__)
    wrong = [name for name in asked if name not in names]
    if wrong:
        raise TypeError(
            f"plot() got an unexpected argument '{wrong[0]}'; it knows {', '.join(['out', 'prefix', *names])}"
        )
    return asked


def _checked(results: Results, look: Look) -> tuple[Results, style.Options, float | None]:
    """What of the results is drawn, how, and at which time; raises InputError with all that is wrong."""
    problems = Problems()
    if look.format not in style.FORMATS:
        told = suggest(look.format, style.FORMATS)
        problems.error("format", f"'{look.format}' is no format of pictures", ", ".join(style.FORMATS), told)
    if not 10 <= look.dpi <= 2400:
        problems.error("dpi", f"{look.dpi} dots an inch", "10 to 2400")
    if look.time is not None and look.field is None:
        problems.error("time", "says when one field is drawn, and no field is given", "field beside it")
    if look.axes is not None and len(look.axes) not in (2, 3):
        problems.error("axes", f"{len(look.axes)} names", "names of x and y, and of z if wanted")
    if look.stations is not None:
        results = _with_stations(results, look.stations, problems)
    problems.raise_errors()
    x, y, z = (*look.axes, "z")[:3] if look.axes is not None else axes_of(results)
    options = style.Options(look.format, look.dpi, look.log, (x, y, z), look.stations is not None)
    return results, options, seconds(look.time, option("time"))


def _with_stations(results: Results, wanted: Iterable[str | int], problems: Problems) -> Results:
    """The results with those receivers only."""
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
    """Words for a receiver: its number, its code, and both codes."""
    return [str(trace.number), *([trace.station, f"{trace.network}.{trace.station}"] if trace.station else [])]


def axes_of(results: Results) -> tuple[str, str, str]:
    """What x, y and z are called: the map's directions where a projection that is not turned says that they are those."""
    path = results.folder / f"{results.prefix}-manifest.json"
    case = read_manifest(path)["case"] if path.is_file() else {}
    projection = case.get("projection") if isinstance(case, dict) else None
    if not isinstance(projection, dict) or projection.get("azimuth"):
        return ("x", "y", "z")
    return ("east", "north", "up")


__all__ = ["Look", "Pictures", "axes_of", "plot_run"]
