"""TPV12: a normal fault that dips at 60 degrees in strongly stressed rock; elastic."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, quick
from faultwave.verify.scec.benchmarks.dipping._dipping import DIP, FAULT, ROCK, SPEEDS, START, STATIONS, UP_DIP
from faultwave.verify.scec.texts import down_dip, squares

TPV12 = Benchmark(
    name="tpv12",
    title="normal fault that dips at 60 degrees, elastic, with a very large stress drop",
    faults=(FAULT,),
    material=ROCK,
    fault_settings={
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_d": 0.1, "d_c": 0.5, "cohesion": -0.2e6, "T_s": 0.0},
            "expression": {
                "mu_s": squares("0.7", [(0, 12000, 3000, "0.54")], DIP),
                "T_n": f"{down_dip(DIP)}\nif (d < 13800.0) {{ return (-7390.01)*d; }}\nreturn (-14427.98)*d;",
                "T_d": f"{down_dip(DIP)}\nif (d < 13800.0) {{ return 0.549847*7390.01*d; }}\nreturn 0.0;",
            },
        },
    },
    start=START,
    stations=STATIONS,
    end_time=8.0,
    quick=quick(900.0, 7.0),
    speeds=SPEEDS,
    # below 13.8 km no stress drives slip: the edge of the slipping area creeps in, which no mesh makes symmetric
    checks=(checks.symmetric(above=13.5e3), checks.ruptures("main", 0.9), checks.faster("main", *UP_DIP, "up dip")),
    source="Harris et al. (2011), https://strike.scec.org/cvws/benchmark_descriptions.html",
)
