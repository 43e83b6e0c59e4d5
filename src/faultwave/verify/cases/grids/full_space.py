"""Seismograms of the engine fd for a moment tensor and a force in a full space, against the exact solution.

The spacing gives 8 points per S wavelength at the frequency where the spectrum of the source, a Ricker wavelet, has fallen to
5 % of its peak; receivers lie within 5 wavelengths of the frequency at that peak. The step is half the stable one: the
scheme's second order in time and fourth in space then cause similar errors. The relative L2 misfit of velocity is limited to 1 %.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize

from faultwave.base.types import Settings
from faultwave.run import simulate
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact import Array, Medium
from faultwave.verify.exact.full_space import FullSpace, tensor
from faultwave.verify.exact.time_functions import ricker

ROCK = Medium(rho=2700.0, lam=1.08e10, mu=1.08e10)
FREQUENCY = 1.0
MOMENT = {"xy": 1e15, "xx": 4e14, "zz": -4e14}
FORCE = (6e11, -4e11, 7e11)
POINTS, LIMIT = 8.0, 0.01
FALLEN = float(optimize.brentq(lambda f: f**2 * np.exp(1 - f**2) - 0.05, 1.5, 5.0)) * FREQUENCY
SPACING = ROCK.cs / FALLEN / POINTS
SOURCE = np.array([37.0, -21.0, 45.0])  # between the points
RECEIVERS = SOURCE + ROCK.cs / FREQUENCY * np.array(
    [[0.6, 0.7, 0.5], [1.9, 0.2, 1.1], [0.1, 2.9, 0.4], [2.9, 2.7, 2.8]]
)


def settings(kind: str, far: float, spacing: float = SPACING) -> Settings:
    """Return the case in a box that ends ``far`` wavelengths from the source, with all sides absorbing."""
    wavelength = ROCK.cs / FREQUENCY
    acting: Settings = {"force": FORCE} if kind == "force" else {"tensor": MOMENT}
    inside = [r for r in RECEIVERS if np.abs(r).max() < far * wavelength]
    distance = max(float(np.linalg.norm(r - SOURCE)) for r in inside)
    return {
        "engine": "fd",
        "end_time": 3.0 / FREQUENCY + distance / ROCK.cs,
        "grid": {
            "lower": [-0.5 * wavelength] * 3,
            "upper": [far * wavelength] * 3,
            "spacing": spacing,
            "boundaries": {"z": "absorbing"},
            "absorbing": {"frequency": FREQUENCY, "width": 12},
        },
        "material": {"constant": ROCK.parameters()},
        "numerics": {"cfl": 0.5},
        "sources": [
            {"kind": kind, "location": SOURCE.tolist(), "time_function": {"kind": "ricker", "duration": 1 / FREQUENCY}, **acting}
        ],
        "output": {"receivers": {"points": [r.tolist() for r in inside], "interval": 0.02}},
    }  # fmt: skip


def misfits(case: Settings, kind: str) -> Array:
    """Return the velocity misfit of every receiver."""
    data = simulate(case).run(write=False).receivers
    assert data is not None
    found = np.stack([data.quantity(f"v{i}") for i in (1, 2, 3)], -1)
    acting: Settings = (
        {"force": FORCE} if kind == "force" else {"moment": tuple(map(tuple, np.array(tensor(**MOMENT))))}
    )
    x, y, z = (float(c) for c in SOURCE)
    exact = FullSpace(ROCK, ricker(FREQUENCY, 1.5 / FREQUENCY), location=(x, y, z), **acting)
    expected = exact.velocity(np.array(case["output"]["receivers"]["points"]), data["time"]).transpose(1, 0, 2)
    return np.asarray(np.sqrt(((found - expected) ** 2).sum((0, 2)) / (expected**2).sum((0, 2))))


def run(progress: Progress) -> Result:
    """Judge both sources."""
    rows: list[Row] = []
    for kind in ("moment-tensor", "force"):
        progress(f"{kind}, {POINTS:g} points per wavelength at {FALLEN / FREQUENCY:.3g} times the source's frequency")
        distances = np.linalg.norm(RECEIVERS - SOURCE, axis=1) * FREQUENCY / ROCK.cs
        for distance, misfit in zip(distances, misfits(settings(kind, 3.2), kind), strict=True):
            rows.append(at_most(f"{kind}: misfit at {distance:.1f} wavelengths", misfit, LIMIT))
    return Result(tuple(rows))


FD_FULL_SPACE = VerificationCase("fd-full-space", "grids: exact seismograms of a moment tensor and a force", run, 2.0)
