"""TPV105-3D: strong velocity weakening with thermal pressurisation below a free surface."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Fault, Start, quick
from faultwave.verify.scec.texts import box, smooth_patch

NEAR_SURFACE = "\n".join(
    [
        "s = min(2999.999, max(0.001, (-z)));",
        "bs = 0.5*(1.0 + tanh(3000.0/(3000.0 - s) - 3000.0/s));",
        "if (z < (-3000.0)) { bs = 1.0; }",
    ]
)
"""Line that sets bs, which rises smoothly from 0 at the surface to 1 at 3 km depth."""

STRESS = "min(1670.0*9.8*(-z), 45000000.0)"


def rising(inner: str, change: str, surface: bool) -> str:
    """Return an expression: ``inner`` in |x| < 15 km above 15 km depth, and ``inner + change`` beyond a 3 km transition.

    With ``surface`` the value also changes towards the free surface.
    """
    lines = [box("x", 15e3, 3e3, "bx"), box("z", 15e3, 3e3, "bz"), *([NEAR_SURFACE] if surface else ["bs = 1.0;"])]
    return "\n".join([*lines, f"return {inner} + {change}*(1.0 - bx*bz*bs);"])


STRENGTHENING = "0.01", "0.01"

TPV105 = Benchmark(
    name="tpv105",
    title="strong velocity weakening with thermal pressurisation",
    faults=(Fault("main", (-22e3, 22e3), (0.0, 22e3)),),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings={
        "friction": "strong-velocity-weakening",
        "modifiers": ["thermal-pressurisation"],
        "constants": {
            "rs_f0": 0.6,
            "rs_b": 0.014,
            "rs_sr0": 1e-6,
            "rs_ini_slip_rate": 1e-16,
            "rs_muw": 0.2,
            "tp_thermal_diffusivity": 1e-6,
            "tp_heat_capacity": 2.7e6,
            "tp_undrained_response": 1e5,
            "tp_initial_temperature": 483.15,
            "tp_initial_pressure": 0.0,
        },
        "parameters": {
            "constant": {"rs_sl0": 0.4, "tp_half_width": 0.02, "T_d": 0.0},
            "expression": {
                "T_n": f"return -{STRESS};",
                "T_s": f"return 0.41*{STRESS};",
                "rs_a": rising(*STRENGTHENING, True),
                "rs_srW": rising("0.1", "0.9", True),
                "tp_hydraulic_diffusivity": rising("0.0004", "1.0", False),
            },
        },
        "nucleation": [
            {
                "start": 0.0,
                "duration": 1.0,
                "stress": {
                    "constant": {"Tnuc_n": 0.0, "Tnuc_d": 0.0},
                    "expression": {"Tnuc_s": smooth_patch(50e6, -4000, 7500, 1500)},
                },
            }
        ],
    },
    start=Start((-4e3, 7.5e3), 1.5e3),
    stations={"main": ((-4e3, 7.5e3), (5e3, 7.5e3), (-12e3, 7.5e3), (12e3, 7.5e3), (0, 3e3), (0, 12e3), (0, 0))},
    end_time=15.0,
    quick=quick(
        800.0, 4.0, order=5, coarser=1.25, reach=8e3
    ),  # as TPV104; heat and pressure at each point cost twice as much
    checks=(checks.ruptures("main", 0.4, quick=0.03),),  # four times the patch of the nucleation
    source="SCEC/USGS, https://strike.scec.org/cvws/tpv105docs.html",
    reference="tpv105",
)
