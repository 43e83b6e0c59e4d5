"""Engine fd: reciprocity, and seismograms from strain Green tensors against forward runs.

A rupture of two points, seen at a site: once by a forward run, once from the strain that forces at the site make at the points. In
periodic and rigid boxes of a material that varies everywhere, both must agree to 1e-10 in double and 1e-5 in single precision; below
a free surface with absorbing layers, where waves are resolved, to 1e-3. Compared is every step, over the largest velocity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.run import simulate
from faultwave.run.fd.sgt import green_tensors, seismograms
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most

SITE = (420.0, 930.0, -510.0)
FAULT = ((1010.0, 610.0, -820.0), (870.0, 700.0, -905.0))
TENSORS = np.array([[4e14, -1e14, 2e14, 1e15, -3e14, 5e14], [0.0, 0.0, 0.0, 1e14, 0.0, -2e14]])
NAMES = ("xx", "yy", "zz", "xy", "yz", "xz")
VARIED = {"expression": {"rho": "2700 + 0.2 * x", "vp": "3464 + 0.3 * y - 0.2 * z", "vs": "2000 - 0.4 * z"}}
UNIFORM = {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0}}
SHORT, LONG = 0.06, 0.12
"""Standard deviation of the source's Gaussian [s]: any will do where the grid itself is reciprocal."""


def settings(boundaries: dict[str, str], precision: str, material: dict[str, Any], sigma: float) -> dict[str, Any]:
    """The forward case."""
    sources = [
        {"kind": "moment-tensor", "location": list(place), "tensor": dict(zip(NAMES, tensor, strict=True)),
         "time_function": {"kind": "gaussian", "duration": sigma}} for place, tensor in zip(FAULT, TENSORS.tolist(), strict=True)
    ]  # fmt: skip
    return {
        "engine": "fd", "end_time": 0.9, "material": material, "sources": sources, "numerics": {"precision": precision},
        "grid": {"lower": [0, 0, -1500], "upper": [1500, 1600, 0], "spacing": 100.0, "boundaries": boundaries},
        "output": {"receivers": {"points": [list(SITE)], "interval": 0.01}},
    }  # fmt: skip


def difference(made: dict[str, Any], sigma: float) -> float:
    """Largest difference of both velocities over the largest forward one, at every step."""
    sim: Any = simulate(made)
    dt = sim.plan.scheme.step
    made["output"]["receivers"]["interval"] = dt
    sim = simulate(made)
    forward = np.array([sim.operator.advance(1)[0, 0, 0, 6:] for _ in range(sim.plan.steps)]).T
    found = seismograms(green_tensors(made, duration=sigma, delay=0.5 * dt), TENSORS)[0][:, 1:]
    return float(np.abs(forward - found).max() / np.abs(forward).max())


def run(progress: Progress) -> Result:
    """Symmetric boxes, then those of earthquakes."""
    rows: list[Row] = []
    for sides in ("periodic", "rigid"):
        for precision, limit in (("double", 1e-10), ("single", 1e-5)):
            progress(f"{sides} sides, {precision} precision")
            made = settings(dict.fromkeys("xyz", sides), precision, VARIED, SHORT)
            rows.append(at_most(f"{sides} sides, {precision} precision", difference(made, SHORT), limit))
    for precision in ("double", "single"):
        progress(f"free surface and absorbing layers, {precision} precision")
        made = settings({"z+": "free-surface"}, precision, UNIFORM, LONG)
        rows.append(at_most(f"free surface and absorbing layers, {precision} precision", difference(made, LONG), 1e-3))
    return Result(tuple(rows))


FD_RECIPROCITY = VerificationCase("fd-reciprocity", "grids: strain Green tensors against forward runs", run, 0.5)
