"""Picture of an inversion from its file: slip and its standard deviation on the fault, and the fit of seismograms and static offsets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, describe_bad_values
from faultwave.plot import style

NAME = "inversion.png"
SHOWN = 12
"""Largest number of channels in the picture."""
MAPS = (
    ("slip", "mean slip along the rake", "m"),
    ("deviation", "standard deviation", "m"),
    ("resolution", "resolution", ""),
)


def draw_inversion(path: Path) -> Path:
    """Draw the result of an inversion and return the path of the picture.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    import netCDF4

    try:
        with netCDF4.Dataset(path) as file:
            file.set_auto_mask(False)
            arrays = {name: np.asarray(file[name][:]) for name in file.variables}
    except (OSError, RuntimeError) as error:
        raise InputError(Problem(str(path), f"cannot be read: {error}", advice="Run the inversion first.")) from error
    channels, offsets = len(arrays["data"]), len(arrays["offset_data"])
    shown = np.unique(np.linspace(0, channels - 1, min(SHOWN, channels)).astype(int))
    segments = np.unique(arrays["segment"])
    maps, rows, fits = len(segments), len(segments) + bool(offsets), -(-len(shown) // 3)
    with describe_bad_values(str(path), "cannot be drawn"), style.house():
        fig = style.figure(height=0.4 + 2.2 * rows + 1.3 * fits)
        grid = fig.add_gridspec(rows + fits, 3, height_ratios=[2.2] * rows + [1.3] * fits)
        for row, segment in enumerate(segments):
            mine = arrays["segment"] == segment
            for column, (name, title, unit) in enumerate(MAPS):
                panel = fig.add_subplot(grid[row, column])
                values = arrays[name][0]
                _map(panel, arrays, mine, values, unit)
                panel.set_title(title if row == 0 else "")
                first = "down dip [km]" if maps == 1 else f"segment {segment:.0f} [km]"
                panel.set_ylabel(first if column == 0 else "")
        if offsets:
            draw_offsets(fig, grid, maps, arrays)
        if channels:
            draw_fits(fig, grid, rows, shown, arrays)
        return style.save(fig, path.with_name(NAME))


def _map(panel: style.Axes, arrays: dict[str, np.ndarray], mine: np.ndarray, values: np.ndarray, unit: str) -> None:
    along, down = 1e-3 * arrays["along"][mine], 1e-3 * arrays["down"][mine]
    low, high = min(0.0, float(values.min())), float(values.max()) if unit else 1.0
    cmap = style.colours("RdBu_r") if low < 0 else style.light()
    if low < 0:
        low, high = -max(-low, high), max(-low, high)
    width, height = cell_size(along, down)
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * [0.5 * width, 0.5 * height]
    from matplotlib.collections import PolyCollection

    cells = PolyCollection(list(np.stack([along, down], 1)[:, None] + corners), array=values[mine], cmap=cmap)
    cells.set_clim(low, high)
    panel.add_collection(cells)
    panel.set_xlim(along.min() - 0.5 * width, along.max() + 0.5 * width)
    panel.set_ylim(down.max() + 0.5 * height, down.min() - 0.5 * height)
    panel.set_aspect("equal")
    panel.set_xlabel("along strike [km]")
    style.colour_bar(panel, cells, unit)


def cell_size(along: np.ndarray, down: np.ndarray) -> tuple[float, float]:
    """Return the distances of neighbours along strike and down dip, also of one row or of places that are rounded."""
    from scipy.spatial import cKDTree

    if len(along) == 1:
        return 1.0, 1.0
    places = np.stack([along, down], 1)
    nearest = float(np.median(cKDTree(places).query(places, 2)[0][:, 1]))
    steps = [np.diff(np.sort(values)) for values in (along, down)]
    sizes = [float(np.median(s[s > 0.5 * nearest])) if (s > 0.5 * nearest).any() else nearest for s in steps]
    return sizes[0], sizes[1]


def draw_offsets(fig: style.Figure, grid: object, row: int, arrays: dict[str, np.ndarray]) -> None:
    """Draw static offsets and their prediction in a row of a grid: horizontal vectors, residuals, and all of them by size."""
    panels = [fig.add_subplot(grid[row, column]) for column in range(3)]  # type: ignore[index]
    data, predicted, sigma = (arrays[f"offset_{name}"] for name in ("data", "predicted", "deviations"))
    places, flat = 1e-3 * arrays["offset_place"], arrays["offset_direction"]
    vectors = [_vectors(places, flat, values) for values in (data, predicted)]
    size = max(float(np.linalg.norm(v, axis=1).max()) for _, v in vectors)
    for (at, vector), colour, label in zip(vectors, style.COLOURS, ("data", "prediction"), strict=False):
        panels[0].quiver(*at.T, *vector.T, color=colour, scale=5 * max(size, 1e-300), width=0.01, label=label)
    panels[0].plot(*places.T, ".", ms=2, color=style.INK)
    panels[0].set_title(f"offsets, up to {size:.2g} m")
    panels[0].legend(fontsize="x-small")
    residuals = data - predicted
    norm, extend = style.signed_scale(1e3 * residuals)
    x, y = places.T
    dots = panels[1].scatter(
        x, y, c=1e3 * residuals, cmap=style.colours("RdBu_r"), norm=norm, s=18, edgecolors=style.INK, lw=0.4
    )
    style.colour_bar(panels[1], dots, "mm", extend)
    panels[1].set_title("residuals of offsets")
    for panel in panels[:2]:
        panel.margins(0.25)
        panel.set_xlabel("x [km]")
    panels[0].set_ylabel("y [km]")
    panels[2].errorbar(data, predicted, xerr=2 * sigma, fmt="o", ms=3, color=style.COLOURS[1], lw=0.8)
    panels[2].axline((0.0, 0.0), slope=1.0, color=style.INK, lw=0.6)
    panels[2].set_title("offsets, 2 sd of noise")
    panels[2].set_xlabel("data [m]")
    panels[2].set_ylabel("prediction [m]")


def _vectors(places: np.ndarray, direction: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return places and horizontal vectors: sums of the horizontal components of a place, and the parts of lines of sight."""
    level = np.abs(direction[:, 2]) < 1e-9
    parts = values[:, None] * direction[:, :2]
    found, number = np.unique(places[level], axis=0, return_inverse=True)
    sums = np.zeros((len(found), 2))
    np.add.at(sums, number.ravel(), parts[level])
    return np.concatenate([found, places[~level]]), np.concatenate([sums, parts[~level]])


def draw_fits(fig: style.Figure, grid: object, first: int, shown: np.ndarray, arrays: dict[str, np.ndarray]) -> None:
    """Draw some channels of the data with their prediction, three in a row from row ``first`` of a grid."""
    for number, channel in enumerate(shown):
        panel = fig.add_subplot(grid[first + number // 3, number % 3])  # type: ignore[index]
        predicted, deviation = arrays["predicted"][channel], arrays["deviations"][channel]
        panel.fill_between(
            arrays["time"],
            predicted - 2 * deviation,
            predicted + 2 * deviation,
            color=style.COLOURS[1],
            alpha=0.2,
            lw=0,
        )
        panel.plot(arrays["time"], arrays["data"][channel], color=style.COLOURS[0], label="data")
        panel.plot(arrays["time"], predicted, "--", color=style.COLOURS[1], label="prediction, 2 sd of noise")
        panel.set_title(str(arrays["channel_name"][channel]))
        panel.set_ylabel("m/s" if number % 3 == 0 else "")
        panel.set_xlabel("time [s]" if number >= len(shown) - 3 else "")
    fig.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=2)
