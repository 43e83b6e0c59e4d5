"""Engine fd below a free surface, against wavenumber integration: LOH.1, LOH.3 and Lamb's problem.

LOH.1 (Day & Bradley 2001): a layer of 1 km over a half-space, a double couple at 2 km depth; LOH.3: the same with attenuation,
of constant Q in the reference.
The time function is a Gaussian of 0.2 s, whose spectrum has fallen to 1 % where the spacing of 100 m has 8 points per
wavelength and the spacing of 137.5 m has 6. Lamb: a vertical force 200 m below the surface of a half-space, a horizontal one 10 m
below it, a fifth of a spacing, both Gaussians of 0.25 s; and a vertical one on the surface, of 0.3 s, against Pekeris' closed form.
The relative L2 misfit of velocity is judged. SW4's own Lamb problem is another case (``fd_surface_waves``).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from faultwave.base.types import Settings
from faultwave.run import simulate
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.cases.grids.surface_waves import lamb_rows
from faultwave.verify.exact import Array, Medium
from faultwave.verify.exact.half_space import Layer, LayeredHalfSpace, Modulus, vertical_velocity

LAYERS = ((0.0, 4000.0, 2000.0, 2600.0, 120.0, 40.0), (1000.0, 6000.0, 3464.0, 2700.0, 155.9, 69.3))
BAND = {"low": 0.05, "high": 5.0, "reference": 2.5}
SIGMA, LIMIT = 0.2, 0.03
SPACINGS = {8: (100.0, LIMIT), 6: (137.5, 0.06)}
"""Spacing [m] and largest misfit, by points per shortest S wavelength."""
RECEIVERS = ((6000.0, 8000.0), (600.0, 800.0), (3000.0, 4000.0))


def constant_q(q: float) -> Modulus:
    """Return the complex modulus of constant Q, over the modulus of the phase speed at the reference frequency (Kjartansson 1979).

    It is proportional to (i f)^(2 g) with tan(pi g) = 1/q, and the phase speed at the reference is the square root of its absolute value
    over density, divided by cos(pi g / 2). The grid's own approximation of Q plays no part.
    """
    g = np.arctan(1.0 / q) / np.pi
    return lambda frequency: np.cos(np.pi * g / 2) ** 2 * (1j * frequency / BAND["reference"]) ** (2 * g)


def reference(
    attenuation: bool,
    layers: Sequence[Sequence[float]],
    sigma: float = SIGMA,
    **source: Any,  # as of LayeredHalfSpace
) -> LayeredHalfSpace:
    """Return the exact solution of a case."""
    made = [
        Layer(top, rho, vp, vs, constant_q(qp) if attenuation else None, constant_q(qs) if attenuation else None)
        for top, vp, vs, rho, qp, qs in layers
    ]

    def spectrum(w: np.ndarray) -> np.ndarray:
        """Return the spectrum of the moment rate, or of a force's rate of change."""
        return np.exp(-((w * sigma) ** 2) / 2 + 6j * w * sigma) * (-1j * w if "force" in source else 1.0)

    return LayeredHalfSpace(made, spectrum=spectrum, **source)


