"""TPV27: the strike-slip fault of TPV26 in rock that yields."""

from dataclasses import replace

from faultwave.verify.scec.benchmarks._tensor import stress
from faultwave.verify.scec.benchmarks.vertical.tpv26 import TPV26

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
