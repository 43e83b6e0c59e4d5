"""Common definition of TPV36 and TPV37: a thrust fault with a dip of 15 degrees that reaches the surface."""

from faultwave.verify.scec.benchmark import Benchmark, Check, Fault, Start, quick
from faultwave.verify.scec.texts import above, down_dip, forced

DIP, CRITICAL = 15.0, 4e3


def shallow(name: str, title: str, slope: float, checks: tuple[Check, ...]) -> Benchmark:
    """Return the benchmark whose cohesion grows by ``slope`` [Pa/m] from 8 km down dip to the surface."""
    return Benchmark(
        name=name,
        title=title,
        faults=(Fault("main", (-15e3, 15e3), (0.0, 28e3), dip=DIP),),
        material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
        fault_settings={
            "friction": "linear-slip-weakening",
            "forced_rupture_ramp": 0.5,
            "parameters": {
                "constant": {"mu_s": 0.575, "mu_d": 0.45, "d_c": 0.18, "T_s": 0.0},
                "expression": {
                    "T_n": f"{down_dip(DIP)}\nreturn (-4240.0)*d;",
                    "T_d": f"{down_dip(DIP)}\nreturn (-2120.0)*d;",
                    "cohesion": above(8000, slope, dip=DIP),
                    "forced_rupture_time": forced(0, 18e3, CRITICAL, 3464.0, DIP),
                },
            },
        },
        start=Start((0.0, 18e3), CRITICAL),
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
