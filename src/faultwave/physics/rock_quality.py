"""Strength of jointed rock masses: Hoek-Brown criterion and equivalent cohesion and friction.

Reference: Hoek, Carranza-Torres & Corkum 2002, Hoek-Brown failure criterion - 2002 edition, Proc. NARMS-TAC, eqs 3-5,
12, 13, 17-19.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Mass:
    """Rock mass with the criterion sigma_1 = sigma_3 + sigma_ci (m_b sigma_3 / sigma_ci + s)^a.

    Attributes
    ----------
    slope, offset, power : array
        m_b, s and a.
    intact : array
        Uniaxial compressive strength sigma_ci of intact rock [Pa].
    """

    slope: Array
    offset: Array
    power: Array
    intact: Array


def mass(index: Array, constant: float, intact: Array, disturbance: float = 0.0) -> Mass:
    """Return the rock mass with a geological strength index (eqs 3 to 5).

    Parameters
    ----------
    index : array
        Geological strength index GSI.
    constant : float
        m_i of intact rock.
    intact : array
        Uniaxial compressive strength of intact rock [Pa].
    disturbance : float
        Disturbance factor D.
    """
    slope = constant * np.exp((index - 100.0) / (28.0 - 14.0 * disturbance))
    offset = np.exp((index - 100.0) / (9.0 - 3.0 * disturbance))
    power = 0.5 + (np.exp(-index / 15.0) - np.exp(-20.0 / 3.0)) / 6.0
    return Mass(slope, offset, power, intact)


CONFINEMENTS: dict[str, tuple[float, float]] = {"tunnel": (0.47, 0.94), "slope": (0.72, 0.91)}
"""Factor and exponent of the largest confining stress of the fit (eqs 18 and 19)."""


def mohr_coulomb(rock: Mass, vertical: Array, confinement: str = "tunnel") -> tuple[Array, Array]:
    """Return cohesion [Pa] and tan of the friction angle (eqs 12 and 13) under a ``vertical`` stress [Pa], compression positive."""
    s, m_b, a = rock.offset, rock.slope, rock.power
    both = (1.0 + a) * (2.0 + a)
    whole = rock.intact * (m_b + 4.0 * s - a * (m_b - 8.0 * s)) * (m_b / 4.0 + s) ** (a - 1.0) / (2.0 * both)
    factor, exponent = CONFINEMENTS[confinement]
    x = factor * whole ** (1.0 - exponent) * vertical**exponent / rock.intact
    bent = (s + m_b * x) ** (a - 1.0)
    share = 6.0 * a * m_b * bent
    sine = share / (2.0 * both + share)
    cohesion = rock.intact * ((1.0 + 2.0 * a) * s + (1.0 - a) * m_b * x) * bent / (both * np.sqrt(1.0 + share / both))
    return cohesion, sine / np.sqrt(1.0 - sine * sine)


INTACT: Mapping[str, Callable[[Array], Array]] = {
    "shale": lambda vp: 0.77e6 * (vp / 1000.0) ** 2.93,  # Horsrud 2001
    "sandstone": lambda vp: 1.4138e7 * (3.28 * vp / 1e6) ** 3 * 1e6,  # weak sandstone, of the slowness in us/ft
}
"""Strength of intact rock [Pa] as a function of the P speed [m/s].

Reference: Chang, Zoback & Khaksar 2006, doi:10.1016/j.petrol.2006.01.003, table 1.
"""


__all__ = ["CONFINEMENTS", "INTACT", "Mass", "mass", "mohr_coulomb"]
