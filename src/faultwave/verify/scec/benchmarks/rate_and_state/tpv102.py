"""TPV102: rate and state with the ageing law below a free surface."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Start
from faultwave.verify.scec.benchmarks.rate_and_state._common import (
    AGEING_QUICK,
    AGEING_SHARE,
    HALF_SPACE,
    STATIONS,
    ageing,
)

TPV102 = Benchmark(
    name="tpv102",
    title="rate and state, ageing law, below a free surface",
    faults=(HALF_SPACE,),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=ageing(),
    start=Start((0.0, 7.5e3), 3e3),
    stations=STATIONS,
    end_time=15.0,
    quick=AGEING_QUICK,
    checks=(checks.symmetric(), checks.ruptures("main", 0.3, quick=AGEING_SHARE)),
    source="Harris et al. (2009), https://strike.scec.org/cvws/tpv101_102docs.html",
    reference="tpv101",
)
