"""A model of the ground as a field: where its blocks are, what is outside, in the air, in water or poisoned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.media.models.lattice import AIR, HOLE, POISON, ROCK, WATER, Between, Lattice, position, within
from faultwave.media.points import Floats, Integers, PointError

Map = Callable[[Floats], Floats]
"""From local x, y (n, 2) of the case to the model's own."""
Surface = Callable[[Floats, Floats], Floats]
"""Height [m] above sea level at the model's own x, y (n,)."""
Vertical = Callable[[Floats, Floats, Floats], Floats]
"""Index along a block's vertical axis, from its top down, of the model's own x, y and of height z (n,)."""

NAMES = ("rho", "vp", "vs", "Qp", "Qs")
COVERAGE = ("model", "model goes on", "water", "air", "hole", "no values", "outside")
"""What a model has at a point: its values; its outermost values, as 'outside: nearest' asks; no S speed below its top; the air above its
ground; no S speed below rock; no sound numbers; nothing."""


@dataclass(frozen=True)
class Block:
    """A lattice with its points along x and y (model's own), and the index of a height along its vertical axis."""

    lattice: Lattice
    x: Floats
    y: Floats
    vertical: Vertical


@dataclass(frozen=True)
class Model:
    """Blocks from the top down. ``ground`` is what heights hang from with ``hang``: z is then height above the ground.

    ``water``: what to do with points without shear strength. ``outside``: of points beyond the model.
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
        """The model's own x, y and height z of points (n, 3), and of each the block, -1 outside, -2 above the top, -3 below the bottom."""
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
        """Whether each of the points (n, 3) lies in the model, or above it."""
        return np.asarray(~np.isin(self.places(points)[1], (-1, -3)))

    def coverage(self, points: Floats) -> Integers:
        """Numbers in ``COVERAGE`` (n,): what the model has at points (n, 3)."""
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
        more = "'outside: nearest' would go on with its outermost values"
        self._complain(chosen == -1, f"outside of the model, {self._extent()}; {more},", points, groups)
        self._complain(chosen == -3, f"outside of the model, below its bottom; {more},", points, groups)
        self._complain(chosen == -2, f"in the air, above the top of the model{self._hanging()}", points, groups)
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
        # Errors count rows of the caller's arrays: those of this block are some of them.
        self._complain(
            poisoned, "no sound value of the model (missing, not finite, zero or negative)", points, groups, rows
        )
        self._complain(holes, _told_hole(lattice, place, kinds, holes), points, groups, rows)
        self._complain(
            ~poisoned & (total <= 0),
            f"in the air, above the ground of the model{self._hanging()}",
            points,
            groups,
            rows,
        )
        if self.water == "error":
            self._complain(fluid, "no S speed (water); 'water: fluid' would take it as fluid", points, groups, rows)
        shares = shares / np.where(total > 0, total, 1.0)
        result = {}
        for name in names:
            values = lattice.columns[name].reshape(-1)[place.corners].astype(float)
            mean = _sum(np.where(shares > 0, values * shares, 0.0))
            if name in ("vs", "Qp", "Qs"):
                mean = np.where(fluid, 0.0 if name == "vs" else np.inf, mean)
            result[name] = mean
        return result

    def _complain(
        self, bad: np.ndarray, fault: str, points: Floats, groups: Integers, rows: Integers | None = None
    ) -> None:
        if bad.any():
            found = np.flatnonzero(bad)
            raise PointError(
                self.source, fault, points[found], groups[found], found if rows is None else np.asarray(rows)[found]
            )

    def _hanging(self) -> str:
        return "" if self.ground is None or self.hang else ": 'vertical: ground' would hang it from its ground,"

    def _extent(self) -> str:
        block = self.blocks[0]
        return f"which spans {block.x[0]:g} to {block.x[-1]:g} and {block.y[0]:g} to {block.y[-1]:g} in its own coordinates"


def _around(
    block: Block, x: Floats, y: Floats, z: Floats
) -> tuple[Between, np.ndarray, np.ndarray, np.ndarray, Floats, np.ndarray]:
    """Around points (n,): their cells; the kinds (8, n) of the corners; whether corners that count are poisoned or holes (n,); the shares
    (8, n) of corners of the kind that prevails; whether that is water."""
    place = block.lattice.between((position(x, block.x), position(y, block.y), block.vertical(x, y, z)))
    kinds = block.lattice.kinds.reshape(-1)[place.corners]
    felt = place.weights > 1e-9
    poisoned, holes = ((felt & (kinds == what)).any(0) for what in (POISON, HOLE))
    shares = np.where(felt & (kinds != AIR) & (kinds != POISON), place.weights, 0.0)
    fluid = _sum(np.where(kinds == WATER, shares, 0.0)) > 0.5 * _sum(shares)
    return place, kinds, poisoned, holes, np.where((kinds == WATER) == fluid, shares, 0.0), fluid


def _told_hole(lattice: Lattice, place: Between, kinds: np.ndarray, holes: np.ndarray) -> str:
    """What is missing at the first of the points (n,) in ``holes``, and what the rock around it has."""
    if not holes.any():
        return ""
    first = int(np.flatnonzero(holes)[0])
    around = lattice.columns["vs"].reshape(-1)[place.corners[:, first]][kinds[:, first] == ROCK]
    near = f" around it vs is {around.min():g} to {around.max():g} m/s," if len(around) else ""
    return f"a hole in the model (no vs,{near} density and vp are there; water would have a vs of 0, or reach the top)"


def _sum(corners: Floats) -> Floats:
    """Over the corners (8, n), in an order that does not depend on the number of points."""
    total = np.zeros(corners.shape[1])
    for corner in corners:
        total = total + corner
    return total


@dataclass(frozen=True)
class Priority:
    """Several models: of those that reach a point the first is taken."""

    models: tuple[Model, ...]

    @property
    def source(self) -> str:
        return " + ".join(m.source for m in self.models)

    @property
    def parameters(self) -> frozenset[str]:
        return frozenset.intersection(*(m.parameters for m in self.models))

    def coverage(self, points: Floats) -> Integers:
        """As ``Model.coverage``, of the model that counts at each point."""
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
            )  # the last one tells of points outside of all
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
