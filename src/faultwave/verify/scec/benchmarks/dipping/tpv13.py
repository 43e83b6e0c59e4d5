"""TPV13: the normal fault of TPV12 in rock that yields."""

from dataclasses import replace

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import quick
from faultwave.verify.scec.benchmarks.dipping.tpv12 import TPV12

FLAT = "if (z > (-11951.15)) {{ return {above}*z; }}\nreturn 16660.0*z;"
"""Effective stress proportional to depth, isotropic below 11951.15 m."""

TPV13 = replace(
    TPV12,
    name="tpv13",
    title="normal fault that dips at 60 degrees in rock that yields, with a very large stress drop",
    plasticity={
        "rheology": "drucker-prager",
        "parameters": {
            "constant": {"plastic_cohesion": 5e6, "bulk_friction": 0.85, "s_xy": 0.0, "s_yz": 0.0, "s_xz": 0.0},
            "expression": {
                "s_xx": FLAT.format(above="11242.168"),
                "s_yy": FLAT.format(above="5824.336"),
                "s_zz": "return 16660.0*z;",
            },
        },
        "constants": {"relaxation_time": 0.03},
    },
    quick=quick(700.0, 5.0),
    checks=(checks.ruptures("main", 0.9),),
    notes=("stress relaxes to yield in 0.03 s, as in SeisSol's deck; the description lets it return at once",),
)
