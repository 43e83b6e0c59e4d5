"""Figure of the coverage of velocity models: on maps of some depths, and in sections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch

from faultwave.observe.model import Model
from faultwave.plot import style
from faultwave.plot.plans import _frame

COLOURS = {
    "model": "#9fc7a0",
    "model goes on": "#f2d27a",
    "water": "#7fb2d9",
    "air": "#e9eef2",
    "hole": "#b03a24",
    "no values": "#7d1d1d",
    "outside": "#5f6b76",
}
OTHER = "#bbbbbb"
PIECES = 160
DEPTHS = (0.0, 0.1, 0.5)
"""Depths of the maps, as fractions of the depth shown."""


def draw(model: Model, folder: Path) -> Path | None:
    """Draw coverage; return None if the case has no velocity models."""
    cover = model.coverage
    if cover is None:
        return None
    shown = _frame.limits(model, whole=True)
    lines = _frame.lines(model, shown)
    size = np.ptp(shown, axis=0)
    maps = float(np.clip(2.0 * size[1] / size[0], 0.8, 3.0))
    high = _frame.tall(model, shown, lines) + 0.4
    fig = style.figure(height=maps + high + 1.3)
    upper, lower = _frame.stacked(fig, maps + 1.3, high)
    found: set[int] = set()
    for ax, share in zip(upper.subplots(1, len(DEPTHS), sharey=True), DEPTHS, strict=True):
        z = shown[1, 2] - share * size[2] - 1e-3 * size[2]
        found |= _map(ax, model, shown, z)
    axes = _frame.two(lower, lines)[0]
    for ax, line in zip(axes, lines, strict=True):
        found |= _section(ax, model, line, shown)
        _frame.frame_section(ax, line, shown, model)
        ax.set_xlabel(_frame.distance(model, line))
    axes[0].set_ylabel(_frame.along(model, 2))
    kinds = [cover.kinds[k] for k in sorted(found)]
    patches = [Patch(fc=COLOURS.get(kind, OTHER), ec=style.INK, lw=0.4, label=kind) for kind in kinds]
    lower.legend(handles=patches, loc="outside lower center", ncols=len(patches), handlelength=1.2)
    _frame.head(upper, model, "coverage of the velocity models")
    return style.save(fig, folder / "coverage.png")


def _map(ax: Axes, model: Model, shown: np.ndarray, z: float) -> set[int]:
    x, y = (_frame.evenly(shown[:, k], PIECES + 1) for k in (0, 1))
    xx, yy = np.meshgrid(0.5 * (x[1:] + x[:-1]), 0.5 * (y[1:] + y[:-1]))
    points = np.stack([xx, yy, np.full(xx.shape, z)], -1).reshape(-1, 3)
    ax.set_title(
        f"{style.options().axes[2]} = {round(_frame.unit(model).scale * z, 1) + 0.0:g} {_frame.unit(model).name}",
        fontsize=8.5,
    )
    ax.set_xlabel(_frame.along(model, 0))
    ax.set_aspect("equal")
    if ax.get_subplotspec() is not None and ax.get_subplotspec().is_first_col():  # type: ignore[union-attr]
        ax.set_ylabel(_frame.along(model, 1))
    return _fill(ax, model, x, y, points, xx.shape)


def _section(ax: Axes, model: Model, line: _frame.Line, shown: np.ndarray) -> set[int]:
    s, z = np.linspace(0.0, line.length, 2 * PIECES + 1), _frame.evenly(shown[:, 2], PIECES + 1)
    ss, zz = np.meshgrid(0.5 * (s[1:] + s[:-1]), 0.5 * (z[1:] + z[:-1]))
    xy = line.start + ss[..., None] / line.length * (line.end - line.start)
    ax.set_aspect("equal")
    return _fill(ax, model, s, z, np.concatenate([xy, zz[..., None]], -1).reshape(-1, 3), ss.shape)


def _fill(ax: Axes, model: Model, x: np.ndarray, y: np.ndarray, points: np.ndarray, shape: tuple[int, ...]) -> set[int]:
    """Draw the colours of the kinds at cell centres, and return the indices of the kinds present."""
    cover = model.coverage
    assert cover is not None
    kinds = cover.at(points)
    colours = ListedColormap([COLOURS.get(kind, OTHER) for kind in cover.kinds])
    norm = BoundaryNorm(np.arange(len(cover.kinds) + 1) - 0.5, colours.N)
    mesh = ax.pcolormesh(
        _frame.unit(model).scale * x, _frame.unit(model).scale * y, kinds.reshape(shape), cmap=colours, norm=norm
    )
    mesh.set_rasterized(True)
    return set(np.unique(kinds).tolist())
