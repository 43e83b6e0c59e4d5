"""Maps of the ground as GeoTIFF 1.1: one band a map, float32, north up or turned, in the projection of the case."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.observe.dataset import Dataset
from faultwave.output.atomic import atomic_path

TRANSFORMATION, KEYS = 34264, 34735  # tags of the format
MODEL_PROJECTED, PIXEL_IS_AREA = 1, 1


def write_geotiff(path: str | Path, maps: Dataset, epsg: int, to_map: np.ndarray) -> Path:
    """Bands are the maps in their order, described in the image description.

    ``to_map`` (2, 3): (easting, northing) = to_map @ (x, y, 1) of local coordinates. Rows go from large y to small.
    """
    import tifffile

    path = Path(path)
    x, y = maps["x"], maps["y"]
    names = [n for n, v in maps.variables.items() if v.dims == ("y", "x")]
    bands = np.stack([maps[n][::-1] for n in names]).astype(np.float32)
    h = float(x[1] - x[0])
    corner = np.array([x[0] - h / 2, y[-1] + h / 2, 1.0])
    matrix = np.zeros((4, 4))
    matrix[:2, 0], matrix[:2, 1], matrix[:2, 3] = to_map[:, 0] * h, -to_map[:, 1] * h, to_map @ corner
    matrix[3, 3] = 1.0
    keys = (1, 1, 1, 3, 1024, 0, 1, MODEL_PROJECTED, 1025, 0, 1, PIXEL_IS_AREA, 3072, 0, 1, epsg)
    tags = [(TRANSFORMATION, 12, 16, tuple(matrix.ravel()), True), (KEYS, 3, len(keys), keys, True)]
    described = "; ".join(f"{n} [{maps.variables[n].unit}]" for n in names)
    with atomic_path(path) as temporary:
        tifffile.imwrite(
            temporary, bands, photometric="minisblack", planarconfig="separate", extratags=tags, description=described, metadata=None
        )  # fmt: skip
    return path
