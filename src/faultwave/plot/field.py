"""Maps of one field of the snapshots at one time: on the surface, on faults, or of the finished rupture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.base.wording import option
from faultwave.observe.dataset import QUANTITIES
from faultwave.output.formats.maps_netcdf import read_maps
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import Results
from faultwave.plot import style
from faultwave.plot.fault import FaultMap, draw_values, fault_maps, frame_fault
from faultwave.plot.intensity import plot_map
from faultwave.plot.surface import Surface, draw_map, map_frame, map_height, opened, visible_cells

ASK_FOR = (
    "Add output.surface, output.fault or output.rupture to the case, on grids also output.intensity (PGA, "
    "PGV, PGD and SA), and run it again."
)
KINDS = ("surface", "fault", "rupture")
SPEED = "speed"
"""Name of the horizontal ground speed, which is computed and not stored."""
OTHERS = {SPEED: ("m/s", "horizontal ground speed"), "slip_rate": ("m/s", "slip rate"), "slip": ("m", "slip")}
PARTS = {SPEED: ("v1", "v2"), "slip_rate": ("SRs", "SRd"), "slip": ("Sls", "Sld")}
"""Components of fields that are the length of a vector."""


def plot_field(results: Results, stem: str, field: str, time: float | None) -> Iterator[Path]:
    """Draw PREFIX-KIND-FIELD for every snapshot file that has the field, at the snapshot nearest to ``time`` [s] or the last.

    Raises InputError for a field that no file has, and for times without snapshots.
    """
    there: dict[str, None] = {}
    drawn = False
    with ExitStack() as stack:
        files = _opened(results, stack)
        for kind, file in files.items():
            there |= dict.fromkeys(_names(file))
            if field not in _names(file) or not len(file.cells):
                continue
            step = _step(file, time, f"{results.prefix}-{kind}")
            drawn = True
            name = f"{field}" if time is None else f"{field}-{file.times[step]:.4g}s"
            yield _draw(results, kind, file, (field, step), Path(f"{stem}-{kind}-{name}.png"))
    maps = results.folder / f"{results.prefix}-intensity.nc"
    if maps.is_file():
        found = read_maps(maps)
        there |= dict.fromkeys(n for n, v in found.variables.items() if v.dims == ("y", "x"))
        if field in found and found.variables[field].dims == ("y", "x"):
            drawn = True
            yield plot_map(found, field, Path(f"{stem}-intensity-{field}.png"))
    if drawn:
        return
    if there:
        what = f"no snapshots or maps of the run '{results.prefix}' have a field '{field}'"
        raise InputError(Problem(str(results.folder), what, ", ".join(there), suggest(field, there)))
    what = f"the run '{results.prefix}' has no snapshots and no maps with a field to draw"
    raise InputError(Problem(str(results.folder), what, advice=ASK_FOR))


def _opened(results: Results, stack: ExitStack) -> dict[str, Surface]:
    found: dict[str, Surface] = {}
    for kind in KINDS:
        path = results.folder / f"{results.prefix}-{kind}.vtkhdf"
        if path.is_file():
            file: Surface = opened(path) if kind == "surface" else VtkHdfReader(path)
            stack.callback(file.close)
            found[kind] = file
    return found


def _names(file: Surface) -> list[str]:
    """Return the fields of a file that can be drawn, including lengths of vectors."""
    if not len(file.times):
        return []
    held = [name for name in (*file.fields, *file.static) if name not in ("global-id", "locationFlag")]
    return [*(name for name, parts in PARTS.items() if name not in held and set(parts) <= set(held)), *held]


def _step(file: Surface, time: float | None, name: str) -> int:
    if time is None:
        return len(file.times) - 1
    step = int(np.abs(file.times - time).argmin())
    apart = float(np.diff(file.times).max(initial=0.0))
    if abs(file.times[step] - time) > max(apart, 1e-9):
        what = f"{time:g} s lies outside the snapshots of {name}"
        raise InputError(Problem(option("time"), what, f"{file.times[0]:.4g} to {file.times[-1]:.4g} s"))
    return step


def _values(file: Surface, field: str, step: int) -> np.ndarray:
    if field in file:
        return np.asarray(file.field(field, step), dtype=np.float64)
    first, second = PARTS[field]
    return np.asarray(np.hypot(file.field(first, step), file.field(second, step)), dtype=np.float64)


def _draw(results: Results, kind: str, file: Surface, what: tuple[str, int], path: Path) -> Path:
    field, step = what
    unit, text = OTHERS.get(field) or QUANTITIES.get(field, ("", field.replace("_", " ")))
    unit, factor = ("MPa", 1e-6) if unit == "Pa" else (unit or "1", 1.0)
    label, title = f"{field} [{unit}]", f"{text}, t = {file.times[step]:.4g} s"
    values = factor * _values(file, field, step)
    if kind == "surface":
        return _surface(results, file, values, (title, label), path)
    assert isinstance(file, VtkHdfReader)
    return _faults(fault_maps(file, {field: values}, None), field, (title, label), path)


@style.house()
def _surface(results: Results, file: Surface, values: np.ndarray, texts: tuple[str, str], path: Path) -> Path:
    fault = results.folder / f"{results.prefix}-fault.vtkhdf"
    frame = map_frame(file, fault if fault.exists() else None, list(results.traces["receiver"].values()))
    norm, extend, colours = style.field_scale(values[visible_cells(file, frame)])
    fig = style.figure(height=map_height(frame, 5.2) + 0.8)
    ax = style.mosaic(fig, 1, 1)[0, 0]
    patches = draw_map(ax, file, values, frame, norm, stations=True, colours=colours)
    ax.set_title(texts[0])
    ax.set_xlabel(style.along(0, "km"))
    ax.set_ylabel(style.along(1, "km"))
    style.colour_bar(ax, patches, texts[1], extend)
    return style.save(fig, path)


@style.house()
def _faults(maps: list[FaultMap], field: str, texts: tuple[str, str], path: Path) -> Path:
    norm, extend, colours = style.field_scale(np.concatenate([fault.values[field] for fault in maps]))
    heights = [float(np.clip(5.7 * np.ptp(m.xy[:, 1]) / max(np.ptp(m.xy[:, 0]), 1e-9), 1.2, 7.0)) for m in maps]
    fig = style.figure(height=sum(heights) + 0.75 * len(maps) + 0.1)
    axes = style.mosaic(fig, len(maps), 1, gridspec_kw={"height_ratios": heights})[:, 0]
    for ax, fault in zip(axes, maps, strict=True):
        patches = draw_values(ax, fault, fault.values[field], style.colours(colours), norm)
        frame_fault(ax, fault)
        ax.set_ylabel("down dip [km]")
        ax.set_title(f"{fault.title}: {texts[0]}" if fault.title else texts[0])
        style.colour_bar(ax, patches, texts[1], extend)
    axes[-1].set_xlabel("along strike [km]")
    return style.save(fig, path)
