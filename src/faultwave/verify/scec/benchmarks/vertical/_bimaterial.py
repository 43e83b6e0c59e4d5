"""Common definition of TPV6 and TPV7: the fault of TPV5 without its outer patches, between rocks of which y > 0 is softer."""

from faultwave.verify.scec.benchmark import Benchmark, Check, Domain, Fault, Start, quick, square
from faultwave.verify.scec.texts import squares

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
            "Strength follows with a delay (Prakash & Clifton; V* 1 m/s, L 1 cm), which the description leaves to the codes.",
            *notes,
        ),
    )
