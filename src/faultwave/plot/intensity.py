"""Maps of ground motion intensity: Mercalli intensity, peak velocity, spectral acceleration and duration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import BoundaryNorm, ListedColormap, LogNorm, Normalize
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from scipy.spatial import ConvexHull

from faultwave.base.errors import Problems
from faultwave.base.types import Record
from faultwave.observe.dataset import Dataset
from faultwave.output.formats.maps_netcdf import read_maps
from faultwave.output.formats.maps_shakemap import instrumental_intensity
from faultwave.output.results import Results
from faultwave.plot import style

MERCALLI = (
    "#ffffff",
    "#bfccff",
    "#a0e6ff",
    "#80ffff",
    "#7aff93",
    "#ffff00",
    "#ffc800",
    "#ff9100",
    "#ff0000",
    "#c80000",
)
"""Colours of intensities I to X+, as in ShakeMap."""
EXAGGERATED, SHADE, BRIGHT = 0.15, 0.45, 0.18
"""Hillshade parameters: relief relative to the map's extent, darkest shade, and brightest light."""
LIGHT = (-0.5, 0.5, 0.5**0.5)
"""Direction to the light: north-west, 45 degrees high."""
PERIOD = re.compile(r"SA_\d+(\.\d+)?(e-?\d+)?s")
NAMES = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")


@style.house()
def plot_intensity(source: Path, stations: np.ndarray, path: Path) -> Path:
    """Draw four maps of a file of maps; ``stations`` (n, 2) [km] are marked on the first."""
    maps = checked_maps(source)
    x, y = style.KM * maps["x"], style.KM * maps["y"]
    shape = float(np.clip((y[-1] - y[0]) / max(x[-1] - x[0], 1e-9), 0.4, 1.6))
    fig = style.figure(height=2 * (2.75 * shape + 0.45))
    axes = style.mosaic(fig, 2, 2, sharex=True, sharey=True)
    _mercalli(axes[0, 0], maps, x, y)
    _graticule(axes[0, 0], maps, x, y)
    if len(stations):
        axes[0, 0].plot(*stations.T, "^", ms=4, mfc="white", mec=style.INK, mew=0.6, ls="none", label="receivers")
    _logarithmic(axes[0, 1], x, y, 100 * maps["PGV"], "peak ground velocity, RotD50 [cm/s]", "magma_r")
    spectra = [name for name in maps.variables if PERIOD.fullmatch(name)]
    name = min(spectra, key=lambda n: abs(float(n[3:-1]) - 1.0)) if spectra else "PGA"
    text = f"spectral acceleration at {name[3:-1]} s [m/s²]" if spectra else "peak ground acceleration [m/s²]"
    _logarithmic(axes[1, 0], x, y, maps[name], text, "viridis_r")
    top = style.top_value(maps["D5_95"], 99.5)
    mesh = _image(axes[1, 1], x, y, maps["D5_95"], Normalize(0, top), "cividis")
    axes[1, 1].set_title("duration of shaking, 5 to 95 % [s]")
    style.colour_bar(axes[1, 1], mesh, "", style.beyond(maps["D5_95"], top))
    for ax in axes.flat:
        _hillshade(ax, maps, x, y)
        _earthquake(ax, maps)
    title = [str(maps.attrs["case"])] if maps.attrs.get("case") else []
    if "resolved_frequency" in maps.attrs:
        title.append(f"waves up to {float(maps.attrs['resolved_frequency']):.2g} Hz")
    if left_out := _damaged(maps):
        title.append(left_out)
    if title:
        fig.suptitle(", ".join(title), x=0.01, ha="left")
    marks = axes[0, 0].get_legend_handles_labels()
    if marks[0]:
        fig.legend(*marks, loc="upper right", ncols=len(marks[0]), frameon=False, borderaxespad=0.1, handletextpad=0.3)
    for ax in axes[1]:
        ax.set_xlabel(style.along(0, "km"))
    for ax in axes[:, 0]:
        ax.set_ylabel(style.along(1, "km"))
    return style.save(fig, path)


