"""Pictures of soft soil."""

import numpy as np
from PIL import Image

from faultwave.observe.dataset import Dataset, Variable, receivers_from_arrays
from faultwave.output.formats.maps_netcdf import write_maps
from faultwave.plot.soil import plot_loops, plot_maps
from faultwave.verify.exact.soil_column import MasingPoint


def colours(path):
    with Image.open(path) as picture:
        return len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0))


def test_loops(tmp_path):
    values, names = np.zeros((500, 4, 6)), [f"{q}_{c}" for q in ("gamma", "s") for c in ("xy", "yz", "xz")]
    for n in range(1, 4):  # the first does not move
        strain, point = 1e-3 * n * np.sin(np.linspace(0, 9, 500)), MasingPoint(1e8, 1e-3)
        values[:, n, 2], values[:, n, 5] = strain, [point.to(x) for x in strain]
    data = receivers_from_arrays(np.arange(500) * 0.01, values, names, np.zeros((4, 3)))
    assert colours(plot_loops(data, tmp_path / "loops.png")) > 50


def test_maps_and_none_without_soil(tmp_path):
    axes = {n: Variable(np.arange(20) * 100.0, (n,), "m", n) for n in ("x", "y")}
    strain = np.where(np.arange(20) < 8, np.nan, np.arange(20) * 1e-4) * np.ones((20, 1))
    named = {"peak_strain": strain, "peak_strain_depth": 1e4 * strain}

    def drawn(factor):
        found = axes | {n: Variable(factor * v, ("y", "x"), "", n) for n, v in named.items()}
        return plot_maps(write_maps(tmp_path / "a.nc", Dataset("soil", found, {})), tmp_path / "a.png")

    assert colours(drawn(1.0)) > 15
    assert drawn(np.nan) is None and drawn(0.0) is None
