"""TPV3: a vertical strike-slip fault in a full space, the test problem of Day et al. (2005)."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Domain, Fault, OnGrid, Start, square
from faultwave.verify.scec.texts import mean_squares, squares

TPV3 = Benchmark(
    name="tpv3",
    title="vertical strike-slip fault of uniform stress in a full space",
    faults=(Fault("main", (-15e3, 15e3), (0.0, 15e3), patches=(square(0, 7.5e3),)),),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings={
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_d": 0.0},
            "expression": {"T_s": squares("70000000.0", [(0, 7500, 3000, "81600000.0")])},
        },
    },
    start=Start((0.0, 7.5e3), 1.5e3 * 2**0.5),
    stations={"main": ((0, 7.5e3), (7.5e3, 7.5e3), (0, 1.5e3), (-7.5e3, 7.5e3), (12e3, 7.5e3), (0, 13.5e3))},
    end_time=12.0,
    domain=Domain(free_surface=False),
    grid=OnGrid(end_time=8.0, means={"T_s": lambda spacing: mean_squares(70e6, [(0, 7500, 3000, 81.6e6)], spacing)}),
    checks=(
        checks.ruptures("main", 0.97),
        checks.symmetric(),
        checks.symmetric_down_dip(7.5e3),
        checks.earlier(
            "main", (6e3, 7.5e3), (0, 13.5e3), "6 km along strike (in plane) than 6 km along dip (anti-plane)"
        ),
        checks.slower("main", (3e3, 7.5e3), (12e3, 7.5e3), "along strike"),
    ),
    source="Day et al. (2005), Harris et al. (2009), https://strike.scec.org/cvws/benchmark_descriptions.html",
)
