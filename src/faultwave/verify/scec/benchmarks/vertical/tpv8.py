"""TPV8: a vertical strike-slip fault whose stress grows with depth; rupture starts at 12 km."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Fault, Start, quick, square
from faultwave.verify.scec.texts import squares

TPV8 = Benchmark(
    name="tpv8",
    title="vertical strike-slip fault, stress proportional to depth",
    faults=(Fault("main", (-15e3, 15e3), (0.0, 15e3), patches=(square(0, 12e3),)),),
    material={"constant": {"rho": 2700.0, "vp": 5716.0, "vs": 3300.0}},
    fault_settings={
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_s": 0.76, "mu_d": 0.448, "d_c": 0.5, "cohesion": -1e6, "T_d": 0.0},
            "expression": {
                "T_n": "return 7378.0*z;",
                "T_s": squares("0.55*7378.0*d", [(0, 12000, 3000, "1000000.0 + 1.005*0.76*7378.0*d")]),
            },
        },
    },
    start=Start((0.0, 12e3), 1.5e3 * 2**0.5),
    stations={
        "main": ((0, 12e3), (4.5e3, 7.5e3), (12e3, 7.5e3), (0, 7.5e3), (0, 4.5e3), (0, 0), (4.5e3, 0), (12e3, 0))
    },
    end_time=15.0,
    quick=quick(
        650.0, 8.5, order=5, coarser=1.25
    ),  # it only just starts: in coarser elements rupture hesitates or dies
    speeds=(5716.0, 3300.0),
    checks=(checks.symmetric(), checks.ruptures("main", 0.9)),
    source="Harris et al. (2009), https://strike.scec.org/cvws/tpv89docs.html",
)
