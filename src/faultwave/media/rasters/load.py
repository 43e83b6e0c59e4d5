"""Reading of raster files, detection of undeclared missing values, and elevations at places of a case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import InputError, Problem, as_places
from faultwave.base.projection import NEEDED, Projection
from faultwave.base.registry import entries
from faultwave.base.types import Setting
from faultwave.media.points import coordinates
from faultwave.media.rasters.raster import Raster

if TYPE_CHECKING:
    from faultwave.base.projection import ProjectionSettings


VALUES = 5
"""Number of heights examined, of the most frequent ones and of the ones that differ most from their neighbours."""
USUAL = 99.0
"""Percentile of the steps between neighbours that every step of the wall must exceed."""


def walled_plateaus(heights: np.ndarray) -> list[tuple[float, int, tuple[int, int]]]:
    """Return plateaus in ``heights`` (ny, nx), the largest first: height, number of points, and row and column of one point.

    A plateau is 2 x 2 points or more of exactly one height. All points around it are higher, or all are lower, by more
    than neighbours differ elsewhere. Shores of lakes and seas, in contrast, rise gradually somewhere. Plateaus at the
    edge are ignored, because what is beyond is not known.
    """
    from scipy import ndimage  # takes long to import, and few runs need it

    found: list[tuple[float, int, tuple[int, int]]] = []
    heights = np.asarray(heights, float)  # differences of integers may overflow their type
    for height in _even_heights(heights):
        usual = _usual_step(heights, height)
        labels, count = ndimage.label(heights == height, np.ones((3, 3)))
        boxes = ndimage.find_objects(labels, count)
        wide_enough = np.unique(labels[:-1, :-1][_squares(labels)])  # few, because most components are points and lines
        for number in wide_enough[wide_enough > 0]:
            rows, columns = boxes[number - 1]
            if min(rows.start, columns.start) == 0 or rows.stop == len(heights) or columns.stop == heights.shape[1]:
                continue
            wide = np.s_[rows.start - 1 : rows.stop + 1, columns.start - 1 : columns.stop + 1]
            inside = labels[wide] == number
            steps = (heights[wide] - height)[ndimage.binary_dilation(inside, np.ones((3, 3))) & ~inside]
            steps = steps[np.isfinite(steps)]
            if len(steps) and max(steps.min(), -steps.max()) > usual:
                row, column = np.argwhere(inside)[inside.sum() // 2]
                found.append(
                    (float(height), int(inside.sum()), (int(row) + rows.start - 1, int(column) + columns.start - 1))
                )
    return sorted(found, key=lambda plateau: -plateau[1])


def _even_heights(heights: np.ndarray) -> np.ndarray:
    """Return the heights of squares of four equal points: the most frequent ones and those with the largest steps to others.

    In rasters of whole metres every height has such squares, and a hole has few.
    """
    values, counts = np.unique(heights[:-1, :-1][_squares(heights)], return_counts=True)
    if not len(values):
        return values
    steps, found = np.zeros(len(values)), np.zeros(len(values))
    for one, other in ((heights[1:], heights[:-1]), (heights[:, 1:], heights[:, :-1])):
        differ = np.isfinite(one - other) & (one != other)
        size = np.abs(one - other)[differ]
        for side in (one[differ], other[differ]):
            at = np.searchsorted(values, side).clip(max=len(values) - 1)
            even = values[at] == side
            steps += np.bincount(at[even], size[even], len(values))
            found += np.bincount(at[even], minlength=len(values))
    largest = np.argsort(-steps / np.maximum(found, 1.0), kind="stable")
    return np.unique(values[np.concatenate([np.argsort(-counts, kind="stable")[:VALUES], largest[:VALUES]])])


def _squares(values: np.ndarray) -> np.ndarray:
    """Return a mask (ny - 1, nx - 1) of the points where a square of four equal ``values`` (ny, nx) begins."""
    first = values[:-1, :-1]
    return np.asarray((first == values[1:, :-1]) & (first == values[:-1, 1:]) & (first == values[1:, 1:]))


def _usual_step(heights: np.ndarray, height: float) -> float:
    """Return the step between neighbours that few exceed, among steps other than zero that do not involve ``height``."""
    other = np.where(heights == height, np.nan, heights)
    steps = np.abs(np.concatenate([np.diff(other, axis=axis).ravel() for axis in (0, 1)]))
    steps = steps[np.isfinite(steps) & (steps > 0)]
    return float(np.percentile(steps, USUAL)) if len(steps) else 0.0


PACKAGE = "faultwave.media.rasters.formats"
LOCAL = "local"
"""Name of the projection of a raster in the case's own x and y."""
SHOWN = 3
HIGHEST = 2e4
"""Largest plausible height or depth of a ground [m]."""
MISSING = "Does it mark missing values without being declared as such? gdal_edit -a_nodata declares it."
"""Question added to messages on strange heights."""
FILLERS = (-9999.0, -99999.0, -32768.0, -32767.0, 32767.0, 9999.0, 99999.0)
"""Numbers that often stand for missing values."""
FILLER_DISTANCE = 500.0
"""Distance [m] to all other heights of a raster from which such a number counts as a missing value."""
Own = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class RasterGround:
    """Elevations of a raster as a function of the case's x and y, which ``to_own`` transforms into the raster's."""

    raster: Raster
    to_own: Own

    def elevation(self, xy: np.ndarray, width: float) -> np.ndarray:
        """Return elevations averaged over a width.

        Parameters
        ----------
        xy : ndarray (n, 2)
            Places [m].
        width : float
            Width of the average [m].

        Returns
        -------
        ndarray (n,)
            Elevations [m].

        Raises
        ------
        InputError
            For places outside the raster or without a value.
        """
        own = self.to_own(xy)
        self._check(~self.raster.reaches(own), xy, own)
        east, north = (
            (self.to_own(xy[:1] + [[width, 0.0]]) - own[:1])[0],
            (self.to_own(xy[:1] + [[0.0, width]]) - own[:1])[0],
        )
        across = np.hypot(east, north)
        self._check_fillers(own)
        found = self.raster.at(own, (float(across[0]), float(across[1])))
        holes = ~np.isfinite(found)
        if holes.any():
            where = _listed(xy[holes])
            what = f"has no value (NoData) at or next to {holes.sum():,} of {len(xy):,} places, e.g. {where}"
            advice = "Fill it (gdal_fillnodata, gmt grdfill), or shrink the box."
            raise InputError(Problem(self.raster.source, what, advice=advice, places=as_places(xy[holes])))
        strange = np.abs(found) > HIGHEST
        if strange.any():
            n = int(np.argmax(np.abs(found)))
            what = f"has a height of {found[n]:.6g} m at {coordinates(xy[n])} m"
            allowed = f"up to {HIGHEST:g} m up or down"
            raise InputError(Problem(self.raster.source, what, allowed, MISSING, places=as_places(xy[strange])))
        return found

    def _check_fillers(self, own: np.ndarray) -> None:
        """Raise InputError if a number that often stands for missing values is far from all other heights of the box."""
        values = self.raster.around(own)
        values = values[np.isfinite(values)]
        for filler in FILLERS:
            here = values == values.dtype.type(filler)
            if here.any() and (here.all() or np.abs(values[~here] - filler).min() > FILLER_DISTANCE):
                what = f"has {here.sum():,} heights of {filler:g} m in the box, far from all others"
                advice = (
                    f"It seems to mark missing values: gdal_edit -a_nodata {filler:g} declares it; then "
                    "fill them (gdal_fillnodata)."
                )
                raise InputError(Problem(self.raster.source, what, advice=advice))

    def doubt(self, xy: np.ndarray) -> str:
        """Return a question about plateaus with a wall all around, which may be missing values; empty if there are none.

        ``xy`` (n, 2) [m] are places that span the box.
        """
        own = self.to_own(xy)
        rows, columns = self.raster.window(own)
        found = walled_plateaus(self.raster.values[rows, columns])
        if not found:
            return ""
        height, _, (row, column) = found[0]
        place = np.array([self.raster.x[columns][column], self.raster.y[rows][row]])
        count = sum(points for level, points, _ in found if level == height)
        return (
            f"Are values missing? {count:,} points of the file are exactly {height:g} m with a wall all "
            f"around, e.g. at {coordinates(place)} in its coordinates. gdal_edit -a_nodata {height:g} declares "
            "it; then fill them (gdal_fillnodata)."
        )

    def known(self, xy: np.ndarray) -> np.ndarray:
        """Return elevations (n,) [m] at places (n, 2) [m], NaN where there is none or outside the raster.

        Used for pictures.
        """
        own = self.to_own(xy)
        found = np.full(len(xy), np.nan)
        on = self.raster.reaches(own)
        if on.any():
            found[on] = self.raster.at(own[on])
        return np.where(np.abs(found) > HIGHEST, np.nan, found)

    def _check(self, outside: np.ndarray, xy: np.ndarray, own: np.ndarray) -> None:
        if not outside.any():
            return
        n = int(np.flatnonzero(outside)[0])
        what = (
            f"spans {self.raster.extent} and does not cover the box: {100 * outside.mean():.3g} % of it lies outside, e.g. "
            f"{coordinates(xy[n])} m, which is {coordinates(own[n])} there"
        )
        advice = _advice(self.raster, own)
        raise InputError(Problem(self.raster.source, what, advice=advice, places=as_places(xy[outside])))


