"""Point sources in the form that both engines use: double couples, single sources, and tables of many with vectorised operations.

Strike is clockwise from north, the plane dips to its right, and rake is the slip of the block on the right, above the
plane, measured in the plane anticlockwise from strike. All angles in radians, all vectors and tensors in north, east,
down.

Physical signs: the stress equations get -(moment tensor) S(t) delta(x), the velocity equations +(force)/rho S(t)
delta(x) (Aki & Richards 2002, ch. 3; docs/theory/sources.md, "Forces and moment tensors").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Self, cast, overload

import numpy as np

from faultwave.physics.sources.time_functions import SampledFunctions, Samples, TimeFunction, pieces


def slip_frame(
    strike: np.ndarray | float, dip: np.ndarray | float, rake: np.ndarray | float
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Return the normal of the plane, out of the foot wall, and the unit vectors of slip (..., 3) for angles (...).

    The vectors are along the rake, across it in the plane, and along the normal.
    """

    def along(angle: np.ndarray | float) -> np.ndarray:
        return np.stack([
            np.cos(angle) * np.cos(strike) + np.sin(angle) * np.cos(dip) * np.sin(strike),
            np.cos(angle) * np.sin(strike) - np.sin(angle) * np.cos(dip) * np.cos(strike),
            -np.sin(angle) * np.sin(dip),
        ], -1)  # fmt: skip

    normal = np.stack([-np.sin(dip) * np.sin(strike), np.sin(dip) * np.cos(strike), -np.cos(dip)], -1)
    return normal, (along(rake), along(rake + np.pi / 2), normal)


def moment_tensor(strike: float, dip: float, rake: float, moment: float) -> np.ndarray:
    """Return the tensor (3, 3) [N m] of a double couple with scalar moment [N m]: M0 (slip normal + normal slip)."""
    normal, (slip, _, _) = slip_frame(strike, dip, rake)
    return np.asarray(moment * (np.outer(slip, normal) + np.outer(normal, slip)))


def _zeros(n: int) -> np.ndarray:
    return field(default_factory=lambda: np.zeros(n))


@dataclass(frozen=True)
class PointSource:
    """Moment tensor, force and slip at one point with one time function S.

    Tensors times S are rates.

    Attributes
    ----------
    location : (3,) array
        Position [m].
    function
        Time function S from the onset.
    moment : (6,) array
        Moment tensor [N m], order xx yy zz xy yz xz.
    force : (3,) array
        Force [N].
    potency : (6,) array
        Tensor area (slip n + n slip)/2 [m^2, if S is a slip rate in m/s], turned into a moment by the moduli of the
        cell.
    porous : (7,) array
        In porous rock, replaces the force: rates of the frame velocity (3), the pore pressure and the filtration
        velocity (3) without division by a density, [m/s, Pa, m/s] times m^3/s, as in FSRM files.
    shear_modulus : float or None
        Modulus of the source itself [Pa], used instead of the cell's.
    onset : float
        Onset [s].
    name : str
        Name in messages.
    """

    location: np.ndarray
    function: TimeFunction
    moment: np.ndarray = _zeros(6)
    force: np.ndarray = _zeros(3)
    potency: np.ndarray = _zeros(6)
    porous: np.ndarray = _zeros(7)
    shear_modulus: float | None = None
    onset: float = 0.0
    name: str = "source"

    def moment_tensor(self, lam: float, mu: float) -> np.ndarray:
        """Return the moment (6,) per unit S in a cell of Lamé parameters ``lam`` and ``mu`` [Pa]: C : potency plus ``moment``."""
        own = mu if self.shear_modulus is None else self.shear_modulus
        volume = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]) * self.potency[:3].sum()
        return self.moment + lam * volume + 2.0 * own * self.potency

    def value(self, t: np.ndarray | float) -> np.ndarray:
        """Return S at simulation time t [s]."""
        return self.function.value(np.asarray(t, float) - self.onset)

    def integral(self, t0: np.ndarray | float, t1: np.ndarray | float) -> np.ndarray:
        """Return the integral of S over simulation time [t0, t1]."""
        return self.function.integral(np.asarray(t1, float) - self.onset) - self.function.integral(
            np.asarray(t0, float) - self.onset
        )


