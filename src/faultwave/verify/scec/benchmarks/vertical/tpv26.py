"""TPV26: a vertical strike-slip fault, stress proportional to depth and fading below 15 km; elastic."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Fault, Start, quick
from faultwave.verify.scec.benchmarks._tensor import CRITICAL, fault_settings, stress
from faultwave.verify.scec.texts import above

START = (-5e3, 10e3)

TPV26 = Benchmark(
    name="tpv26",
    title="vertical strike-slip fault, stress proportional to depth, elastic",
    faults=(Fault("main", (-20e3, 20e3), (0.0, 20e3)),),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=fault_settings(stress(0.926793, 1.073206, -0.169029, (15e3, 20e3)), above(5000, 720, 400000), START),
    start=Start(START, CRITICAL),
    stations={
        "main": ((-5e3, 10e3), (5e3, 10e3), (15e3, 10e3), (-15e3, 10e3), (-5e3, 5e3), (15e3, 5e3), (-5e3, 0), (15e3, 0))
    },
    end_time=13.0,
    quick=quick(1000.0, 9.0),
    checks=(checks.ruptures("main", 0.7),),
    source="Harris et al. (2018), https://strike.scec.org/cvws/benchmark_descriptions.html",
)
