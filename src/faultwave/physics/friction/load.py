"""Input and result of a friction law in one sub-step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from faultwave.kernels import math as m
from faultwave.kernels.expr import Changes, Number

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Coupling:
    """Entries of the impedance matrix of the fault in anisotropic rock [Pa s/m].

    Attributes
    ----------
    along11, along22, along12
        Shear traction along the tangents 1 and 2 that slip rates along them remove.
    normal1, normal2
        Normal traction that slip rates along the tangents 1 and 2 remove.
    """

    along11: Number
    along22: Number
    along12: Number
    normal1: Number
    normal2: Number


@dataclass(frozen=True)
class Load:
    """Total traction of the locked fault in a sub-step, in the face frame (n, s1, s2) [Pa]; compression is sigma < 0.

    Attributes
    ----------
    tau1, tau2, sigma
        Shear tractions along the tangents, and normal traction [Pa].
    eta
        Shear impedance of the fault [Pa s/m].
    dt, t
        Length and END of the sub-step [s].
    relief
        Decrease of the normal traction with the slip rate along a given direction [Pa s/m]; None: none.
    guess
        Initial guess of the slip rate [m/s].
    coupling
        Impedance matrix in anisotropic rock (see ``directions``).
    """

    tau1: Number
    tau2: Number
    sigma: Number
    eta: Number
    dt: Number
    t: Number
    relief: Number | None = None
    guess: Number | None = None
    coupling: Coupling | None = None

    def at(self, slip_rate: Number) -> Load:
        """Return the load with the normal traction at a slip rate."""
        return self if self.relief is None else replace(self, sigma=self.sigma - self.relief * slip_rate)

    def shear(self) -> Number:
        """Return the magnitude of the shear traction [Pa] (kernel)."""
        return m.sqrt(self.tau1 * self.tau1 + self.tau2 * self.tau2)


@dataclass(frozen=True)
class Variation:
    """Dependence of the compression on the slip rate.

    Attributes
    ----------
    growing
        d ln normal / d ln rate.
    bend
        Bound of the change of ``growing`` with ln rate.
    by_normal
        1 / normal [1/Pa].
    """

    growing: Number
    bend: Number
    by_normal: Number


@dataclass(frozen=True)
class Trial:
    """Slip rate that a solver tries for the end of a sub-step, and the forces that it has to balance.

    Attributes
    ----------
    rate, mean
        Slip rate at the end of the sub-step, and the mean one with which the state evolves from its start [m/s].
    share
        d ln mean / d ln rate.
    tau, normal
        Shear load, and compression > 0 [Pa].
    eta, dt
        As in ``Load``.
    variation
        Dependence of the compression on the rate; None: it is constant.
    """

    rate: Number
    mean: Number
    share: Number
    tau: Number
    normal: Number
    eta: Number
    dt: Number
    variation: Variation | None = None


@dataclass(frozen=True)
class Balance:
    """Residual of the balance of forces at a trial slip rate, and the Newton step.

    A step d in the logarithm of the rate has the error d^2 (|bend|/2 + doubt), a step in the rate itself d^2 (|1 - bend|/2 + doubt).

    Attributes
    ----------
    excess
        Excess of the load over friction and damping, in any dimensionless measure.
    step
        Newton step in the logarithm of the slip rate.
    state, by_rate
        State variable at the end of the sub-step, and its derivative with respect to the logarithm of the rate.
    bend
        Relative change of the slope of the excess with the logarithm of the rate.
    doubt
        Bound of the part of this change that ``bend`` does not include.
    """

    excess: Number
    step: Number
    state: Number
    by_rate: Number
    bend: Number
    doubt: Number


@dataclass(frozen=True)
class Solved:
    """Slip rates along the face tangents and their magnitude [m/s], strength [Pa], friction coefficient and new state."""

    slip_rate1: Number
    slip_rate2: Number
    slip_rate: Number
    strength: Number
    friction: Number
    state: Changes = field(default_factory=dict)
