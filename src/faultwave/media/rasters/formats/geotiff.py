"""GeoTIFF 1.1 (OGC 19-008r4): the first band, upright rasters of an EPSG code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.media.rasters.raster import Raster, ascending

ENDINGS = (".tif", ".tiff", ".gtiff")
SCALE, TIE_POINT, TRANSFORMATION, KEYS, NO_DATA = 33550, 33922, 34264, 34735, 42113  # tags; the last is GDAL's
RASTER_TYPE, GEOGRAPHIC, PROJECTED, VERTICAL_UNIT = 1025, 2048, 3072, 4099
AREA, USER_DEFINED = 1, 32767
PACKED, SPARE = 2000, 1 << 20
"""How many times larger than in the file rasters can be, and bytes of a small one, which may be of one value throughout."""
FEET = {9001: 1.0, 9002: 0.3048, 9003: 1200.0 / 3937.0}
"""Metres in a unit of height, by its EPSG code."""


def read(path: Path, variable: str | None) -> Raster:
    """Raises InputError naming the file and what is wrong with it."""
    import tifffile

    try:
        with tifffile.TiffFile(path) as file:
            page: Any = file.pages[0]
            tags = {int(tag.code): tag.value for tag in page.tags}
            _check_size(path, page)
            values = _values(path, page)
        keys = _keys(tags)
        x, y = _axes(path, tags, values.shape, keys.get(RASTER_TYPE, AREA) == AREA)
    except InputError:
        raise
    except Exception as error:  # the parser raises many kinds where tags are damaged
        raise InputError(
            Problem(
                str(path),
                f"is no TIFF file that can be read: {error}",
                "a GeoTIFF of one band",
                "gdal_translate turns other rasters.",
            )
        ) from None
    unit = keys.get(VERTICAL_UNIT, 9001)
    if unit not in FEET:
        raise InputError(Problem(str(path), f"heights are in the unit EPSG:{unit}", "metres or feet"))
    return ascending(str(path), x, y, _without(values, tags.get(NO_DATA)) * FEET[unit], _crs(keys))


def _check_size(path: Path, page: Any) -> None:
    """Raise InputError for a raster that says it is larger than the file can hold, before memory is asked for."""
    count, held = int(np.prod([int(n) for n in page.shape], dtype=object)) * page.dtype.itemsize, path.stat().st_size
    if count > SPARE + PACKED * held:
        what = (
            f"says that it has shape {page.shape}, {count:,} bytes, more than the {held:,} bytes of the file can hold"
        )
        raise InputError(Problem(str(path), what, advice="Was it cut short on the way?"))


def _values(path: Path, page: Any) -> np.ndarray:
    try:
        values = np.asarray(page.asarray())
    except (ValueError, ImportError, RuntimeError) as error:
        advice = "Install imagecodecs, or rewrite it: gdal_translate -co COMPRESS=DEFLATE in.tif out.tif."
        raise InputError(Problem(str(path), f"cannot be decompressed: {error}", advice=advice)) from None
    if values.ndim == 3:
        values = values[0] if page.planarconfig == 2 else values[:, :, 0]
    if values.ndim != 2 or values.dtype.kind not in "fiu":
        raise InputError(Problem(str(path), f"holds {values.dtype} of shape {values.shape}", "one band of heights"))
    return values


def _keys(tags: dict[int, Any]) -> dict[int, int]:
    """GeoKeys that are a number."""
    listed = [int(v) for v in tags.get(KEYS, ())]
    entries = (listed[n : n + 4] for n in range(4, len(listed) - 3, 4))
    return {key: value for key, place, _, value in entries if place == 0}


def _axes(path: Path, tags: dict[int, Any], shape: tuple[int, ...], area: bool) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of columns and rows of points."""
    offset = 0.5 if area else 0.0
    j, i = (np.arange(n) + offset for n in shape)
    if TRANSFORMATION in tags:
        m = np.array(tags[TRANSFORMATION], float).reshape(4, 4)
        if max(abs(m[0, 1]), abs(m[1, 0])) > 1e-9 * abs(m[0, 0]):
            advice = "Turn it upright: gdalwarp in.tif out.tif."
            raise InputError(Problem(str(path), "its rows do not run along an axis of its projection", advice=advice))
        return m[0, 3] + m[0, 0] * i, m[1, 3] + m[1, 1] * j
    if SCALE not in tags or TIE_POINT not in tags:
        what = "says not where it lies: it has no GeoTIFF tags"
        raise InputError(Problem(str(path), what, advice="Write one: gdal_translate -of GTiff in out.tif."))
    (dx, dy), (i0, j0, _, x0, y0) = tags[SCALE][:2], tags[TIE_POINT][:5]
    return x0 + dx * (i - i0), y0 - dy * (j - j0)


def _crs(keys: dict[int, int]) -> str | None:
    code = keys.get(PROJECTED, keys.get(GEOGRAPHIC, USER_DEFINED))
    return None if code in (0, USER_DEFINED) else f"EPSG:{code}"


def _without(values: np.ndarray, missing: Any) -> np.ndarray:
    """Values, NaN where there are none."""
    found = values.astype(np.float64 if values.dtype.itemsize > 4 else np.float32)
    try:
        number = float(str(missing).strip().rstrip("\0"))
    except ValueError:
        return found
    return np.where(found == found.dtype.type(number), np.nan, found)


__all__ = ["ENDINGS", "read"]