def shears(tensors: np.ndarray) -> np.ndarray:
    """Return True (n,) for tensors (n, 6) of moment or slip that are more than an explosion."""
    small = 1e-9 * np.abs(tensors).max(1)
    return np.asarray((np.abs(tensors[:, 3:]).max(1) > small) | (np.ptp(tensors[:, :3], axis=1) > small))


LATEST = 1e9
"""Time [s] that replaces the end of a function without end."""


@dataclass(frozen=True)
class SameFunction:
    """Time function shared by several sources."""

    function: TimeFunction

    @property
    def end(self) -> np.ndarray:
        return np.array([self.function.end], float)

    @property
    def largest(self) -> np.ndarray:
        return np.zeros(1)  # none is sampled

    def integral(self, rows: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return the integrals (k, w) from onset to times ``t`` (k, w) after it [s]."""
        return self.function.integral(t)


@dataclass(frozen=True)
class Functions:
    """Time function of each source: source i has number ``row[i]`` of ``groups[group[i]]``."""

    groups: tuple[SampledFunctions | SameFunction, ...]
    group: np.ndarray
    row: np.ndarray

    @classmethod
    def of(cls, functions: Sequence[TimeFunction]) -> Functions:
        """Return a table in which equal functions are stored once, and sampled ones together."""
        group, row = np.zeros((2, len(functions)), np.int64)
        numbers: dict[TimeFunction | np.dtype, int] = {}
        sampled: dict[int, list[Samples]] = {}
        for i, function in enumerate(functions):
            key: TimeFunction | np.dtype = function.samples.dtype if isinstance(function, Samples) else function
            group[i] = numbers.setdefault(key, len(numbers))
            if isinstance(function, Samples):
                row[i] = len(members := sampled.setdefault(int(group[i]), []))
                members.append(function)
        groups = tuple(
            SampledFunctions.of([s.samples for s in sampled[n]], [s.interval for s in sampled[n]])
            if n in sampled
            else SameFunction(cast(TimeFunction, key))
            for key, n in numbers.items()
        )
        return cls(groups, group, row)

    @classmethod
    def joined(cls, parts: Sequence[Functions]) -> Functions:
        starts = np.cumsum([0, *(len(p.groups) for p in parts)])
        none = np.zeros(0, np.int64)
        return cls(
            tuple(g for p in parts for g in p.groups),
            np.concatenate([none, *(p.group + start for p, start in zip(parts, starts[:-1], strict=True))]),
            np.concatenate([none, *(p.row for p in parts)]),
        )

    def one(self, i: int) -> TimeFunction:
        group = self.groups[self.group[i]]
        return group.function if isinstance(group, SameFunction) else Samples(*group.one(int(self.row[i])))

    @cached_property
    def end(self) -> np.ndarray:
        """Time (n,) after onset at which each function has ended [s]."""
        return self._each([group.end for group in self.groups])

    @property
    def largest(self) -> np.ndarray:
        """Largest absolute sample (n,), 0 for functions without samples."""
        return self._each([group.largest for group in self.groups])

    @property
    def single(self) -> bool:
        """True if all are samples in single precision."""
        return all(isinstance(g, SampledFunctions) and g.samples.dtype == np.float32 for g in self.groups)

    def _each(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """Return the value (n,) of each source from the values of every group."""
        found = np.zeros(len(self.group))
        for number, of_group in enumerate(values):
            mine = self.group == number
            found[mine] = of_group[self.row[mine]]
        return found

    def integral(self, items: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return the integrals (k, w) of functions ``items`` (k,) from onset to ``t`` (k, w) [s] after it."""
        found, groups = np.zeros(t.shape), self.group[items]
        for number in np.unique(groups):
            mine = groups == number
            found[mine] = self.groups[number].integral(self.row[items[mine]], t[mine])
        return found


@dataclass(frozen=True)
class Sources(Sequence[PointSource]):
    """Point sources (see ``PointSource``) with a column for each property.

    ``shear_modulus`` is NaN where the modulus of the cell is used; ``names`` (n,) are strings.
    """

    location: np.ndarray
    moment: np.ndarray
    force: np.ndarray
    potency: np.ndarray
    porous: np.ndarray
    shear_modulus: np.ndarray
    onset: np.ndarray
    names: np.ndarray
    functions: Functions

    @classmethod
    def of(cls, sources: Iterable[PointSource]) -> Sources:
        """Return the table of point sources; a table is returned unchanged."""
        if isinstance(sources, Sources):
            return sources
        found = list(sources)
        own = [np.nan if s.shear_modulus is None else s.shear_modulus for s in found]
        names = np.empty(len(found), object)
        names[:] = [s.name for s in found]
        return cls(
            np.array([s.location for s in found], float).reshape(-1, 3), np.array([s.moment for s in found], float).reshape(-1, 6),
            np.array([s.force for s in found], float).reshape(-1, 3), np.array([s.potency for s in found], float).reshape(-1, 6),
            np.array([s.porous for s in found], float).reshape(-1, 7),
            np.array(own, float), np.array([s.onset for s in found], float), names, Functions.of([s.function for s in found]),
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence[Sources]) -> Sources:
        """Return one table with the rows of all tables."""
        if len(parts) == 1:
            return parts[0]
        empty = cls.of(())
        columns = {
            f.name: np.concatenate([getattr(p, f.name) for p in (empty, *parts)])
            for f in fields(cls)
            if f.name != "functions"
        }
        return cls(**columns, functions=Functions.joined([p.functions for p in parts]))

    def __len__(self) -> int:
        return len(self.onset)

    @overload
    def __getitem__(self, i: int) -> PointSource: ...
    @overload
    def __getitem__(self, i: slice) -> Self: ...
    def __getitem__(self, i: int | slice) -> PointSource | Self:
        if isinstance(i, slice):
            return self.chosen(np.arange(len(self))[i])
        i = range(len(self))[i]
        own = float(self.shear_modulus[i])
        return PointSource(
            self.location[i], self.functions.one(i), self.moment[i], self.force[i], self.potency[i], self.porous[i],
            None if np.isnan(own) else own, float(self.onset[i]), str(self.names[i]),
        )  # fmt: skip

    def chosen(self, items: np.ndarray) -> Self:
        """Return the rows with indices, or of a mask, ``items``."""
        columns = {f.name: getattr(self, f.name)[items] for f in fields(self) if f.name != "functions"}
        functions = replace(self.functions, group=self.functions.group[items], row=self.functions.row[items])
        return type(self)(**columns, functions=functions)

    @property
    def end(self) -> np.ndarray:
        """Simulation time (n,) at which each source has ended [s]."""
        return self.onset + self.functions.end

    @property
    def acting(self) -> np.ndarray:
        """True (n,) for sources of nonzero strength."""
        return np.asarray(np.concatenate([self.moment, self.force, self.potency, self.porous], 1).any(1))

    def moment_tensors(self, lam: np.ndarray | float, mu: np.ndarray | float) -> np.ndarray:
        """Return the moments (n, 6) per unit S, C : potency plus moment, for Lamé parameters ``lam`` and ``mu`` [Pa] or (n,)."""
        own = np.where(np.isnan(self.shear_modulus), mu, self.shear_modulus)
        volume = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]) * self.potency[:, :3].sum(1)[:, None]
        return np.asarray(
            self.moment + np.broadcast_to(lam, len(self))[:, None] * volume + 2.0 * own[:, None] * self.potency
        )

    def released(self, t: np.ndarray | float, items: np.ndarray | None = None) -> np.ndarray:
        """Return the integrals (k, w) of S from onset to simulation times ``t`` (w,) or (k, w) [s] for sources ``items`` (all if None)."""
        items = np.arange(len(self)) if items is None else items
        since = np.asarray(t, float) - self.onset[items, None]
        found = np.empty(since.shape)
        for piece in pieces(*since.shape):
            found[piece] = self.functions.integral(items[piece], since[piece])
        return found

    def identity(self) -> np.ndarray:
        """Return 30 numbers (n, 30) that distinguish sources.

        They are location, strengths, modulus, times, and the integrals of S up to half of its duration and to its end.
        """
        end = self.onset + np.minimum(self.functions.end, LATEST)
        until = self.released(np.stack([self.onset, 0.5 * (self.onset + end), end], 1))
        own = np.where(np.isnan(self.shear_modulus), -1.0, self.shear_modulus)
        strengths = self.moment, self.force, self.potency, self.porous
        columns = self.location, *strengths, own[:, None], self.onset[:, None], end[:, None]
        return np.concatenate([*columns, until[:, 1:] - until[:, :1]], 1)
