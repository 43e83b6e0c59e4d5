"""TPV26 and TPV27: a vertical fault in stress that grows with depth, in rock that is elastic or yields.

TPV24, TPV25, TPV29 and TPV30 share the definition of the stress.
"""

from __future__ import annotations

from dataclasses import replace

from faultwave.base.types import Settings
from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Fault, Start, quick
from faultwave.verify.scec.texts import above, forced, number

GRADIENT = (2670.0 - 1000.0) * 9.8
"""Gradient of the effective vertical stress [Pa/m]."""

FRICTION: Settings = {"mu_s": 0.18, "mu_d": 0.12, "d_c": 0.3}
CRITICAL = 4e3
"""Radius within which rupture is forced [m]."""

VS = 3464.0


def stress(parallel: float, normal: float, shear: float, taper: tuple[float, float] | None = None) -> dict[str, str]:
    """Return expressions of the effective stress tensor as factors on the vertical stress.

    The factors are the stress parallel to the main fault, normal to it, and its shear; all become isotropic between the two depths of
    ``taper`` [m].
    """
    o = "1.0" if taper is None else f"min(1.0, max(0.0, ({number(taper[1])} + z)/{number(taper[1] - taper[0])}))"

    def text(factor: str) -> str:
        return f"o = {o};\nreturn {number(GRADIENT)}*z*({factor});"

    return {
        "s_xx": text(f"o*{number(parallel)} + 1.0 - o"),
        "s_yy": text(f"o*{number(normal)} + 1.0 - o"),
        "s_zz": f"return {number(GRADIENT)}*z;",
        "s_xy": text(f"o*{number(shear)}"),
    }


def fault_settings(tensor: dict[str, str], cohesion: str, start: tuple[float, float]) -> Settings:
    """Return the group ``fault`` of a case; ``cohesion`` is an expression, and rupture is forced around ``start`` (s, d)."""
    return {
        "friction": "linear-slip-weakening",
        "forced_rupture_ramp": 0.5,
        "parameters": {
            "constant": {**FRICTION, "s_yz": 0.0, "s_xz": 0.0},
            "expression": {**tensor, "cohesion": cohesion, "forced_rupture_time": forced(*start, CRITICAL, VS)},
        },
    }


TPV26_START = (-5e3, 10e3)

TPV26 = Benchmark(
    name="tpv26",
    title="vertical strike-slip fault, stress proportional to depth, elastic",
    faults=(Fault("main", (-20e3, 20e3), (0.0, 20e3)),),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=fault_settings(
        stress(0.926793, 1.073206, -0.169029, (15e3, 20e3)), above(5000, 720, 400000), TPV26_START
    ),
    start=Start(TPV26_START, CRITICAL),
    stations={
        "main": ((-5e3, 10e3), (5e3, 10e3), (15e3, 10e3), (-15e3, 10e3), (-5e3, 5e3), (15e3, 5e3), (-5e3, 0), (15e3, 0))
    },
    end_time=13.0,
    quick=quick(1000.0, 9.0),
    checks=(checks.ruptures("main", 0.7),),
    source="Harris et al. (2018), https://strike.scec.org/cvws/benchmark_descriptions.html",
)


TPV27 = replace(
    TPV26,
    name="tpv27",
    title="vertical strike-slip fault, stress proportional to depth, in rock that yields",
    plasticity={
        "rheology": "drucker-prager",
        "parameters": {
            "constant": {"plastic_cohesion": 1.36e6, "bulk_friction": 0.1934, "s_yz": 0.0, "s_xz": 0.0},
            "expression": stress(0.926793, 1.073206, -0.169029, (15e3, 20e3)),
        },
        "constants": {"relaxation_time": 0.03},
    },
)
