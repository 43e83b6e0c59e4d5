"""Ground model as a field: its settings, its blocks, its coordinates, and points outside it, in the air or in water."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.base.projection import NEEDED, Projection
from faultwave.media.models.lattice import AIR, HOLE, POISON, ROCK, WATER, CellWeights, Lattice, position, within
from faultwave.media.points import Floats, Integers, PointError

if TYPE_CHECKING:
    import pyproj


class ModelSettings(Protocol):
    """Settings of one ground model, as declared for a case; each reader uses the settings of its kind."""

    @property
    def file(self) -> Path: ...

    @property
    def kind(self) -> str: ...

    @property
    def crs(self) -> str | None: ...

    @property
    def names(self) -> dict[str, str]: ...

    @property
    def outside(self) -> Literal["error", "nearest"]: ...

    @property
    def water(self) -> Literal["error", "fluid"]: ...

    @property
    def vertical(self) -> str: ...

    @property
    def shape(self) -> tuple[int, int, int] | None: ...

    @property
    def spacing(self) -> float | None: ...

    @property
    def vertical_spacing(self) -> float | None: ...

    @property
    def origin(self) -> tuple[float, float, float]: ...

    @property
    def variables(self) -> Sequence[str] | None: ...

    @property
    def byte_order(self) -> str: ...


Map = Callable[[Floats], Floats]
"""Function from local x, y (n, 2) of the case to the model's own coordinates."""
Surface = Callable[[Floats, Floats], Floats]
"""Function of the model's own x, y (n,) with the height [m] above sea level."""
Vertical = Callable[[Floats, Floats, Floats], Floats]
"""Function of the model's own x, y and of height z (n,) with the index along a block's vertical axis, from its top down."""

NAMES = ("rho", "vp", "vs", "Qp", "Qs")
COVERAGE = ("model", "model goes on", "water", "air", "hole", "no values", "outside")
"""Kinds of coverage of a point by a model.

In this order: values of the model; outermost values of a model with 'outside: nearest'; no S speed below the model's
top; air above its ground; no S speed below rock; no valid numbers; outside.
"""


@dataclass(frozen=True)
class Block:
    """Block of a model: a lattice with its points along x and y (model's own), and the vertical index of a height."""

    lattice: Lattice
    x: Floats
    y: Floats
    vertical: Vertical


