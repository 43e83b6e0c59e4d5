"""TPV29 and TPV30: rough vertical faults in elastic rock and in rock that yields."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Array, Benchmark, Domain, Fault, Start, quick
from faultwave.verify.scec.benchmarks.depth_dependent import CRITICAL, fault_settings, stress
from faultwave.verify.scec.texts import above

START = (-5e3, 10e3)
MODES, SHORTEST, LONGEST, SLOPE, SEED = 60, 3e3, 40e3, 0.05, 29


def roughness(x: Array, z: Array) -> Array:
    """Return the height of a self-similar surface (Hurst exponent 1) [m] with a root mean square slope of 5 %.

    It is a sum of waves of random direction and phase, whose amplitude is proportional to their length.
    """
    rng = np.random.default_rng(SEED)
    length = SHORTEST * (LONGEST / SHORTEST) ** rng.uniform(size=MODES)
    direction, phase = rng.uniform(0, 2 * np.pi, (2, MODES))
    height = SLOPE / (2 * np.pi) * np.sqrt(2 / MODES) * length
    total = np.zeros(np.shape(x))
    for h, wave, turn, shift in zip(height, 2 * np.pi / length, direction, phase, strict=True):
        total = total + h * np.cos(wave * (np.cos(turn) * x + np.sin(turn) * z) + shift)
    return total


TPV29 = Benchmark(
    name="tpv29",
    title="rough vertical strike-slip fault, stress proportional to depth, elastic",
    faults=(Fault("main", (-20e3, 20e3), (0.0, 20e3)),),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=fault_settings(stress(1.025837, 0.974162, -0.158649, (17e3, 22e3)), above(4000, 200, 400000), START),
    start=Start(START, CRITICAL),
    stations={
        "main": ((-5e3, 10e3), (5e3, 12e3), (15e3, 13e3), (-15e3, 12e3), (-5e3, 16e3), (-5e3, 0), (5e3, 0), (15e3, 0))
    },
    end_time=20.0,
    quick=quick(1000.0, 9.0),
    domain=Domain(relief=roughness),
    checks=(checks.ruptures("main", 0.3),),
    source="Harris et al. (2018), https://strike.scec.org/cvws/benchmark_descriptions.html",
    notes=(
        "The project's surface is a data file. This one has the same statistics, 60 waves of 3 to 40 km with a slope of 5 %, and "
        "not the same hills: results cannot be compared with those of other codes.",
    ),
)


TPV30 = replace(
    TPV29,
    name="tpv30",
    title="rough vertical strike-slip fault, stress proportional to depth, in rock that yields",
    plasticity={
        "rheology": "drucker-prager",
        "parameters": {
            "constant": {"plastic_cohesion": 1.18e6, "bulk_friction": 0.168, "s_yz": 0.0, "s_xz": 0.0},
            "expression": stress(1.025837, 0.974162, -0.158649, (17e3, 22e3)),
        },
        "constants": {"relaxation_time": 0.05},
    },
)
