"""TPV5: a vertical strike-slip fault that meets a patch of higher and one of lower stress."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Fault, OnGrid, Start, square
from faultwave.verify.scec.texts import mean_squares, number, squares

PATCHES = ((0, 7500, 3000, 81.6e6), (-7500, 7500, 3000, 78e6), (7500, 7500, 3000, 62e6))
STRESS = squares(number(70e6), [(s, d, edge, number(value)) for s, d, edge, value in PATCHES])

TPV5 = Benchmark(
    name="tpv5",
    title="vertical strike-slip fault with three square patches of other stress",
    faults=(
        Fault(
            "main", (-15e3, 15e3), (0.0, 15e3), patches=(square(0, 7.5e3), square(-7.5e3, 7.5e3), square(7.5e3, 7.5e3))
        ),
    ),
    material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
    fault_settings={
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_d": 0.0},
            "expression": {"T_s": STRESS},
        },
    },
    start=Start((0.0, 7.5e3), 1.5e3 * 2**0.5),
    stations={
        "main": (
            (-12e3, 7.5e3),
            (-7.5e3, 7.5e3),
            (-4.5e3, 7.5e3),
            (0, 0),
            (0, 12e3),
            (4.5e3, 7.5e3),
            (7.5e3, 7.5e3),
            (12e3, 7.5e3),
        )
    },
    end_time=12.0,
    checks=(
        checks.ruptures("main", 0.97),
        checks.earlier(
            "main", (-7.5e3, 7.5e3), (7.5e3, 7.5e3), "through the patch of higher stress than through that of lower"
        ),
        checks.earlier("main", (-14e3, 7.5e3), (14e3, 7.5e3), "at the end behind the patch of higher stress"),
    ),
    source="Harris et al. (2009), https://strike.scec.org/cvws/tpv5docs.html",
    reference="tpv5",
    grid=OnGrid(end_time=8.0, means={"T_s": lambda spacing: mean_squares(70e6, PATCHES, spacing)}),
)
