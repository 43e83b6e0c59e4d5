"""Common definition of TPV31 and TPV32: a vertical strike-slip fault in layers, with stress proportional to the rigidity."""

from collections.abc import Sequence

from faultwave.base.types import Settings
from faultwave.verify.scec.benchmark import Benchmark, Domain, Fault, Resolution, Start
from faultwave.verify.scec.checks import ruptures, symmetric
from faultwave.verify.scec.texts import above, bump, number, profile, radius, rigid

RIGIDITY = 32.03812032e9
"""Rigidity at which the stresses are 60 and 30 MPa [Pa]."""


def layered(name: str, title: str, tables: tuple[Sequence[float], ...], quick: Resolution, domain: Domain) -> Benchmark:
    """Return the benchmark for ``tables`` of depths, P speeds, S speeds and densities, linear in between, with jumps."""
    depths, vp, vs, rho = tables
    shear = f"{radius(0, 7500)}\n{bump(4.95e6, 1400, 2000)}"
    settings: Settings = {
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_s": 0.58, "mu_d": 0.45, "d_c": 0.18, "T_d": 0.0},
            "expression": {
                "cohesion": above(2400, 425),
                "T_n": rigid(depths, rho, vs, number(-60e6 / RIGIDITY)),
                "T_s": rigid(depths, rho, vs, f"(30000000.0 + n)*{number(1 / RIGIDITY)}", shear),
            },
        },
    }
    return Benchmark(
        name=name,
        title=title,
        faults=(Fault("main", (-15e3, 15e3), (0.0, 15e3)),),
        material={"expression": {"rho": profile(depths, rho), "vp": profile(depths, vp), "vs": profile(depths, vs)}},
        fault_settings=settings,
        start=Start((0.0, 7.5e3), 2e3),
        stations={
            "main": ((0, 7.5e3), (6e3, 7.5e3), (12e3, 7.5e3), (0, 2.4e3), (6e3, 2.4e3), (0, 0), (6e3, 0), (12e3, 0))
        },
        end_time=15.0,
        recommended=50.0,
        quick=quick,
        speeds=(max(vp), max(vs)),
        domain=domain,
        checks=(symmetric(), ruptures("main", 0.9)),
        source="SCEC/USGS, https://strike.scec.org/cvws/tpv31_32docs.html; Harris et al. (2018)",
    )
