"""Picture of an inversion from its file: slip and its standard deviation on the fault, and the fit of seismograms and static offsets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, describe_bad_values
from faultwave.plot import style
from faultwave.plot.inversions.fits import SHOWN, draw_fits, draw_offsets

NAME = "inversion.png"
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
