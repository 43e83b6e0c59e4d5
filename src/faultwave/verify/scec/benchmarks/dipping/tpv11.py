"""TPV11: the fault of TPV10 with a lower static friction; rupture becomes supershear."""

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

TPV11 = Benchmark(
    name="tpv11",
    title="normal fault that dips at 60 degrees, faster than S waves",
    faults=(FAULT,),
    material=ROCK,
    fault_settings=proportional_stress(0.57),
    start=START,
    stations=STATIONS,
    end_time=15.0,
    quick=quick(900.0, 10.0),
    speeds=SPEEDS,
    checks=(checks.symmetric(), checks.ruptures("main", 0.97), checks.faster("main", *UP_DIP, "up dip")),
    source="Harris et al. (2009), https://strike.scec.org/cvws/tpv10_11docs.html",
    notes=("The static friction of 0.57 is from memory of the description and not confirmed.",),
)
