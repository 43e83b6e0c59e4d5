"""Rusanov's flux: the mean of both sides and half the jump times the fastest speed (Rusanov 1961). Beyond Godunov's it damps shear waves
as if they were as fast as compressional ones, and what does not cross the face at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.base.columns import Columns, Row
from faultwave.dg.forms.components import same_equations
from faultwave.dg.penalties.penalty import PenaltyFlux, Sides
from faultwave.physics.waves import Law
from faultwave.physics.waves.anisotropic import Anisotropic
from faultwave.physics.waves.elastic import Elastic


class Rusanov:
    """Cells show their whole state. The flux is that of the cell's own material."""

    def __init__(self, law: Law):
        self.law = law
        self.channels = self.quantities = len(law.quantities)
        one = {p.name: np.ones(1) for p in law.parameters}
        z = law.impedance_at(one, np.array([[1.0, 0.0, 0.0]])).shape[-1]
        self.columns = Columns(
            normal=3, material=len(law.constants(one)), own=z, other=z, admittance=z, speed=None, scale=None
        )

    def constants(self, sides: Sides) -> dict[str, np.ndarray]:
        own, other = (self.law.impedance_at(m, sides.normal) for m in (sides.own, sides.other))
        admittance = self.law.admittance(own, other, 1.0)
        material = np.stack(self.law.constants(sides.own), 1)
        return {
            "normal": sides.normal, "material": material, "own": own, "other": other, "admittance": admittance,
            "speed": sides.speed, "scale": sides.scale,
        }  # fmt: skip

    def shown(self, q: Any, side: Row) -> list[Any]:
        return list(q)

    def change(self, jump: list[Any], side: Row) -> list[Any]:
        """Rusanov's flux less Godunov's, which every face has: rate(dF, n (x) dphi) of the difference, and c/2 of the jump."""
        law, n = self.law, side.normal
        traction, flow = law.sides(law.flux(jump, n), law.potential(jump))
        beyond = law.apply_impedance(side.other, n, flow)
        dv = law.apply_impedance(side.admittance, n, [t + z for t, z in zip(traction, beyond, strict=True)])
        dT = law.apply_impedance(side.own, n, dv)
        tractions = [0.5 * t - d for t, d in zip(traction, dT, strict=True)]
        flows = [0.5 * v - d for v, d in zip(flow, dv, strict=True)]
        flux, potential = law.sides(tractions, flows)
        rate = law.rate(flux, [[n[x] * p for p in potential] for x in range(3)], side.material)
        return [side.scale * (r + 0.5 * side.speed * j) for r, j in zip(rate, jump, strict=True)]


def isotropic_elastic(law: Law) -> bool:
    """Whether the law's equations are those of isotropic elasticity."""
    return same_equations(law, Elastic())


def elastic(law: Law) -> bool:
    """Whether the law's equations are those of isotropic or anisotropic elasticity."""
    kind: Any = type(law)
    return kind is Anisotropic or isotropic_elastic(law)


RUSANOV = PenaltyFlux("rusanov", Rusanov, elastic, "isotropic and anisotropic elasticity")

__all__ = ["RUSANOV", "Rusanov", "isotropic_elastic"]
