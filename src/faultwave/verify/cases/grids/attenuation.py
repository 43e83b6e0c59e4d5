"""Attenuation in the engine fd: decay of plane waves over two decades of frequency.

A wave of given wavelength in a periodic box behaves as exp(i w t) with a complex w: the quality factor is Re w / (-2 Im w), the
phase speed Re w / k; the expected value is the response of a medium of constant Q at that w. Limits are 5 % in Q over the band, at
Q = 20 along every axis, 0.05 in the exponent of Q(f), and 0.5 % in the phase speed at the reference frequency at Q = 20. Grids
have 16 points per wavelength at every frequency.
"""

from __future__ import annotations

import numpy as np

from faultwave.base.types import Settings
from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most, near

ROCK = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}
LOW, HIGH, REFERENCE = 0.1, 10.0, 1.0
POINTS, PERIODS = 16, 6
LIMIT = 0.05
FREQUENCIES = np.geomspace(LOW, HIGH, 9)


def plane_wave(
    kind: str, frequency: float, q: float, exponent: float = 0.0, precision: str = "single", along: str = "x"
) -> tuple[float, float]:
    """Return the quality factor and phase speed [m/s] of a P or S wave along an axis; S waves are polarised along the next axis."""
    speed = ROCK["vp" if kind == "P" else "vs"]
    h = speed / frequency / POINTS
    k = 2 * np.pi * frequency / speed
    axis = "xyz".index(along)
    across = (axis + 1) % 3
    wave = {
        "mode": kind,
        "k": (k * np.eye(3)[axis]).tolist(),
        "amplitude": 1.0,
        "polarisation": np.eye(3)[across].tolist(),
    }
    attenuation: Settings = {"low": LOW, "high": HIGH, "reference": REFERENCE, "exponent": exponent}
    attenuation |= {"corner": REFERENCE} if exponent else {}
    case: Settings = {
        "engine": "fd", "end_time": PERIODS / frequency, "material": {"constant": {**ROCK, "Qp": q, "Qs": q}},
        "attenuation": attenuation, "numerics": {"precision": precision, "threads": 1},
        "grid": {"lower": [0.0] * 3, "upper": (h * np.where(np.arange(3) == axis, POINTS, 8)).tolist(), "spacing": h,
                 "boundaries": dict.fromkeys("xyz", "periodic")},
        "initial": {"kind": "plane-wave", "wave": [wave if kind == "S" else {n: v for n, v in wave.items() if n != "polarisation"}]},
    }  # fmt: skip
    solver = setups.grid_solver(case)
    dt, name = solver.plan.scheme.step, "uvw"[axis if kind == "P" else across]
    others = tuple(n for n in range(3) if n != 2 - axis)
    shape, series = np.exp(-2j * np.pi * np.arange(POINTS) / POINTS), []
    for _ in range(solver.plan.steps):
        solver.operator.advance(1)
        series.append((solver.operator.runner.view(name).astype(float).mean(others) * shape).mean())
    stride = max(
        1, round(0.1 / (frequency * dt))
    )  # a tenth of a period, far from both limits of what the fit can resolve
    settled = np.array(series)[
        len(series) // PERIODS :
    ]  # transient of the memory variables, which start from zero, is left out
    pole = _pole(settled, stride)
    w = np.log(pole) / (1j * stride * dt)
    return float(abs(w.real) / (2 * w.imag)), float(abs(w.real) / k)


def in_time(q: float) -> float:
    """Return Re w / (2 Im w) of a medium of constant ``q`` = Re M / Im M.

    M is proportional to (i w)^(2 g) with tan(pi g) = 1/q (Kjartansson 1979).
    """
    angle = np.arctan(1 / q)
    return float(1 / (2 * np.tan(angle / 2 / (1 - angle / np.pi))))


def _pole(series: np.ndarray, stride: int) -> complex:
    """Return the pole z of a series z^n, with n in strides, that may also contain a wave in the opposite direction.

    Least squares fit x[n+1] = a x[n] - b x[n-1]; z is a root of z^2 = a z - b.
    """
    before, now, after = series[: -2 * stride], series[stride:-stride], series[2 * stride :]
    a, b = np.linalg.lstsq(np.stack([now, -before], 1), after, rcond=None)[0]
    roots = np.roots([1.0, -a, b])
    fits = [abs(np.vdot(z ** (np.arange(len(series)) / stride), series)) for z in roots]
    return complex(roots[int(np.argmax(fits))])


def run(progress: Progress) -> Result:
    """Judge constant Q of P and S waves, Q(f) and phase speed."""
    rows: list[Row] = []
    for kind, q, along in (
        ("S", 20.0, "x"),
        ("S", 20.0, "y"),
        ("S", 20.0, "z"),
        ("P", 20.0, "x"),
        ("P", 20.0, "z"),
        ("S", 50.0, "x"),
        ("P", 100.0, "x"),
    ):
        progress(f"{kind} waves along {along}, Q = {q:g}")
        found = np.array([plane_wave(kind, f, q, along=along)[0] for f in FREQUENCIES])
        error = np.abs(found / in_time(q) - 1).max()
        rows.append(
            at_most(f"{kind} along {along}, Q = {q:g}: largest error from {LOW:g} to {HIGH:g} Hz", error, LIMIT)
        )
    for kind in "PS":
        speed = ROCK[f"v{kind.lower()}"]
        error = abs(plane_wave(kind, REFERENCE, 20.0)[1] / speed - 1)
        rows.append(at_most(f"{kind}: phase speed at {REFERENCE:g} Hz, Q = 20, relative error", error, 0.005))
    for exponent in (0.4, 0.8):
        progress(f"Q(f), exponent {exponent}")
        above = np.geomspace(2.0 * REFERENCE, HIGH, 5)
        found = np.array([plane_wave("S", f, 40.0, exponent)[0] for f in above])
        slope = float(np.polyfit(np.log(above), np.log(found), 1)[0])
        rows.append(near(f"Q(f) of exponent {exponent}: slope from {above[0]:g} to {HIGH:g} Hz", slope, exponent, 0.05))
    return Result(tuple(rows))


FD_ATTENUATION = VerificationCase(
    "fd-attenuation", "grids: decay of plane waves over two decades of frequency", run, 0.5
)
