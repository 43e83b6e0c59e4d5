"""TPV16: a vertical strike-slip fault in random stress, generated here with statistics like the benchmark's own."""

from __future__ import annotations

import numpy as np

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Fault, Start, quick
from faultwave.verify.scec.texts import down_dip, forced, number

START, CRITICAL = (0.0, 9e3), 4e3
MODES, SHORTEST, LONGEST, MEAN, SPREAD, SEED = 24, 4e3, 24e3, 29.38e6, 3.5e6, 16
LEAST, MOST = 22.5e6, 38e6


def random_stress() -> str:
    """Return an expression of random stress: waves of random direction, length and phase about a mean, clipped to two bounds."""
    rng = np.random.default_rng(SEED)
    wave = 2 * np.pi / (SHORTEST * (LONGEST / SHORTEST) ** rng.uniform(size=MODES))
    turn, shift = rng.uniform(0, 2 * np.pi, (2, MODES))
    lines = [down_dip(), "w = 0.0;"]
    for a, b, c in zip(wave * np.cos(turn), wave * np.sin(turn), shift, strict=True):
        lines.append(f"w = w + cos({number(a)}*x + {number(b)}*d + {number(c)});")
    height = number(SPREAD * np.sqrt(2 / MODES))
    return "\n".join([*lines, f"return min({number(MOST)}, max({number(LEAST)}, {number(MEAN)} + {height}*w));"])


TPV16 = Benchmark(
    name="tpv16",
    title="vertical strike-slip fault in random stress",
    faults=(Fault("main", (-24e3, 24e3), (0.0, 19.5e3)),),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings={
        "friction": "linear-slip-weakening",
        "forced_rupture_ramp": 0.5,
        "parameters": {
            "constant": {"mu_s": 0.677, "mu_d": 0.373, "d_c": 0.4, "cohesion": 0.0, "T_n": -60e6, "T_d": 0.0},
            "expression": {"T_s": random_stress(), "forced_rupture_time": forced(*START, CRITICAL, 3464.0)},
        },
    },
    start=Start(START, CRITICAL),
    stations={"main": ((0, 9e3), (9e3, 9e3), (-9e3, 9e3), (18e3, 9e3), (-18e3, 9e3), (0, 3e3), (0, 0), (9e3, 0))},
    end_time=15.0,
    quick=quick(1000.0, 12.0),
    checks=(checks.ruptures("main", 0.3),),
    source="Harris et al. (2018), https://strike.scec.org/cvws/tpv16_17docs.html",
    notes=(
        "The project's stress, strength and slip-weakening distance are data files. This stress is of the same kind, waves of 4 to 24 km, "
        "and not the same; friction is uniform: results cannot be compared with those of other codes.",
    ),
)
