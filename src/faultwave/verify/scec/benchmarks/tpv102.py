"""TPV102: rate and state with the ageing law below a free surface."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Start, quick
from faultwave.verify.scec.benchmarks._rate_and_state import HALF_SPACE, STATIONS, ageing

TPV102 = Benchmark(
    name="tpv102",
    title="rate and state, ageing law, below a free surface",
    faults=(HALF_SPACE,),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings=ageing(),
    start=Start((0.0, 7.5e3), 3e3),
    stations=STATIONS,
    end_time=15.0,
    quick=quick(600.0, 5.0),  # the state evolves over 2 cm: coarser elements stop the rupture
    checks=(checks.symmetric(), checks.ruptures("main", 0.3)),
    source="Harris et al. (2009), https://strike.scec.org/cvws/tpv101_102docs.html",
    reference="tpv101",
)
