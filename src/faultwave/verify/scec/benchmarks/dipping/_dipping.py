"""Common definition of TPV10, 11 and 12: a normal fault with a dip of 60 degrees and stress proportional to distance down dip."""

from faultwave.base.types import Settings
from faultwave.verify.scec.benchmark import Fault, Start, square
from faultwave.verify.scec.texts import down_dip, squares

DIP = 60.0
FAULT = Fault("main", (-15e3, 15e3), (0.0, 15e3), dip=DIP, patches=(square(0, 12e3),))
ROCK: Settings = {"constant": {"rho": 2700.0, "vp": 5716.0, "vs": 3300.0}}
SPEEDS = (5716.0, 3300.0)
START = Start((0.0, 12e3), 1.5e3 * 2**0.5)
STATIONS = {"main": ((0, 12e3), (0, 7.5e3), (12e3, 7.5e3), (4.5e3, 7.5e3), (0, 4.5e3), (0, 1.5e3), (0, 0), (12e3, 0))}
UP_DIP = (0.0, 9e3), (0.0, 3e3)
"""Positions between which rupture is in-plane, up towards the surface."""


def proportional_stress(mu_s: float) -> Settings:
    """Return the fault settings of TPV10 and 11, with a normal stress of 7378 Pa/m.

    The shear stress is 0.55 of the normal stress and, in the nucleation patch, just above the strength.
    """
    patch = (0, 12000, 3000, f"200000.0 + ({mu_s:g} + 0.0057)*7378.0*d")
    return {
        "friction": "linear-slip-weakening",
        "parameters": {
            "constant": {"mu_s": mu_s, "mu_d": 0.448, "d_c": 0.5, "cohesion": -0.2e6, "T_s": 0.0},
            "expression": {
                "T_n": f"{down_dip(DIP)}\nreturn (-7378.0)*d;",
                "T_d": squares("0.55*7378.0*d", [patch], DIP),
            },
        },
    }
