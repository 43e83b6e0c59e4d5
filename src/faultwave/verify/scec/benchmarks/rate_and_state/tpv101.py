"""TPV101: rate and state with the ageing law in a full space."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Domain, Start
from faultwave.verify.scec.benchmarks.rate_and_state._common import (
    AGEING_QUICK,
    AGEING_SHARE,
    FROM_MEMORY,
    FULL_SPACE,
    STATIONS,
    ageing,
)

TPV101 = Benchmark(
    name="tpv101",
    title="rate and state, ageing law, in a full space",
    faults=(FULL_SPACE,),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=ageing(),
    start=Start((0.0, 7.5e3), 3e3),
    stations=STATIONS,
    end_time=12.0,
    quick=AGEING_QUICK,
    domain=Domain(free_surface=False),
    checks=(checks.symmetric(), checks.symmetric_down_dip(7.5e3), checks.ruptures("main", 0.3, quick=AGEING_SHARE)),
    source="Harris et al. (2009), https://strike.scec.org/cvws/tpv101_102docs.html",
    notes=FROM_MEMORY,
)
