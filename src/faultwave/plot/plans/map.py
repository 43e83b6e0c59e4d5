"""Map of a plan: ground, faults, sources, receivers, lines of the sections."""

from __future__ import annotations

import textwrap
from pathlib import Path

import matplotlib.patheffects as effects
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import Rectangle

from faultwave.base.types import Record
from faultwave.observe.model import Model, Sheet
from faultwave.plot import style
from faultwave.plot.plans import _frame

SHADE = 0.35
"""Maximum opacity of hillshades."""
LOOKS = {
    "sources": ("*", 11.0, "#ffd34d", "sources"),
    "receivers": ("^", 5.0, "white", "receivers"),
    "fault receivers": ("s", 3.5, "#7fd6ff", "fault receivers"),
}
"""Marker, size, colour and name of marks by kind."""
NARROWEST = 0.6
"""Minimum ratio of the shorter to the longer side of a map of errors."""
LEVEL = 0.3
"""Maximum slope of an edge of a fault's outline that may be its trace; steeper edges run down dip."""
MANY = 12
"""Number of sources above which each is drawn as a dot, and number of errors above which crosses are small."""


def draw(model: Model, folder: Path) -> Path:
    """Draw the map, with an overview of the box if that is much larger."""
    shown = _frame.limits(model)
    size = np.ptp(shown, axis=0)
    height = float(np.clip(5.2 * size[1] / size[0], 2.2, 7.2))
    fig = style.figure(height=height + 0.9)
    ax = style.mosaic(fig, 1, 1)[0, 0]
    ax.set_facecolor("#f4f1ea")
    for sheet in model.of("ground"):
        _ground(ax, sheet, model)
    for line in _frame.lines(model, shown) if model.cut is not None else ():
        _line(ax, model, line)
    for sheet in model.of("fault"):
        _fault(ax, model, sheet)
    _marks(ax, model)
    if model.trouble is not None:
        shown = _trouble(ax, model, shown)
    ax.set_xlim(*(_frame.unit(model).scale * shown[:, 0]))
    ax.set_ylim(*(_frame.unit(model).scale * shown[:, 1]))
    ax.set_aspect("equal")
    ax.set_xlabel(_frame.along(model, 0))
    ax.set_ylabel(_frame.along(model, 1))
    ax.set_title(
        model.title if model.trouble is None else f"{model.title}\n{_short(f'Problems, by number. {model.reason}')}"
    )
    handles, _ = ax.get_legend_handles_labels()
    if handles:
        fig.legend(loc="outside lower center", ncols=min(5, len(handles)), handletextpad=0.5, columnspacing=1.6)
    if model.trouble is None and (shown[:, :2] != np.array([model.lower, model.upper])[:, :2]).any():
        _overview(ax, model, shown)
    return style.save(fig, folder / "map.png")


def _ground(ax: Axes, sheet: Sheet, model: Model) -> None:
    """Draw heights with hillshades if the ground is not flat, else the slowest wave speed below it if that varies, else nothing."""
    xy, z = _frame.unit(model).scale * sheet.points[:, :2], sheet.points[:, 2]
    corners = sheet.points[sheet.cells]
    if np.ptp(z) > 1e-4 * np.ptp(sheet.points[:, :2]):
        heights, water = z[sheet.cells].mean(1), _water(sheet)
        dry = heights[~water]
        norm = _frame.scale(dry, 0.0, 100.0)
        colours = style.light("gist_earth", 0.42, 0.97) if dry.min() >= -1.0 else style.colours("gist_earth")
        patches = style.draw_cells(ax, xy, sheet.cells[~water], dry, colours, norm)
        flat: Record = {"edgecolors": "none", "antialiaseds": False, "rasterized": True}
        ax.add_collection(PolyCollection(list(xy[sheet.cells[water]]), facecolors="#bcd7e8", **flat))
        ax.add_collection(PolyCollection(list(xy[sheet.cells]), facecolors=_shades(corners), **flat))
        if water.any():
            at_sea = _shore(sheet.cells, water)
            ax.add_collection(LineCollection(list(xy[at_sea]), colors=style.INK, linewidths=0.5, zorder=2))
        style.colour_bar(ax, patches, "height [m]")
        return
    name = next((n for n in reversed(model.speeds) if n in sheet.values), None)
    if name is None or np.ptp(sheet.values[name]) < 1e-6 * np.abs(sheet.values[name]).max():
        return
    values = sheet.values[name]
    colours = style.light("viridis_r", 0.0, 0.75)
    patches = style.draw_cells(ax, xy, sheet.cells, values, colours, _frame.scale(values))
    label = sheet.labels[name]
    style.colour_bar(ax, patches, f"{label.text} at the surface [{label.unit}]")