@dataclass(frozen=True)
class Model:
    """Ground model of blocks from the top down.

    Attributes
    ----------
    source : str
        Origin of the model, for messages.
    blocks : tuple of Block
    to_own : callable
        Map from x, y of the case to the model's own.
    ground : callable or None
        Height of the model's ground.
    hang : bool
        True if z of the case is relative to the ground of the model.
    outside : {'error', 'nearest'}
        Treatment of points beyond the model.
    water : {'error', 'fluid'}
        Treatment of points without shear strength.
    """

    source: str
    blocks: tuple[Block, ...]
    to_own: Map
    ground: Surface | None
    hang: bool = False
    outside: Literal["error", "nearest"] = "error"
    water: Literal["error", "fluid"] = "error"

    @property
    def parameters(self) -> frozenset[str]:
        return frozenset(self.blocks[0].lattice.names)

    def places(self, points: Floats) -> tuple[list[Floats], Integers]:
        """Return the model's own coordinates of points (n, 3), and their block.

        Returns
        -------
        coordinates : list of ndarray (n,)
            x, y and height z.
        block : ndarray (n,)
            Number of the block; -1 outside, -2 above the top, -3 below the bottom.
        """
        own = self.to_own(points[:, :2])
        x, y, z = own[:, 0], own[:, 1], points[:, 2]
        if self.hang and self.ground is not None:
            z = z + self.ground(x, y)
        chosen = np.full(len(points), -1)
        lowest = len(self.blocks) - 1
        for number, block in enumerate(self.blocks):
            here = within(position(x, block.x), len(block.x)) & within(position(y, block.y), len(block.y))
            index, count = block.vertical(x, y, z), block.lattice.shape[2]
            inside = here & (chosen == -1)
            if number == 0:
                chosen[inside & (index < -1.0 - 1e-9)] = -2
            below = count + 1e-9 if number == lowest else count - 1 + 1e-9
            chosen[inside & (chosen == -1) & (index <= below)] = number
            if number == lowest:
                chosen[inside & (chosen == -1)] = -3
            if self.outside == "nearest" and number == lowest:
                chosen[(chosen == -1) | (chosen == -3)] = number
        return [x, y, z], chosen

    def covers(self, points: Floats) -> np.ndarray:
        """Return a mask of the points (n, 3) that lie in the model, or above it."""
        return np.asarray(~np.isin(self.places(points)[1], (-1, -3)))

    def coverage(self, points: Floats) -> Integers:
        """Return the index into ``COVERAGE`` (n,) of points (n, 3)."""
        (x, y, z), chosen = self.places(points)
        beyond = np.isin(replace(self, outside="error").places(points)[1], (-1, -3))
        found = np.full(len(points), COVERAGE.index("outside"))
        found[chosen == -2] = COVERAGE.index("air")
        for number, block in enumerate(self.blocks):
            rows = np.flatnonzero(chosen == number)
            if not len(rows):
                continue
            _, _, poisoned, holes, shares, fluid = _around(block, x[rows], y[rows], z[rows])
            kind = np.where(beyond[rows], COVERAGE.index("model goes on"), COVERAGE.index("model"))
            kind[fluid] = COVERAGE.index("water")
            kind[_sum(shares) <= 0] = COVERAGE.index("air")
            kind[holes] = COVERAGE.index("hole")
            kind[poisoned] = COVERAGE.index("no values")
            found[rows] = kind
        return found

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        lacking = [n for n in names if n not in self.parameters]
        if lacking:
            given, left = ", ".join(sorted(self.parameters)), set(self.parameters) - set(names)
            raise InputError(
                Problem(self.source, f"no parameter {n}: it gives {given}", advice=suggest(n, left)) for n in lacking
            )
        (x, y, z), chosen = self.places(points)
        more = "'outside: nearest' would extend its outermost values"
        self._raise_at(chosen == -1, f"outside of the model, {self._extent()}; {more},", points, groups)
        self._raise_at(chosen == -3, f"outside of the model, below its bottom; {more},", points, groups)
        self._raise_at(chosen == -2, f"in the air, above the top of the model{self._ground_hint()}", points, groups)
        result = {name: np.empty(len(points)) for name in names}
        for number, block in enumerate(self.blocks):
            rows = np.flatnonzero(chosen == number)
            if len(rows):
                found = self._block(block, x[rows], y[rows], z[rows], names, points[rows], groups[rows], rows)
                for name in names:
                    result[name][rows] = found[name]
        return result

    def _block(
        self, block: Block, x: Floats, y: Floats, z: Floats, names: Sequence[str], points: Floats, groups: Integers,
        rows: Integers,
    ) -> dict[str, Floats]:  # fmt: skip
        lattice = block.lattice
        place, kinds, poisoned, holes, shares, fluid = _around(block, x, y, z)
        total = _sum(shares)
        # rows of errors refer to the caller's arrays, of which this block has some
        self._raise_at(
            poisoned, "no valid value of the model (missing, not finite, zero or negative)", points, groups, rows
        )
        self._raise_at(holes, _hole_message(lattice, place, kinds, holes), points, groups, rows)
        self._raise_at(
            ~poisoned & (total <= 0),
            f"in the air, above the ground of the model{self._ground_hint()}",
            points,
            groups,
            rows,
        )
        if self.water == "error":
            self._raise_at(fluid, "no S speed (water); 'water: fluid' would treat it as fluid", points, groups, rows)
        shares = shares / np.where(total > 0, total, 1.0)
        result = {}
        for name in names:
            values = lattice.columns[name].reshape(-1)[place.corners].astype(float)
            mean = _sum(np.where(shares > 0, values * shares, 0.0))
            if name in ("vs", "Qp", "Qs"):
                mean = np.where(fluid, 0.0 if name == "vs" else np.inf, mean)
            result[name] = mean
        return result

    def _raise_at(
        self, bad: np.ndarray, fault: str, points: Floats, groups: Integers, rows: Integers | None = None
    ) -> None:
        if bad.any():
            found = np.flatnonzero(bad)
            raise PointError(
                self.source, fault, points[found], groups[found], found if rows is None else np.asarray(rows)[found]
            )

    def _ground_hint(self) -> str:
        return "" if self.ground is None or self.hang else ": 'vertical: ground' would place it relative to its ground,"

    def _extent(self) -> str:
        block = self.blocks[0]
        return f"which spans {block.x[0]:g} to {block.x[-1]:g} and {block.y[0]:g} to {block.y[-1]:g} in its own coordinates"


