"""Conversion between longitude and latitude and the local coordinates of a case, rotated with respect to north."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class ProjectionSettings(Protocol):
    """Settings of a ``Projection``: the system, the local origin (longitude and latitude), and the direction of the y axis [deg]."""

    @property
    def crs(self) -> str: ...

    @property
    def origin(self) -> tuple[float, float] | None: ...

    @property
    def azimuth(self) -> float: ...


NEEDED = "Add projection: {crs: ..., origin: [longitude, latitude]}."
EXCHANGED = "Are longitude and latitude exchanged?"
PACE = 100.0  # distance [m] over which lengths on the map are compared
DISTORTED = 0.01
"""Relative error of lengths on the map above which a warning is issued."""
FAR_OUTSIDE, ABSURD = 0.1, 1.0
"""Relative errors of lengths at the origin that count as mistakes, outside of the projection's area and anywhere."""


def exchange_advice(longitude: float, latitude: float) -> str:
    """Return advice on numbers that are no longitude and latitude [degrees] but would be if exchanged; empty otherwise."""
    return EXCHANGED if abs(longitude) <= 90 and 90 < abs(latitude) <= 360 else ""


class Projection:
    """Map projection with the local origin and the direction of the local y axis.

    Parameters
    ----------
    crs : str
        Anything the PROJ library understands ('EPSG:32611', '+proj=utm +zone=11'), in metres with axes that point east and north.
    origin : tuple of float, optional
        Longitude and latitude [deg] of x = y = 0; by default the zero of the projection's own coordinates.
    azimuth : float
        Direction of the y axis [deg], clockwise from the projection's north.
    where : str
        Path of the setting, for messages.

    Raises
    ------
    InputError
        If PROJ rejects ``crs``, for other units and axes, and for an origin far outside of the projection's area.
    """

    def __init__(
        self, crs: str, origin: tuple[float, float] | None = None, azimuth: float = 0.0, where: str = "projection"
    ):
        import pyproj

        try:
            self.crs = pyproj.CRS.from_user_input(crs)
            self._transform = pyproj.Transformer.from_crs("EPSG:4326", self.crs, always_xy=True)
        except pyproj.exceptions.ProjError as error:
            raise InputError(
                Problem(f"{where}.crs", f"'{crs}' is not a projection: {error}", "e.g. EPSG:32611")
            ) from None
        if not self.crs.is_projected:
            raise InputError(Problem(f"{where}.crs", f"'{crs}' has no metres", "a projected system, e.g. EPSG:32611"))
        _check_axes(self.crs, crs, where)
        self.azimuth = float(np.radians(azimuth))
        self._shift = np.array(self._transform.transform(*origin) if origin else (0.0, 0.0))
        if not np.isfinite(self._shift).all():
            raise InputError(
                Problem(
                    f"{where}.origin",
                    f"{origin} lies outside of the projection",
                    "a longitude and latitude [deg] inside its area",
                    "Choose the UTM zone of the location: EPSG:326 or 327 (south) and the zone's two digits.",
                )
            )
        if origin:
            self._check_origin(crs, origin, f"{where}.origin")

    def to_local(self, longitude: ArrayLike, latitude: ArrayLike) -> np.ndarray:
        """Return local x, y (n, 2) [m] of longitudes and latitudes (n,) [deg]."""
        flat = np.stack(self._transform.transform(np.atleast_1d(longitude), np.atleast_1d(latitude)), 1)
        return (flat - self._shift) @ self._turn().T

    def to_geographic(self, xy: np.ndarray) -> np.ndarray:
        """Return longitude and latitude (n, 2) [deg] of local x, y (n, 2) [m]."""
        flat = self.to_map(xy)
        return np.stack(self._transform.transform(flat[:, 0], flat[:, 1], direction="INVERSE"), 1)

    def to_continuous(self, xy: np.ndarray) -> np.ndarray:
        """Return longitude and latitude (n, 2) [deg] of local x, y [m], continuous across the 180th meridian.

        Longitudes are within 180 degrees of the local origin's.
        """
        lonlat, middle = self.to_geographic(xy), self.to_geographic(np.zeros((1, 2)))[0, 0]
        if np.isfinite(middle):
            lonlat[:, 0] = middle + (lonlat[:, 0] - middle + 180.0) % 360.0 - 180.0
        return lonlat

    def to_map(self, xy: np.ndarray) -> np.ndarray:
        """Return coordinates of the projection (n, 2) [m] of local x, y [m]."""
        x, y = np.asarray(xy, float).reshape(-1, 2).T
        turn = self._turn()  # explicit sums, because matrix products may round differently with the number of points
        return np.stack([x * turn[0, 0] + y * turn[1, 0], x * turn[0, 1] + y * turn[1, 1]], 1) + self._shift

    def scale(self, xy: np.ndarray) -> np.ndarray:
        """Return the scale of the map, length on the map over length on Earth.

        Parameters
        ----------
        xy : ndarray, shape (n, 2)
            Local x, y [m].

        Returns
        -------
        ndarray, shape (n, 2)
            Scale eastwards and northwards; NaN beyond the map.
        """
        longitude, latitude = self.to_geographic(xy).T
        longitude, latitude = (np.where(np.isfinite(a), a, np.nan) for a in (longitude, latitude))
        geod: Any = self.crs.get_geod()
        here, found = self.to_local(longitude, latitude), []
        for azimuth in (90.0, 0.0):
            lon, lat, _ = geod.fwd(longitude, latitude, np.full(len(here), azimuth), np.full(len(here), PACE))
            found.append(np.linalg.norm(self.to_local(lon, lat) - here, axis=1) / PACE)
        return np.stack(found, 1)

    def _check_origin(self, crs: str, origin: tuple[float, float], where: str) -> None:
        area: Any = self.crs.area_of_use
        off = float(np.abs(self.scale(np.zeros((1, 2))) - 1.0).max())
        outside = area is not None and not (
            area.south <= origin[1] <= area.north and _between(origin[0], area.west, area.east)
        )
        if off <= (FAR_OUTSIDE if outside else ABSURD):
            return
        made_for = (
            f"longitude {area.west:g} to {area.east:g}, latitude {area.south:g} to {area.north:g}" if outside else ""
        )
        what = f"at {origin} the map of '{crs}' does not have the lengths of Earth"
        advice = "Choose a projection for that location; longitude comes first."
        if area is not None and outside:
            advice = _origin_advice(origin, area) or advice
        raise InputError(Problem(where, what, made_for, advice))

    def north(self, longitude: float, latitude: float) -> np.ndarray:
        """Return the unit vector (2,) of true north in local x, y at a place, along the meridian in the projection."""
        return self.norths(np.array([longitude]), np.array([latitude]))[0]

    def norths(self, longitude: np.ndarray, latitude: np.ndarray) -> np.ndarray:
        """Return unit vectors (n, 2) of true north in local x, y at longitudes and latitudes (n,) [deg]."""
        step = np.where(latitude < 89.0, 1e-4, -1e-4)
        along = self.to_local(longitude, latitude + step) - self.to_local(longitude, latitude)
        return np.asarray(along / np.linalg.norm(along, axis=1)[:, None] * np.sign(step)[:, None])

    def places(self, geographic: ArrayLike, where: str) -> np.ndarray:
        """Convert geographic points to local coordinates.

        Parameters
        ----------
        geographic : array_like, shape (n, 3)
            Longitude, latitude [deg] and z [m].
        where : str
            Path of the setting, for messages.

        Returns
        -------
        ndarray, shape (n, 3)
            Local x, y, z [m].

        Raises
        ------
        InputError
            Listing each point that is not on Earth or beyond the projection.
        """
        points = np.asarray(geographic, float).reshape(-1, 3)
        sound = (np.abs(points[:, 0]) <= 360.0) & (np.abs(points[:, 1]) <= 90.0)
        local = points.copy()
        local[sound, :2] = self.to_local(points[sound, 0], points[sound, 1])
        problems = Problems()
        for i in np.flatnonzero(~(sound & np.isfinite(local).all(1))):
            lon, lat = points[i, :2]
            what = f"longitude {lon:g}, latitude {lat:g} is not a valid location" + (
                " of the projection" if sound[i] else ""
            )
            swapped = abs(lat) <= 180.0 and abs(lon) <= 90.0 < abs(lat)
            advice = f"{EXCHANGED} In the other order they are a valid location." if swapped else ""
            problems.error(f"{where}[{i}]" if len(points) > 1 else where, what, "degrees, longitude first", advice)
        problems.raise_errors()
        return local

    def exchanged(self, place: np.ndarray) -> np.ndarray:
        """Return the place (3,) [m] obtained by exchanging longitude and latitude, NaN if there is none."""
        lon, lat = self.to_geographic(np.asarray(place, float)[None, :2])[0]
        found = np.array([np.nan, np.nan, place[2]])
        if abs(lon) <= 90.0:
            found[:2] = self.to_local(lat, lon)[0]
        return np.where(np.isfinite(found), found, np.nan)

    def mirrored(self, place: np.ndarray) -> dict[str, np.ndarray]:
        """Return the places (3,) [m] obtained by reversing the sign of longitude or latitude, NaN if there is none."""
        lon, lat = self.to_geographic(np.asarray(place, float)[None, :2])[0]
        found = {}
        for words, longitude, latitude in (("longitude", -lon, lat), ("latitude", lon, -lat)):
            local = np.array([np.nan, np.nan, place[2]])
            if np.isfinite([longitude, latitude]).all():
                local[:2] = self.to_local(longitude, latitude)[0]
            found[words] = np.where(np.isfinite(local), local, np.nan)
        return found

    def azimuth_of_y(self, longitude: float, latitude: float) -> float:
        """Return the direction of the local y axis at a place [deg], clockwise from true north."""
        x, y = self.north(longitude, latitude)
        return float(np.degrees(np.arctan2(-x, y)))

    def _turn(self) -> np.ndarray:
        c, s = np.cos(self.azimuth), np.sin(self.azimuth)
        return np.array([[c, -s], [s, c]])

    def epsg(self) -> int | None:
        """Return the EPSG code of the projection, None if it has none."""
        code = self.crs.to_epsg()
        return int(code) if code else None


