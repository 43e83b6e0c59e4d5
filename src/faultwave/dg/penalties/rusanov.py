"""Rusanov's flux: the mean of both sides and half the jump times the fastest speed (Rusanov 1961).

Beyond Godunov's flux it damps shear waves as if they were as fast as compressional ones, and quantities that do not
cross the face.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.base.columns import Columns, Row
from faultwave.dg.method.forms.components import same_equations
from faultwave.dg.penalties.penalty import PenaltyFlux, Sides
from faultwave.kernels.expr import Number, Numbers
from faultwave.physics.waves import Law
from faultwave.physics.waves.anisotropic import Anisotropic
from faultwave.physics.waves.elastic import Elastic
from faultwave.physics.waves.law import impedance_numbers
from faultwave.physics.waves.poroelastic import Poroelastic
from faultwave.physics.waves.viscoelastic import Viscoelastic


class Rusanov:
    """Rusanov's penalty: cells publish their whole field, and the flux uses the cell's own material."""

    def __init__(self, law: Law):
        self.law = law
        self.channels = self.quantities = self.changed = law.visible
        z = impedance_numbers(law)
        with np.errstate(all="ignore"):  # the trial numbers are no real material
            material = len(law.constants({p.name: np.ones(1) for p in law.parameters}))
        self.columns = Columns(normal=3, material=material, own=z, other=z, admittance=z, speed=None, scale=None)

    def constants(self, sides: Sides) -> dict[str, np.ndarray]:
        own, other = (self.law.impedance_at(m, sides.normal) for m in (sides.own, sides.other))
        admittance = self.law.admittance(own, other, 1.0)
        material = np.stack(self.law.constants(sides.own), 1)
        return {
            "normal": sides.normal, "material": material, "own": own, "other": other, "admittance": admittance,
            "speed": sides.speed, "scale": sides.scale,
        }  # fmt: skip

    def shown(self, q: Numbers, side: Row) -> list[Number]:
        return list(q[: self.channels])

    def change(self, jump: list[Number], side: Row) -> list[Number]:
        """Return Rusanov's flux minus Godunov's, which every face has: rate(dF, n (x) dphi) of the difference, plus c/2 times the jump."""
        law, n = self.law, side.normal
        traction, flow = law.sides(law.flux(jump, n), law.potential(jump))
        beyond = law.apply_impedance(side.other, n, flow)
        dv = law.apply_impedance(side.admittance, n, [t + z for t, z in zip(traction, beyond, strict=True)])
        dT = law.apply_impedance(side.own, n, dv)
        tractions = [0.5 * t - d for t, d in zip(traction, dT, strict=True)]
        flows = [0.5 * v - d for v, d in zip(flow, dv, strict=True)]
        flux, potential = law.sides(tractions, flows)
        rate = law.rate(flux, [[n[x] * p for p in potential] for x in range(3)], side.material)
        damped = [0.5 * side.speed * j for j in jump]
        return [side.scale * (r + d) for r, d in zip(rate, [*damped, *self.remembered(damped, side)], strict=True)]

    def remembered(self, damped: list[Number], side: Row) -> list[Number]:
        """Return the gain of memory variables if half the jump times the speed is added to the field."""
        return []


class RusanovOfMaxwellBody(Rusanov):
    """Rusanov's penalty of generalised Maxwell bodies.

    The stress added by the jump is the stress of a strain, which strains all springs, so that energy only decreases
    (docs/theory/attenuation.md, "Rusanov's flux"). The columns ``springs`` of a face are, for each element, the share
    of a stress that its own spring has, and the coefficient of the trace.
    """

    def __init__(self, law: Any):
        super().__init__(law)
        self.changed = len(law.quantities)
        self.elements = law.elements
        self.columns = Columns(**self.columns.widths, springs=2 * law.elements)

    def constants(self, sides: Sides) -> dict[str, np.ndarray]:
        law: Any = self.law
        lam, mu = (sides.own[name] for name in ("lambda", "mu"))
        shares: list[np.ndarray] = []
        for own_lam, own_mu in law.springs(sides.own):
            shear = own_mu / mu
            shares += [shear, (own_lam - shear * lam) / (3.0 * lam + 2.0 * mu)]
        return super().constants(sides) | {"springs": np.stack(shares, 1)}

    def remembered(self, damped: list[Number], side: Row) -> list[Number]:
        stress, trace = damped[:6], damped[0] + damped[1] + damped[2]
        found: list[Number] = []
        for i in range(self.elements):
            shear, volume = side.springs[2 * i], side.springs[2 * i + 1]
            found += [shear * x + (volume * trace if c < 3 else 0.0) for c, x in enumerate(stress)]
        return found


def isotropic_elastic(law: Law) -> bool:
    """Return True if the law has the equations of isotropic elasticity."""
    return same_equations(law, Elastic())


def of_law(law: Any) -> Rusanov:
    """Return the penalty of a law."""
    return RusanovOfMaxwellBody(law) if isinstance(law, Viscoelastic) and law.elements else Rusanov(law)


def solid(law: Law) -> bool:
    """Return True if the law describes elastic, anisotropic, attenuating or porous rock."""
    kind: type = type(law)
    return kind in (Anisotropic, Viscoelastic, Poroelastic) or isotropic_elastic(law)


RUSANOV = PenaltyFlux("rusanov", of_law, solid, "elastic, anisotropic, attenuating and porous rock")
