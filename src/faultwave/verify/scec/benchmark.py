"""Definition of a benchmark: geometry, medium, friction, nucleation and checks in one record.

Coordinates: x along the main fault, y across it, z up, the free surface at z = 0, SI. On a fault: s along strike from its origin,
d down dip from z = 0. The plus side is that of smaller y (the footwall of a fault that dips towards +y), so that positive slip along
strike is right-lateral and positive slip along dip is normal faulting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from faultwave.base.registry import pick, scan

Array = np.ndarray
Place = tuple[float, float]
"""(s, d) on a fault [m]."""


@dataclass(frozen=True)
class Fault:
    """Rectangular fault.

    ``along`` and ``down`` are its extents in s and d, ``strike`` turns from +x to +y, ``dip`` leans it to its left (+y for strike 0),
    ``origin`` (x, y) is the point s = d = 0. ``patches`` (s0, s1, d0, d1) are rectangles whose edges faces must follow.
    """

    name: str
    along: tuple[float, float]
    down: tuple[float, float]
    origin: tuple[float, float] = (0.0, 0.0)
    strike: float = 0.0
    dip: float = 90.0
    patches: tuple[tuple[float, float, float, float], ...] = ()

    @cached_property
    def axes(self) -> tuple[Array, Array]:
        """Unit vectors along s and d."""
        angle, dip = np.radians(self.strike), np.radians(self.dip)
        across = 0.0 if self.dip == 90 else float(np.cos(dip))
        along = np.array([np.cos(angle), np.sin(angle), 0.0])
        down = np.array([-np.sin(angle) * across, np.cos(angle) * across, -np.sin(dip)])
        return along, down

    def point(self, s: float, d: float) -> Array:
        """(x, y, z) of a place on the plane."""
        along, down = self.axes
        return np.array([*self.origin, 0.0]) + s * along + d * down

    def places(self, points: Array) -> Array:
        """(n, 2): s and d of points (n, 3) on the fault."""
        along, down = self.axes
        return np.stack([(points[:, :2] - self.origin) @ along[:2], points[:, 2] / down[2]], 1)


def square(s: float, d: float, edge: float = 3000.0) -> tuple[float, float, float, float]:
    """A square patch about a place."""
    return s - edge / 2, s + edge / 2, d - edge / 2, d + edge / 2


@dataclass(frozen=True)
class Domain:
    """The box around the faults: ``margin`` beyond them on every absorbing side, ``far_size`` the largest edge there.

    Without a ``free_surface`` the box goes on above the fault. ``depths`` are horizontal interfaces [m], ``planes`` vertical ones at
    these y. ``relief(x, z)`` moves the fault y = 0 sideways, fading over ``fading`` metres.
    """

    margin: float = 20e3
    far_size: float = 5e3
    free_surface: bool = True
    depths: tuple[float, ...] = ()
    planes: tuple[float, ...] = ()
    relief: Callable[[Array, Array], Array] | None = None
    fading: float = 6e3


@dataclass(frozen=True)
class Resolution:
    """Element edge on the fault [m], order, end time [s], and precision of the wave field.

    ``coarser`` is the ratio of the edges of the run for comparison to these. Edges on the fault grow beyond the distance ``reach`` [m]
    from the hypocentre, for runs that end before the rupture front arrives there.
    """

    size: float
    order: int
    end_time: float
    precision: str = "double"
    coarser: float = 1.5
    reach: float = np.inf


def quick(
    size: float = 900.0, end_time: float = 8.0, order: int = 4, coarser: float = 1.5, reach: float = np.inf
) -> Resolution:
    """A minute or two on one core: single precision."""
    return Resolution(size, order, end_time, "single", coarser, reach)


@dataclass(frozen=True)
class Start:
    """Nucleation: fault, place, and radius of the nucleation zone [m]."""

    place: Place
    radius: float
    fault: str = "main"


@dataclass(frozen=True)
class OnGrid:
    """Settings of a benchmark on grids.

    ``spacings`` [m] are those of quick and full runs; precision of the wave field; the end of full runs if it is earlier than that of the
    benchmark; and ``means``: texts, by name, of parameters with sharp edges that are averaged over cells of a spacing.
    """

    spacings: tuple[float, float] = (200.0, 100.0)
    precision: str = "single"
    end_time: float = np.inf
    means: Mapping[str, Callable[[float], str]] = field(default_factory=dict)


Check = Callable[[Any], Any]
"""Check of a benchmark: Measured -> Row, see ``checks``."""


@dataclass(frozen=True)
class Benchmark:
    """Benchmark of the SCEC/USGS suite.

    Attributes
    ----------
    fault_settings : dict
        Group ``fault`` of the case without reference.
    speeds : tuple of float
        Largest P speed and the S speed to which rupture speeds are compared [m/s].
    stations : dict
        Places (s, d) by fault.
    source, notes : str
        Reference of the description, and what is not confirmed or differs.
    plasticity : dict or None
        Group ``plasticity`` of the case, None without yielding.
    reference : str
        Deck with results of another code, if available.
    recommended : float
        Node spacing [m] that the description recommends.
    grid : OnGrid or None
        None if the benchmark cannot run on a grid.
    """

    name: str
    title: str
    faults: tuple[Fault, ...]
    material: Mapping[str, Any]
    fault_settings: Mapping[str, Any]
    start: Start
    stations: Mapping[str, tuple[Place, ...]]
    end_time: float
    recommended: float = 100.0
    quick: Resolution = field(default_factory=quick)
    speeds: tuple[float, float] = (6000.0, 3464.0)
    domain: Domain = field(default_factory=Domain)
    checks: tuple[Check, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()
    reference: str = ""
    plasticity: Mapping[str, Any] | None = None
    grid: OnGrid | None = None

    @property
    def full(self) -> Resolution:
        """Resolution at order 4 with the recommended number of points per length.

        Waves are in single precision: friction is always solved in double precision, and rounding errors are far below the
        discretisation errors of elements of this size.
        """
        return Resolution(4 * self.recommended, 4, self.end_time, "single")

    def fault(self, name: str) -> Fault:
        return next(fault for fault in self.faults if fault.name == name)


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by name, in the order of their numbers; those without one come last."""

    def order(name: str) -> tuple[float, str]:
        number = re.search(r"\d+", name)
        return float(number[0]) if number else np.inf, name

    found = scan("faultwave.verify.scec.benchmarks", Benchmark)
    return {name: found[name] for name in sorted(found, key=order)}


def find(name: str) -> Benchmark:
    """The benchmark called ``name``; InputError with the names there are and the nearest one."""
    return pick(benchmarks(), name, "benchmark", "verify scec")
