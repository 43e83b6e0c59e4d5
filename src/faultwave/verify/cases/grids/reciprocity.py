"""Reciprocity of the engine fd, and seismograms from strain Green tensors against forward runs.

A rupture of two points is recorded at a site: once by a forward run, once from the strain at the points under forces at the site. In
a heterogeneous material both must agree to 1e-10 in double and 1e-5 in single precision: in periodic and rigid boxes, and with
a free surface and absorbing layers, also with attenuation, for sites on the surface and below. Differences are taken at every step,
relative to the largest velocity.
"""

from __future__ import annotations

import numpy as np

from faultwave.base.types import Settings
from faultwave.green_tensors import green_tensors, seismograms
from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most

SITE = (420.0, 930.0, -510.0)
FAULT = ((1010.0, 610.0, -820.0), (870.0, 700.0, -905.0))
TENSORS = np.array([[4e14, -1e14, 2e14, 1e15, -3e14, 5e14], [0.0, 0.0, 0.0, 1e14, 0.0, -2e14]])
NAMES = ("xx", "yy", "zz", "xy", "yz", "xz")
VARIED = {"expression": {"rho": "2700 + 0.2 * x", "vp": "3464 + 0.3 * y - 0.2 * z", "vs": "2000 - 0.4 * z"}}
QUALITY = {"Qp": "60 + 0.01 * x", "Qs": "40 - 0.01 * z"}
SIGMA = 0.06
"""Standard deviation of the source's Gaussian [s]; arbitrary, as the grid itself is reciprocal."""
LIMITS = {"double": 1e-10, "single": 1e-5}


def settings(
    boundaries: dict[str, str], precision: str, site: tuple[float, ...], attenuation: bool = False
) -> Settings:
    """Return the forward case."""
    sources = [
        {"kind": "moment-tensor", "location": list(place), "tensor": dict(zip(NAMES, tensor, strict=True)),
         "time_function": {"kind": "gaussian", "duration": SIGMA}} for place, tensor in zip(FAULT, TENSORS.tolist(), strict=True)
    ]  # fmt: skip
    material = {"expression": VARIED["expression"] | QUALITY} if attenuation else VARIED
    return {
        "engine": "fd", "end_time": 0.9, "material": material, **({"attenuation": {}} if attenuation else {}),
        "sources": sources, "numerics": {"precision": precision},
        "grid": {"lower": [0, 0, -1500], "upper": [1500, 1600, 0], "spacing": 100.0, "boundaries": boundaries},
        "output": {"receivers": {"points": [list(site)], "interval": 0.01}},
    }  # fmt: skip


def difference(made: Settings) -> float:
    """Return the largest difference of both velocities at any step, over the largest forward one."""
    dt = setups.grid_solver(made).plan.scheme.step
    made["output"]["receivers"]["interval"] = dt
    solver = setups.grid_solver(made)
    forward = np.array([solver.operator.advance(1)[0][0, 0, 0, 6:] for _ in range(solver.plan.steps)]).T
    found = seismograms(green_tensors(made, duration=SIGMA, delay=0.5 * dt), TENSORS)[0][:, 1:]
    return float(np.abs(forward - found).max() / np.abs(forward).max())


def run(progress: Progress) -> Result:
    """Judge symmetric boxes, then boxes with free surface and absorbing layers."""
    on_top = (*SITE[:2], 0.0)
    boxes: dict[str, tuple[dict[str, str], tuple[float, ...], bool]] = {
        "periodic sides": (dict.fromkeys("xyz", "periodic"), SITE, False),
        "rigid sides": (dict.fromkeys("xyz", "rigid"), SITE, False),
        "free surface and absorbing layers": ({"z+": "free-surface"}, SITE, False),
        "the same, a site on the surface": ({"z+": "free-surface"}, on_top, False),
        "the same with attenuation": ({"z+": "free-surface"}, on_top, True),
    }
    rows: list[Row] = []
    for name, (sides, site, attenuation) in boxes.items():
        for precision, limit in LIMITS.items():
            progress(f"{name}, {precision} precision")
            made = settings(sides, precision, site, attenuation)
            rows.append(at_most(f"{name}, {precision} precision", difference(made), limit))
    return Result(tuple(rows))


FD_RECIPROCITY = VerificationCase("fd-reciprocity", "grids: strain Green tensors against forward runs", run, 0.5)