def _check_axes(crs: Any, name: str, where: str) -> None:
    """Raise InputError unless the map has units of metres and axes to the east and north (or is polar)."""
    axes = (crs.source_crs if crs.is_bound else crs).axis_info[:2]
    for axis in axes:
        if abs(axis.unit_conversion_factor - 1.0) > 1e-12:
            what = f"'{name}' counts in {axis.unit_name}, not in metres"
            raise InputError(Problem(f"{where}.crs", what, "a system in metres, e.g. EPSG:32611"))
    if any(axis.direction == "west" for axis in axes):
        what = f"axes of '{name}' point {' and '.join(axis.direction for axis in axes)}"
        raise InputError(Problem(f"{where}.crs", what, "axes that point east and north"))


def _origin_advice(origin: tuple[float, float], area: Any) -> str:
    """Return advice on changing an origin (longitude, latitude) [deg] to lie in the area of a projection."""
    lon, lat = origin

    def within(longitude: float, latitude: float) -> bool:
        return bool(area.south <= latitude <= area.north and _between(longitude, area.west, area.east))

    if within(-lon, lat):
        return f"Is the longitude {'west' if lon > 0 else 'east'} of Greenwich, {-lon:g}? West is negative."
    if within(lon, -lat):
        return f"Is the latitude {'south' if lat > 0 else 'north'} of the equator, {-lat:g}? South is negative."
    if within(lat, lon):
        return f"Are longitude and latitude exchanged? [{lat:g}, {lon:g}] lies inside: longitude comes first."
    return ""


