"""Figures used by several sections: lines, maps of one run or of two, and triangle values sampled on a regular grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.types import Record
from faultwave.plot.style import COLOURS, colours
from faultwave.report.blocks import Figure, Plotted, numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


DASHES = ("solid", "dash")
"""Line styles of the run, and of the run it is compared with."""


def axis(title: str, **more: object) -> Plotted:
    """Return the layout of an axis with a title."""
    return {"title": {"text": title}, "exponentformat": "power", **more}


def length_unit(places: np.ndarray) -> tuple[float, str]:
    """Return factor from metres and name of a unit in which places (..., 3) [m] have few digits."""
    size = float(np.nanmax(np.abs(places), initial=0.0))
    return next(
        ((1.0 / metres, name) for metres, name in ((1e3, "km"), (1.0, "m"), (1e-3, "mm")) if size >= metres),
        (1e6, "um"),
    )


def scale(name: str) -> list[list[float | str]]:
    """Return a matplotlib colour map in plotly.js's format, so that figures and report look alike."""
    shares = np.linspace(0.0, 1.0, 17)
    return [
        [float(at), "rgb({}, {}, {})".format(*(int(round(255 * x)) for x in colours(name)(at)[:3]))] for at in shares
    ]


def bar(label: str) -> Plotted:
    """Return the layout of a colour bar."""
    return {"title": {"text": label, "side": "right"}, "exponentformat": "power", "thickness": 18}


def line(name: str, x: ArrayLike, y: ArrayLike, colour: int = 0, run: int = 0, **more: object) -> Plotted:
    """Return a curve; ``colour`` is the index of the quantity, ``run`` the index of the run."""
    style = {"color": COLOURS[colour % len(COLOURS)], "dash": DASHES[run], "width": 1.8}
    return {"type": "scatter", "mode": "lines", "name": name, "x": numbers(x), "y": numbers(y), "line": style} | more


def lines(title: str, description: str, data: Sequence[Record], x: str, y: str, **layout: object) -> Figure:
    """Return a figure of lines with axis titles ``x`` and ``y``."""
    return Figure(title, description, data, {"xaxis": axis(x), "yaxis": axis(y), **layout})


Shown = Mapping[str, np.ndarray]  # values (ny, nx) by name of the run, or 'difference'


def colour_range(values: Sequence[np.ndarray], signed: bool = False) -> tuple[float, float]:
    """Return a colour range from zero to the 99.5th percentile, so that single elements do not determine it."""
    known = np.concatenate([v[np.isfinite(v)] for v in values]) if values else np.zeros(0)
    top = float(np.percentile(np.abs(known), 99.5)) if len(known) else 1.0
    top = top or 1.0
    return (-top, top) if signed else (0.0, top)


def map_figure(
    title: str,
    description: str,
    x: np.ndarray,
    y: np.ndarray,
    shown: Shown,
    look: Record,
    over: Sequence[Plotted] = (),
) -> Figure:
    """Return a map of square cells with a menu.

    Parameters
    ----------
    title, description : str
        Caption, and text for readers who cannot see the figure.
    x, y : ndarray of shape (nx,) and (ny,)
        Coordinates of the cells.
    shown : mapping of str to ndarray of shape (ny, nx)
        Values by the name of the run, or 'difference'; a menu selects one.
    look : mapping
        'label' of the colours, 'x', 'y' of the axes, and optionally 'colours', 'signed', 'down' (y increases downwards).
    over : sequence
        Curves drawn on top.
    """
    plain = {name: values for name, values in shown.items() if name != "difference"}
    low, high = colour_range(list(plain.values()), bool(look.get("signed")))
    data: list[Plotted] = []
    for name, values in shown.items():
        differs = name == "difference"
        bottom, top = colour_range([values], True) if differs else (low, high)
        data.append(
            {
                "type": "heatmap", "name": name, "x": numbers(x), "y": numbers(y), "z": numbers(values), "zmin": bottom, "zmax": top,
                "colorscale": scale("RdBu_r" if differs else look.get("colours", "viridis")), "visible": not data, "hoverongaps": False,
                "colorbar": bar(look["label"]),
            }
        )  # fmt: skip
    layout: Plotted = {
        "xaxis": axis(look["x"], constrain="domain"),
        "yaxis": axis(look["y"], scaleanchor="x", constrain="domain")
        | ({"autorange": "reversed"} if look.get("down") else {}),
    }
    if len(data) > 1:
        rest = [True] * len(over)
        buttons = [
            {"label": d["name"], "method": "restyle", "args": ["visible", [i == k for i in range(len(data))] + rest]}
            for k, d in enumerate(data)
        ]
        layout["updatemenus"] = [{"buttons": buttons, "x": 0.0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}]
    aspect = float(np.clip(np.ptp(y) / max(np.ptp(x), 1e-9), 0.2, 1.1))
    return Figure(title, description, [*data, *over], layout, height=int(170 + 640 * aspect))


