"""GeoTIFF 1.1 maps of the ground: one float32 band per map, north up or rotated, in the projection of the case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faultwave.base.projection import Projection
from faultwave.observe.dataset import Dataset, Result
from faultwave.observe.snapshots.lattice import MapFormat
from faultwave.output.atomic import atomic_path
from faultwave.output.formats import Writer
from faultwave.output.formats.maps_netcdf import without_degrees

SCALE, TIE_POINT, TRANSFORMATION, KEYS, METADATA = 33550, 33922, 34264, 34735, 42112  # tags; the last is GDAL's
MODEL_PROJECTED, PIXEL_IS_AREA = 1, 1
UPRIGHT = 1e-9
"""Sine of the angle below which rows are parallel to the axes of the projection."""


def write_geotiff(path: str | Path, maps: Dataset, epsg: int, to_map: np.ndarray) -> Path:
    """Write maps as the bands of a GeoTIFF, described in the image description. Rows run from large y to small.

    Parameters
    ----------
    path : str or Path
        Path of the file.
    maps : Dataset
        Maps with dimensions y and x.
    epsg : int
        EPSG code of the projection.
    to_map : ndarray of shape (2, 3)
        Affine map: (easting, northing) = to_map @ (x, y, 1) of local coordinates [m].
    """
    import tifffile

    path = Path(path)
    x, y = maps["x"], maps["y"]
    names = [n for n, v in maps.variables.items() if v.dims == ("y", "x")]
    bands = np.stack([maps[n][::-1] for n in names]).astype(np.float32)[0 if len(names) == 1 else slice(None)]
    h = float(x[1] - x[0])
    corner = np.array([x[0] - h / 2, y[-1] + h / 2, 1.0])
    matrix = np.zeros((4, 4))
    matrix[:2, 0], matrix[:2, 1], matrix[:2, 3] = to_map[:, 0] * h, -to_map[:, 1] * h, to_map @ corner
    matrix[3, 3] = 1.0
    keys = (1, 1, 1, 3, 1024, 0, 1, MODEL_PROJECTED, 1025, 0, 1, PIXEL_IS_AREA, 3072, 0, 1, epsg)
    place: list[tuple[int, int, int, tuple[float, ...], bool]] = [(TRANSFORMATION, 12, 16, tuple(matrix.ravel()), True)]
    if abs(matrix[0, 1]) < UPRIGHT * h > abs(matrix[1, 0]):  # this form is supported by every reader
        (width, _, _, left), (_, down, _, top) = matrix[:2]
        place = [(SCALE, 12, 3, (width, -down, 0.0), True), (TIE_POINT, 12, 6, (0.0, 0.0, 0.0, left, top, 0.0), True)]
    named = _metadata(maps, names)
    tags = [*place, (KEYS, 3, len(keys), keys, True), (METADATA, 2, 0, named, True)]
    described = "; ".join(f"{n} [{maps.variables[n].unit}]" for n in names)
    planes = "separate" if len(names) > 1 else None
    with atomic_path(path) as temporary:
        tifffile.imwrite(
            temporary, bands, photometric="minisblack", planarconfig=planes, extratags=tags, description=described, metadata=None
        )  # fmt: skip
    return path


def _write_intensity(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    """Write PREFIX-intensity.tif for ground motion maps whose ``formats`` include geotiff and that have a ``projection``."""
    written = []
    for result in results:
        projection = result.settings["projection"]
        if "geotiff" not in result.settings["formats"] or projection is None:
            continue
        origin, ex, ey = projection.to_map(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
        epsg = projection.epsg()
        assert epsg is not None  # checked when the run was planned
        to_map = np.stack([ex - origin, ey - origin, origin], 1)
        written.append(write_geotiff(folder / f"{prefix}-intensity.tif", without_degrees(result.data), epsg, to_map))
    return written


def _metadata(maps: Dataset, names: list[str]) -> str:
    """Return names, units and descriptions of the bands as GDAL metadata."""
    from xml.sax.saxutils import escape  # slow import, needed by few runs

    items = []
    for band, name in enumerate(names):
        variable = maps.variables[name]
        for key, role, text in (
            ("DESCRIPTION", "description", name), ("UNITTYPE", "unittype", variable.unit), ("long_name", "", variable.description)
        ):  # fmt: skip
            kind = f' role="{role}"' if role else ""
            items.append(f'<Item name="{key}" sample="{band}"{kind}>{escape(text)}</Item>')
    return f"<GDALMetadata>{''.join(items)}</GDALMetadata>"


def _refused(projection: Projection) -> tuple[str, str]:
    return (
        ("", "")
        if projection.epsg() is not None
        else ("geotiff needs a projection with an EPSG number", "crs: EPSG:...")
    )


RESULTS = [Writer(("intensity",), _write_intensity)]
GEOTIFF = MapFormat("geotiff", True, _refused)
