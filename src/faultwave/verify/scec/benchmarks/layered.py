"""TPV31 to 33: a vertical strike-slip fault in layers, in softening rock, or within a zone of low speeds."""

from __future__ import annotations

from collections.abc import Sequence

from faultwave.base.types import Settings
from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Domain, Fault, Resolution, Start, quick
from faultwave.verify.scec.checks import ruptures, symmetric
from faultwave.verify.scec.texts import above, bump, down_dip, number, profile, radius, rigid

RIGIDITY = 32.03812032e9
"""Rigidity at which the stresses are 60 and 30 MPa [Pa]."""


def layered(name: str, title: str, tables: tuple[Sequence[float], ...], quick: Resolution, domain: Domain) -> Benchmark:
    """Return the benchmark for ``tables`` of depths, P speeds, S speeds and densities, linear in between, with jumps."""
    depths, vp, vs, rho = tables
    shear = f"{radius(0, 7500)}\n{bump(4.95e6, 1400, 2000)}"
    settings: Settings = {
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_s": 0.58, "mu_d": 0.45, "d_c": 0.18, "T_d": 0.0},
            "expression": {
                "cohesion": above(2400, 425),
                "T_n": rigid(depths, rho, vs, number(-60e6 / RIGIDITY)),
                "T_s": rigid(depths, rho, vs, f"(30000000.0 + n)*{number(1 / RIGIDITY)}", shear),
            },
        },
    }
    return Benchmark(
        name=name,
        title=title,
        faults=(Fault("main", (-15e3, 15e3), (0.0, 15e3)),),
        material={"expression": {"rho": profile(depths, rho), "vp": profile(depths, vp), "vs": profile(depths, vs)}},
        fault_settings=settings,
        start=Start((0.0, 7.5e3), 2e3),
        stations={
            "main": ((0, 7.5e3), (6e3, 7.5e3), (12e3, 7.5e3), (0, 2.4e3), (6e3, 2.4e3), (0, 0), (6e3, 0), (12e3, 0))
        },
        end_time=15.0,
        recommended=50.0,
        quick=quick,
        speeds=(max(vp), max(vs)),
        domain=domain,
        checks=(symmetric(), ruptures("main", 0.9)),
        source="SCEC/USGS, https://strike.scec.org/cvws/tpv31_32docs.html; Harris et al. (2018)",
    )


TPV31_TABLES = (
    (0.0, 2400.0, 2400.0, 5000.0, 5000.0, 10000.0, 10000.0, 15000.0),
    (4050.0, 4050.0, 4450.0, 5200.0, 5750.0, 5750.0, 6500.0, 6500.0),
    (2250.0, 2250.0, 2550.0, 3050.0, 3450.0, 3450.0, 3800.0, 3800.0),
    (2580.0, 2580.0, 2600.0, 2620.0, 2720.0, 2720.0, 3000.0, 3000.0),
)

TPV31 = layered(
    "tpv31",
    "vertical strike-slip fault in layers with jumps",
    TPV31_TABLES,
    quick(900.0, 9.0),
    Domain(depths=(2400.0, 5000.0, 10000.0)),
)


TPV32_TABLES = (
    (0.0, 500.0, 1000.0, 1600.0, 2400.0, 3600.0, 5000.0, 9000.0, 11000.0, 15000.0),
    (2200.0, 3000.0, 3600.0, 4400.0, 4800.0, 5250.0, 5500.0, 5750.0, 6100.0, 6300.0),
    (1050.0, 1400.0, 1950.0, 2500.0, 2800.0, 3100.0, 3250.0, 3450.0, 3600.0, 3700.0),
    (2200.0, 2450.0, 2550.0, 2600.0, 2600.0, 2620.0, 2650.0, 2720.0, 2750.0, 2900.0),
)

TPV32 = layered(
    "tpv32",
    "vertical strike-slip fault in rock that softens towards the surface",
    TPV32_TABLES,
    quick(900.0, 9.0),
    Domain(),
)


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
