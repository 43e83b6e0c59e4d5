"""TPV103: strong velocity weakening in a full space."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Domain, Start
from faultwave.verify.scec.benchmarks.rate_and_state._common import (
    FROM_MEMORY,
    FULL_SPACE,
    STATIONS,
    STRONG_QUICK,
    STRONG_SHARE,
    strong,
)

TPV103 = Benchmark(
    name="tpv103",
    title="strong velocity weakening in a full space",
    faults=(FULL_SPACE,),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=strong(),
    start=Start((0.0, 7.5e3), 3e3),
    stations=STATIONS,
    end_time=12.0,
    quick=STRONG_QUICK,
    domain=Domain(free_surface=False),
    checks=(checks.symmetric(), checks.symmetric_down_dip(7.5e3), checks.ruptures("main", 0.6, quick=STRONG_SHARE)),
    source="Harris et al. (2018), https://strike.scec.org/cvws/tpv103_104docs.html",
    notes=FROM_MEMORY,
)
