"""Figures used by several sections: lines, and maps of one run or of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.types import Record
from faultwave.plot.style import COLOURS, colours
from faultwave.report.blocks import Figure, numbers
from faultwave.report.plotly import Plotted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DASHES = ("solid", "dash")
"""Line styles of the run, and of the run it is compared with."""


def axis(title: str, **more: object) -> Plotted:
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
    return {"title": {"text": label, "side": "right"}, "exponentformat": "power", "thickness": 18}


def line(name: str, x: ArrayLike, y: ArrayLike, colour: int = 0, run: int = 0, **more: object) -> Plotted:
    """Return a curve; ``colour`` is the index of the quantity, ``run`` the index of the run."""
    style = {"color": COLOURS[colour % len(COLOURS)], "dash": DASHES[run], "width": 1.8}
    return {"type": "scatter", "mode": "lines", "name": name, "x": numbers(x), "y": numbers(y), "line": style} | more


def lines(title: str, description: str, data: Sequence[Record], x: str, y: str, **layout: object) -> Figure:
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


__all__ = ["DASHES", "axis", "bar", "colour_range", "length_unit", "line", "lines", "map_figure", "scale"]
