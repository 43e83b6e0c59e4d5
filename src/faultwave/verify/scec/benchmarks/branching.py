"""TPV14, 15, 24 and 25: a vertical fault with a branch at 30 degrees."""

from __future__ import annotations

from dataclasses import replace

from faultwave.base.types import Settings
from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Fault, Start, quick, square
from faultwave.verify.scec.benchmarks.depth_dependent import CRITICAL, fault_settings, stress
from faultwave.verify.scec.texts import above, number, squares

BRANCH = Fault("branch", (0.0, 12e3), (0.0, 15e3), strike=-30.0)
STATIONS = {
    "main": ((-8e3, 7.5e3), (-2e3, 7.5e3), (2e3, 7.5e3), (9e3, 7.5e3), (-8e3, 0), (-2e3, 0), (9e3, 0)),
    "branch": ((2e3, 7.5e3), (9e3, 7.5e3), (2e3, 0), (9e3, 0)),
}


def main_fault(*patches: tuple[float, float, float, float]) -> Fault:
    """Return the main fault; the branch leaves it at s = 0, 12 km from its end, towards -y."""
    return Fault("main", (-16e3, 12e3), (0.0, 15e3), patches=patches)


def uniform(shear: float, on_branch: float, within: float) -> Settings:
    """Return the group ``fault`` with uniform shear stresses [Pa] on the main fault, on the branch and in the nucleation patch."""
    branch = f"if (y < (-0.01)) {{ return {number(on_branch)}; }}"
    patch = (-8000, 7500, 3000, number(within))
    return {
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_d": 0.0},
            "expression": {"T_s": squares(number(shear), [patch], before=branch)},
        },
    }


TPV14 = Benchmark(
    name="tpv14",
    title="right-lateral fault with a branch at 30 degrees, uniform stress",
    faults=(main_fault(square(-8e3, 7.5e3)), BRANCH),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=uniform(70e6, 70e6, 81.6e6),
    start=Start((-8e3, 7.5e3), 1.5e3 * 2**0.5),
    stations=STATIONS,
    end_time=15.0,
    quick=quick(900.0, 10.0),
    checks=(checks.earlier("main", (-9.5e3, 7.5e3), (-1e3, 7.5e3), "at the nucleation than at the junction"),),
    source="Harris et al. (2009), https://strike.scec.org/cvws/benchmark_descriptions.html",
    notes=("Stresses on main fault and branch (70 and 70 MPa) are from memory of the description and not confirmed.",),
)


TPV15 = replace(
    TPV14,
    name="tpv15",
    title="left-lateral fault with a branch at 30 degrees, uniform stress",
    fault_settings=uniform(-70e6, -78e6, -81.6e6),
    notes=(
        "Stresses on main fault and branch (-70 and -78 MPa) are from memory of the description and not confirmed.",
    ),
)


TPV24_START = (-8e3, 10e3)

TPV24 = Benchmark(
    name="tpv24",
    title="right-lateral fault with a releasing branch, stress proportional to depth",
    faults=(main_fault(), BRANCH),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=fault_settings(stress(0.926793, 1.073206, -0.169029), above(4000, 675, 300000), TPV24_START),
    start=Start(TPV24_START, CRITICAL),
    stations=STATIONS,
    end_time=12.0,
    quick=quick(900.0, 10.0),
    checks=(checks.earlier("main", (-8e3, 10e3), (-1e3, 10e3), "at the nucleation than at the junction"),),
    source="Harris et al. (2018), https://strike.scec.org/cvws/benchmark_descriptions.html",
)


TPV25 = replace(
    TPV24,
    name="tpv25",
    title="left-lateral fault with a restraining branch, stress proportional to depth",
    fault_settings=fault_settings(stress(1.119338, 0.880661, 0.138704), above(4000, 675, 300000), TPV24_START),
)