def _advice(raster: Raster, own: np.ndarray) -> str:
    """Return advice on coordinates that may be wrong."""
    middle = np.nanmean(own, axis=0, keepdims=True)
    if not raster.reaches(middle)[0]:
        if raster.reaches(middle[:, ::-1])[0]:
            return "Longitude and latitude seem to be exchanged: projection.origin is [longitude, latitude]."
        for factor, unit in ((1e-3, "kilometres"), (1e3, "millimetres"), (1 / 0.3048, "feet")):
            if raster.reaches(middle * factor)[0]:
                return f"The coordinates of the raster seem to be in {unit}; they must be those of its projection."
        return (
            "Check projection.crs, projection.origin and the crs of the raster, which does not cover the "
            "centre of the box."
        )
    return "Shrink the box, or use a larger raster."


def _listed(xy: np.ndarray) -> str:
    return ", ".join(coordinates(p) for p in xy[:SHOWN]) + " m"


def load_ground(setting: Setting, projection: ProjectionSettings | None, where: str) -> RasterGround:
    """Return the raster of a setting.

    Parameters
    ----------
    setting : Setting
        Setting with file, variable and crs.
    projection : ProjectionSettings or None
        Setting of the case's projection.
    where : str
        Path of the setting, for messages.

    Raises
    ------
    InputError
        If the file cannot be read, or its coordinate system is unknown.
    """
    path = Path(setting.file)
    known = {name: entry.load() for name, entry in entries(PACKAGE).items()}
    fitting = [m for m in known.values() if path.suffix.lower() in m.ENDINGS]
    if not fitting:
        endings = ", ".join(sorted({e for m in known.values() for e in m.ENDINGS}))
        what = f"'{path.name}' has no file name extension of a supported raster"
        advice = f"gdal_translate converts others: gdal_translate {path.name} {path.stem}.tif."
        raise InputError(Problem(f"{where}.file", what, endings, advice))
    raster: Raster = fitting[0].read(path, setting.variable)
    crs = setting.crs or raster.crs
    mapped = None if projection is None else Projection(projection.crs, projection.origin, projection.azimuth)
    if crs == LOCAL or (crs is None and mapped is None):
        return RasterGround(raster, lambda xy: xy)
    if crs is None:
        what = "does not state its projection"
        raise InputError(Problem(str(path), what, f"{where}.crs, or 'crs: {LOCAL}' if it uses x and y of the case"))
    if mapped is None:
        what = f"lies in {crs.splitlines()[0][:60]}, but the case has no projection"
        allowed = f"a case with a projection, or '{where}.crs: {LOCAL}' if it uses x and y of the case"
        raise InputError(Problem(str(path), what, allowed, NEEDED))
    return RasterGround(raster, _to_own(path, raster, crs, mapped))


def _to_own(path: Path, raster: Raster, crs: str, case: Projection) -> Own:
    import pyproj

    try:
        own = pyproj.CRS.from_user_input(crs)
        transform = pyproj.Transformer.from_crs(case.crs, own, always_xy=True)
    except pyproj.exceptions.ProjError as error:
        raise InputError(
            Problem(str(path), f"its coordinate system '{crs[:60]}' is not known: {error}", "e.g. EPSG:4326")
        ) from None
    turns = own.is_geographic and raster.x[-1] > 180.0

    def to_own(xy: np.ndarray) -> np.ndarray:
        flat = case.to_map(xy)
        x, y = transform.transform(flat[:, 0], flat[:, 1])
        return np.stack([np.mod(x, 360.0) if turns else x, y], 1)

    return to_own