@style.house()
def plot_map(maps: Dataset, name: str, path: Path) -> Path:
    """Draw one map of a file of maps by its name."""
    x, y = style.KM * maps["x"], style.KM * maps["y"]
    shape = float(np.clip((y[-1] - y[0]) / max(x[-1] - x[0], 1e-9), 0.4, 1.6))
    fig = style.figure(height=5.5 * shape + 0.8)
    ax = style.mosaic(fig, 1, 1)[0, 0]
    known = maps.variables[name]
    norm, extend, colours = style.field_scale(maps[name])
    mesh = _image(ax, x, y, maps[name], norm, colours)
    style.colour_bar(ax, mesh, f"{name} [{known.unit or '1'}]", extend)
    _hillshade(ax, maps, x, y)
    ax.set_title(known.description or name)
    ax.set_xlabel(style.along(0, "km"))
    ax.set_ylabel(style.along(1, "km"))
    return style.save(fig, path)


def checked_maps(source: Path) -> Dataset:
    """Read a file of maps and return the drawable ones.

    Raises
    ------
    InputError
        If axes, velocity or duration are missing, shapes are inconsistent, or a map has no finite value.
    """
    maps, problems = read_maps(source), Problems()
    for name in ("x", "y", "PGV", "D5_95"):
        if name not in maps:
            problems.error(str(source), f"has no '{name}'", "x, y, PGV, D5_95 and PGA or SA_...")
    problems.raise_errors()
    if not any(name == "PGA" or PERIOD.fullmatch(name) for name in maps.variables):
        problems.error(str(source), "has no acceleration", "PGA, or SA_1s and the like")
    for name in ("x", "y"):
        axis = maps[name]
        if axis.ndim != 1 or len(axis) < 2 or not np.isfinite(axis).all() or not (np.diff(axis) > 0).all():
            problems.error(str(source), f"'{name}' is not an axis", "two or more finite numbers that grow")
    problems.raise_errors()
    shape = (len(maps["y"]), len(maps["x"]))
    for name, variable in maps.variables.items():
        on_map = variable.dims == ("y", "x")
        if on_map and variable.data.shape != shape:
            problems.error(str(source), f"'{name}' has shape {variable.data.shape}", f"{shape}")
        elif on_map and not np.isfinite(variable.data).any():
            problems.error(str(source), f"'{name}' has no finite value", "finite numbers")
    for name in ("PGV", "D5_95"):
        if maps.variables[name].dims != ("y", "x"):
            problems.error(str(source), f"'{name}' has dimensions {', '.join(maps.variables[name].dims)}", "y, x")
    problems.raise_errors()
    return maps


def _damaged(maps: Dataset) -> str:
    """Return a text with the number of values that are not finite, empty if there are none."""
    bad = sum(int((~np.isfinite(v.data)).sum()) for v in maps.variables.values() if v.dims == ("y", "x"))
    return f"without {bad} values that are not finite" if bad else ""


def _hillshade(ax: Axes, maps: Dataset, x: np.ndarray, y: np.ndarray) -> None:
    """Draw the relief of the ground under light from the north-west, if known."""
    if "elevation" not in maps or not np.isfinite(maps["elevation"]).all():
        return
    shade = shades(style.KM * maps["elevation"], x, y)
    edges = [(a[0] - (a[1] - a[0]) / 2, a[-1] + (a[1] - a[0]) / 2) for a in (x, y)]
    ax.imshow(
        shade, origin="lower", extent=(*edges[0], *edges[1]), interpolation="bilinear", aspect="equal", zorder=1.5
    )