MOST = 220
"""Number of points along the longer side of a map."""
AT_ONCE = 1 << 21
"""Number of triangle-point pairs that are processed at once."""
EDGE = 1e-9
"""Relative tolerance by which points on an edge belong to a triangle."""


@dataclass(frozen=True)
class Grid:
    """Points of a map: ``x`` (nx,), ``y`` (ny,), in the unit of the corners."""

    x: np.ndarray
    y: np.ndarray


def grid_over(xy: np.ndarray, most: int = MOST) -> Grid:
    """Return square cells over points (n, 2): ``most`` along the longer side, at least 24 along the other."""
    lower, upper = xy.min(0), xy.max(0)
    size = np.maximum(upper - lower, 1e-9)
    counts = np.maximum(np.ceil(most * size / size.max()).astype(int), 24)
    x, y = (lower[i] + (np.arange(counts[i]) + 0.5) * size[i] / counts[i] for i in range(2))
    return Grid(x, y)


class Raster:
    """Assignment of grid points to triangles with corners ``xy`` (np, 2) and ``cells`` (nc, 3)."""

    def __init__(self, xy: np.ndarray, cells: np.ndarray, grid: Grid):
        self.grid, self.cells, self.corners = grid, np.asarray(cells), np.asarray(xy, float)[cells]
        corners = self.corners
        first = [np.searchsorted(g, corners[:, :, i].min(1)) for i, g in enumerate((grid.x, grid.y))]
        last = [np.searchsorted(g, corners[:, :, i].max(1), "right") for i, g in enumerate((grid.x, grid.y))]
        width, height = last[0] - first[0], last[1] - first[1]
        self.cell = np.full((len(grid.y), len(grid.x)), -1)
        pairs = np.cumsum(width * height)
        for part in np.split(
            np.arange(len(cells)), np.searchsorted(pairs, np.arange(AT_ONCE, pairs[-1:].sum(), AT_ONCE))
        ):
            owner = np.repeat(part, (width * height)[part])
            within = np.arange(len(owner)) - np.repeat(
                np.cumsum((width * height)[part]) - (width * height)[part], (width * height)[part]
            )
            i, j = first[0][owner] + within % width[owner], first[1][owner] + within // width[owner]
            s, t = _shares(corners[owner], np.stack([grid.x[i], grid.y[j]], 1))
            inside = (s >= -EDGE) & (t >= -EDGE) & (s <= 1.0 + EDGE - t)
            self.cell[j[inside], i[inside]] = owner[inside]

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return the values (nc,) of the triangles at the points (ny, nx), NaN outside all triangles."""
        found = np.full(self.cell.shape, np.nan)
        inside = self.cell >= 0
        found[inside] = np.asarray(values, float)[self.cell[inside]]
        return found

    def linear(self, values: np.ndarray) -> np.ndarray:
        """Return corner values (np,) interpolated linearly to the points (ny, nx), NaN outside all triangles."""
        found = np.full(self.cell.shape, np.nan)
        j, i = np.nonzero(self.cell >= 0)
        owner = self.cell[j, i]
        s, t = _shares(self.corners[owner], np.stack([self.grid.x[i], self.grid.y[j]], 1))
        first, second, third = np.asarray(values, float)[self.cells[owner]].T
        found[j, i] = first + s * (second - first) + t * (third - first)
        return found


def _shares(corners: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the barycentric coordinates of points (n, 2) for the second and third corner of their triangles (n, 3, 2).

    They are NaN in a triangle of zero area.
    """
    a, b, p = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], points - corners[:, 0]
    area = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    inverse = np.divide(1.0, area, out=np.full(len(area), np.nan), where=area != 0.0)
    return (p[:, 0] * b[:, 1] - p[:, 1] * b[:, 0]) * inverse, (a[:, 0] * p[:, 1] - a[:, 1] * p[:, 0]) * inverse
