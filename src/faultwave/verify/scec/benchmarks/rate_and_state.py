"""TPV101 to 105: rate-and-state friction with the ageing law or strong velocity weakening."""

from __future__ import annotations

from dataclasses import replace

from faultwave.base.types import Record, Settings
from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Domain, Fault, OnGrid, Start, quick
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
    "The weakening region, a box of 30 by 15 km around the hypocentre with a transition of 3 km on all sides "
    "including the top, is from memory and not confirmed.",
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


TPV101 = Benchmark(
    name="tpv101",
    title="rate and state, ageing law, in a full space",
    faults=(FULL_SPACE,),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=ageing(),
    start=Start((0.0, 7.5e3), 3e3),
    stations=STATIONS,
    end_time=12.0,
    quick=AGEING_QUICK,
    domain=Domain(free_surface=False),
    checks=(checks.symmetric(), checks.symmetric_down_dip(7.5e3), checks.ruptures("main", 0.3, quick=AGEING_SHARE)),
    source="Harris et al. (2009), https://strike.scec.org/cvws/tpv101_102docs.html",
    notes=FROM_MEMORY,
)


TPV102 = replace(
    TPV101,
    name="tpv102",
    title="rate and state, ageing law, below a free surface",
    faults=(HALF_SPACE,),
    end_time=15.0,
    domain=Domain(),
    checks=(checks.symmetric(), checks.ruptures("main", 0.3, quick=AGEING_SHARE)),
    reference="tpv101",
    notes=(),
)


TPV103 = replace(
    TPV101,
    name="tpv103",
    title="strong velocity weakening in a full space",
    fault_settings=strong(),
    quick=STRONG_QUICK,
    checks=(checks.symmetric(), checks.symmetric_down_dip(7.5e3), checks.ruptures("main", 0.6, quick=STRONG_SHARE)),
    source="Harris et al. (2018), https://strike.scec.org/cvws/tpv103_104docs.html",
)


TPV104 = replace(
    TPV103,
    name="tpv104",
    title="strong velocity weakening below a free surface",
    faults=(HALF_SPACE,),
    end_time=15.0,
    domain=Domain(),
    grid=OnGrid(precision="double", end_time=9.0),
    checks=(checks.symmetric(), checks.ruptures("main", 0.7, quick=STRONG_SHARE)),
    notes=(),
)


TPV105_NEAR_SURFACE = "\n".join(
    [
        "s = min(2999.999, max(0.001, (-z)));",
        "bs = 0.5*(1.0 + tanh(3000.0/(3000.0 - s) - 3000.0/s));",
        "if (z < (-3000.0)) { bs = 1.0; }",
    ]
)
"""Line that sets bs, which rises smoothly from 0 at the surface to 1 at 3 km depth."""

TPV105_STRESS = "min(1670.0*9.8*(-z), 45000000.0)"


def rising(inner: str, change: str, surface: bool) -> str:
    """Return an expression: ``inner`` in |x| < 15 km above 15 km depth, and ``inner + change`` beyond a 3 km transition.

    With ``surface`` the value also changes towards the free surface.
    """
    lines = [
        box("x", 15e3, 3e3, "bx"),
        box("z", 15e3, 3e3, "bz"),
        *([TPV105_NEAR_SURFACE] if surface else ["bs = 1.0;"]),
    ]
    return "\n".join([*lines, f"return {inner} + {change}*(1.0 - bx*bz*bs);"])


TPV105_STRENGTHENING = "0.01", "0.01"

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
                "T_n": f"return -{TPV105_STRESS};",
                "T_s": f"return 0.41*{TPV105_STRESS};",
                "rs_a": rising(*TPV105_STRENGTHENING, True),
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
