"""TPV24: a right-lateral fault with a releasing branch, stress proportional to depth."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Start, quick
from faultwave.verify.scec.benchmarks._tensor import CRITICAL, fault_settings, stress
from faultwave.verify.scec.benchmarks.branching._branch import BRANCH, STATIONS, main
from faultwave.verify.scec.texts import above

START = (-8e3, 10e3)

TPV24 = Benchmark(
    name="tpv24",
    title="right-lateral fault with a releasing branch, stress proportional to depth",
    faults=(main(), BRANCH),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=fault_settings(stress(0.926793, 1.073206, -0.169029), above(4000, 675, 300000), START),
    start=Start(START, CRITICAL),
    stations=STATIONS,
    end_time=12.0,
    quick=quick(900.0, 10.0),
    checks=(checks.earlier("main", (-8e3, 10e3), (-1e3, 10e3), "at the nucleation than at the junction"),),
    source="Harris et al. (2018), https://strike.scec.org/cvws/benchmark_descriptions.html",
)
