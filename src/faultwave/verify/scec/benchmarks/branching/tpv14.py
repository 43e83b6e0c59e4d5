"""TPV14: a vertical right-lateral strike-slip fault with a branch, of uniform stress."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Start, quick, square
from faultwave.verify.scec.benchmarks.branching._branch import BRANCH, STATIONS, main
from faultwave.verify.scec.texts import squares

ON_BRANCH = "if (y < (-0.01)) { return 70000000.0; }"

TPV14 = Benchmark(
    name="tpv14",
    title="right-lateral fault with a branch at 30 degrees, uniform stress",
    faults=(main(square(-8e3, 7.5e3)), BRANCH),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings={
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_d": 0.0},
            "expression": {"T_s": squares("70000000.0", [(-8000, 7500, 3000, "81600000.0")], before=ON_BRANCH)},
        },
    },
    start=Start((-8e3, 7.5e3), 1.5e3 * 2**0.5),
    stations=STATIONS,
    end_time=15.0,
    quick=quick(900.0, 10.0),
    checks=(checks.earlier("main", (-9.5e3, 7.5e3), (-1e3, 7.5e3), "at the nucleation than at the junction"),),
    source="Harris et al. (2009), https://strike.scec.org/cvws/benchmark_descriptions.html",
    notes=("Stresses on main fault and branch (70 and 70 MPa) are from memory of the description and not confirmed.",),
)
