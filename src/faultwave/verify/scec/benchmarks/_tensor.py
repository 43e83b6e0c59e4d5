"""Common definition of TPV24 to 27 and 29: stress growing with depth under hydrostatic pore pressure, and forced nucleation."""

from faultwave.base.types import Settings
from faultwave.verify.scec.texts import forced, number

GRADIENT = (2670.0 - 1000.0) * 9.8
"""Gradient of the effective vertical stress [Pa/m]."""

FRICTION: Settings = {"mu_s": 0.18, "mu_d": 0.12, "d_c": 0.3}
CRITICAL = 4e3
"""Radius within which rupture is forced [m]."""

VS = 3464.0


def stress(parallel: float, normal: float, shear: float, taper: tuple[float, float] | None = None) -> dict[str, str]:
    """Return expressions of the effective stress tensor as factors on the vertical stress.

    The factors are the stress parallel to the main fault, normal to it, and its shear; all become isotropic between the two depths of
    ``taper`` [m].
    """
    o = "1.0" if taper is None else f"min(1.0, max(0.0, ({number(taper[1])} + z)/{number(taper[1] - taper[0])}))"

    def text(factor: str) -> str:
        return f"o = {o};\nreturn {number(GRADIENT)}*z*({factor});"

    return {
        "s_xx": text(f"o*{number(parallel)} + 1.0 - o"),
        "s_yy": text(f"o*{number(normal)} + 1.0 - o"),
        "s_zz": f"return {number(GRADIENT)}*z;",
        "s_xy": text(f"o*{number(shear)}"),
    }


def fault_settings(tensor: dict[str, str], cohesion: str, start: tuple[float, float]) -> Settings:
    """Return the group ``fault`` of a case; ``cohesion`` is an expression, and rupture is forced around ``start`` (s, d)."""
    return {
        "friction": "linear-slip-weakening",
        "forced_rupture_ramp": 0.5,
        "parameters": {
            "constant": {**FRICTION, "s_yz": 0.0, "s_xz": 0.0},
            "expression": {**tensor, "cohesion": cohesion, "forced_rupture_time": forced(*start, CRITICAL, VS)},
        },
    }
