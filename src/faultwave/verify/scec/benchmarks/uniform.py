"""TPV3 and 5 to 8: a flat vertical strike-slip fault of simple stress in uniform rock or between two rocks."""

from __future__ import annotations

from faultwave.verify.scec import checks
from faultwave.verify.scec.benchmark import Benchmark, Check, Domain, Fault, OnGrid, Start, quick, square
from faultwave.verify.scec.texts import mean_squares, number, squares

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


TPV5_PATCHES = ((0, 7500, 3000, 81.6e6), (-7500, 7500, 3000, 78e6), (7500, 7500, 3000, 62e6))
TPV5_STRESS = squares(number(70e6), [(s, d, edge, number(value)) for s, d, edge, value in TPV5_PATCHES])

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
            "expression": {"T_s": TPV5_STRESS},
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
    grid=OnGrid(end_time=8.0, means={"T_s": lambda spacing: mean_squares(70e6, TPV5_PATCHES, spacing)}),
)


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


TOWARDS = "in the direction in which the softer side slips (Andrews & Ben-Zion 1997)"
"""Name of the preferred direction of rupture, in which slip lowers the normal stress ahead; the opposite one raises it."""


def sides(near: float, far: float) -> str:
    """Return an expression with one value on each side of the fault."""
    return f"if (y > 0.0) {{ return {far}; }}\nreturn {near};"


def bimaterial(
    name: str, title: str, far: tuple[float, float, float], checks: tuple[Check, ...], notes: tuple[str, ...] = ()
) -> Benchmark:
    """Return the benchmark whose far side has this density [kg/m^3], P and S speed [m/s]."""
    near = (2670.0, 6000.0, 3464.0)
    return Benchmark(
        name=name,
        title=title,
        faults=(Fault("main", (-15e3, 15e3), (0.0, 15e3), patches=(square(0, 7.5e3),)),),
        material={"expression": {q: sides(a, b) for q, a, b in zip(("rho", "vp", "vs"), near, far, strict=True)}},
        fault_settings={
            "friction": "linear-slip-weakening",
            "modifiers": ["prakash-clifton"],
            "constants": {"pc_reference_rate": 1.0, "pc_length": 0.01},
            "parameters": {
                "constant": {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_d": 0.0},
                "expression": {"T_s": squares("70000000.0", [(0, 7500, 3000, "81600000.0")])},
            },
        },
        start=Start((0.0, 7.5e3), 1.5e3 * 2**0.5),
        stations={
            "main": (
                (7.5e3, 7.5e3),
                (-7.5e3, 7.5e3),
                (12e3, 7.5e3),
                (-12e3, 7.5e3),
                (0, 12e3),
                (0, 0),
                (12e3, 0),
                (-12e3, 0),
            )
        },
        end_time=15.0,
        quick=quick(700.0, 9.0),
        domain=Domain(planes=(0.0,)),
        checks=checks,
        source="Harris et al. (2009), https://strike.scec.org/cvws/benchmark_descriptions.html",
        notes=(
            (
                "Strength adapts with a delay (Prakash & Clifton; V* 1 m/s, L 1 cm), which the description leaves "
                "to the codes."
            ),
            *notes,
        ),
    )


TPV6 = bimaterial(
    "tpv6",
    "vertical strike-slip fault between very different rocks",
    (2225.0, 3750.0, 2165.0),
    (checks.ruptures("main", 0.7), checks.earlier("main", (9e3, 7.5e3), (-9e3, 7.5e3), TOWARDS)),
)


TPV7 = bimaterial(
    "tpv7",
    "vertical strike-slip fault between slightly different rocks",
    (2225.0, 5000.0, 2887.0),
    (checks.ruptures("main", 0.7), checks.earlier("main", (9e3, 7.5e3), (-9e3, 7.5e3), TOWARDS)),
    ("The far side's speeds, 1/1.2 of the near side's, and density are from memory and not confirmed.",),
)
