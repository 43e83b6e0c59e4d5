"""Absorbing layers of the engine fd: their reflections and long-term stability.

A source in the middle of a small box is recorded near the sides, and again in a box so large that no reflection arrives in time. The
difference is the reflection of layers of ten points: its largest amplitude over the direct wave's is at most -50 dB, also with the
damping along the layers used for strong contrasts. Stability: after 10^5 steps of the default layers with the softest layer of a free
surface at their sides, and after 20,000 steps with other materials and of the sponge, little of the source's energy remains.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultwave.base.types import Settings
from faultwave.fd.method.absorbing import stable_along
from faultwave.run import simulate
from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, VerificationCase, at_most
from faultwave.verify.exact import Array

SPACING = 100.0
ROCK = {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0}
FREQUENCY = 1.5
HALF = 2000.0  # half width of the small box [m]
LIMIT_DB = -50.0
LEFT = 1e-4  # fraction of the energy while the source acts
STEPS, FEWER = 100_000, 20_000
ALONG = stable_along(np.inf)
LAYERED = {
    "Vp/Vs 3.75": {"rho": (1800, 2300, 2700), "vp": (1500, 4000, 6000), "vs": (400, 2000, 3464)},
    "Vp/Vs 1.73": {"rho": (1800, 2300, 2700), "vp": (1500, 4000, 6000), "vs": (866, 2000, 3464)},
    "Vp/Vs 9.1": {"rho": (1700, 2300, 2700), "vp": (1600, 4000, 6000), "vs": (175, 2000, 3464)},
}
"""Parameters of three layers from the surface down; the ratio is Vp/Vs of the uppermost."""
SOFTEST = "Vp/Vs 9.1"


def box(kind: str, grow: float, end: float, along: float | None = None) -> Settings:
    """Return the case of a source in the middle of a box whose sides are ``grow`` [m] further away than in the small one."""
    half, low = HALF + grow, -HALF - grow
    points = [[0.0, 0.0, 1200.0], [1200.0, 0.0, 0.0], [0.0, -1200.0, 300.0], [900.0, 900.0, 600.0]]
    return {
        "engine": "fd", "end_time": end, "material": {"constant": ROCK},
        "grid": {"lower": [low] * 3, "upper": [half] * 3, "spacing": SPACING, "boundaries": {"z": "absorbing"},
                 "absorbing": {"kind": kind} | ({} if along is None else {"along": along})},
        "sources": [{"kind": "moment-tensor", "location": [10.0, 20.0, 30.0], "tensor": {"xx": 1e15, "yy": 1e15, "zz": 1e15, "xy": 1e15},
                     "time_function": {"kind": "ricker", "duration": 1 / FREQUENCY}}],
        "output": {"receivers": {"points": points, "interval": 0.01}},
    }  # fmt: skip


def reflections(kind: str, along: float | None = None, end: float = 3.5) -> Array:
    """Return the largest reflected over the largest direct velocity at each receiver [dB]."""
    # a wave to the side of the large box and back arrives after the end
    far = np.ceil(0.5 * ROCK["vp"] * end / SPACING) * SPACING
    results = []
    for grow in (0.0, far):
        data = simulate(box(kind, grow, end, along)).run(write=False).receivers
        assert data is not None
        results.append(np.stack([data.quantity(f"v{i}") for i in (1, 2, 3)], -1))
    small, large = results
    return np.asarray(20 * np.log10(np.abs(small - large).max((0, 2)) / np.abs(large).max((0, 2))))


def left_over(kind: str, values: Mapping[str, tuple[float, ...]], steps: int) -> float:
    """Return the energy after ``steps`` over its largest value while the source acts, in layers below a free surface."""
    soft = "if (z > -600) { return %s; } if (z > -1200) { return %s; } return %s;"
    case: Settings = {
        "engine": "fd", "end_time": steps * 0.0074, "material": {"expression": {k: soft % v for k, v in values.items()}},
        "grid": {"lower": [0.0, 0.0, -1800.0], "upper": [1600.0, 1400.0, 0.0], "spacing": SPACING,
                 "absorbing": {"kind": kind}},
        "sources": [{"kind": "moment-tensor", "location": [700.0, 650.0, -800.0], "tensor": {"xy": 1e15, "zz": 1e15},
                     "time_function": {"kind": "ricker", "duration": 1.0}}],
    }  # fmt: skip
    solver = setups.grid_solver(case)
    found = []
    for share in (100, steps // 2, steps - steps // 2 - 100):
        solver.operator.advance(share * 2 if share == 100 else share)
        found.append(sum(solver.energies()[n] for n in ("elastic_energy", "elastic_kinetic_energy")))
    return found[-1] / found[0]


def run(progress: Progress) -> Result:
    """Judge reflections of the layer, and stability of layer and sponge."""
    rows = []
    progress("reflections of the layer")
    names = ("above", "aside", "aside and up", "in a corner")
    for along, what in ((None, "cpml"), (ALONG, "cpml damped along")):
        for name, value in zip(names, reflections("cpml", along), strict=True):
            rows.append(at_most(f"{what}: reflections seen {name} [dB]", value, LIMIT_DB))
    for kind, name in (*(("cpml", name) for name in LAYERED), ("sponge", "Vp/Vs 3.75")):
        steps = STEPS if name == SOFTEST else FEWER
        progress(f"{kind}: {steps:,} steps, {name}")
        left = left_over(kind, LAYERED[name], steps)
        rows.append(at_most(f"{kind}, {name}: energy left after {steps:,} steps", left, LEFT))
    return Result(tuple(rows), (f"sponge: reflections {', '.join(f'{v:.0f}' for v in reflections('sponge'))} dB",))


FD_ABSORBING = VerificationCase("fd-absorbing", "grids: reflections and stability of absorbing layers", run, 6.0)