def _around(
    block: Block, x: Floats, y: Floats, z: Floats
) -> tuple[CellWeights, np.ndarray, np.ndarray, np.ndarray, Floats, np.ndarray]:
    """Return the surroundings of points (n,) in a block.

    Returns
    -------
    place : CellWeights
        Cells that contain the points.
    kinds : ndarray (8, n)
        Kind of each corner.
    poisoned, holes : ndarray (n,) of bool
        True if a corner with weight has no valid values, or is a hole.
    shares : ndarray (8, n)
        Weights of the corners of the prevailing kind, rock or water.
    fluid : ndarray (n,) of bool
        True if water prevails.
    """
    place = block.lattice.between((position(x, block.x), position(y, block.y), block.vertical(x, y, z)))
    kinds = block.lattice.kinds.reshape(-1)[place.corners]
    felt = place.weights > 1e-9
    poisoned, holes = ((felt & (kinds == what)).any(0) for what in (POISON, HOLE))
    shares = np.where(felt & (kinds != AIR) & (kinds != POISON), place.weights, 0.0)
    fluid = _sum(np.where(kinds == WATER, shares, 0.0)) > 0.5 * _sum(shares)
    return place, kinds, poisoned, holes, np.where((kinds == WATER) == fluid, shares, 0.0), fluid


def _hole_message(lattice: Lattice, place: CellWeights, kinds: np.ndarray, holes: np.ndarray) -> str:
    """Return a message on the first of the points marked in ``holes`` (n,) and on the rock around it."""
    if not holes.any():
        return ""
    first = int(np.flatnonzero(holes)[0])
    around = lattice.columns["vs"].reshape(-1)[place.corners[:, first]][kinds[:, first] == ROCK]
    near = f" around it vs is {around.min():g} to {around.max():g} m/s," if len(around) else ""
    return (
        f"a hole in the model (vs is missing,{near} but density and vp are present; water would have a vs "
        "of 0, or reach the top)"
    )


def _sum(corners: Floats) -> Floats:
    """Return the sum over the corners (8, n), in an order independent of the number of points."""
    total = np.zeros(corners.shape[1])
    for corner in corners:
        total = total + corner
    return total


@dataclass(frozen=True)
class Priority:
    """Sequence of models, of which the first one that covers a point is used there."""

    models: tuple[Model, ...]

    @property
    def source(self) -> str:
        return " + ".join(m.source for m in self.models)

    @property
    def parameters(self) -> frozenset[str]:
        return frozenset.intersection(*(m.parameters for m in self.models))

    def coverage(self, points: Floats) -> Integers:
        """Return the index into ``COVERAGE`` (n,) of points (n, 3), by the model that is used at each point."""
        found = np.full(len(points), COVERAGE.index("outside"))
        rest = np.arange(len(points))
        for number, model in enumerate(self.models):
            here = model.covers(points[rest]) if number < len(self.models) - 1 else np.ones(len(rest), bool)
            found[rest[here]] = model.coverage(points[rest[here]])
            rest = rest[~here]
        return found

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        result = {name: np.empty(len(points)) for name in names}
        rest = np.arange(len(points))
        for number, model in enumerate(self.models):
            here = (
                model.covers(points[rest]) if number < len(self.models) - 1 else np.ones(len(rest), bool)
            )  # the last model reports points outside all of them
            rows, rest = rest[here], rest[~here]
            if not len(rows):
                continue
            try:
                found = model.evaluate(points[rows], groups[rows], names, time)
            except PointError as error:
                raise PointError(error.place, error.fault, error.points, error.groups, rows[error.rows]) from None
            for name in names:
                result[name][rows] = found[name]
        return result


def needed(path: Path, projection: Projection | None) -> Projection:
    """Return the case's projection; raises InputError if it has none."""
    if projection is None:
        what = "uses longitudes and latitudes, but the case has no projection"
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
    crs : str or pyproj.CRS
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


def on_nodes(x: Floats, y: Floats, heights: Floats) -> Surface:
    """Return the bilinear interpolant of ``heights`` (nx, ny) [m], constant beyond the edges."""

    def surface(at_x: Floats, at_y: Floats) -> Floats:
        # outside a projection's domain there is no position; the model itself reports points outside
        i = np.nan_to_num(np.clip(position(at_x, x), 0.0, len(x) - 1.0))
        j = np.nan_to_num(np.clip(position(at_y, y), 0.0, len(y) - 1.0))
        i0 = np.minimum(i.astype(int), max(len(x) - 2, 0))
        j0 = np.minimum(j.astype(int), max(len(y) - 2, 0))
        a, b = i - i0, j - j0
        i1, j1 = np.minimum(i0 + 1, len(x) - 1), np.minimum(j0 + 1, len(y) - 1)
        near = heights[i0, j0] * (1 - b) + heights[i0, j1] * b
        far = heights[i1, j0] * (1 - b) + heights[i1, j1] * b
        return np.asarray(near * (1 - a) + far * a)

    return surface
