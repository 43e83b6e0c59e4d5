"""TPV30: the rough strike-slip fault of TPV29 in rock that yields."""

from dataclasses import replace

from faultwave.verify.scec.benchmarks._tensor import stress
from faultwave.verify.scec.benchmarks.vertical.tpv29 import TPV29

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
