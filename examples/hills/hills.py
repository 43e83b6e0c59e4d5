"""An earthquake of magnitude 5 below mountains: from an elevation model to maps of shaking.

    python examples/hills/hills.py [FOLDER] [--frequency HZ] [--inputs-only]

writes the inputs into FOLDER (default: hills): mountains with a valley as GeoTIFF, in longitudes and latitudes as elevation models
come, and the case; runs it on the engine fd with a grid that follows the ground, up to 1.5 Hz unless told otherwise, and draws the maps
over a hillshade. With the inputs alone, the rest is

    faultwave run hills/case.yaml --output hills/results
    faultwave plot hills/results
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

ORIGIN = (-116.5, 33.9)
METRES_PER_DEGREE = 111_195.0

CASE = """\
title: Magnitude 5 below mountains
engine: fd
end_time: 9 s
projection: { crs: "EPSG:32611", origin: [-116.5, 33.9] }
grid:
  lower: [-8 km, -7 km, -7 km]
  upper: [8 km, 7 km, 3 km]
  frequency: %(frequency)g Hz
  points_per_wavelength: 6
  topography: { file: mountains.tif, sources: depth, receivers: depth, material: depth }
material:
  expression:
    # weathered rock near the ground
    rho: "min(2300 + 0.4 * -z, 2700)"
    vp: "min(3200 + 2 * -z, 5800)"
    vs: "min(1800 + 1.1 * -z, 3300)"
    Qs: "if (z > -500) { return 60; } return 150;"
    Qp: "if (z > -500) { return 100; } return 300;"
attenuation: {}
sources:
  - kind: moment-tensor
    location: [-1 km, -1.5 km, -4 km]
    tensor: { xy: 3.2e16, yz: 1e16 }
    time_function: { kind: brune, duration: 0.15 s }
output:
  folder: results
  prefix: hills
  receivers: { points: [[2 km, 2.2 km, 0], [0, -2 km, 0], [-4 km, 3 km, 0]], interval: 0.02 s }
  intensity: { periods: [0.5 s, 1 s, 2 s], formats: [geotiff, shakemap] }
"""


def mountains(east: np.ndarray, north: np.ndarray) -> np.ndarray:
    """Elevation [m]: ranges that run north-west, a peak and a valley between them."""
    along, across = (north - east) / 2**0.5, (north + east) / 2**0.5
    ranges = 350 * (1 + np.sin(along / 900 + 0.6 * np.sin(across / 1800))) * np.exp(-((across / 9000) ** 2))
    gullies = 60 * np.sin(across / 420 + 2 * np.sin(along / 1500)) * np.exp(-(((along - 1000) / 4500) ** 2))
    peak = 950 * np.exp(-((east - 2000) ** 2 + (north - 2200) ** 2) / 1300**2)
    valley = -280 * np.exp(-(((across + 2500) / 900) ** 2))
    return 700 + ranges + gullies + peak + valley


def write_raster(path: Path) -> None:
    """Elevations as GeoTIFF, a point every two seconds of arc."""
    import tifffile

    step, half = 2 / 3600, 0.11
    lon, lat = (centre + np.arange(-half, half, step) for centre in ORIGIN)
    east = (lon - ORIGIN[0]) * METRES_PER_DEGREE * np.cos(np.radians(ORIGIN[1]))
    z = mountains(*np.meshgrid(east, (lat - ORIGIN[1]) * METRES_PER_DEGREE))
    # scale, tie point, GeoKeys: geographic, a pixel is an area, EPSG:4326
    corner = (0.0, 0.0, 0.0, lon[0] - step / 2, lat[-1] + step / 2, 0.0)
    keys = (1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326)
    tags = [(33550, 12, 3, (step, step, 0.0), True), (33922, 12, 6, corner, True), (34735, 3, len(keys), keys, True)]
    tifffile.imwrite(path, z[::-1].round().astype(np.int16), photometric="minisblack", extratags=tags, metadata=None)


def main(arguments: list[str] | None = None) -> Path:
    """Write all input files into the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="hills", type=Path)
    parser.add_argument("--frequency", type=float, default=1.5, help="highest frequency to resolve [Hz]")
    parser.add_argument("--inputs-only", action="store_true")
    asked = parser.parse_args(arguments)
    asked.folder.mkdir(parents=True, exist_ok=True)
    write_raster(asked.folder / "mountains.tif")
    (asked.folder / "case.yaml").write_text(CASE % {"frequency": asked.frequency})
    if not asked.inputs_only:
        import faultwave as fw
        from faultwave.plot import plot_run

        fw.simulate(asked.folder / "case.yaml", output=asked.folder / "results").run()
        for picture in plot_run(asked.folder / "results"):
            print(picture)
    return asked.folder


if __name__ == "__main__":
    main()