def _between(longitude: float, west: float, east: float) -> bool:
    """Return True if a longitude lies between two others, modulo 360 degrees."""
    return (longitude - west) % 360.0 <= (east - west) % 360.0 or east - west >= 360.0


def warn_map_distortion(projection: Projection, lower: np.ndarray, upper: np.ndarray, problems: Problems) -> None:
    """Warn if the map distorts lengths within the box of a case.

    Positions, speeds and distances of a case refer to the map.

    Parameters
    ----------
    projection : Projection
        Projection of the case.
    lower, upper : ndarray
        Corners of the box in local x, y [m].
    problems : Problems
        Collects the warning.
    """
    x, y = np.meshgrid(np.linspace(lower[0], upper[0], 3), np.linspace(lower[1], upper[1], 3))
    xy = np.stack([x.ravel(), y.ravel()], 1)
    scale = projection.scale(xy)
    off = np.where(np.isfinite(scale), np.abs(scale - 1.0), np.inf).max(1)
    worst = int(off.argmax())
    if off[worst] <= DISTORTED:
        return
    x0, y0 = xy[worst]
    if not np.isfinite(off[worst]):
        problems.warn("projection", f"the projection is not defined at x = {x0:g}, y = {y0:g} m of the box")
        return
    east, north = scale[worst]
    problems.warn(
        "projection",
        f"lengths on this map are {east:.4g} (east) and {north:.4g} (north) times those on Earth at x = {x0:g}, y = {y0:g} m",
        f"within {100 * DISTORTED:g} %",
        "Waves travel on the map: choose a projection for this location, e.g. its UTM zone.",
    )


def needed(projection: Projection | None, where: str) -> Projection:
    """Return the projection of the case. Raises InputError if it has none."""
    if projection is None:
        raise InputError(
            Problem(where, "contains longitudes and latitudes, but the case has no projection", advice=NEEDED)
        )
    return projection


def geographic_tensor(ned: np.ndarray, north: np.ndarray) -> np.ndarray:
    """Rotate tensors from north, east, down to local x, y, z.

    Parameters
    ----------
    ned : ndarray, shape (..., 3, 3)
        Tensors in north, east, down.
    north : ndarray, shape (..., 2)
        Unit vectors of true north in local x, y.

    Returns
    -------
    ndarray, shape (..., 3, 3)
        Tensors in local coordinates, z up.
    """
    frame = np.zeros((*np.shape(north)[:-1], 3, 3))
    frame[..., :2, 0], frame[..., 0, 1], frame[..., 1, 1], frame[..., 2, 2] = north, north[..., 1], -north[..., 0], -1.0
    return np.asarray(frame @ ned @ np.swapaxes(frame, -1, -2))


def voigt(tensor: np.ndarray) -> np.ndarray:
    """Return the components (..., 6) of tensors (..., 3, 3) in the order xx yy zz xy yz xz."""
    return np.asarray(tensor[..., [0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]])
