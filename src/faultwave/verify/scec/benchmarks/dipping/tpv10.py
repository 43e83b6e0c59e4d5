"""TPV10: a normal fault that dips at 60 degrees; rupture stays below the S speed."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, quick
from faultwave.verify.scec.benchmarks.dipping._dipping import (
    FAULT,
    ROCK,
    SPEEDS,
    START,
    STATIONS,
    UP_DIP,
    proportional_stress,
)

TPV10 = Benchmark(
    name="tpv10",
    title="normal fault that dips at 60 degrees, slower than S waves",
    faults=(FAULT,),
    material=ROCK,
    fault_settings=proportional_stress(0.76),
    start=START,
    stations=STATIONS,
    end_time=15.0,
    quick=quick(900.0, 10.0),
    speeds=SPEEDS,
    checks=(checks.symmetric(), checks.ruptures("main", 0.9), checks.slower("main", *UP_DIP, "up dip")),
    source="Harris et al. (2009), https://strike.scec.org/cvws/tpv10_11docs.html",
)
