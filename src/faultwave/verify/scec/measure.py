"""Results of a benchmark run, read from its files: rupture times and slip on every fault, stations, energies, cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.interpolate import LinearNDInterpolator

from faultwave.observe.dataset import Dataset
from faultwave.output.formats.scec import rupture_times
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import load_results
from faultwave.output.trace import Trace
from faultwave.verify.scec.benchmark import Array, Benchmark, Fault, Resolution
from faultwave.verify.scec.folder import PREFIX, RESULTS, Cost

FIRST_TAG, MORE_TAGS = 3, 65
_DENSITY = 4.0
"""Points of a regular map of the fault per element length."""


@dataclass(frozen=True)
class Rupture:
    """Final state of one fault.

    Attributes
    ----------
    fault : Fault
        Declared fault.
    places : array (n, 2)
        Centres of the triangles in (s, d) [m].
    corners : array (n, 3, 2)
        Corners of the triangles in (s, d) [m].
    area : array (n,)
        Areas of the triangles [m^2].
    time : array (n,)
        Rupture times [s]; NaN where the fault did not rupture.
    slip, peak : array (n,)
        Slip [m] and peak slip rate [m/s].
    """

    fault: Fault
    places: Array
    corners: Array
    area: Array
    time: Array
    slip: Array
    peak: Array

    @property
    def ruptured(self) -> float:
        """Share of the area that has ruptured."""
        return float(self.area[np.isfinite(self.time)].sum() / self.area.sum())

    @property
    def mean_slip(self) -> float:
        return float(np.average(self.slip, weights=self.area))

    @cached_property
    def _interpolate(self) -> LinearNDInterpolator:
        return LinearNDInterpolator(self.places, self.time)

    def at(self, s: float, d: float) -> float:
        """Return the rupture time at a position; NaN where the fault did not rupture.

        At the fault's edge, and next to single locked points, the time of the nearest ruptured triangle is used if it is adjacent.
        """
        found = float(self._interpolate(s, d))
        ruptured = np.isfinite(self.time)
        if np.isfinite(found) or not ruptured.any():
            return found
        away = np.where(ruptured, np.hypot(*(self.places - (s, d)).T), np.inf)
        nearest = int(np.argmin(away))
        return float(self.time[nearest]) if away[nearest] < 2 * np.sqrt(2 * self.area[nearest]) else float("nan")

    def on(self, s: Array, d: Array) -> Array:
        """Return rupture times (len(d), len(s)) on a lattice; NaN where unruptured and beyond the outermost centres."""
        return np.asarray(self._interpolate(*np.meshgrid(s, d)))


@dataclass(frozen=True)
class Run:
    """Results of one run of a benchmark.

    Attributes
    ----------
    resolution : Resolution
        Discretisation of the run.
    ruptures : mapping of str to Rupture
        Final state of each fault.
    stations : mapping
        Traces by (fault, s, d).
    energies : Dataset
        Energies over time [J].
    cost : Cost
        Cost of the run.
    """

    resolution: Resolution
    ruptures: Mapping[str, Rupture]
    stations: Mapping[tuple[str, float, float], Trace]
    energies: Dataset
    cost: Cost


@dataclass(frozen=True)
class Measured:
    """Results of a benchmark at two resolutions; ``fine`` is the one that is judged."""

    benchmark: Benchmark
    fine: Run
    coarse: Run
    quick: bool


def lattice(fault: Fault, size: float) -> tuple[Array, Array]:
    """Return positions s and d of a regular map of a fault, finer than its elements and inside its edges."""
    step = size / _DENSITY
    (a, b), (c, e) = fault.along, fault.down
    s, d = (np.linspace(lo + step, hi - step, max(int((hi - lo) / step) - 1, 2)) for lo, hi in ((a, b), (c, e)))
    return s, d


def read_run(benchmark: Benchmark, resolution: Resolution, folder: Path, cost: Cost) -> Run:
    """Return the results of the run in ``folder``."""
    results = load_results(folder / RESULTS, PREFIX)
    names = [(name, s, d) for name, places in benchmark.stations.items() for s, d in places]
    traces = results.traces["faultreceiver"]
    assert results.energies is not None
    stations = {name: traces[i] for i, name in enumerate(names, 1)}
    return Run(resolution, read_ruptures(benchmark, folder), stations, results.energies, cost)


def read_ruptures(benchmark: Benchmark, folder: Path) -> dict[str, Rupture]:
    """Return the final state of every fault of the run in ``folder``."""
    with VtkHdfReader(folder / RESULTS / f"{PREFIX}-fault.vtkhdf") as file:
        return {fault.name: _rupture(file, fault, number) for number, fault in enumerate(benchmark.faults)}


def _rupture(file: VtkHdfReader, fault: Fault, number: int) -> Rupture:
    tag = FIRST_TAG if number == 0 else MORE_TAGS + number - 1
    chosen = file.field("fault-tag") == tag
    corners = file.points[file.cells[chosen]]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat = fault.places(corners.reshape(-1, 3)).reshape(-1, 3, 2)
    return Rupture(
        fault,
        flat.mean(1),
        flat,
        0.5 * np.linalg.norm(across, axis=1),
        rupture_times(file)[chosen],
        np.hypot(file.field("Sls"), file.field("Sld"))[chosen],
        file.field("PSR")[chosen],
    )


def differences(a: Rupture, b: Rupture, size: float) -> tuple[float, float]:
    """Return the RMS difference [s] of two sets of rupture times where both ruptured, and the mean of the second."""
    s, d = lattice(a.fault, size)
    first, second = a.on(s, d), b.on(s, d)
    both = np.isfinite(first) & np.isfinite(second)
    if not both.any():
        return float("nan"), float("nan")
    return float(np.sqrt(np.mean((first - second)[both] ** 2))), float(second[both].mean())