def shades(ground: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the hillshade colours (ny, nx, 4) of a ``ground`` (ny, nx) at ``x`` (nx,) and ``y`` (ny,), all in the same unit.

    Slopes towards the light are white, the others black, and flat ground is transparent, so that colours below remain as in their bar.
    """
    relief, extent = float(np.ptp(ground)), float(max(np.ptp(x), np.ptp(y)))
    up, right = np.gradient(EXAGGERATED * extent / max(relief, 1e-9) * ground, y, x)
    lit = (LIGHT[2] - LIGHT[0] * right - LIGHT[1] * up) / np.sqrt(1.0 + right**2 + up**2)
    colours = np.zeros((*ground.shape, 4))
    colours[..., :3] = (lit > LIGHT[2])[..., None]
    dark, bright = (LIGHT[2] - lit) / LIGHT[2], (lit - LIGHT[2]) / (1.0 - LIGHT[2])
    colours[..., 3] = np.where(lit > LIGHT[2], BRIGHT * bright, SHADE * np.clip(dark, 0.0, 1.0))
    return colours


def _mercalli(ax: Axes, maps: Dataset, x: np.ndarray, y: np.ndarray) -> None:
    levels = np.arange(11) + 0.5
    norm = BoundaryNorm(levels, len(MERCALLI))
    mmi = instrumental_intensity(maps["PGV"])
    mesh = ax.pcolormesh(x, y, mmi, norm=norm, cmap=ListedColormap(list(MERCALLI)), shading="nearest", rasterized=True)
    ax.set_aspect("equal")
    ax.set_title("instrumental intensity (Mercalli)")
    bar = style.colour_bar(ax, mesh, "")
    bar.set_ticks(list(range(1, 11)), labels=list(NAMES))
    shown = np.unique(np.round(mmi[np.isfinite(mmi)]))
    bar.ax.set_ylim(max(shown.min() - 1.5, 0.5), min(shown.max() + 1.5, 10.5))


def _logarithmic(ax: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, title: str, cmap: str) -> None:
    top = style.top_value(values, 100.0)
    low = max(float(np.percentile(values[np.isfinite(values)], 1)), 1e-3 * top)
    mesh = _image(ax, x, y, values, LogNorm(low, max(top, 1.01 * low)), cmap)
    ax.set_title(title)
    bar = style.colour_bar(ax, mesh, "", "min")
    # plain numbers, 1 2 5 a decade: 0.5 is read sooner than 5 x 10^-1
    bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())


def _earthquake(ax: Axes, maps: Dataset) -> None:
    """Draw the outline of the sources on the map, and the first source as a star."""
    if "source_x" not in maps:
        return
    at = style.KM * np.stack([maps["source_x"], maps["source_y"]], 1)
    if len(at) > 1:
        centre = at.mean(0)
        _, size, axes = np.linalg.svd(at - centre, full_matrices=False)
        outline = at
        if size[-1] > 1e-3 * size[0]:
            outline = at[ConvexHull(at).vertices]
            outline = np.concatenate([outline, outline[:1]])
        else:  # a vertical fault is a line on the map
            along = (at - centre) @ axes[0]
            outline = at[[int(along.argmin()), int(along.argmax())]]
        for width, colour, label in ((2.4, "white", None), (1.2, style.INK, "fault")):
            ax.plot(*outline.T, color=colour, lw=width, solid_capstyle="round", label=label)
    ax.plot(
        *at[0],
        "*",
        ms=9,
        mfc="white",
        mec=style.INK,
        mew=0.7,
        ls="none",
        label="where it begins" if len(at) > 1 else "source",
    )


def _graticule(ax: Axes, maps: Dataset, x: np.ndarray, y: np.ndarray) -> None:
    """Draw meridians and parallels, if the maps have longitudes and latitudes."""
    text: Record = {
        "fontsize": "x-small",
        "textcoords": "offset points",
        "path_effects": [Stroke(linewidth=1.5, foreground="white"), Normal()],
    }
    for name, ends in (("longitude", "EW"), ("latitude", "NS")):
        if name not in maps:
            return
        degrees = maps[name]
        if not np.isfinite(degrees).all():
            return
        low, high = float(degrees.min()), float(degrees.max())
        levels = [float(v) for v in MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high) if low < v < high]
        if levels:
            ax.contour(x, y, degrees, levels, colors=style.INK, linewidths=0.5, linestyles=":")
        edge = degrees[0] if name == "longitude" else degrees[:, 0]
        order = np.argsort(edge)
        for v in levels:
            if edge.min() < v < edge.max():
                at = float(np.interp(v, edge[order], (x if name == "longitude" else y)[order]))
                place = (at, y[0]) if name == "longitude" else (x[0], at)
                side = -1 if name == "longitude" and at > 0.2 * x[0] + 0.8 * x[-1] else 1  # away from the edge
                ax.annotate(
                    f"{abs(v):.6g}°{ends[v < 0]}",
                    place,
                    xytext=(2 * side, 2),
                    ha="right" if side < 0 else "left",
                    **text,
                )


def _image(ax: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, norm: Normalize, cmap: str) -> QuadMesh:
    mesh = ax.pcolormesh(x, y, values, norm=norm, cmap=style.colours(cmap), shading="nearest", rasterized=True)
    ax.set_aspect("equal")
    return mesh


def pictures(results: Results, stem: str) -> Iterator[Path | None]:
    """Draw PREFIX-intensity."""
    maps = results.folder / f"{results.prefix}-intensity.nc"
    if maps.exists():
        places = [style.KM * t.location[:2] for t in results.traces["receiver"].values()]
        yield plot_intensity(maps, np.array(places).reshape(-1, 2), Path(f"{stem}-intensity.png"))
