"""Problems with a known solution, on which the accuracy of engines, orders and precisions is measured.

Errors are relative L2 misfits of records within time windows, as a root mean square over the receivers. Waves recorded in a window have
propagated over a known number of their wavelengths (``distances``), so that one run shows how errors grow with distance. Points per
wavelength account for the order as in ``faultwave plan``: the wavelength divided by edge / order, with the edge of a regular
tetrahedron of the volume of a cell. The wavelength is the shortest one at the frequency below which the source radiates 95 % of the wave
energy. ``numerics.cfl`` has the default value of each engine, as in a case that does not set it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from faultwave.base.registry import scan
from faultwave.base.types import Record
from faultwave.run import simulate

if TYPE_CHECKING:
    from faultwave.observe.dataset import Dataset
    from faultwave.run.session import Session

Array = np.ndarray
ENERGY = 0.95
"""Fraction of the wave energy radiated below the frequency that defines the wavelength."""
REGULAR = 2.0 ** (1 / 6)
"""Edge of a regular tetrahedron relative to the edge of a cube that is cut into six tetrahedra of the same volume."""


@dataclass(frozen=True)
class Setting:
    """Numerical settings of one measurement.

    Attributes
    ----------
    engine : {'dg', 'fd'}
    order : int
        Order of accuracy in space.
    size : int
        Number of bricks (dg) or grid points (fd) along the box.
    precision : str
        'single' or 'double'.
    """

    engine: Literal["dg", "fd"]
    order: int
    size: int
    precision: str

    @property
    def series(self) -> tuple[str, int, str]:
        """Engine, order and precision, which all sizes of a ladder share."""
        return self.engine, self.order, self.precision


@dataclass(frozen=True)
class Records:
    """Computed and exact records of one run.

    Attributes
    ----------
    times : ndarray, shape (nt,)
        Times of the samples.
    found, expected : ndarray, shape (nr, nt, nq)
        Computed and exact quantities at the receivers.
    core_seconds : float
        Processor time of the time stepping [s].
    updates : float
        Number of updates of cells or grid points.
    """

    times: Array
    found: Array
    expected: Array
    core_seconds: float
    updates: float


@dataclass(frozen=True)
class Point:
    """Measured point of the table: a setting, its points per wavelength, its cost, and one error per distance of the problem."""

    setting: Setting
    points: float
    core_seconds: float
    updates: float
    errors: tuple[float, ...]


@dataclass(frozen=True)
class AccuracyProblem:
    """Problem with a known solution and the settings at which it is run.

    Attributes
    ----------
    name, title : str
        Name on the command line and title in tables.
    distances : tuple of float
        Propagation distances at which errors are measured, in wavelengths.
    volume_time : float
        Volume of the box in cubic wavelengths times the duration in periods, by which costs are scaled to other boxes.
    points : callable
        Function of a setting that returns its points per wavelength.
    run : callable
        Function of a setting that runs it and returns its ``Point``.
    ladders : mapping
        Sizes from coarse to fine by (engine, order, precision).
    levels : tuple of float
        Error levels of the table.
    unit : str
        Unit of the errors; empty for relative errors.
    needs : str
        Module without which the problem is left out; empty if there is none.
    budgets : float
        Number of budgets that one run may spend; more than one where even coarse runs are expensive.
    """

    name: str
    title: str
    distances: tuple[float, ...]
    volume_time: float
    points: Callable[[Setting], float]
    run: Callable[[Setting], Point]
    ladders: Mapping[tuple[str, int, str], Sequence[int]]
    levels: tuple[float, ...] = (0.05, 0.01, 0.001)
    unit: str = ""
    needs: str = ""
    budgets: float = 1.0


def problems() -> dict[str, AccuracyProblem]:
    """Return all problems by name."""
    return scan("faultwave.bench.accuracy.problems", AccuracyProblem)


def tail_of(setting: Setting, periods: float) -> float:
    """Return the time [s] by which a run is extended beyond its records.

    Seismograms corrected for time dispersion (engine fd, order 8) are inaccurate at their end if motion continues there.
    """
    return periods if setting.engine == "fd" and setting.order == 8 else 0.0


def stepped(
    case: Record, initial: Callable[[np.ndarray, float], np.ndarray] | None = None
) -> tuple[Dataset, float, float]:
    """Run a case in memory on one thread; return its receivers, the processor time of stepping [s] and the number of updates."""
    numerics = {**case["numerics"], "threads": 1}
    sim = simulate({**case, "numerics": numerics})
    if initial is not None:
        sim.set_initial(initial)
    before = time.process_time()
    sim.run(write=False)
    assert sim.receivers is not None
    return sim.receivers, time.process_time() - before, float(updates(sim))


def updates(sim: Session) -> float:
    """Return the number of cells or points times the number of steps of a finished run with a uniform time step."""
    march = getattr(sim.solver, "march", None)
    step = sim.plan.scheme.step if march is None else march.longest
    return float(sim.solver.size * sim.case.end_time / step)


def velocity(data: Dataset) -> Array:
    """Return the velocity (nr, nt, 3) of receivers."""
    return np.stack([data.quantity(f"v{i}") for i in (1, 2, 3)], -1).transpose(1, 0, 2)


def windowed(records: Records, centres: Sequence[float], half: float) -> tuple[float, ...]:
    """Return the relative L2 misfit in every time window as a root mean square over the receivers."""
    errors = []
    for centre in centres:
        inside = np.abs(records.times - centre) <= half
        errors.append(float(np.sqrt(np.mean(misfits(records, inside) ** 2))))
    return tuple(errors)


def misfits(records: Records, inside: Array) -> Array:
    """Return the relative L2 misfit in time (nr,) of all quantities together."""
    difference = ((records.found - records.expected)[:, inside] ** 2).sum((1, 2))
    return np.asarray(np.sqrt(difference / (records.expected[:, inside] ** 2).sum((1, 2))))


def energetic_frequency(frequencies: Array, amplitudes: Array) -> float:
    """Return the frequency [Hz] below which a source radiates 95 % of its wave energy.

    ``amplitudes`` is the spectrum of the moment *rate* or of the rate of the force; the far-field velocity is
    proportional to frequency times amplitude.
    """
    each = (frequencies * amplitudes) ** 2
    power = np.cumsum(each) - 0.5 * each  # a frequency stands for those around it
    return float(np.interp(ENERGY * power[-1], power, frequencies))
