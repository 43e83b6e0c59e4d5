"""TPV10 to 13: a normal fault with a dip of 60 degrees, and TPV36 and 37: a thrust fault with a dip of 15 degrees."""

from __future__ import annotations

from dataclasses import replace

from faultwave.base.types import Settings
from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Check, Fault, Start, quick, square
from faultwave.verify.scec.texts import above, down_dip, forced, squares

NORMAL_DIP = 60.0
NORMAL_FAULT = Fault("main", (-15e3, 15e3), (0.0, 15e3), dip=NORMAL_DIP, patches=(square(0, 12e3),))
ROCK: Settings = {"constant": {"rho": 2700.0, "vp": 5716.0, "vs": 3300.0}}
SPEEDS = (5716.0, 3300.0)
NORMAL_START = Start((0.0, 12e3), 1.5e3 * 2**0.5)
NORMAL_STATIONS = {
    "main": ((0, 12e3), (0, 7.5e3), (12e3, 7.5e3), (4.5e3, 7.5e3), (0, 4.5e3), (0, 1.5e3), (0, 0), (12e3, 0))
}
UP_DIP = (0.0, 9e3), (0.0, 3e3)
"""Positions between which rupture is in-plane, up towards the surface."""


def proportional_stress(mu_s: float) -> Settings:
    """Return the fault settings of TPV10 and 11, with a normal stress of 7378 Pa/m.

    The shear stress is 0.55 of the normal stress and, in the nucleation patch, just above the strength.
    """
    patch = (0, 12000, 3000, f"200000.0 + ({mu_s:g} + 0.0057)*7378.0*d")
    return {
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_s": mu_s, "mu_d": 0.448, "d_c": 0.5, "cohesion": -0.2e6, "T_s": 0.0},
            "expression": {
                "T_n": f"{down_dip(NORMAL_DIP)}\nreturn (-7378.0)*d;",
                "T_d": squares("0.55*7378.0*d", [patch], NORMAL_DIP),
            },
        },
    }


TPV10 = Benchmark(
    name="tpv10",
    title="normal fault that dips at 60 degrees, slower than S waves",
    faults=(NORMAL_FAULT,),
    material=ROCK,
    fault_settings=proportional_stress(0.76),
    start=NORMAL_START,
    stations=NORMAL_STATIONS,
    end_time=15.0,
    quick=quick(900.0, 10.0),
    speeds=SPEEDS,
    checks=(checks.symmetric(), checks.ruptures("main", 0.9), checks.slower("main", *UP_DIP, "up dip")),
    source="Harris et al. (2009), https://strike.scec.org/cvws/tpv10_11docs.html",
)


TPV11 = replace(
    TPV10,
    name="tpv11",
    title="normal fault that dips at 60 degrees, faster than S waves",
    fault_settings=proportional_stress(0.57),
    checks=(checks.symmetric(), checks.ruptures("main", 0.97), checks.faster("main", *UP_DIP, "up dip")),
    notes=("The static friction of 0.57 is from memory of the description and not confirmed.",),
)


TPV12 = Benchmark(
    name="tpv12",
    title="normal fault that dips at 60 degrees, elastic, with a very large stress drop",
    faults=(NORMAL_FAULT,),
    material=ROCK,
    fault_settings={
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_d": 0.1, "d_c": 0.5, "cohesion": -0.2e6, "T_s": 0.0},
            "expression": {
                "mu_s": squares("0.7", [(0, 12000, 3000, "0.54")], NORMAL_DIP),
                "T_n": f"{down_dip(NORMAL_DIP)}\nif (d < 13800.0) {{ return (-7390.01)*d; }}\nreturn (-14427.98)*d;",
                "T_d": f"{down_dip(NORMAL_DIP)}\nif (d < 13800.0) {{ return 0.549847*7390.01*d; }}\nreturn 0.0;",
            },
        },
    },
    start=NORMAL_START,
    stations=NORMAL_STATIONS,
    end_time=8.0,
    quick=quick(900.0, 7.0),
    speeds=SPEEDS,
    # below 13.8 km no stress drives slip: the edge of the slipping area creeps in, which no mesh makes symmetric
    checks=(checks.symmetric(above=13.5e3), checks.ruptures("main", 0.9), checks.faster("main", *UP_DIP, "up dip")),
    source="Harris et al. (2011), https://strike.scec.org/cvws/benchmark_descriptions.html",
)


TPV13_STRESS = "if (z > (-11951.15)) {{ return {above}*z; }}\nreturn 16660.0*z;"
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
                "s_xx": TPV13_STRESS.format(above="11242.168"),
                "s_yy": TPV13_STRESS.format(above="5824.336"),
                "s_zz": "return 16660.0*z;",
            },
        },
        "constants": {"relaxation_time": 0.03},
    },
    quick=quick(700.0, 5.0),
    checks=(checks.ruptures("main", 0.9),),
    notes=("stress relaxes to yield in 0.03 s, as in SeisSol's deck; the description lets it return at once",),
)


THRUST_DIP, THRUST_CRITICAL = 15.0, 4e3


def shallow(name: str, title: str, slope: float, checks: tuple[Check, ...]) -> Benchmark:
    """Return the benchmark whose cohesion grows by ``slope`` [Pa/m] from 8 km down dip to the surface."""
    return Benchmark(
        name=name,
        title=title,
        faults=(Fault("main", (-15e3, 15e3), (0.0, 28e3), dip=THRUST_DIP),),
        material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
        fault_settings={
            "friction": "linear-slip-weakening",
            "forced_rupture_ramp": 0.5,
            "parameters": {
                "constant": {"mu_s": 0.575, "mu_d": 0.45, "d_c": 0.18, "T_s": 0.0},
                "expression": {
                    "T_n": f"{down_dip(THRUST_DIP)}\nreturn (-4240.0)*d;",
                    "T_d": f"{down_dip(THRUST_DIP)}\nreturn (-2120.0)*d;",
                    "cohesion": above(8000, slope, dip=THRUST_DIP),
                    "forced_rupture_time": forced(0, 18e3, THRUST_CRITICAL, 3464.0, THRUST_DIP),
                },
            },
        },
        start=Start((0.0, 18e3), THRUST_CRITICAL),
        stations={
            "main": (
                (0, 18e3),
                (0, 12e3),
                (0, 6e3),
                (0, 3e3),
                (0, 1e3),
                (8e3, 18e3),
                (8e3, 12e3),
                (8e3, 6e3),
                (0, 24e3),
            )
        },
        end_time=20.0,
        recommended=50.0,
        quick=quick(1100.0, 11.0),
        checks=checks,
        source="SCEC/USGS, https://strike.scec.org/cvws/benchmark_descriptions.html",
    )


TPV36 = shallow(
    "tpv36",
    "thrust fault that dips at 15 degrees, little cohesion near the surface",
    500.0,
    (checks.symmetric(), checks.ruptures("main", 0.9)),
)


TPV37 = shallow(
    "tpv37",
    "thrust fault that dips at 15 degrees, much cohesion near the surface",
    1875.0,
    (checks.symmetric(), checks.stays("main", 0.95)),
)
