"""What a friction law is given and what it answers in one sub-step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from faultwave.kernels import math as m

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Coupling:
    """Entries of the fault's impedance matrix [Pa s/m]: shear traction along the tangents 1 and 2 that slip rates take off, and normal
    traction."""

    along11: Any
    along22: Any
    along12: Any
    normal1: Any
    normal2: Any


@dataclass(frozen=True)
class Load:
    """Total traction of the locked fault in a sub-step, face frame (n, s1, s2) [Pa]; compression is sigma < 0.

    ``eta`` shear impedance of the fault [Pa s/m], ``dt`` length of the sub-step, ``t`` its END [s]. In anisotropic rock ``coupling`` says
    more (see ``directions``). Along a given direction the normal traction falls with the slip rate by ``relief`` [Pa s/m], and ``guess``
    is a slip rate near the one to be found.
    """

    tau1: Any
    tau2: Any
    sigma: Any
    eta: Any
    dt: Any
    t: Any
    relief: Any = None
    guess: Any = None
    coupling: Coupling | None = None

    def at(self, slip_rate: Any) -> Load:
        """With the normal traction at a slip rate."""
        return self if self.relief is None else replace(self, sigma=self.sigma - self.relief * slip_rate)

    def shear(self) -> Any:
        """|tau| (kernel)."""
        return m.sqrt(self.tau1 * self.tau1 + self.tau2 * self.tau2)


@dataclass(frozen=True)
class Variation:
    """How compression follows the slip rate: ``growing`` = d ln normal / d ln rate, ``bend`` bounds how that changes with ln rate;
    ``by_normal`` = 1/normal."""

    growing: Any
    bend: Any
    by_normal: Any


@dataclass(frozen=True)
class Trial:
    """A slip rate tried for the end of a sub-step, and what it has to balance.

    ``mean`` slip rate [m/s] of the sub-step, with which the state evolves from its start, ``share`` = d ln mean / d ln rate; shear load
    ``tau`` and compression ``normal`` > 0 [Pa], ``eta`` and ``dt`` as in ``Load``. ``variation`` of the compression with the rate; None: it
    does not vary.
    """

    rate: Any
    mean: Any
    share: Any
    tau: Any
    normal: Any
    eta: Any
    dt: Any
    variation: Variation | None = None


@dataclass(frozen=True)
class Balance:
    """What a trial leaves: ``excess`` of the load over friction and damping, in whatever measure has no unit, and Newton's ``step`` in the
    logarithm of the slip rate; the ``state`` at the end of the sub-step and its change with that logarithm, ``by_rate``.

    ``bend``: how the slope of the excess changes with the logarithm of the rate, over the slope, but for ``doubt``, which bounds the
    rest. A step d in the logarithm is off by d^2 (|bend|/2 + doubt), one in the rate itself by d^2 (|1 - bend|/2 + doubt).
    """

    excess: Any
    step: Any
    state: Any
    by_rate: Any
    bend: Any
    doubt: Any


@dataclass(frozen=True)
class Solved:
    """Slip rate [m/s] along the face tangents and its magnitude, strength [Pa], friction coefficient, new own state."""

    slip_rate1: Any
    slip_rate2: Any
    slip_rate: Any
    strength: Any
    friction: Any
    state: dict[str, Any] = field(default_factory=dict)
