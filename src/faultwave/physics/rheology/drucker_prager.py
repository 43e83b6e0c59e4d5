"""Drucker-Prager plasticity with viscoplastic relaxation, and equivalent strengths of jointed rock masses (Hoek-Brown).

With m the mean stress, s its deviator and tau = sqrt(s : s / 2), rock yields where tau > tau_c = max(0, c cos phi - m
sin phi), phi the angle of internal friction. The deviator then relaxes towards the yield surface within the relaxation
time T,

    s(t + dt) = s (1 + y),   y = (tau_c / tau - 1) (1 - exp(-dt / T)),

and at once for T = 0; the mean stress is unchanged (docs/theory/plasticity.md). The plastic strain is the lost stress,
-y s / 2 mu.

Reference: Hoek, Carranza-Torres & Corkum 2002, Hoek-Brown failure criterion - 2002 edition, Proc. NARMS-TAC, eqs 3-5,
12, 13, 17-19.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.base.quantities import Output, Parameter, State
from faultwave.kernels import math as m
from faultwave.kernels.expr import Condition, Number
from faultwave.physics.rheology import STRESS, Returned, Rheology, Values

STRAINS = ("ep_xx", "ep_yy", "ep_zz", "ep_xy", "ep_yz", "ep_xz")


def _output(name: str, unit: str, what: str) -> Output:
    return Output(name, unit, what, lambda p, c, s: s[name])


class DruckerPrager(Rheology):
    """Drucker-Prager plasticity with two definitions of plastic strain.

    If the constant ``seissol_strain`` is 1, the strain of a step is its initial rate times the step, and ``eta`` counts
    each of the six components once, as in SeisSol. If it is 0, it is the strain of the lost stress, and ``eta`` is an
    invariant of it.
    """

    name = "drucker-prager"
    title = "Drucker-Prager plasticity with viscoplastic relaxation"
    parameters = (
        Parameter("plastic_cohesion", "Pa", "cohesion of the rock", lower=0.0, aliases=("plastCo",)),
        Parameter(
            "bulk_friction",
            "",
            "tan of the angle of internal friction",
            lower=0.0,
            upper=10.0,
            aliases=("bulkFriction",),
        ),
    )
    constants = (
        Parameter("relaxation_time", "s", "time within which stress above yield relaxes; 0: at once", 0.0, lower=0.0),
        Parameter(
            "seissol_strain", "", "1: accumulate plastic strain as in SeisSol", 0.0, lower=0.0, upper=1.0, whole=True
        ),
    )
    keeps_mean = True
    scales = True
    kernel_parameters = ("strength", "slope", "compliance")
    state = (
        *(State(name, "", f"plastic strain {name[3:]}") for name in STRAINS),
        State("eta", "", "accumulated plastic shear strain"),
        State("plastic_work", "J/m^3", "energy dissipated by yielding"),
    )
    outputs = (
        *(_output(name, "", f"plastic strain {name[3:]}") for name in STRAINS),
        _output("eta", "", "accumulated plastic shear strain"),
        _output("plastic_work", "J/m^3", "energy dissipated by yielding"),
    )

    def prepare(self, p: Values, c: Values, medium: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return c cos phi, sin phi and 1 / 2 mu."""
        phi = np.arctan(np.asarray(p["bulk_friction"], float))
        mu = np.asarray(medium["mu"], float)
        with np.errstate(divide="ignore"):
            compliance = np.where(mu > 0, 0.5 / np.where(mu > 0, mu, 1.0), 0.0)
        return {"strength": p["plastic_cohesion"] * np.cos(phi), "slope": np.sin(phi), "compliance": compliance}

    def yields(self, p: Values, c: Values, stress: Values, s: Values, step: Number) -> Condition:
        _, _, square, limit = _invariants(p, stress)
        return square > limit * limit

    def distance(self, p: Values, c: Values, stress: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the smallest change of stress, by its Frobenius norm, that may cause yielding (n,) [Pa]; negative beyond yield.

        A change ds moves tau - tau_c by at most |dev ds| / sqrt 2 + sin phi |tr ds| / 3, and this by at most sqrt(1/2 +
        sin^2 phi / 3) |ds| (Cauchy-Schwarz: both parts of ds are orthogonal).
        """
        mean, _, square, _ = _invariants(p, stress)
        available = np.asarray(p["strength"] - p["slope"] * mean - np.sqrt(np.asarray(square)))
        return available / np.sqrt(0.5 + p["slope"] ** 2 / 3.0)

    def energies(
        self,
        c: Values,
        s: Values,
        at_rest: Values,
        medium: Values,
    ) -> dict[str, Number]:
        """Return the plastic moment, the dissipation, and the work that the initial stress does on the plastic strain.

        The latter is omitted if plastic strain is defined as in SeisSol.
        """
        found = {"plastic_moment": medium["mu"] * s["eta"], "plastic_work": s["plastic_work"]}
        if not c["seissol_strain"]:
            pairs = [
                (at_rest[n], s[strain], 1.0 if n[2] == n[3] else 2.0) for n, strain in zip(STRESS, STRAINS, strict=True)
            ]
            found["initial_stress_work"] = sum(twice * (a * b) for a, b, twice in pairs)
        return found

    def initial_stress_gives(self, c: Values, s: Values, at_rest: Values) -> Number:
        """Return the bound 2 tau d eta of the work of the initial stress of size tau (Cauchy-Schwarz).

        SeisSol's eta counts each component once and may be smaller by sqrt 2.
        """
        xx, yy, zz, xy, yz, xz = (at_rest[name] for name in STRESS)
        mean = (xx + yy + zz) / 3.0
        a, b, d = xx - mean, yy - mean, zz - mean
        square = 0.5 * (a * a + b * b + d * d) + (xy * xy + yz * yz + xz * xz)
        return (8.0 if c["seissol_strain"] else 4.0) ** 0.5 * m.sqrt(square) * s["eta"]

    def return_map(self, p: Values, c: Values, stress: Values, s: Values, step: Number) -> Returned:
        found = _, deviator, square, limit = _invariants(p, stress)
        yields = square > limit * limit
        lost, state = self._loss(p, c, s, found, (step, self.relaxed(c, step)))
        new = {name: m.where(yields, x - lost * d, x) for (name, x), d in zip(stress.items(), deviator, strict=True)}
        return Returned(new, state)

    def relaxed(self, c: Values, step: Number) -> Number:
        return 1.0 if c["relaxation_time"] <= 0.0 else -m.expm1(-step / c["relaxation_time"])

    def loss(
        self, p: Values, c: Values, stress: Values, s: Values, time: tuple[Number, Number]
    ) -> tuple[Number, dict[str, Number]]:
        return self._loss(p, c, s, _invariants(p, stress), time)

    def _loss(
        self,
        p: Values,
        c: Values,
        s: Values,
        found: tuple[Number, list[Number], Number, Number],
        time: tuple[Number, Number],
    ) -> tuple[Number, dict[str, Number]]:
        _, deviator, square, limit = found
        yields = square > limit * limit
        tau = m.sqrt(m.where(yields, square, 1.0))
        lost = m.where(yields, (1.0 - limit / tau) * time[1], 0.0)  # fraction of the deviator
        return lost, self._strain(p, c, s, (deviator, square, lost, tau), time)

    def _strain(
        self,
        p: Values,
        c: Values,
        s: Values,
        found: tuple[list[Number], Number, Number, Number],
        time: tuple[Number, Number],
    ) -> dict[str, Number]:
        """Return the plastic strain and work after the step."""
        deviator, square, lost, tau = found
        step, relaxed = time
        factor = lost * p["compliance"]
        if c["seissol_strain"] and c["relaxation_time"] > 0.0:
            factor = factor * (step / (c["relaxation_time"] * relaxed))
            once = sum(d * d for d in deviator[1:]) + deviator[0] * deviator[0]
            size = m.sqrt(0.5 * once)
        else:
            size = tau
        strain = {name: s[name] + factor * d for name, d in zip(STRAINS, deviator, strict=True)}
        work = square * (lost * (2.0 - lost)) * p["compliance"]  # (tau^2 before - tau^2 after) / 2 mu
        return {**strain, "eta": s["eta"] + factor * size, "plastic_work": s["plastic_work"] + work}


def _invariants(p: Values, stress: Values) -> tuple[Number, list[Number], Number, Number]:
    """Return the mean stress, the deviator, tau squared, and the tau at which the point yields."""
    xx, yy, zz, xy, yz, xz = (stress[name] for name in STRESS)
    mean = (xx + yy + zz) * (1.0 / 3.0)
    a, b, d = xx - mean, yy - mean, zz - mean
    square = 0.5 * (a * a + b * b + d * d) + (xy * xy + yz * yz + xz * xz)
    return mean, [a, b, d, xy, yz, xz], square, m.maximum(p["strength"] - p["slope"] * mean, 0.0)


DRUCKER_PRAGER = DruckerPrager()


Array = np.ndarray


@dataclass(frozen=True)
class RockMass:
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


def rock_mass(index: Array, constant: float, intact: Array, disturbance: float = 0.0) -> RockMass:
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
    return RockMass(slope, offset, power, intact)


CONFINEMENTS: dict[str, tuple[float, float]] = {"tunnel": (0.47, 0.94), "slope": (0.72, 0.91)}
"""Factor and exponent of the largest confining stress of the fit (eqs 18 and 19)."""


def mohr_coulomb(rock: RockMass, vertical: Array, confinement: str = "tunnel") -> tuple[Array, Array]:
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
