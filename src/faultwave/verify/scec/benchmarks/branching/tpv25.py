"""TPV25: a left-lateral fault with a restraining branch, stress proportional to depth."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Start, quick
from faultwave.verify.scec.benchmarks._tensor import CRITICAL, fault_settings, stress
from faultwave.verify.scec.benchmarks.branching._branch import BRANCH, STATIONS, main
from faultwave.verify.scec.texts import above

START = (-8e3, 10e3)

TPV25 = Benchmark(
    name="tpv25",
    title="left-lateral fault with a restraining branch, stress proportional to depth",
    faults=(main(), BRANCH),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=fault_settings(stress(1.119338, 0.880661, 0.138704), above(4000, 675, 300000), START),
    start=Start(START, CRITICAL),
    stations=STATIONS,
    end_time=12.0,
    quick=quick(900.0, 10.0),
    checks=(checks.earlier("main", (-8e3, 10e3), (-1e3, 10e3), "at the nucleation than at the junction"),),
    source="Harris et al. (2018), https://strike.scec.org/cvws/benchmark_descriptions.html",
)