def misfits(case: Settings, layers: Sequence[Sequence[float]], exact: LayeredHalfSpace) -> Array:
    """Return the velocity misfit of every receiver for a case run on a table of layers."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "layers.txt"
        table.write_text("depth vp vs rho Qp Qs\n" + "\n".join(" ".join(map(str, layer)) for layer in layers) + "\n")
        data = simulate({**case, "material": {"layers": str(table)}}).run(write=False).receivers
    assert data is not None
    found = np.stack([data.quantity(f"v{i}") for i in (1, 2, 3)], -1)
    points = np.array(case["output"]["receivers"]["points"])[:, :2] - np.array(case["sources"][0]["location"])[:2]
    times, series = exact.velocity(points, 2.0 * case["end_time"], 1.0 / SIGMA)
    expected = np.stack([CubicSpline(times, s)(data["time"]) for s in series], 1)
    return np.asarray(np.sqrt(((found - expected) ** 2).sum((0, 2)) / (expected**2).sum((0, 2))))


def layer_over_half_space(
    attenuation: bool, spacing: float = 100.0, receivers: tuple[tuple[float, float], ...] = RECEIVERS, end: float = 8.0
) -> Array:
    """Return the misfits of LOH.1 or LOH.3 at the receivers, in a box that ends 2 km behind the farthest."""
    upper = [max(r[axis] for r in receivers) + 2000.0 for axis in range(2)]
    case: Settings = {
        "engine": "fd", "end_time": end, "numerics": {"cfl": 0.6},
        "grid": {"lower": [-3000, -3000, -5000], "upper": [*upper, 0], "spacing": spacing},
        "sources": [{"kind": "moment-tensor", "location": [0, 0, -2000], "tensor": {"xy": 1e18},
                     "time_function": {"kind": "gaussian", "duration": SIGMA}}],
        "output": {"receivers": {"points": [[x, y, 0.0] for x, y in receivers], "interval": 0.02}},
    }  # fmt: skip
    if attenuation:
        case["attenuation"] = BAND
    moment = np.zeros((3, 3))
    moment[0, 1] = moment[1, 0] = 1e18
    return misfits(case, LAYERS, reference(attenuation, LAYERS, depth=2000.0, moment=moment))


HALF_SPACE = ((0.0, 3464.0, 2000.0, 2500.0, 1e9, 1e9),)


def lamb(spacing: float = 50.0, end: float = 4.5) -> Array:
    """Return the misfits for a vertical force below the surface at two distances, where Rayleigh waves dominate."""
    box = {"lower": [-1500, -1500, -2500], "upper": [3000, 3500, 0], "spacing": spacing}
    return below(box, end, 200.0, (0.0, 0.0, -1e12), ((900.0, 1200.0), (1800.0, 2400.0)))


def lamb_aside(spacing: float = 50.0) -> Array:
    """Return the misfits for a horizontal force between the surface and the first plane of horizontal velocity."""
    box = {"lower": [-900, -900, -1500], "upper": [1600, 1900, 0], "spacing": spacing}
    return below(box, 3.0, 0.2 * spacing, (1e12, 0.0, 0.0), ((600.0, 800.0), (900.0, 1200.0)))


def below(
    box: Settings, end: float, depth: float, force: tuple[float, ...], places: tuple[tuple[float, float], ...]
) -> Array:
    """Return the misfits at positions on the surface of a half-space for a force at ``depth`` [m]."""
    sigma = 0.25
    case: Settings = {
        "engine": "fd", "end_time": end, "numerics": {"cfl": 0.6}, "grid": box,
        "sources": [{"kind": "force", "location": [0, 0, -depth], "force": list(force),
                     "time_function": {"kind": "gaussian", "duration": sigma}}],
        "output": {"receivers": {"points": [[x, y, 0.0] for x, y in places], "interval": 0.02}},
    }  # fmt: skip
    return misfits(case, HALF_SPACE, reference(False, HALF_SPACE, sigma, depth=depth, force=np.array(force)))


def lamb_on_top(spacing: float = 50.0) -> float:
    """Return the misfit of vertical motion 1.2 km from a vertical force on the surface."""
    rock, sigma, x, y = Medium(2500.0, 1e10, 1e10), 0.3, 1000.0, 600.0
    case: Settings = {
        "engine": "fd", "end_time": 3.2, "numerics": {"cfl": 0.6}, "material": {"constant": rock.parameters()},
        "grid": {"lower": [-500, -500, -1000], "upper": [1400, 1400, 0], "spacing": spacing},
        "sources": [{"kind": "force", "location": [0, 0, 0], "force": [0, 0, 1e12],
                     "time_function": {"kind": "gaussian", "duration": sigma}}],
        "output": {"receivers": {"points": [[x, y, 0.0]], "interval": 0.02}},
    }  # fmt: skip
    data = simulate(case).run(write=False).receivers
    assert data is not None
    expected = 1e12 * vertical_velocity(rock, float(np.hypot(x, y)), data["time"], sigma, 6 * sigma)
    return float(np.linalg.norm(data.quantity("v3")[:, 0] - expected) / np.linalg.norm(expected))


def run_loh1(progress: Progress) -> Result:
    """Judge LOH.1."""
    return _by_points("LOH.1", False, progress)


def run_loh3(progress: Progress) -> Result:
    """Judge LOH.3."""
    return _by_points("LOH.3", True, progress)


def run_lamb(progress: Progress) -> Result:
    """Judge Lamb's problem."""
    progress("50 m")
    names = ("misfit at 1.5 km", "misfit at 3 km")
    rows = [at_most(n, m, LIMIT) for n, m in zip(names, lamb(), strict=True)]
    rows.append(at_most("force on the surface: misfit at 1.2 km", lamb_on_top(), LIMIT))
    for distance, m in zip(("1 km", "1.5 km"), lamb_aside(), strict=True):
        rows.append(at_most(f"horizontal force a fifth of a spacing deep: misfit at {distance}", m, 0.01))
    return Result((*rows, *lamb_rows(progress)))


def _by_points(name: str, attenuation: bool, progress: Progress) -> Result:
    rows: list[Row] = []
    for points, (spacing, limit) in SPACINGS.items():
        progress(f"{name}, {spacing:g} m")
        for place, misfit in zip(RECEIVERS, layer_over_half_space(attenuation, spacing), strict=True):
            rows.append(at_most(f"{name}, {points} points: misfit at {np.hypot(*place) / 1000:g} km", misfit, limit))
    return Result(tuple(rows))


LOH1 = VerificationCase("fd-loh1", "grids: layer over half-space against wavenumber integration", run_loh1, 2.0)
LOH3 = VerificationCase("fd-loh3", "grids: the same with attenuation", run_loh3, 2.0)
LAMB = VerificationCase("fd-lamb", "grids: a force below and on a free surface against exact solutions", run_lamb, 8.0)