def _water(sheet: Sheet) -> np.ndarray:
    """Return True for each triangle (n,) on the surface of a sea, where the shear-wave speed below is zero."""
    return np.asarray(sheet.values["vs"] == 0) if "vs" in sheet.values else np.zeros(len(sheet.cells), bool)


def _shore(cells: np.ndarray, water: np.ndarray) -> np.ndarray:
    """Return the edges (k, 2) between triangles (n, 3) of water and of land."""
    edges = np.sort(np.concatenate([cells[:, [0, 1]], cells[:, [1, 2]], cells[:, [0, 2]]]), axis=1)
    edges, number = np.unique(edges, axis=0, return_inverse=True)
    wet = np.bincount(number.reshape(-1), np.tile(water, 3), minlength=len(edges))
    return np.asarray(edges[(wet > 0) & (wet < np.bincount(number.reshape(-1), minlength=len(edges)))])


def _shades(corners: np.ndarray) -> np.ndarray:
    """Return transparent black (n, 4) for the shade of triangles (n, 3, 3) under light from the north-west."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal[:, :2] *= 0.2 * np.ptp(corners[..., :2]) / max(np.ptp(corners[..., 2]), 1e-9) / 6.0
    normal /= np.linalg.norm(normal, axis=1)[:, None] * np.where(normal[:, 2] < 0, -1.0, 1.0)[:, None] + 1e-30
    light = normal @ (np.array([-1.0, 1.0, 1.4]) / np.linalg.norm([-1.0, 1.0, 1.4]))
    colours = np.zeros((len(corners), 4))
    colours[:, 3] = np.clip(SHADE * (0.8 - light), 0.0, SHADE)
    return colours


def _line(ax: Axes, model: Model, line: _frame.Line) -> None:
    ends = _frame.unit(model).scale * np.array([line.start, line.end])
    ax.plot(*ends.T, color=style.INK, lw=0.7, ls=(0, (6, 3)), zorder=3)
    rim: list[effects.AbstractPathEffect] = [effects.withStroke(linewidth=2.2, foreground="white")]
    for place, name, inward in ((ends[0], line.name, ends[1]), (ends[1], f"{line.name}′", ends[0])):
        at = place + 0.025 * (inward - place)
        text = ax.text(
            at[0], at[1], name, ha="center", va="center", fontweight="bold", fontsize=9, zorder=7, clip_on=True
        )
        text.set_path_effects(rim)


def _fault(ax: Axes, model: Model, sheet: Sheet) -> None:
    """Draw the outline of a fault from above, thick where it is shallowest, with a faint area if it dips."""
    corners = _frame.unit(model).scale * sheet.points[sheet.cells][:, :, :2]
    ax.add_collection(PolyCollection(list(corners), facecolors="#c8553d30", edgecolors="none", zorder=3))
    edges = np.sort(np.concatenate([sheet.cells[:, [0, 1]], sheet.cells[:, [1, 2]], sheet.cells[:, [0, 2]]]), axis=1)
    edges, count = np.unique(edges, axis=0, return_counts=True)
    outline = sheet.points[edges[count == 1]]
    top = sheet.points[:, 2].max() - 0.15 * np.ptp(sheet.points[:, 2])
    rise = np.diff(outline, axis=1)[:, 0]
    level = np.abs(rise[:, 2]) <= LEVEL * np.linalg.norm(rise, axis=1)
    upper = level & (outline[..., 2].min(1) >= top)
    flat = _frame.unit(model).scale * outline[..., :2]
    ax.add_collection(LineCollection(list(flat), colors="#c8553d", linewidths=0.6, zorder=4))
    ax.add_collection(
        LineCollection(list(flat[upper]), colors="#b03a24", linewidths=1.9, zorder=5, label="faults", capstyle="round")
    )


def _marks(ax: Axes, model: Model) -> None:
    for marks in model.marks:
        if not len(marks.points):
            continue
        shape, size, colour, name = LOOKS.get(marks.kind, ("o", 4.0, "#7d5ba6", marks.kind))
        if len(marks.points) > MANY and marks.kind == "sources":
            shape, size = "o", 1.6
        ax.plot(
            *(_frame.unit(model).scale * marks.points[:, :2].T),
            shape,
            ms=size,
            mfc=colour,
            mec=style.INK,
            mew=0.5 if size > 2 else 0.1,
            ls="none",
            label=f"{len(marks.points):,} {name}" if len(marks.points) > 1 else name.rstrip("s"),
            zorder=6,
        )
        if style.options().codes and marks.names:
            _codes(ax, _frame.unit(model).scale * marks.points[:, :2], marks.names)


def _trouble(ax: Axes, model: Model, shown: np.ndarray) -> np.ndarray:
    """Draw numbered crosses at errors and the outline of the region, and return the limits that contain all of them."""
    assert model.trouble is not None
    scale, places, names = _frame.unit(model).scale, model.trouble.points, model.trouble.names
    size = model.upper - model.lower
    corner = scale * model.lower
    outline = Rectangle((corner[0], corner[1]), scale * size[0], scale * size[1], fc="none", ec=style.INK, lw=1.2)
    outline.set_label("region")
    ax.add_patch(outline)
    large = len(places) <= MANY
    look: Record = {"ms": 8 if large else 4, "mew": 1.8 if large else 0.8, "mec": "#d40000", "ls": "none"}
    ax.plot(*(scale * places[:, :2].T), "x", **look, label="something is wrong", zorder=8)
    rim: list[effects.AbstractPathEffect] = [effects.withStroke(linewidth=2.0, foreground="white")]
    for name in dict.fromkeys(names):
        x, y = (scale * places[names.index(name), :2]).tolist()
        text = ax.annotate(
            name, (x, y), (6, 5), textcoords="offset points", color="#d40000", fontweight="bold", zorder=9
        )
        text.set_path_effects(rim)
    every = np.concatenate([places, [model.lower, model.upper]])
    extent = np.ptp(every, axis=0)
    margin = 0.5 * (np.maximum(1.1 * extent, NARROWEST * extent[:2].max()) - extent)
    return np.array([every.min(0) - margin, every.max(0) + margin])


def _short(text: str, most: int = 400) -> str:
    """Return a text wrapped into lines, truncated if it is long."""
    return "\n".join(textwrap.wrap(text if len(text) <= most else f"{text[:most]} ...", 72))


def _codes(ax: Axes, places: np.ndarray, names: tuple[str, ...]) -> None:
    rim: list[effects.AbstractPathEffect] = [effects.withStroke(linewidth=1.6, foreground="white")]
    for place, code in zip(places, names, strict=True):
        text = ax.annotate(code, place, (4, 3), textcoords="offset points", fontsize=6.5, color=style.INK, clip_on=True)
        text.set_path_effects(rim)


def _overview(ax: Axes, model: Model, shown: np.ndarray) -> None:
    """Draw the whole box in a corner, with the map in it."""
    size = model.upper - model.lower
    high = 0.2 * float(np.clip(size[1] / size[0], 0.4, 1.5))
    left, wide = (1.17, 0.16) if ax.child_axes else (1.03, 0.2)  # to the right of the colour bar and its label
    inset = ax.inset_axes((left, -0.02, wide, high), transform=ax.transAxes)
    for low, extent, colour, face in (
        (model.lower, size, style.INK, "#f3f3f3"),
        (shown[0], np.ptp(shown, axis=0), "#b03a24", "none"),
    ):
        inset.add_patch(Rectangle((low[0], low[1]), extent[0], extent[1], fc=face, ec=colour, lw=0.9))
    inset.set_xlim(model.lower[0] - 0.03 * size[0], model.upper[0] + 0.03 * size[0])
    inset.set_ylim(model.lower[1] - 0.03 * size[1], model.upper[1] + 0.03 * size[1])
    inset.set_aspect("equal")
    inset.axis("off")
    inset.set_title(
        f"{_frame.unit(model).scale * size[0]:.4g} × {_frame.unit(model).scale * size[1]:.4g} {_frame.unit(model).name}",
        fontsize=7,
        loc="center",
        pad=2,
    )
