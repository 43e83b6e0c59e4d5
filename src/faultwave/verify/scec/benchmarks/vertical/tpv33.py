"""TPV33: a vertical strike-slip fault within a zone of low speeds, which guides waves."""

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Domain, Fault, Start, quick
from faultwave.verify.scec.texts import bump, down_dip, radius

TAPERED = [
    down_dip(),
    "a = max(0.0, max((-9800.0) - x, x - 1100.0))/10000.0;",
    "b = max(0.0, max(2300.0 - d, d - 8000.0))/10000.0;",
    radius(-6000, 6000),
    bump(3.15e6, 550, 800),
    "return 30000000.0*(1.0 - min(1.0, sqrt(a*a + b*b))) + n;",
]


def zones(near: float, zone: float, far: float) -> str:
    """Return an expression with one value at y below -800 m, one in the zone, and one beyond 800 m."""
    return f"if (y < (-800.0)) {{ return {near}; }}\nif (y > 800.0) {{ return {far}; }}\nreturn {zone};"


TPV33 = Benchmark(
    name="tpv33",
    title="vertical strike-slip fault in a zone of low speeds",
    faults=(Fault("main", (-12e3, 4e3), (0.0, 10e3)),),
    material={
        "constant": {"rho": 2670.0},
        "expression": {"vp": zones(5626.0, 3750.0, 6000.0), "vs": zones(3248.0, 2165.0, 3464.0)},
    },
    fault_settings={
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_s": 0.55, "mu_d": 0.45, "d_c": 0.18, "cohesion": 0.0, "T_n": -60e6, "T_d": 0.0},
            "expression": {"T_s": "\n".join(TAPERED)},
        },
    },
    start=Start((-6e3, 6e3), 800.0),
    stations={"main": ((-6e3, 6e3), (-2e3, 6e3), (2e3, 6e3), (-10e3, 6e3), (-6e3, 2e3), (-2e3, 2e3), (2e3, 2e3))},
    end_time=13.0,
    recommended=25.0,
    quick=quick(550.0, 7.0),
    domain=Domain(planes=(-800.0, 800.0), margin=15e3),
    # 62 % of the fault has more stress than dynamic strength; beyond, the front must stop before the edges
    checks=(checks.ruptures("main", 0.6), checks.stays("main", 0.8)),
    source="SCEC/USGS, https://strike.scec.org/cvws/benchmark_descriptions.html; Harris et al. (2018)",
)
