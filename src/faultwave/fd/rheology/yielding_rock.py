"""Strength and initial stress of yielding rock: evaluation where a grid needs them, and checks.

The initial stress is stored by depth if the ground is flat. Below a topography it is stored as one number at every
centre, to which all six components are proportional. Thus it may follow the ground and still takes one number per
point, not six.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.case.settings.yielding import Overburden, RockQuality
from faultwave.domain.grid_relief import Relief
from faultwave.fd.contexts import MaterialContext
from faultwave.fd.method.differences import PlanePosition
from faultwave.fd.method.grid import Grid, SideKind
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.rheology import yielding
from faultwave.kernels.stencil import Box
from faultwave.media import Field
from faultwave.media.field import axes_of
from faultwave.media.homogenise import at_points
from faultwave.physics.rheology import STRESS, Rheology, drucker_prager, in_tension

GRAVITY, WATER = 9.81, 9810.0
COLUMNS = 5
"""Number of columns along x, and along y, over which the density is averaged."""
ENDLESS = 1e12
"""Cohesion [Pa] of rock that never yields."""


@dataclass(frozen=True)
class Load:
    """Weight of the overburden per area.

    Attributes
    ----------
    z : ndarray (n,)
        Heights [m], ascending to the surface.
    weight : ndarray (n,)
        Weight per area above each height [Pa].
    relief : Relief or None
        Topography. If given, ``z[-1] - z`` is the depth below the ground.
    """

    z: np.ndarray
    weight: np.ndarray
    relief: Relief | None = None

    def _height(self, points: np.ndarray) -> np.ndarray:
        """Return the height [m] of places (n, 3) [m] below an equivalent flat ground."""
        if self.relief is None:
            return np.asarray(points[:, 2])
        return np.asarray(self.z[-1] + np.minimum(points[:, 2] - self.relief.ground(points), 0.0))

    def at(self, points: np.ndarray) -> np.ndarray:
        """Return the weight per area (n,) [Pa] above places (n, 3) [m]."""
        return np.interp(self._height(points), self.z, self.weight)

    def depth(self, points: np.ndarray) -> np.ndarray:
        """Return the depth (n,) [m] of places (n, 3) [m] below the ground."""
        return np.maximum(self.z[-1] - self._height(points), 0.0)


def overburden_load(
    material: Field, lower: np.ndarray, upper: np.ndarray, spacing: float, relief: Relief | None = None
) -> Load:
    """Return the overburden of a box.

    The density at each height, or depth below the ground, is averaged over columns; layers are half a ``spacing``
    thick.

    Parameters
    ----------
    material : Field
    lower, upper : ndarray (3,)
        Corners of the box [m].
    spacing : float
        Grid spacing [m].
    relief : Relief, optional
        Topography.
    """
    bottom = lower[2] - (0.0 if relief is None else relief.relief)
    count = max(1, int(np.ceil(2.0 * (upper[2] - bottom) / spacing)))
    z = np.linspace(bottom, upper[2], count + 1)
    x, y = (np.linspace(a, b, COLUMNS) for a, b in zip(lower[:2], upper[:2], strict=True))
    middle = 0.5 * (z[1:] + z[:-1])
    places = np.stack(np.meshgrid(middle, x, y, indexing="ij"), -1).reshape(-1, 3)[:, [1, 2, 0]]
    if relief is not None:
        places[:, 2] = np.maximum(places[:, 2] + relief.ground(places) - upper[2], lower[2])
    rho = at_points(material, ["rho"], places, np.ones(len(places), np.int64))["rho"].reshape(count, -1).mean(1)
    layers = rho * GRAVITY * np.diff(z)
    return Load(z, np.append(np.cumsum(layers[::-1])[::-1], 0.0), relief)


@dataclass(frozen=True)
class Weight:
    """Field of the effective initial stress due to the overburden.

    The vertical stress is the load less the pore pressure of the water table; horizontal stresses are proportional to
    it.
    """

    load: Load
    setting: Overburden
    parameters: frozenset[str] = frozenset(STRESS)
    source: str = "plasticity.overburden"

    def evaluate(
        self, points: np.ndarray, groups: np.ndarray, names: Sequence[str], time: float | None = None
    ) -> dict[str, np.ndarray]:
        set_ = self.setting
        table = np.inf if set_.water_table is None else set_.water_table
        vertical = -(self.load.at(points) - WATER * np.maximum(self.load.depth(points) - table, 0.0))
        angle, mean, half = (
            np.deg2rad(set_.direction),
            0.5 * (set_.largest + set_.smallest),
            0.5 * (set_.largest - set_.smallest),
        )
        factors = {
            "s_xx": mean + half * np.cos(2.0 * angle),
            "s_yy": mean - half * np.cos(2.0 * angle),
            "s_zz": 1.0,
            "s_xy": half * np.sin(2.0 * angle),
        }
        return {n: factors.get(n, 0.0) * vertical for n in names}


@dataclass(frozen=True)
class Quality:
    """Field of the cohesion and friction of a rock mass by the quality of the rock."""

    load: Load
    material: Field
    setting: RockQuality
    parameters: frozenset[str] = frozenset(("plastic_cohesion", "bulk_friction"))
    source: str = "plasticity.rock_quality"

    def evaluate(
        self, points: np.ndarray, groups: np.ndarray, names: Sequence[str], time: float | None = None
    ) -> dict[str, np.ndarray]:
        set_ = self.setting
        rock = at_points(self.material, ["rho", "lambda", "mu"], points, groups)
        index = np.full(len(points), set_.index)
        if set_.intact_below is not None:
            index += (100.0 - set_.index) * np.minimum(self.load.depth(points) / set_.intact_below, 1.0)
        if isinstance(set_.intact_strength, str):
            intact = drucker_prager.INTACT[set_.intact_strength](
                np.sqrt((rock["lambda"] + 2 * rock["mu"]) / rock["rho"])
            )
        else:
            intact = np.full(len(points), set_.intact_strength)
        mass = drucker_prager.rock_mass(index, set_.constant, intact, set_.disturbance)
        cohesion, friction = drucker_prager.mohr_coulomb(mass, self.load.at(points), set_.confinement)
        speed = np.sqrt(rock["mu"] / rock["rho"])
        if set_.loose_below is not None:
            loose = speed < set_.loose_below
            cohesion = np.where(loose, 0.0, cohesion)
            friction = np.where(loose, np.tan(np.deg2rad(set_.loose_angle)), friction)
        if set_.elastic_above is not None:
            cohesion = np.where(speed > set_.elastic_above, ENDLESS, cohesion)
        found = {"plastic_cohesion": cohesion, "bulk_friction": friction}
        return {n: found[n] for n in names}


def varies_laterally(setting: RockQuality) -> bool:
    """Return True if the strength may vary horizontally."""
    by_speed = (setting.elastic_above, setting.loose_below)
    return isinstance(setting.intact_strength, str) or any(limit is not None for limit in by_speed)


WHERE = "plasticity"
LOOK = 60
"""Number of columns of centres, along x and y, in which laterally varying rock is examined before the run."""
DIGEST_COLUMNS = 20
"""Number of columns, along x and y, that enter the digest in a checkpoint."""
LEVEL = 1e-6
"""Tolerance of equality and proportionality of the initial stress, relative to its largest component."""
Values = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Rock:
    """Strength and initial stress of rock.

    Attributes
    ----------
    law : Rheology
    constants : mapping of str to float
        Constants of the rheology.
    strength : Field
        Parameters of the rheology.
    at_rest : Field
        Initial stress.
    lateral : bool
        True if the strength varies within planes of the grid.
    lower, upper : ndarray (3,)
        Corners of the box [m], once there is a grid.
    relief : Relief or None
        Topography, which then is the upper side of the box.
    factors : mapping of str to float
        Ratios of the six initial stresses, if they are proportional.
    """

    law: Rheology
    constants: Mapping[str, float]
    strength: Field
    at_rest: Field
    lateral: bool
    lower: np.ndarray = field(default_factory=lambda: np.zeros(3))
    upper: np.ndarray = field(default_factory=lambda: np.zeros(3))
    relief: Relief | None = None
    factors: Mapping[str, float] = field(default_factory=dict)

    def storage(self, scheme: Scheme) -> yielding.RockStorage:
        """Return the storage of the rock in a grid or block."""
        return yielding.RockStorage(self.lateral, self.relief is not None, scheme.grid.relief is not None)

    @property
    def numbers(self) -> int:
        """Number of values stored at every point."""
        return (len(yielding.own_parameters(self.law)) if self.lateral else 0) + (self.relief is not None)

    # ---- values ---------------------------------------------------------------------------------------------------------

    def _inside(self, places: np.ndarray) -> np.ndarray:
        """Return places (n, 3) moved into the box; rock in layers has the properties of the edge."""
        if self.relief is None:
            return np.clip(places, self.lower, self.upper)
        found = np.clip(places, self.lower, [*self.upper[:2], np.inf])
        found[:, 2] = np.minimum(found[:, 2], self.relief.ground(found))
        return found

    def _column(self, z: np.ndarray) -> np.ndarray:
        """Return places (n, 3) [m] in the middle of the box at heights ``z`` (n,) of the flat grid."""
        return self._up(np.column_stack([np.tile(0.5 * (self.lower + self.upper)[:2], (len(z), 1)), z]))

    def _up(self, places: np.ndarray) -> np.ndarray:
        """Return places (n, 3) [m] in the rock from places in the flat grid."""
        return places if self.relief is None else self.relief.up(places)

    def rest_at(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Return the initial stresses (n,) [Pa] at heights of the flat grid."""
        return self.rest(self._column(z))

    def rest(self, places: np.ndarray) -> dict[str, np.ndarray]:
        """Return the initial stresses (n,) [Pa] at places (n, 3) [m]."""
        places = self._inside(places)
        found = self.at_rest.evaluate(places, np.ones(len(places), np.int64), list(STRESS))
        return {n: np.broadcast_to(np.asarray(found[n], float), len(places)) for n in STRESS}

    def load(self, places: np.ndarray) -> dict[str, np.ndarray]:
        """Return the common factor (n,) [Pa] of the initial stresses.

        Raises
        ------
        InputError
            With the first place where the stresses are not proportional.
        """
        rest, places = self.rest(places), self._inside(places)
        row = np.array([self.factors[n] for n in STRESS])
        table = np.stack([rest[n] for n in STRESS], 1)
        number = table @ row / (row @ row)
        retained = np.abs(table - number[:, None] * row) <= LEVEL * max(self._largest, float(np.abs(table).max()))
        if not retained.all():
            n, k = np.argwhere(~retained)[0]
            there = f"in the proportions {_numbers(row)} elsewhere"
            raise _out_of_proportion(f"{_numbers(table[n])} Pa at {_text(places[n])} and {there}", tuple(STRESS)[k])
        return {yielding.LOAD: number}

    def level(self, places: np.ndarray) -> dict[str, np.ndarray]:
        """Check that the initial stress at places (n, 3) at one height equals the value stored for it; returns no values.

        Raises
        ------
        InputError
            With the first place where it differs.
        """
        column, places = self._column(places[:1, 2]), self._inside(places)
        found, there = self.rest(places), self.rest(column)
        for n, values in found.items():
            even = np.abs(values - there[n]) <= LEVEL * self._largest
            if not even.all():
                at = int(np.flatnonzero(~even)[0])
                what = f"{n} at rest is {values[at]:g} Pa at {_text(places[at])} and {there[n][0]:g} Pa at {_text(column[0])}"
                raise InputError(Problem(WHERE, what, "stress at rest that depends on z alone, on a grid"))
        return {}

    @cached_property
    def _largest(self) -> float:
        """Largest of the six initial stresses [Pa] along the middle of the box."""
        return max(float(np.abs(v).max()) for v in self.rest_at(self._depths).values())

    @property
    def _depths(self) -> np.ndarray:
        """Heights (n,) [m] of the flat grid from the lower to the upper end of the box."""
        return np.linspace(self.lower[2], self.upper[2], 100)

    @property
    def _may_be_uneven(self) -> bool:
        """True if the initial stress may vary within planes of a flat grid."""
        return not isinstance(self.at_rest, Weight) and bool(axes_of(self.at_rest) & {"x", "y"})

    def parameters(self, places: np.ndarray) -> dict[str, np.ndarray]:
        """Return the parameters (n,) of the rheology's formulas at places (n, 3) [m].

        Raises
        ------
        InputError
            With the first place where a parameter is out of bounds.
        """
        places = self._inside(places)
        own = Problems()
        values = self.law.given(self._strength(places), len(places), "plasticity.parameters", own)
        own.raise_errors()
        for q in self.law.parameters:
            bad = ~q.accepts(values[q.name])
            if bad.any():
                first = int(np.flatnonzero(bad)[0])
                at = f"{_text(places[first])} and wrong at {bad.sum() - 1} other points"
                raise InputError(Problem(WHERE, f"{q.name} is {values[q.name][first]:g} at {at}", q.allowed()))
        prepared = self.law.prepare(values, self.constants, {"mu": np.ones(len(places))})
        return {n: np.asarray(prepared[n], float) for n in yielding.own_parameters(self.law)}

    def _strength(self, places: np.ndarray) -> dict[str, np.ndarray]:
        """Return the strength parameters (n,) of the field at places (n, 3) in the box."""
        names = [n for q in self.law.parameters for n in (q.name, *q.aliases) if n in self.strength.parameters]
        return self.strength.evaluate(places, np.ones(len(places), np.int64), names)

    def values(self, checking: MaterialContext, grid: Grid, box: Box) -> dict[str, np.ndarray]:
        """Return the stored values of a block.

        Parameters of strength are given by depth, or over the ``box`` of this process if they vary laterally; the
        common factor of the initial stress covers the box and one point around it.
        """
        found: dict[str, np.ndarray] = {}
        if self.lateral:
            found |= self._over(checking, grid, box, self.parameters)
        else:
            z = grid.levels(PlanePosition.HALF)
            on_face = box.lo[0] < 0 and checking.sides["z-"] != SideKind.PERIODIC
            found |= self.parameters(self._column(np.r_[grid.lower[2], z] if on_face else z))
        if self.relief is not None:
            around = Box((box.lo[0], box.lo[1] - 1, box.lo[2] - 1), (box.hi[0], box.hi[1] + 1, box.hi[2] + 1))
            found |= self._over(checking, grid, around, self.load)
        elif self._may_be_uneven:
            self._over(checking, grid, box, self.level)
        return found

    def _over(
        self, checking: MaterialContext, grid: Grid, box: Box, of: Callable[[np.ndarray], Values]
    ) -> dict[str, np.ndarray]:
        """Return values at the centres of a box, evaluated plane by plane.

        It may extend beyond the ends of periodic axes.
        """
        lengths, planes = np.array([grid.spacing * n for n in grid.shape[::-1]]), []
        for k in range(box.lo[0], box.hi[0]):
            places = grid.places("sxx", Box((k, *box.lo[1:]), (k + 1, *box.hi[1:]))).reshape(-1, 3)
            for axis in range(3):
                if checking.sides[f"{'xyz'[axis]}-"] == SideKind.PERIODIC:
                    low = grid.lower[axis]
                    places[:, axis] = low + (places[:, axis] - low) % lengths[axis]
            planes.append({n: v.reshape(box.shape[1:]) for n, v in of(places).items()})
        return {n: np.stack([plane[n] for plane in planes]) for n in planes[0]}

    # ---- checks ---------------------------------------------------------------------------------------------------------

    def places(self, columns: Sequence[int], z: np.ndarray) -> np.ndarray:
        """Return places (nx, ny, nz, 3) [m] of evenly spaced columns inside the box, at heights ``z`` of the flat grid.

        ``columns`` are their numbers along x and y.
        """
        x, y = (
            a + (b - a) * (np.arange(n) + 0.5) / n
            for a, b, n in zip(self.lower[:2], self.upper[:2], columns, strict=True)
        )
        return np.stack(np.meshgrid(x, y, z, indexing="ij"), -1)

    def check_rest(self, grids: Iterable[Grid]) -> dict[str, float]:
        """Return the ratios of the six initial stresses, empty if they are stored by depth.

        Raises
        ------
        InputError
            If the stresses are not finite or cannot be stored.
        """
        levels = np.concatenate(
            [np.clip(grid.levels(PlanePosition.HALF), self.lower[2], self.upper[2]) for grid in grids]
        )
        x, y = (np.linspace(a, b, 5) for a, b in zip(self.lower[:2], self.upper[:2], strict=True))
        lattice = np.stack(np.meshgrid(x, y, np.unique(levels), indexing="ij"), -1)
        places = self._up(lattice.reshape(-1, 3))
        found = self.rest(places)
        for n, values in found.items():
            bad = ~np.isfinite(values)
            if bad.any():
                what = f"{n} is {values[bad][0]:g} at {_text(places[bad][0])}"
                raise InputError(Problem(WHERE, what, "a finite number"))
        return {} if self.relief is None else _factors(found, places)

    def look(self, grids: Iterable[Grid], problems: Problems) -> str:
        """Return a text on the rock that yields before anything moves; warns if there is any, or tension."""
        grids, varies = list(grids), self.lateral or self.relief is not None
        counts = [min(round(float(self.upper[k] - self.lower[k]) / grids[0].spacing), LOOK) for k in range(2)]
        z = np.concatenate([grid.levels(PlanePosition.HALF)[: grid.shape[0]] for grid in grids])
        places = self._up(self.places(counts if varies else (1, 1), z[z > self.lower[2]]).reshape(-1, 3))
        p = self.parameters(places) | {"compliance": np.ones(len(places))}
        past = {s.name: np.zeros(len(places)) for s in self.law.state}
        rest, among = self.rest(places), f"% of {len(places):,} points" + " looked at" * varies
        yields = np.broadcast_to(np.asarray(self.law.yields(p, self.constants, rest, past, 1.0)), len(places))
        text = f"{100 * yields.mean():.3g} {among}"
        if yields.any():
            first = f"the first at {_text(places[np.flatnonzero(yields)[0]])}"
            advice = "Check initial stress against cohesion and friction."
            problems.warn(WHERE, f"at rest {text} are beyond yield, {first}", advice=advice)
        pulled = in_tension(rest)
        if pulled.any():
            share = f"{100 * pulled.mean():.3g} {among}"
            what = f"at rest {share} are in tension, the first at {_text(places[np.flatnonzero(pulled)[0]])}"
            problems.warn(WHERE, what, "mean stress below 0", "Compression is negative.")
        return text

    def digest(self, blocks: Iterable[Values], more: str) -> str:
        """Return a digest of the rock's properties and of a text, independent of the decomposition of the grid.

        Properties are taken by depth, or on a lattice if rock varies along x and y.
        """
        varies = self.lateral or self.relief is not None
        places = self._up(
            self.places((DIGEST_COLUMNS, DIGEST_COLUMNS) if varies else (1, 1), self._depths).reshape(-1, 3)
        )
        found = sha256(b"".join(v.tobytes() for v in self.rest(places).values()))
        if self.lateral:
            for _, given in sorted(self._strength(self._inside(places)).items()):
                found.update(np.ascontiguousarray(given, float).tobytes())
        for values in () if self.lateral else blocks:
            for n in sorted(values.keys() - {yielding.LOAD}):
                found.update(np.ascontiguousarray(values[n]).tobytes())
        found.update(more.encode())
        return found.hexdigest()


