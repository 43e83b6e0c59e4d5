"""Table of many point sources with vectorised operations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self, overload

import numpy as np

from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.sampled import SampledFunctions, pieces
from faultwave.physics.sources.time_functions import Samples, TimeFunction

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
        numbers: dict[Any, int] = {}
        sampled: dict[int, list[Samples]] = {}
        for i, function in enumerate(functions):
            key = function.samples.dtype if isinstance(function, Samples) else function
            group[i] = numbers.setdefault(key, len(numbers))
            if isinstance(function, Samples):
                row[i] = len(members := sampled.setdefault(int(group[i]), []))
                members.append(function)
        groups = tuple(
            SampledFunctions.of([s.samples for s in sampled[n]], [s.interval for s in sampled[n]])
            if n in sampled
            else SameFunction(key)
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


__all__ = ["Functions", "Sources"]
