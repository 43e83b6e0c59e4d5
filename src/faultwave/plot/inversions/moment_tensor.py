"""Picture of a moment tensor from its file: beach ball, misfit by depth and place, and the fit of seismograms and static offsets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, describe_bad_values
from faultwave.output.formats.waveforms import import_obspy
from faultwave.plot import style
from faultwave.plot.inversions.fits import SHOWN, draw_fits, draw_offsets

NAME = "moment_tensor.png"
BALLS = 12
"""Largest number of depths with a beach ball."""
ABOVE, LIKELY = 3.0, 30.0
"""Misfit above the smallest one that is drawn, in units of the smallest one or of a number that makes a place unlikely."""
KILOMETRES = 111.195
"""Length of a degree of latitude [km]."""


def draw_moment_tensor(path: Path) -> Path:
    """Draw the result of an inversion for a moment tensor and return the path of the picture.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    import netCDF4

    import_obspy()
    try:
        with netCDF4.Dataset(path) as file:
            file.set_auto_mask(False)
            arrays = {name: np.asarray(file[name][:]) for name in file.variables}
            numbers = {name: file.getncattr(name) for name in file.ncattrs()}
    except (OSError, RuntimeError) as error:
        raise InputError(Problem(str(path), f"cannot be read: {error}", advice="Run the inversion first.")) from error
    searched = np.isfinite(arrays["misfit"]).any(1)
    arrays |= {name: arrays[name][searched] for name in ("place", "misfit", "place_tensor")}
    channels, offsets = len(arrays["data"]), len(arrays["offset_data"])
    shown = np.unique(np.linspace(0, channels - 1, min(SHOWN, channels)).astype(int))
    rows, fits = 1 + bool(offsets), -(-len(shown) // 3)
    with describe_bad_values(str(path), "cannot be drawn"), style.house():
        fig = style.figure(height=0.4 + 2.4 * rows + 1.3 * fits)
        grid = fig.add_gridspec(rows + fits, 3, height_ratios=[2.4] * rows + [1.3] * fits)
        _ball(fig.add_subplot(grid[0, 0]), arrays, numbers)
        _by_depth(fig.add_subplot(grid[0, 1]), arrays)
        _by_place(fig.add_subplot(grid[0, 2]), arrays, numbers)
        if offsets:
            draw_offsets(fig, grid, 1, arrays)
        if channels:
            draw_fits(fig, grid, rows, shown, arrays)
        return style.save(fig, path.with_name(NAME))


def _add_ball(panel: style.Axes, tensor: np.ndarray, at: tuple[float, float], size: float) -> None:
    """Draw a beach ball with a diameter in units of 1/100 inch at a point of the axes."""
    from obspy.imaging.beachball import beach

    scaled = tensor / np.abs(tensor).max()
    ball = beach(list(scaled), xy=at, width=size, linewidth=0.6, facecolor=style.COLOURS[0], axes=panel)
    panel.add_collection(ball)


def _ball(panel: style.Axes, arrays: dict[str, np.ndarray], numbers: dict[str, float]) -> None:
    panel.set_aspect("equal")
    panel.set_xlim(-1.0, 1.0)
    panel.set_ylim(-1.0, 1.0)
    panel.set_axis_off()
    from obspy.imaging.beachball import beach

    scaled = arrays["tensor"] / np.abs(arrays["tensor"]).max()
    panel.add_collection(beach(list(scaled), xy=(0.0, 0.0), width=1.8, linewidth=0.8, facecolor=style.COLOURS[0]))
    names = (("DC", "double_couple"), ("CLVD", "clvd"), ("ISO", "isotropic"))
    parts = ", ".join(f"{name} {round(100 * numbers[key])} %" for name, key in names)
    panel.set_title(f"magnitude {numbers['magnitude']:.2f}\n{parts}")


def _by_depth(panel: style.Axes, arrays: dict[str, np.ndarray]) -> None:
    """Draw the smallest misfit of each depth, with beach balls."""
    depth, smallest = 0.0 - 1e-3 * arrays["place"][:, 2], arrays["misfit"].min(1)
    levels = np.unique(depth.round(6))
    best = [
        int(np.flatnonzero(depth.round(6) == level)[smallest[depth.round(6) == level].argmin()]) for level in levels
    ]
    panel.plot(levels, smallest[best], "-", color=style.COLOURS[5], lw=0.8)
    panel.margins(0.15)
    panel.set_ylim(0.0, 1.2 * float(smallest[best].max()))
    for number in np.unique(np.linspace(0, len(best) - 1, min(BALLS, len(best))).astype(int)):
        _add_ball(panel, arrays["place_tensor"][best[number]], (levels[number], smallest[best[number]]), 28.0)
    panel.set_title("smallest misfit\nby depth")
    panel.set_xlabel("depth [km]")
    panel.set_ylabel("misfit")


def _by_place(panel: style.Axes, arrays: dict[str, np.ndarray], numbers: dict[str, float]) -> None:
    """Draw the smallest misfit of each epicentre."""
    places, number = np.unique(arrays["place"][:, :2].round(7), axis=0, return_inverse=True)
    smallest = np.full(len(places), np.inf)
    np.minimum.at(smallest, number.ravel(), arrays["misfit"].min(1))
    low = float(smallest.min())
    high = low + ABOVE * max(low, LIKELY)
    centre = np.array([numbers["longitude"], numbers["latitude"]])
    apart = KILOMETRES * (places - centre) * [np.cos(np.radians(centre[1])), 1.0]
    x, y = apart.T
    dots = panel.scatter(x, y, c=smallest, cmap=style.light(), vmin=low, vmax=min(float(smallest.max()), high), s=20)
    panel.plot(0.0, 0.0, "*", ms=9, color=style.INK)
    panel.margins(0.15)
    style.colour_bar(panel, dots, "", "max" if smallest.max() > high else "neither")
    panel.set_title("smallest misfit\nby epicentre")
    panel.set_xlabel("east of the best [km]")
    panel.set_ylabel("north of the best [km]")
