"""What accuracy is measured on: a problem with a known answer, run at many settings.

Errors are relative L2 misfits of records, root mean square over receivers, in windows of time. What is seen in a window has travelled
``distances`` wavelengths of its own, so that one run shows how errors grow on the way. Points per wavelength count the order as
``faultwave plan`` does: edge / order is the wavelength over their number, the edge being that of a regular tetrahedron of a cell's volume.
Wavelengths are the shortest at the frequency below which the source radiates 95 % of the energy of waves. ``numerics.cfl`` is the default
of each engine, as in a case that does not say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from faultwave.base.registry import scan
from faultwave.run import simulate

Array = np.ndarray
ENERGY = 0.95
"""Share of the energy of waves that lies below the frequency by which wavelengths are counted."""
REGULAR = 2.0 ** (1 / 6)
"""Edge of a regular tetrahedron over that of a brick cut into six of its volume."""


@dataclass(frozen=True)
class Setting:
    """What is varied: engine, order, pieces along the box (bricks of dg, points of fd) and precision."""

    engine: Literal["dg", "fd"]
    order: int
    size: int
    precision: str

    @property
    def series(self) -> tuple[str, int, str]:
        """What a ladder of sizes has in common."""
        return self.engine, self.order, self.precision


@dataclass(frozen=True)
class Records:
    """One run: times (nt,), found and expected (nr, nt, nq); processor time of stepping [s] and cell or point updates."""

    times: Array
    found: Array
    expected: Array
    core_seconds: float
    updates: float


@dataclass(frozen=True)
class Point:
    """One measured point of the table: a setting, its points per wavelength, cost and errors, one for each distance of the problem."""

    setting: Setting
    points: float
    core_seconds: float
    updates: float
    errors: tuple[float, ...]


@dataclass(frozen=True)
class AccuracyProblem:
    """``run(setting)`` gives records or what it makes of them; ``points(setting)`` the points per wavelength. ``distances`` in wavelengths,
    ``volume_time``: cubic wavelengths of the box times periods of the run, for costs of other boxes. ``levels`` are the errors that
    the table asks for. ``ladders``: sizes by (engine, order, precision), coarsest first. ``needs``: a module without which it is left out.
    ``budgets``: how many budgets one run may take, more than one where even coarse runs cost much.
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
    """Every problem by name."""
    return scan("faultwave.bench.accuracy.problems", AccuracyProblem)


def tail_of(setting: Setting, periods: float) -> float:
    """How much longer [s] a run must go on: seismograms freed of time dispersion are not good at their end, where motion goes on."""
    return periods if setting.engine == "fd" and setting.order == 8 else 0.0


def stepped(case: Mapping[str, Any], initial: Any = None) -> tuple[Any, float, float]:
    """A case run in memory on one thread: its receivers, processor time of stepping [s], updates of cells or points."""
    numerics = {**case["numerics"], "threads": 1}
    sim: Any = simulate({**case, "numerics": numerics})
    if initial is not None:
        sim.set_initial(initial)
    before = time.process_time()
    sim.run(write=False)
    return sim.receivers, time.process_time() - before, float(updates(sim))


def updates(sim: Any) -> float:
    """Cells or points times steps of a finished run of equal steps."""
    march = getattr(sim.solver, "march", None)
    step = sim.plan.scheme.step if march is None else march.longest
    return float(sim.solver.size * sim.case.end_time / step)


def velocity(data: Any) -> Array:
    """Velocity (nr, nt, 3) of receivers."""
    return np.stack([data.quantity(f"v{i}") for i in (1, 2, 3)], -1).transpose(1, 0, 2)


def windowed(records: Records, centres: Sequence[float], half: float) -> tuple[float, ...]:
    """Relative L2 misfit in every window, root mean square over receivers."""
    errors = []
    for centre in centres:
        inside = np.abs(records.times - centre) <= half
        errors.append(float(np.sqrt(np.mean(misfits(records, inside) ** 2))))
    return tuple(errors)


def misfits(records: Records, inside: Array) -> Array:
    """Relative L2 misfit (nr,) in time, all quantities together."""
    difference = ((records.found - records.expected)[:, inside] ** 2).sum((1, 2))
    return np.asarray(np.sqrt(difference / (records.expected[:, inside] ** 2).sum((1, 2))))


def energetic_frequency(frequencies: Array, amplitudes: Array) -> float:
    """Frequency [Hz] below which a source of this spectrum of moment RATE or force rate radiates 95 % of the energy of waves; their
    velocity far away goes as frequency times amplitude."""
    each = (frequencies * amplitudes) ** 2
    power = np.cumsum(each) - 0.5 * each  # a frequency stands for those around it
    return float(np.interp(ENERGY * power[-1], power, frequencies))
