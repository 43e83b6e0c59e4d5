"""Transformation from the coordinates of a case to the coordinates of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.math.projection import NEEDED, Projection
from faultwave.media.models.model import Map
from faultwave.media.points import Floats

if TYPE_CHECKING:
    import pyproj


def needed(path: Path, projection: Projection | None) -> Projection:
    """Return the case's projection; raises InputError if it has none."""
    if projection is None:
        what = "lies in longitudes and latitudes, but the case has no projection"
        raise InputError(Problem(str(path), what, advice=NEEDED))
    return projection


def projected(path: Path, projection: Projection | None, crs: str | pyproj.CRS, origin: Floats, axes: Floats) -> Map:
    """Return the map from x, y of a case to the coordinates of a model.

    Parameters
    ----------
    path : Path
        File of the model, for messages.
    projection : Projection or None
        Projection of the case.
    crs : Any
        Coordinate system of the model.
    origin : ndarray (2,)
        Origin of the model in ``crs`` [m].
    axes : ndarray (2, 2)
        Unit vectors (east, north) of the model's x and y.

    Raises
    ------
    InputError
        If the case has no projection, or the coordinate system is unknown.
    """
    import pyproj

    case = needed(path, projection)
    try:
        own = pyproj.CRS.from_user_input(crs)
        transform = pyproj.Transformer.from_crs(case.crs, own, always_xy=True)
    except (pyproj.exceptions.ProjError, UnicodeError) as error:
        raise InputError(Problem(str(path), f"its coordinate system {crs!r} is not known: {error}")) from None

    def to_own(xy: Floats) -> Floats:
        flat = case.to_map(xy)
        east, north = transform.transform(flat[:, 0], flat[:, 1])
        e, n = east - origin[0], north - origin[1]
        # written out, because a matrix product may round differently with the number of points
        return np.stack([axes[0, 0] * e + axes[0, 1] * n, axes[1, 0] * e + axes[1, 1] * n], 1)

    return to_own


def project(crs: str | pyproj.CRS, longitude: float, latitude: float, path: Path) -> Floats:
    """Return the coordinates (2,) [m] of a longitude and latitude [deg] in ``crs``."""
    import pyproj

    try:
        transform = pyproj.Transformer.from_crs("EPSG:4326", pyproj.CRS.from_user_input(crs), always_xy=True)
    except (pyproj.exceptions.ProjError, UnicodeError) as error:
        raise InputError(Problem(str(path), f"its coordinate system {crs!r} is not known: {error}")) from None
    return np.array(transform.transform(longitude, latitude), float)


def sw4_axes(azimuth: float) -> Floats:
    """Return SW4's unit vectors of x and y as rows (east, north).

    x points ``azimuth`` [deg] clockwise from north, y to the right of it.
    """
    a = np.radians(azimuth)
    return np.array([[np.sin(a), np.cos(a)], [np.cos(a), -np.sin(a)]])
