"""Declaration of a benchmark: geometry, medium, friction, nucleation and checks in one record, and the box around its faults.

Coordinates: x along the main fault, y across it, z up, the free surface at z = 0, SI units. On a fault: s along strike from its origin,
d down dip from z = 0. The plus side is the side of smaller y (the footwall of a fault that dips towards +y), so that positive slip along
strike is right-lateral and positive slip along dip is normal faulting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from faultwave.base.registry import get_entry, scan
from faultwave.base.types import Record

Array = np.ndarray
Place = tuple[float, float]
"""Position (s, d) on a fault [m]."""


@dataclass(frozen=True)
class Fault:
    """Rectangular planar fault.

    Attributes
    ----------
    name : str
        Name of the fault.
    along, down : tuple of float
        Extents in s and d [m].
    origin : tuple of float
        Position (x, y) of s = d = 0 [m].
    strike : float
        Angle from +x towards +y [degrees].
    dip : float
        Dip [degrees], to the left of the strike direction (towards +y for strike 0).
    patches : tuple
        Rectangles (s0, s1, d0, d1) [m] whose edges the mesh faces must follow.
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
        """Return the coordinates (x, y, z) of a position on the plane."""
        along, down = self.axes
        return np.array([*self.origin, 0.0]) + s * along + d * down

    def places(self, points: Array) -> Array:
        """Return s and d (n, 2) of points (n, 3) on the fault."""
        along, down = self.axes
        return np.stack([(points[:, :2] - self.origin) @ along[:2], points[:, 2] / down[2]], 1)


def square(s: float, d: float, edge: float = 3000.0) -> tuple[float, float, float, float]:
    """Return a square patch (s0, s1, d0, d1) centred at a position."""
    return s - edge / 2, s + edge / 2, d - edge / 2, d + edge / 2


@dataclass(frozen=True)
class Domain:
    """Box around the faults: ``margin`` beyond them on every absorbing side, ``far_size`` the largest edge there [m].

    Without a ``free_surface`` the box continues above the fault. ``depths`` are horizontal interfaces [m], ``planes`` vertical ones at
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
    """Discretisation of a run.

    Attributes
    ----------
    size : float
        Element edge on the fault, or spacing of a grid [m].
    order : int
        Order of accuracy.
    end_time : float
        Simulated time [s].
    precision : str
        Precision of the wave field.
    coarser : float
        Factor on the element edge for the coarser run of the convergence check.
    reach : float
        Distance [m] from the nucleation beyond which edges on the fault grow, for runs that end before the front gets there.
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
    """Return a resolution that takes a minute or two on one core, in single precision."""
    return Resolution(size, order, end_time, "single", coarser, reach)


@dataclass(frozen=True)
class Start:
    """Nucleation: fault, position, and the radius within which rupture is initiated [m]."""

    place: Place
    radius: float
    fault: str = "main"


@dataclass(frozen=True)
class OnGrid:
    """Settings of a benchmark on the engine fd.

    Attributes
    ----------
    spacings : tuple of float
        Grid spacing of the quick and the full run [m].
    precision : str
        Precision of the wave field.
    end_time : float
        Upper limit on the end time of full runs [s].
    means : mapping
        Functions spacing -> expression for parameters with sharp edges, which are averaged over cells.
    """

    spacings: tuple[float, float] = (200.0, 100.0)
    precision: str = "single"
    end_time: float = np.inf
    means: Mapping[str, Callable[[float], str]] = field(default_factory=dict)


Check = Callable[[Any], Any]
"""Check of a benchmark: Measured -> Row, see ``checks``."""


@dataclass(frozen=True)
class Benchmark:
    """SCEC/USGS benchmark.

    Attributes
    ----------
    name, title : str
        Identifier, and one line of description.
    faults : tuple of Fault
        Faults; the first is the main one.
    material : mapping
        Group ``material`` of the case.
    fault_settings : mapping
        Group ``fault`` of the case, without its reference point.
    start : Start
        Nucleation.
    stations : mapping
        Positions (s, d) of fault receivers [m], by fault.
    end_time : float
        End of the full run [s].
    recommended : float
        Node spacing that the description recommends [m].
    quick : Resolution
        Resolution of quick runs.
    speeds : tuple of float
        Largest P speed and the S speed by which rupture is judged [m/s].
    domain : Domain
        Box around the faults.
    checks : tuple of callable
        Checks beyond the general ones.
    source : str
        Author and address of the description.
    notes : tuple of str
        Unconfirmed values, and differences from the description.
    reference : str
        Deck with results of another code, if available.
    plasticity : mapping or None
        Group ``plasticity`` of the case; None for elastic rock.
    grid : OnGrid or None
        Settings for the engine fd; None if the benchmark cannot run on a grid.
    """

    name: str
    title: str
    faults: tuple[Fault, ...]
    material: Record
    fault_settings: Record
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
    plasticity: Record | None = None
    grid: OnGrid | None = None

    @property
    def full(self) -> Resolution:
        """Resolution of order 4 with as many points per length as the description recommends.

        Waves are in single precision: friction is always solved in double precision, and rounding errors are far below the discretisation
        errors of elements of this size.
        """
        return Resolution(4 * self.recommended, 4, self.end_time, "single")

    def fault(self, name: str) -> Fault:
        return next(fault for fault in self.faults if fault.name == name)


def benchmarks() -> dict[str, Benchmark]:
    """Return every benchmark by name, in the order of their numbers; names without a number come last."""

    def order(name: str) -> tuple[float, str]:
        number = re.search(r"\d+", name)
        return float(number[0]) if number else np.inf, name

    found = scan("faultwave.verify.scec.benchmarks", Benchmark)
    return {name: found[name] for name in sorted(found, key=order)}


def find(name: str) -> Benchmark:
    """Return the benchmark called ``name``.

    Raises
    ------
    InputError
        If there is no such benchmark; the message lists the names and suggests the nearest one.
    """
    return get_entry(benchmarks(), name, "benchmark", "verify scec")


@dataclass(frozen=True)
class Box:
    """Corners of the domain [m]."""

    lower: Array
    upper: Array


def box_of(benchmark: Benchmark) -> Box:
    """Return the box that leaves the margin around all faults."""
    corners = np.array([fault.point(s, d) for fault in benchmark.faults for s in fault.along for d in fault.down])
    domain = benchmark.domain
    lower, upper = corners.min(0) - domain.margin, corners.max(0) + domain.margin
    upper[2] = 0.0 if domain.free_surface else upper[2]
    return Box(lower, upper)


def undisturbed(benchmark: Benchmark) -> float:
    """Return the time at which P waves that start with the rupture first reach an absorbing side [s]."""
    box, start = box_of(benchmark), benchmark.start
    centre = benchmark.fault(start.fault).point(*start.place)
    distances = [*(centre - box.lower), *(box.upper - centre)[: 2 if benchmark.domain.free_surface else 3]]
    return float((min(distances) - start.radius) / benchmark.speeds[0])
