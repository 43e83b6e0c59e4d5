"""GeoTIFF 1.1 (OGC 19-008r4): first band of north-up rasters with an EPSG code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.xml_text import refuse_declarations
from faultwave.base.units import finite_number
from faultwave.media.rasters.raster import Raster, ascending

if TYPE_CHECKING:
    import tifffile

ENDINGS = (".tif", ".tiff", ".gtiff")
SCALE, TIE_POINT, TRANSFORMATION, KEYS, METADATA, NO_DATA = 33550, 33922, 34264, 34735, 42112, 42113
"""TIFF tags; the last two are GDAL's."""
RASTER_TYPE, GEOGRAPHIC, PROJECTED, LINEAR_UNIT, VERTICAL_UNIT = 1025, 2048, 3072, 3076, 4099
AREA, USER_DEFINED = 1, 32767
PACKED, SPARE = 2000, 1 << 20
"""Largest compression ratio of a raster, and size [bytes] up to which it is not checked, as all values may be equal."""
LENGTHS = {9001: 1.0, 9002: 0.3048, 9003: 1200.0 / 3937.0, 9036: 1000.0}
"""Metres per unit of length, by its EPSG code."""
NAMES = {"": 1.0, "m": 1.0, "metre": 1.0, "meter": 1.0, "metres": 1.0, "meters": 1.0, "ft": 0.3048, "foot": 0.3048,
         "feet": 0.3048, "us survey foot": 1200.0 / 3937.0, "km": 1000.0}  # fmt: skip
"""Metres per unit of length, by the names that GDAL writes."""


def read(path: Path, variable: str | None) -> Raster:
    """Read the first band of a GeoTIFF; raises InputError with the file and its problem."""
    import tifffile

    try:
        with tifffile.TiffFile(path) as file:
            page = file.pages.first
            tags = {int(tag.code): tag.value for tag in page.tags}
            _check_size(path, page)
            values = _values(path, page)
        keys = _keys(tags)
        x, y = _axes(path, tags, values.shape, keys.get(RASTER_TYPE, AREA) == AREA)
    except InputError:
        raise
    except Exception as error:  # the parser raises many kinds of errors for damaged tags
        raise InputError(
            Problem(
                str(path),
                f"is not a readable TIFF file: {error}",
                "a GeoTIFF of one band",
                "gdal_translate converts other rasters.",
            )
        ) from None
    heights = _without(values, tags.get(NO_DATA))
    scale, offset, unit = _of_band(path, tags.get(METADATA))
    factor = _length(path, "heights are", keys.get(VERTICAL_UNIT, 9001)) if unit is None else unit
    heights = (heights * scale + offset) * factor
    crs = _crs(keys)
    if crs is None and LINEAR_UNIT in keys:  # a user-defined system, which the case names; the file gives its unit
        across = _length(path, "x and y are", keys[LINEAR_UNIT])
        x, y = x * across, y * across
    return ascending(str(path), x, y, heights, crs)


def _length(path: Path, what: str, code: int) -> float:
    if code not in LENGTHS:
        raise InputError(Problem(str(path), f"{what} in the unit EPSG:{code}", "metres, kilometres or feet"))
    return LENGTHS[code]


def _of_band(path: Path, text: object) -> tuple[float, float, float | None]:
    """Return scale, offset and unit in metres of the first band from GDAL's metadata; the unit is None if not named."""
    from xml.etree import ElementTree

    found: dict[str, str] = {}
    if isinstance(text, str) and text.strip():
        try:
            written = text.strip().rstrip("\0")
            refuse_declarations(written.encode())
            items = ElementTree.fromstring(written)
        except (ElementTree.ParseError, ValueError) as error:
            raise InputError(Problem(str(path), f"its GDAL metadata are not XML: {error}")) from None
        for item in items.iter("Item"):
            if item.get("sample", "0") == "0" and item.get("role") in ("scale", "offset", "unittype"):
                found[str(item.get("role"))] = (item.text or "").strip()
    name = found.get("unittype", "").lower()
    if name not in NAMES:
        raise InputError(Problem(str(path), f"heights are in the unit '{name}'", ", ".join(n for n in NAMES if n)))
    scale, offset = (finite_number(found.get(name, default)) for name, default in (("scale", "1"), ("offset", "0")))
    if not scale or offset is None:
        raise InputError(Problem(str(path), "scale or offset of its first band is not a number, or the scale is zero"))
    return scale, offset, NAMES[name] if name else None


def _check_size(path: Path, page: tifffile.TiffPage) -> None:
    """Raise InputError for a raster larger than the file can hold, before memory is allocated."""
    size = 1 if page.dtype is None else page.dtype.itemsize
    count, held = int(np.prod([int(n) for n in page.shape], dtype=object)) * size, path.stat().st_size
    if count > SPARE + PACKED * held:
        what = (
            f"says that it has shape {page.shape}, {count:,} bytes, more than the {held:,} bytes of the file can hold"
        )
        raise InputError(Problem(str(path), what, advice="Was the file truncated during a transfer?"))


def _values(path: Path, page: tifffile.TiffPage) -> np.ndarray:
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
    """Return the GeoKeys with a numerical value."""
    listed = [int(v) for v in tags.get(KEYS, ())]
    entries = (listed[n : n + 4] for n in range(4, len(listed) - 3, 4))
    return {key: value for key, place, _, value in entries if place == 0}


def _axes(path: Path, tags: dict[int, Any], shape: tuple[int, ...], area: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of the columns and rows of points."""
    offset = 0.5 if area else 0.0
    j, i = (np.arange(n) + offset for n in shape)
    if TRANSFORMATION in tags:
        m = np.array(tags[TRANSFORMATION], float).reshape(4, 4)
        if max(abs(m[0, 1]), abs(m[1, 0])) > 1e-9 * abs(m[0, 0]):
            advice = "Rotate it: gdalwarp in.tif out.tif."
            raise InputError(Problem(str(path), "its rows do not run along an axis of its projection", advice=advice))
        return m[0, 3] + m[0, 0] * i, m[1, 3] + m[1, 1] * j
    if SCALE not in tags or TIE_POINT not in tags:
        what = "is not georeferenced: it has no GeoTIFF tags"
        raise InputError(Problem(str(path), what, advice="Write one: gdal_translate -of GTiff in out.tif."))
    (dx, dy), (i0, j0, _, x0, y0) = tags[SCALE][:2], tags[TIE_POINT][:5]
    return x0 + dx * (i - i0), y0 - dy * (j - j0)


def _crs(keys: dict[int, int]) -> str | None:
    code = keys.get(PROJECTED, keys.get(GEOGRAPHIC, USER_DEFINED))
    return None if code in (0, USER_DEFINED) else f"EPSG:{code}"


def _without(values: np.ndarray, missing: float | None) -> np.ndarray:
    """Return the values with NaN where they are missing."""
    found = values.astype(np.float64 if values.dtype.itemsize > 4 else np.float32)
    try:
        number = float(str(missing).strip().rstrip("\0"))
    except ValueError:
        return found
    return np.where(found == found.dtype.type(number), np.nan, found)