def _factors(found: Values, places: np.ndarray) -> dict[str, float]:
    """Return the ratios of six proportional stresses (n,) to the largest of them.

    Raises InputError if they are not proportional.
    """
    table = np.stack([found[n] for n in STRESS], 1)
    at, largest = int(np.abs(table).max(1).argmax()), float(np.abs(table).max())
    if largest == 0.0:
        return dict.fromkeys(STRESS, 1.0)
    row = table[at] / table[at][np.abs(table[at]).argmax()]
    rest = table - (table @ row / (row @ row))[:, None] * row
    away = np.abs(rest) > LEVEL * largest
    if away.any():
        n, k = np.argwhere(away)[0]
        here, there = (f"{_numbers(table[i])} Pa at {_text(places[i])}" for i in (n, at))
        raise _out_of_proportion(f"{here} and {there}", tuple(STRESS)[k])
    return dict(zip(STRESS, row.tolist(), strict=True))


def _out_of_proportion(stresses: str, name: str) -> InputError:
    what = f"stress at rest is {stresses}, and {name} is not proportional to it"
    advice = (
        "Below a topography a grid stores one number per point; plasticity.overburden defines such "
        "stress from the ground downwards."
    )
    return InputError(Problem(WHERE, what, "six stresses in the same proportion everywhere", advice))


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{v:g}" for v in values)


def _text(x: np.ndarray) -> str:
    return f"({x[0]:g}, {x[1]:g}, {x[2]:g})"
