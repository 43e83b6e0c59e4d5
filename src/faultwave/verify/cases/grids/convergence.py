"""Order of convergence of the engine fd in a smooth medium.

Plane P and S waves in a periodic box are compared with the exact solution on grids of 8 to 32 points per wavelength along each axis. The
time step falls with the square of the spacing, so that its second order appears as fourth: every quantity that moves must converge with
order 3.7 or more. Double precision avoids the rounding of coefficients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.types import Settings
from faultwave.physics.waves.plane_waves import plane_waves
from faultwave.run import simulate
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_least, rate
from faultwave.verify.exact import Array

if TYPE_CHECKING:
    from faultwave.run.session import Session

MATERIAL = {"rho": 1.0, "lambda": 2.0, "mu": 1.0}
SIZES = (8, 16, 32)
COURANT = 0.8  # Courant number of the coarsest grid, over the stable one
ORDER = 3.7


def errors(cells: int, courant: float) -> Array:
    """Return the relative L2 error of every quantity."""
    wave: Settings = {"k": [2 * np.pi, 2 * np.pi, 0.0], "amplitude": 1.0}
    waves = [{"mode": "P", **wave}, {"mode": "S", "polarisation": [0, 0, 1.0], **wave, "k": [0.0, -2 * np.pi, 0.0]}]
    sim: Session = simulate({
        "engine": "fd", "end_time": 0.3, "material": {"constant": MATERIAL},
        "grid": {"lower": [0, 0, 0], "upper": [1, 1, 1], "spacing": 1.0 / cells, "boundaries": dict.fromkeys("xyz", "periodic")},
        "initial": {"kind": "plane-wave", "wave": waves}, "numerics": {"precision": "double", "cfl": courant},
    })  # fmt: skip
    sim.run(write=False)
    parameters = {k: np.array([v]) for k, v in MATERIAL.items()}
    return np.asarray(sim.error(lambda x, t: plane_waves(sim.plan.law, parameters, sim.case.initial.wave, x, t)))


def run(progress: Progress) -> Result:
    """Judge the smallest rate over all quantities from each grid to the next."""
    found = []
    for cells in SIZES:
        progress(f"{cells} points a wavelength")
        found.append(errors(cells, COURANT * SIZES[0] / cells))
    moving = found[0] > 1e-3  # s_xz is zero
    rows: list[Row] = []
    for n, (coarse, fine) in enumerate(zip(found, found[1:], strict=False)):
        least = min(rate(float(a), float(b)) for a, b in zip(coarse[moving], fine[moving], strict=True))
        rows.append(at_least(f"rate from {SIZES[n]} to {SIZES[n + 1]} points a wavelength", least, ORDER, 4.0))
    return Result(tuple(rows), (f"{int(moving.sum())} quantities move",))


FD_CONVERGENCE = VerificationCase("fd-convergence", "grids: order in space of plane waves", run, 0.3)
