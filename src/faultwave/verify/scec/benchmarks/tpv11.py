"""TPV11: as TPV10 with a lower static friction; rupture outruns S waves."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, quick
from faultwave.verify.scec.benchmarks._dipping import DIP, FAULT, ROCK, SPEEDS, START, STATIONS, UP_DIP
from faultwave.verify.scec.texts import down_dip, squares

TPV11 = Benchmark(
    name="tpv11",
    title="normal fault that dips at 60 degrees, faster than S waves",
    faults=(FAULT,),
    material=ROCK,
    fault_settings={
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_s": 0.57, "mu_d": 0.448, "d_c": 0.5, "cohesion": -0.2e6, "T_s": 0.0},
            "expression": {
                "T_n": f"{down_dip(DIP)}\nreturn (-7378.0)*d;",
                "T_d": squares("0.55*7378.0*d", [(0, 12000, 3000, "200000.0 + (0.57 + 0.0057)*7378.0*d")], DIP),
            },
        },
    },
    start=START,
    stations=STATIONS,
    end_time=15.0,
    quick=quick(900.0, 10.0),
    speeds=SPEEDS,
    checks=(checks.symmetric(), checks.ruptures("main", 0.97), checks.faster("main", *UP_DIP, "up dip")),
    source="Harris et al. (2009), https://strike.scec.org/cvws/tpv10_11docs.html",
    notes=("The static friction of 0.57 is from memory of the description and not confirmed.",),
)
