"""TPV28: a vertical strike-slip fault with two hills, in a uniform stress."""

from __future__ import annotations

import numpy as np

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Array, Benchmark, Domain, Fault, Start
from faultwave.verify.scec.texts import bump, down_dip, radius

HILLS, DEPTH, RADIUS, HEIGHT = (-10.5e3, 10.5e3), 7.5e3, 3e3, 600.0
SHEAR = [down_dip(), radius(0, 7500), bump(11.6e6, 1400, 2000), "return 29380000.0 + n;"]


def hills(x: Array, z: Array) -> Array:
    """Return the offset of the fault surface [m]: half a cosine down to the foot of each hill."""
    height = np.zeros(np.shape(x))
    for middle in HILLS:
        r = np.minimum(np.hypot(x - middle, z + DEPTH), RADIUS)
        height = height + 0.5 * HEIGHT * (1 + np.cos(np.pi * r / RADIUS))
    return -height


TPV28 = Benchmark(
    name="tpv28",
    title="vertical strike-slip fault with two hills, uniform stress",
    faults=(Fault("main", (-15e3, 15e3), (0.0, 15e3)),),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings={
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {
                "mu_s": 0.677,
                "mu_d": 0.373,
                "d_c": 0.4,
                "cohesion": 0.0,
                "s_xx": -60e6,
                "s_yy": -60e6,
                "s_zz": 0.0,
                "s_yz": 0.0,
                "s_xz": 0.0,
            },
            "expression": {"s_xy": "\n".join(SHEAR)},
        },
    },
    start=Start((0.0, 7.5e3), 2e3),
    stations={
        "main": ((0, 7.5e3), (10.5e3, 7.5e3), (-10.5e3, 7.5e3), (6e3, 7.5e3), (12e3, 7.5e3), (0, 3e3), (0, 0), (9e3, 0))
    },
    end_time=13.0,
    domain=Domain(relief=hills),
    checks=(checks.ruptures("main", 0.9),),
    source="Harris et al. (2018), https://strike.scec.org/cvws/tpv28docs.html",
    notes=(
        "Hills (600 m high, 3 km in radius, 10.5 km from the middle, 7.5 km deep), stresses and friction are from memory of the "
        "description and not confirmed; strength excess and stress drop are those of TPV5 where the fault is flat.",
    ),
)
