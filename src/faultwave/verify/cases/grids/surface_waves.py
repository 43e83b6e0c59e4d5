"""Engine fd along a free surface: speed of Rayleigh waves, and Lamb's problem as published for SW4.

Rayleigh waves: a standing wave of the exact motion is released in a box of periodic sides. Its frequency is measured from the motion of
the surface over a hundred periods and corrected for the time step (2/dt sin(w dt / 2) in place of w).

Lamb's problem (SW4 user's guide; Petersson & Sjögreen 2017): a vertical force on a half-space of Vp/Vs = sqrt 3, a bump of 1 s, S
speed 1 km/s. The vertical displacement 1 and 10 km away, one and ten wavelengths of the dominant 1 Hz, is judged by the largest
error over the largest value, against Pekeris' closed form. Waves of 3 Hz, the highest significant frequency, have 5, 6.7 or 10 points per
wavelength. SW4's errors are taken from its guide; its time steps are of fourth order, while time dispersion is removed from the
seismograms here.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from faultwave.base.types import Settings
from faultwave.run import simulate
from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact import Array, Medium
from faultwave.verify.exact.half_space import bump, vertical_displacement

SHEAR, RHO, SPACING = 1000.0, 1500.0, 100.0
PERIODS = 100.0
"""Number of Rayleigh wave periods over which the frequency is measured."""
RATIOS = {"1.73": 3**0.5, "3": 3.0}
POINTS = {6: 0.4, 10: 0.2}
"""Largest error of the phase speed [%], by points per Rayleigh wavelength."""
SW4 = {15: (0.072, 0.43), 20: (0.034, 0.24), 30: (0.0093, 0.070)}
"""SW4's errors 1 and 10 km away, by points per wavelength of 1 km."""
AWAY = (1, 10)
"""Distances of the receivers from the force, in wavelengths."""


def rayleigh_speed(ratio: float) -> float:
    """Return the Rayleigh speed over the S speed for Vp/Vs = ``ratio`` (Aki & Richards 2002, equation 5.56)."""
    return float(
        brentq(lambda c: (2 - c**2) ** 2 - 4 * np.sqrt(1 - c**2) * np.sqrt(1 - (c / ratio) ** 2), 0.5, 1 - 1e-12)
    )


def rayleigh_error(points: int, ratio: float, order: int = 4) -> float:
    """Return the relative error of the phase speed of waves along x with ``points`` per wavelength."""
    c = rayleigh_speed(ratio)
    least = 2 * order  # cells along an axis
    k, cells = 2 * np.pi / (points * SPACING), points * -(-least // points)
    exact = k * c * SHEAR
    case: Settings = {
        "engine": "fd", "end_time": PERIODS * 2 * np.pi / exact, "numerics": {"precision": "double", "cfl": 0.5},
        "material": {"constant": {"rho": RHO, "vp": ratio * SHEAR, "vs": SHEAR}},
        "grid": {"lower": [0, 0, -4 * points * SPACING], "upper": [cells * SPACING, least * SPACING, 0], "spacing": SPACING, "order": order,
                 "boundaries": {"x": "periodic", "y": "periodic", "z-": "rigid", "z+": "free-surface"}},
    }  # fmt: skip
    solver = setups.grid_solver(case)
    operator, steps, dt = solver.operator, solver.plan.steps, solver.plan.scheme.step
    p, s = np.sqrt(1 - (c / ratio) ** 2), np.sqrt(1 - c**2)

    def motion(places: Array, time: float) -> Array:
        """Return the velocities of a standing Rayleigh wave at a time when its stresses vanish."""
        found, (x, z) = np.zeros((len(places), 9)), (places[:, 0], k * places[:, 2])
        half = 1 - 0.5 * c**2
        found[:, 6] = (np.exp(p * z) - half * np.exp(s * z)) * np.sin(k * x)
        found[:, 8] = p * (np.exp(p * z) - np.exp(s * z) / half) * np.cos(k * x)
        return found

    operator.set_state(motion)
    wave = np.cos(k * solver.plan.scheme.grid.places("w", operator.box)[-1, 0, :, 0])
    series = np.zeros(steps)
    for n in range(steps):
        operator.advance(1)
        series[n] = operator.values("w")[-1, 0] @ wave
    times = dt * np.arange(steps)
    window = np.hanning(steps)

    def strength(w: float) -> float:
        return float(np.abs((window * series * np.exp(-1j * w * times)).sum()))

    near = exact * np.linspace(0.9, 1.1, 401)
    best = near[int(np.argmax([strength(w) for w in near]))]
    fine = best + exact * np.linspace(-1e-3, 1e-3, 201)
    found = fine[int(np.argmax([strength(w) for w in fine]))]
    return float(2 / dt * np.sin(0.5 * found * dt) / exact - 1)


def lamb_as_sw4(points: int, reach: int) -> float:
    """Return the largest error of the vertical displacement ``reach`` km away, over the largest value.

    The comparison lasts until the waves have passed.
    """
    spacing, side = 1000.0 / points, 2000.0
    rock = Medium(RHO, RHO * SHEAR**2, RHO * SHEAR**2)
    t = np.linspace(0, 1, 2001)
    shift = 0.5 * spacing  # puts force and receivers on points of the grid, as in SW4's problem
    case: Settings = {
        "engine": "fd", "end_time": reach / 0.9 + 1.5, "numerics": {"cfl": 0.9}, "material": {"constant": rock.parameters()},
        "grid": {"lower": [-1500 - shift, -side - shift, -side], "upper": [1000 * reach + 1000 - shift, side - shift, 0],
                 "spacing": spacing, "time_dispersion": "remove"},
        "sources": [{"kind": "force", "location": [0, 0, 0], "force": [0, 0, 1e12],
                     "time_function": {"kind": "samples", "samples": bump(t).tolist(), "interval": t[1]}}],
        "output": {"receivers": {"points": [[1000.0 * reach, 0, 0]], "interval": 0.02}},
    }  # fmt: skip
    data = simulate(case).run(write=False).receivers
    assert data is not None
    times = data["time"]
    moved = CubicSpline(times, data.quantity("v3")[:, 0]).antiderivative()(times)
    expected = 1e12 * vertical_displacement(rock, 1000.0 * reach, times)
    return float(np.abs(moved - expected).max() / np.abs(expected).max())


def run_rayleigh(progress: Progress) -> Result:
    """Judge phase speeds of Rayleigh waves."""
    rows: list[Row] = []
    for points, limit in POINTS.items():
        for name, ratio in RATIOS.items():
            progress(f"{points} points a wavelength, Vp/Vs = {name}")
            error = 100 * abs(rayleigh_error(points, ratio))
            rows.append(at_most(f"error of the speed [%], {points} points, Vp/Vs = {name}", error, limit))
    return Result(tuple(rows))


def lamb_rows(progress: Progress) -> tuple[Row, ...]:
    """Return rows on Lamb's problem, with SW4's errors as limits."""
    rows: list[Row] = []
    for points, theirs in SW4.items():
        progress(f"SW4's problem, {points} points a dominant wavelength")
        for away, limit in zip(AWAY, theirs, strict=True):
            name = f"as SW4, {points / 3:.2g} points at 3 Hz: largest error {away} wavelengths away"
            rows.append(at_most(name, lamb_as_sw4(points, away), limit))
    return tuple(rows)


RAYLEIGH = VerificationCase("fd-rayleigh", "grids: phase speed of Rayleigh waves", run_rayleigh, 0.5)
