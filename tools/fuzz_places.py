"""Readers of what places are made of, for ``tools/fuzz.py``: rasters of heights, traces and surfaces of faults, static offsets."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.projection import Projection
from faultwave.domain.build.planes import read_planes
from faultwave.domain.build.surfaces import read_triangles
from faultwave.domain.build.traces import read_traces
from faultwave.inversion.offset_files import read_gnss, read_insar
from faultwave.inversion.settings import GnssSettings, InsarSettings
from faultwave.media.rasters import load_ground
from tests.domain.build.test_planes import RING, rupture_json
from tests.media import test_rasters as rasters
from tools.fuzz_reader import Reader, Silent, finite, texts

HIGHEST = 1e5
"""Metres that no ground is high; corners of surfaces are below ``FARTHEST``."""
FARTHEST = 1e8
PROJECTION = Projection("EPSG:32611", (-117.0, 34.0), 0.0)
TRACES = {
    ".geojson": (
        '{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"name": "a"}, "geometry": '
        '{"type": "LineString", "coordinates": [[-117.0, 34.0], [-117.1, 34.1], [-117.2, 34.1]]}}]}',
        '{"type": "MultiLineString", "coordinates": [[[-117.0, 34.0], [-117.1, 34.1]]]}',
    ),
    ".csv": ("x_km,y_km\n0,0\n10,5\n\n3,4\n5,6\n", "-117.0 34.0\n-117.1 34.1\n> b\n-117 34.2\n-117.1 34.3\n"),
}
GNSS = (
    "station,longitude,latitude,east,north,up,sigma_east,sigma_north,sigma_up,correlation_en\n"
    "ONE,-117.1,34.2,0.12,-0.3,,0.002,0.003,,0.1\nTWO,-117.2,34.1,0.1,-0.2,0.01,0.002,0.003,0.005,\n"
)
INSAR = "x,y,offset,sigma,look_east,look_north,look_up\n100,200,0.1,0.01,0.6,0,0.8\n900,-20,-0.12,0.01,0.6,0,0.8\n"
TSURF = """GOCAD TSurf 1
HEADER {
name: a
}
GOCAD_ORIGINAL_COORDINATE_SYSTEM
ZPOSITIVE Elevation
END_ORIGINAL_COORDINATE_SYSTEM
TFACE
VRTX 1 0 0 0
PVRTX 2 1000 0 0 5
VRTX 3 0 0 -1000
ATOM 4 2
VRTX 5 1000 0 -1000
TRGL 1 2 3
TRGL 4 5 3
END
"""
STL = """solid a
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1000 0 0
vertex 0 0 -1000
endloop
endfacet
endsolid a
"""
VTK = """# vtk DataFile Version 3.0
a
ASCII
DATASET POLYDATA
POINTS 4 float
0 0 0 1000 0 0 0 0 -1000 1000 0 -1000
POLYGONS 2 8
3 0 1 2
3 1 3 2
"""


def _heights(kind: str) -> Callable[[Path], list[Path]]:
    def seeds(folder: Path) -> list[Path]:
        east, north = rasters.EASTING[:20], rasters.NORTHING[:15]
        values = rasters.height(*np.meshgrid(east, north))
        path = folder / "seed"
        match kind:
            case ".tif":
                rasters.write_tiff(path, values, east, north, 32611, missing=-9999)
            case ".asc":
                rasters.write_ascii(path, values, east, north)
            case "old.grd":
                rasters.write_old_grid(path, values, east, north)
            case _:
                rasters.write_netcdf(path, values, east, north)
        return [path]

    return seeds


def _ground(path: Path) -> None:
    setting: Any = SimpleNamespace(file=path, variable=None, crs="local")
    ground = load_ground(setting, None, "grid.topography")
    x, y = ground.raster.x, ground.raster.y
    finite("axes", x)
    finite("axes", y)
    middle = np.array([[0.5 * (x[0] + x[-1]), 0.5 * (y[0] + y[-1])], [0.7 * x[0] + 0.3 * x[-1], y[0]]])
    found = ground.elevation(middle, abs(x[1] - x[0]))
    finite("heights", found)
    if np.abs(found).max() > HIGHEST:
        raise Silent(f"ground at {found} m")


def _traces(path: Path) -> None:
    for trace in read_traces(path, PROJECTION):
        finite("trace", trace.xy)  # the region it lies in is asked for later


def _triangles(path: Path, projection: Projection | None = None) -> None:
    found = read_triangles(path, projection)
    finite("triangles", found)
    if not len(found) or np.abs(found).max() > FARTHEST:
        raise Silent(f"triangles {found}")


def _planes(path: Path) -> None:
    for plane in read_planes(path):
        finite("plane", np.array([*plane.middle, plane.length, plane.width, plane.strike, plane.dip, plane.top]))


def _stl(folder: Path) -> list[Path]:
    record = np.zeros(2, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")]))
    record["corners"] = [[[0, 0, 0], [1e3, 0, 0], [0, 0, -1e3]], [[1e3, 0, 0], [1e3, 0, -1e3], [0, 0, -1e3]]]
    (folder / "binary").write_bytes(b" " * 80 + np.uint32(2).tobytes() + record.tobytes())
    (folder / "text").write_text(STL)
    return [folder / "binary", folder / "text"]


def _offsets(path: Path, image: bool) -> None:
    problems = Problems()
    if image:
        found = read_insar(InsarSettings(file=path), PROJECTION, problems)
    else:
        found = read_gnss(GnssSettings(file=path), PROJECTION, problems)
    problems.raise_errors()
    if found is None:
        raise Silent("offsets are missing")
    finite("offsets", found.values)
    finite("covariance", np.linalg.cholesky(found.covariance))


PLACES: dict[str, Reader] = {
    "gnss": Reader(texts(GNSS), functools.partial(_offsets, image=False), ".csv"),
    "insar": Reader(texts(INSAR), functools.partial(_offsets, image=True), ".csv"),
    "geotiff": Reader(_heights(".tif"), _ground, ".tif"),
    "esri-ascii": Reader(_heights(".asc"), _ground, ".asc"),
    "netcdf-raster": Reader(_heights(".nc"), _ground, ".nc"),
    "gmt-grid": Reader(_heights("old.grd"), _ground, ".grd"),
    **{f"trace-{suffix[1:]}": Reader(texts(*contents), _traces, suffix) for suffix, contents in TRACES.items()},
    "tsurf": Reader(texts(TSURF), _triangles, ".ts"),
    "tsurf-map": Reader(
        texts(TSURF.replace("1000 0", "500000 3700000")), functools.partial(_triangles, projection=PROJECTION), ".ts"
    ),
    "stl": Reader(_stl, _triangles, ".stl"),
    "rupture-json": Reader(texts(rupture_json([RING])), _planes, ".json"),
    "vtk-polydata": Reader(texts(VTK), _triangles, ".vtk"),
}
