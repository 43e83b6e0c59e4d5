"""Isotropic viscoelasticity: generalised Maxwell body (Emmerich & Korn 1987; Moczo & Kristek 2005).

In parallel with an elastic spring, whose moduli are the relaxed ones, are L Maxwell elements: a spring of moduli
lambda_l, mu_l and a dashpot by which its stress p_l relaxes at the rate w_l,

    sigma_t = C_u : grad v - sum_l w_l p_l,     p_l,t = D_l : grad v - w_l p_l.

C_u, the sum of all springs, are the unrelaxed moduli. They determine waves at faces, so the Riemann problem is the
elastic one and only velocity and stress cross a face; the p_l are memory variables with 6 components each
(docs/theory/attenuation.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.quantities import Parameter
from faultwave.base.types import Record
from faultwave.kernels.expr import Components, Computed, Named, Number, Numbers
from faultwave.kernels.math import where
from faultwave.physics.waves.elastic import Elastic
from faultwave.physics.waves.law import dot

COMPONENTS = ("xx", "yy", "zz", "xy", "yz", "xz")
LARGEST_STEP = 0.5 * np.pi
"""Largest product of time step and fastest rate, a quarter of its period (docs/decisions/0022)."""


def element_names(number: int) -> tuple[str, str, str]:
    """Return the parameters of Maxwell element ``number``: lambda_l, mu_l [Pa] and its rate w_l [1/s]."""
    return f"element{number}_lambda", f"element{number}_mu", f"element{number}_rate"


@dataclass(frozen=True)
class Viscoelastic(Elastic):
    """Viscoelastic law with the relaxation rates ``rates_of_elements`` (L,) [1/s], equal in the whole medium.

    If Maxwell elements are known, ``lambda`` and ``mu`` of a material are unrelaxed. Without elements the law is
    elastic: elements follow from Qp, Qs and the frequency band (``media.attenuation``).
    """

    rates_of_elements: tuple[float, ...] = ()

    name = "viscoelastic"
    title = "Isotropic solid (and fluid where mu = 0) of constant quality factors"

    @property
    def elements(self) -> int:
        return len(self.rates_of_elements)

    @property
    def roles(self) -> Mapping[str, tuple[str, ...]]:  # type: ignore[override]
        memory = tuple(f"element{i + 1}_{c}" for i in range(self.elements) for c in COMPONENTS)
        return Elastic.roles | ({"memory": memory} if memory else {})

    @property
    def parameters(self) -> tuple[Parameter, ...]:  # type: ignore[override]
        known = [
            *Elastic.parameters,
            Parameter("Qp", "", "quality factor of P waves", positive=True),
            Parameter("Qs", "", "quality factor of S waves", positive=True),
        ]
        for i in range(self.elements):
            units = ("Pa", "Pa", "1/s")
            what = ("first Lame parameter", "shear modulus", "rate of relaxation")
            for name, unit, text in zip(element_names(i + 1), units, what, strict=True):
                known.append(Parameter(name, unit, f"{text} of Maxwell element {i + 1}"))
        return tuple(known)

    def adapted(self, values: dict[str, np.ndarray]) -> Viscoelastic:
        rates: list[float] = []
        while (name := element_names(len(rates) + 1)[2]) in values:
            rates.append(float(np.max(values[name])))
        return Viscoelastic(tuple(rates))

    def springs(self, values: Record) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return lambda_l and mu_l of every element."""
        names = [element_names(i + 1) for i in range(self.elements)]
        return [(values[lam], values[mu]) for lam, mu, _ in names]

    def constants(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return (*super().constants(values), *[x for pair in self.springs(values) for x in pair])

    def rates(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        return tuple(values[element_names(i + 1)[2]] for i in range(self.elements))

    def longest_step(self) -> float:
        return LARGEST_STEP / max(self.rates_of_elements, default=0.0) if self.elements else np.inf

    def reaction(self, q: Numbers, rates: Numbers) -> Components:
        relaxing = [[rates[i] * x for x in q[9 + 6 * i : 15 + 6 * i]] for i in range(self.elements)]
        if not relaxing:
            return [0.0 * x for x in q]
        lost = relaxing[0]
        for more in relaxing[1:]:
            lost = [a + b for a, b in zip(lost, more, strict=True)]
        return [*[-x for x in lost], *[0.0 * x for x in q[6:9]], *[-x for one in relaxing for x in one]]

    def rate(self, divergence: Numbers, gradient: Sequence[Numbers] | np.ndarray, material: Numbers) -> Components:
        found = super().rate(divergence, gradient, material[:3])
        for i in range(self.elements):
            lam, mu = material[3 + 2 * i : 5 + 2 * i]
            found += super().rate(divergence, gradient, (lam, mu, material[2]))[:6]
        return found

    def source(self, moment: np.ndarray, force: np.ndarray, values: dict[str, float]) -> np.ndarray:
        """Return the right-hand side of a point source.

        The moment acts on the present stress only: memory variables depend on the strain of the rock, to which a source
        does not contribute.
        """
        return np.concatenate([super().source(moment, force, values), np.zeros(6 * self.elements)])

    def energies(self, q: Numbers, values: Named) -> Computed:
        """Return the energy of all springs, of the relaxed one by its own stress, and the power of the dashpots [W/m^3]."""
        springs, memories = self.springs(values), _memories(q, self.elements)
        stress, relaxed = list(q[:6]), {name: values[name] for name in ("lambda", "mu", "rho")}
        for (lam, mu), memory in zip(springs, memories, strict=True):
            stress = [x - y for x, y in zip(stress, memory, strict=True)]
            relaxed["lambda"], relaxed["mu"] = relaxed["lambda"] - lam, relaxed["mu"] - mu
        found = super().energies([*stress, *q[6:9]], relaxed)
        if not self.elements:
            return found
        stored: Number = 0.0
        power: Number = 0.0
        for i, ((lam, mu), memory) in enumerate(zip(springs, memories, strict=True)):
            energy = _spring_energy(memory, lam, mu)
            stored, power = stored + energy, power + 2.0 * values[element_names(i + 1)[2]] * energy
        fluid = relaxed["mu"] <= 0.0
        found["acoustic_energy"] = found["acoustic_energy"] + where(fluid, stored, 0.0)
        found["elastic_energy"] = found["elastic_energy"] + where(fluid, 0.0, stored)
        return {**found, "attenuation_power": power}


def _memories(q: Numbers, elements: int) -> list[Numbers]:
    return [q[9 + 6 * i : 15 + 6 * i] for i in range(elements)]


def _spring_energy(stress: Numbers, lam: Number, mu: Number) -> Number:
    """Return the energy density of an isotropic spring; springs without bulk or shear modulus carry no such stress."""
    trace = (stress[0] + stress[1] + stress[2]) * (1.0 / 3.0)
    deviator = [x - trace for x in stress[:3]]
    bulk = lam + (2.0 / 3.0) * mu
    soft, limp = mu <= 0.0, bulk <= 1e-9 * (lam + 2.0 * mu)
    shear = (dot(deviator, deviator) + 2.0 * dot(stress[3:], stress[3:])) / where(soft, 1.0, 4.0 * mu)
    volume = trace * trace / where(limp, 1.0, 2.0 * bulk)
    return where(soft, 0.0, shear) + where(limp, 0.0, volume)


LAW = Viscoelastic()
