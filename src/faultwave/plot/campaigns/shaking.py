"""Maps of the ground motion of each rupture of a campaign and of its variability, from its tables."""

from __future__ import annotations

import contextlib
import csv
import re
from pathlib import Path

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator
from scipy.spatial import QhullError

from faultwave.base.errors import InputError, Problem, describe_bad_values
from faultwave.plot import style
from faultwave.plot.campaigns.hazard import read_rates

TABLE = "shaking.csv"
MOST_RUPTURES, MOST_MEASURES = 6, 4
"""Largest numbers of pictures, and of measures in each."""
UNSAFE = re.compile(r"[^\w.-]")
"""Characters of names of ruptures that names of files do not contain."""
INTERPOLATED = 20
"""Smallest number of sites between which maps are filled."""


def draw_shaking(folder: str | Path) -> list[Path]:
    """Draw geometric mean and standard deviation at the sites, a picture for each of the first ruptures, and return the paths.

    Raises
    ------
    InputError
        If the folder holds no ground motion of a campaign.
    """
    path = Path(folder) / TABLE
    if not path.is_file():
        raise InputError(Problem(str(path), "does not exist", advice="Run the campaign first."))
    with describe_bad_values(str(path), "cannot be drawn"), style.house():
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        ruptures = list(dict.fromkeys(row["rupture"] for row in rows))[:MOST_RUPTURES]
        return [_draw(path.parent, name, [row for row in rows if row["rupture"] == name]) for name in ruptures]


def _draw(folder: Path, rupture: str, rows: list[dict[str, str]]) -> Path:
    place = np.array([[float(row["lon"]), float(row["lat"])] for row in rows])
    names = [name[len("gmv_") :] for name in rows[0] if name.startswith("gmv_")][:MOST_MEASURES]
    fig = style.figure(height=0.5 + 2.7 * len(names))
    axes = style.mosaic(fig, len(names), 2, sharex=True, sharey=True)
    for (left, right), name in zip(axes, names, strict=True):
        unit = read_rates(folder / f"hazard_rates-{name}.csv")[1]
        mean = np.array([float(row[f"gmv_{name}"]) for row in rows])
        deviation = np.array([float(row[f"sigma_{name}"] or "nan") for row in rows])
        positive = mean[mean > 0]
        limits = (positive.min(), positive.max()) if len(positive) else (1e-3, 1.0)
        log = LogNorm(*limits) if limits[1] > limits[0] else LogNorm(0.5 * limits[0], 2.0 * limits[0])
        _map(left, place, np.where(mean > 0, mean, np.nan), log, f"{name} [{unit}]" if unit else name, "magma_r")
        top = np.nanmax(deviation, initial=0.0)
        _map(right, place, deviation, Normalize(0.0, top or 1.0), f"standard deviation of ln {name}", "viridis_r")
        left.set_ylabel("latitude [°]")
    for panel in axes[-1]:
        panel.set_xlabel("longitude [°]")
    count = int(rows[0]["variations"])
    fig.suptitle(f"{rupture}: {count:,} variation{'s' if count != 1 else ''}", x=0.01, ha="left")
    return style.save(fig, folder / f"shaking-{UNSAFE.sub('_', rupture)}.png")


def _map(panel: style.Axes, place: np.ndarray, values: np.ndarray, norm: Normalize, title: str, colours: str) -> None:
    """Draw values at sites, with contours between them if there are many."""
    known, cmap = np.isfinite(values), style.light(colours)
    x, y = place.T
    if known.sum() >= INTERPOLATED:
        with contextlib.suppress(QhullError, RuntimeError):  # all sites on a line
            panel.tripcolor(x[known], y[known], values[known], cmap=cmap, norm=norm, shading="gouraud", rasterized=True)
    points = panel.scatter(
        x[known], y[known], 22, values[known], cmap=cmap, norm=norm, edgecolors=style.INK, linewidths=0.4
    )
    panel.scatter(x[~known], y[~known], 16, style.INK, marker="x", linewidths=0.7)
    panel.set_aspect(1.0 / np.cos(np.radians(y.mean())))
    panel.margins(0.12)
    panel.set_title(title)
    panel.xaxis.set_major_locator(MaxNLocator(4))
    bar = style.colour_bar(panel, points, "")
    if isinstance(norm, LogNorm):
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        bar.ax.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        bar.ax.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
