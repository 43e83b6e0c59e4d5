"""TPV104: strong velocity weakening below a free surface."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, OnGrid, Start
from faultwave.verify.scec.benchmarks.rate_and_state._common import (
    HALF_SPACE,
    STATIONS,
    STRONG_QUICK,
    STRONG_SHARE,
    strong,
)

TPV104 = Benchmark(
    name="tpv104",
    title="strong velocity weakening below a free surface",
    faults=(HALF_SPACE,),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=strong(),
    start=Start((0.0, 7.5e3), 3e3),
    stations=STATIONS,
    end_time=15.0,
    quick=STRONG_QUICK,
    grid=OnGrid(precision="double", end_time=9.0),
    checks=(checks.symmetric(), checks.ruptures("main", 0.7, quick=STRONG_SHARE)),
    source="Harris et al. (2018), https://strike.scec.org/cvws/tpv103_104docs.html",
)
