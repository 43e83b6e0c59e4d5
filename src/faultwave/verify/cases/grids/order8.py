"""Engine fd of order 8 in space: a full space, Rayleigh waves and a force on the surface, at four to six points per wavelength.

Time dispersion is removed from seismograms, the default with order 8, so that steps near the largest stable one are used. With
order 4 the misfits of the full space need 8 points (``full_space``), and a force on the surface with 6 points has misfits of 8 to 10 %.
"""

from __future__ import annotations

import numpy as np

from faultwave.base.types import Settings
from faultwave.run import simulate
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.cases.grids import full_space
from faultwave.verify.cases.grids.surface_waves import RATIOS, RHO, SHEAR, rayleigh_error
from faultwave.verify.exact import Medium
from faultwave.verify.exact.half_space import vertical_velocity

ROCK = Medium(RHO, RHO * SHEAR**2, RHO * SHEAR**2)
POINTS = 4.0
"""Points per S wavelength in the full space, where the source's spectrum has fallen to 5 %."""
SIGMA, FALLEN, ON_TOP = 0.3, 2.45, 6.0
"""Width of the Gaussian force on the surface [s], 2 pi f sigma where its spectrum has fallen to 5 %, points per wavelength there."""
SPACING = 2 * np.pi * SIGMA / FALLEN * SHEAR / ON_TOP
RAYLEIGH = {4: 0.05, 6: 0.03}
"""Largest error of the phase speed [%], by points per Rayleigh wavelength."""
FAR = (2000.0, 3000.0)
LIMIT, ON_TOP_LIMIT, CFL = 0.015, 0.02, 0.9


def full_space_misfits(kind: str) -> np.ndarray:
    """Return the velocity misfits of a moment tensor or a force in a full space."""
    case = full_space.settings(kind, 3.4, full_space.ROCK.cs / full_space.FALLEN / POINTS)
    case["grid"] |= {"order": 8}
    return full_space.misfits(case | {"numerics": {"cfl": CFL}}, kind)


def lamb() -> list[float]:
    """Return the misfits of vertical motion for a vertical force on the surface, where Rayleigh waves dominate."""
    case: Settings = {
        "engine": "fd", "end_time": 5.4, "material": {"constant": ROCK.parameters()}, "numerics": {"cfl": CFL},
        "grid": {"lower": [-1500, -1500, -2500], "upper": [3000, 2800, 0], "spacing": SPACING, "order": 8},
        "sources": [{"kind": "force", "location": [0, 0, 0], "force": [0, 0, 1e12],
                     "time_function": {"kind": "gaussian", "duration": SIGMA}}],
        "output": {"receivers": {"points": [[0.8 * r, 0.6 * r, 0.0] for r in FAR], "interval": 0.02}},
    }  # fmt: skip
    data = simulate(case).run(write=False).receivers
    assert data is not None
    misfits = []
    for n, r in enumerate(FAR):
        expected = 1e12 * vertical_velocity(ROCK, r, data["time"], SIGMA, 6 * SIGMA)
        found = data.quantity("v3")[:, n]
        misfits.append(float(np.linalg.norm(found - expected) / np.linalg.norm(expected)))
    return misfits


def run(progress: Progress) -> Result:
    """Judge Rayleigh waves, the full space and the force on the surface."""
    rows: list[Row] = []
    for points, limit in RAYLEIGH.items():
        for name, ratio in RATIOS.items():
            progress(f"{points} points a wavelength, Vp/Vs = {name}")
            error = 100 * abs(rayleigh_error(points, ratio, order=8))
            rows.append(
                at_most(f"error of the speed of Rayleigh waves [%], {points} points, Vp/Vs = {name}", error, limit)
            )
    for kind in ("moment-tensor", "force"):
        progress(f"full space, {kind}, {POINTS:g} points per wavelength")
        worst = float(full_space_misfits(kind).max())
        rows.append(at_most(f"full space, {kind}: largest misfit up to 4.9 wavelengths away", worst, LIMIT))
    progress(f"a force on the surface, {ON_TOP:g} points per wavelength")
    rows += [
        at_most(f"force on the surface: misfit at {r:g} m", m, ON_TOP_LIMIT) for r, m in zip(FAR, lamb(), strict=True)
    ]
    return Result(tuple(rows))


CASE = VerificationCase(
    "fd-order8", "grids: order 8 at four to six points a wavelength, against exact solutions", run, 3.0
)
