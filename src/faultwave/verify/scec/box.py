"""Box around a benchmark's faults, and the time for which it acts as an unbounded domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.verify.scec.benchmark import Array, Benchmark


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
