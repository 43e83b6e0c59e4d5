"""Common definition of the rate-and-state benchmarks: velocity-weakening region with a 3 km transition, and smooth nucleation."""

from faultwave.base.types import Record, Settings
from faultwave.verify.scec.benchmark import Fault, quick
from faultwave.verify.scec.texts import box, smooth_patch

FULL_SPACE = Fault("main", (-18e3, 18e3), (-3e3, 18e3))
HALF_SPACE = Fault("main", (-18e3, 18e3), (0.0, 18e3))
AGEING_QUICK = quick(700.0, 4.5, order=5, coarser=1.25, reach=8e3)
STRONG_QUICK = quick(750.0, 5.0, order=5, coarser=1.25, reach=10e3)
"""Quick resolution of the benchmarks with strong velocity weakening.

The state evolves over 2 cm, or within a pulse front some hundred metres wide; coarser elements slow the rupture down or stop it. To
keep sufficiently small elements within a minute or two, quick runs end when the front has travelled two or three times the radius
of the nucleation, and elements beyond are larger.
"""

AGEING_SHARE, STRONG_SHARE = 0.15, 0.3
"""Required ruptured shares of the fault by the end of quick runs.

They are four to seven times the nucleation patch, so the rupture is self-sustained.
"""

FROM_MEMORY = (
    "That the region which weakens is a box of 30 by 15 km about the hypocentre, and ends over 3 km on all sides, above too, is from "
    "memory and not confirmed.",
)

STATIONS = {"main": ((0, 7.5e3), (9e3, 7.5e3), (12e3, 3e3), (0, 3e3), (0, 12e3), (12e3, 12e3), (15e3, 7.5e3))}


def outside(inner: str, change: str) -> str:
    """Return an expression: ``inner`` in |x| < 15 km, |z + 7.5 km| < 7.5 km, and ``inner + change`` beyond a 3 km transition."""
    return "\n".join(
        [box("x", 15e3, 3e3, "bx"), box("z + 7500.0", 7.5e3, 3e3, "bz"), f"return {inner} + {change}*(1.0 - bx*bz);"]
    )


def nucleation(amplitude: float) -> list[Record]:
    """Return the nucleation stress, which rises within a second, 3 km around the hypocentre at 7.5 km depth."""
    stress = {
        "constant": {"Tnuc_n": 0.0, "Tnuc_d": 0.0},
        "expression": {"Tnuc_s": smooth_patch(amplitude, 0, 7500, 3000)},
    }
    return [{"start": 0.0, "duration": 1.0, "stress": stress}]


def ageing() -> Settings:
    """Return the group ``fault`` of TPV101 and TPV102."""
    return {
        "friction": "rate-and-state-ageing",
        "constants": {"rs_f0": 0.6, "rs_b": 0.012, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-12},
        "parameters": {
            "constant": {"rs_sl0": 0.02, "T_n": -120e6, "T_s": 75e6, "T_d": 0.0},
            "expression": {"rs_a": outside("0.008", "0.008")},
        },
        "nucleation": nucleation(25e6),
    }


def strong() -> Settings:
    """Return the group ``fault`` of TPV103 and TPV104."""
    return {
        "friction": "strong-velocity-weakening",
        "constants": {"rs_f0": 0.6, "rs_b": 0.014, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-16, "rs_muw": 0.2},
        "parameters": {
            "constant": {"rs_sl0": 0.4, "T_n": -120e6, "T_s": 40e6, "T_d": 0.0},
            "expression": {"rs_a": outside("0.01", "0.01"), "rs_srW": outside("0.1", "0.9")},
        },
        "nucleation": nucleation(45e6),
    }
