"""Friction solve in anisotropic rock, where slip changes the normal traction and is not parallel to the shear load.

All functions are kernel functions (see ``friction.law``). The radiation damping is a matrix eta in the frame of the
fault: slip at the rate V along a unit vector n in the fault plane leaves the traction tau - V eta_ss n and sigma - V c,
c = eta_ns . n. The strength S acts against the slip, so

    tau = (S + V eta_ss) n,    |n| = 1.

Along a given direction this is the problem that friction laws solve, with the load n . tau, the damping n . eta_ss n
and a normal traction that decreases with the slip rate. The next direction is parallel to (S + V eta_ss)^-1 tau
(docs/theory/friction.md, "Friction solve").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from faultwave.kernels import math as m
from faultwave.kernels.types import Number
from faultwave.physics.friction.loading.load import Load, Solved, Values

SWEEPS = 3
"""Number of fixed-point iterations for the direction of slip.

Each multiplies the error by the square of the relative difference of eta_ss from a multiple of the identity.
"""


def _unit(x: Number, y: Number) -> tuple[Number, Number]:
    """Return the unit vector along (x, y), or the first axis if its length is zero."""
    size = m.sqrt(x * x + y * y)
    some = size > 0.0
    share = 1.0 / m.where(some, size, 0.0 * size + 1.0)
    return m.where(some, x * share, 0.0 * size + 1.0), m.where(some, y * share, 0.0 * size)


def directed(load: Load, along: tuple[Number, Number]) -> Load:
    """Return the load of a fault that can slip only along one direction.

    Parameters
    ----------
    load
        Load with ``coupling``.
    along
        Components of the unit vector of slip along the tangents s1 and s2.

    Returns
    -------
    Load
        Scalar problem: shear traction ``tau1`` along the direction, ``tau2`` zero, damping and ``relief`` of the direction, no coupling.
    """
    assert load.coupling is not None
    x, y, k = *along, load.coupling
    damping = x * (k.along11 * x + k.along12 * y) + y * (k.along12 * x + k.along22 * y)
    tau = load.tau1 * x + load.tau2 * y
    return replace(load, tau1=tau, tau2=0.0 * tau, eta=damping, relief=k.normal1 * x + k.normal2 * y, coupling=None)


def of_slip(load: Load, rate1: Number, rate2: Number) -> Load:
    """Return the load along the slip, with the normal traction at its slip rate; along the shear load where the fault is locked.

    Parameters
    ----------
    load
        Load of a sub-step; it is returned unchanged if it has no ``coupling``.
    rate1, rate2
        Slip rate along the tangents s1 and s2 [m/s].
    """
    if load.coupling is None:
        return load
    slips = rate1 * rate1 + rate2 * rate2 > 0.0
    one = directed(load, _unit(m.where(slips, rate1, load.tau1), m.where(slips, rate2, load.tau2)))
    return replace(one.at(m.sqrt(rate1 * rate1 + rate2 * rate2)), relief=None)


def in_any_direction(
    solve: Callable[[Any, Values, Values, Values, Load], Solved],
    law: Any,
    p: Values,
    c: Values,
    s: Values,
    load: Load,
) -> Solved:
    """Return the solution of a friction solver under a load with coupling, along the direction in which the fault slips.

    Parameters
    ----------
    solve
        One of ``solvers.SOLVERS``.
    law, p, c, s
        Friction law, its kernel parameters, constants and state before the sub-step.
    load
        Load with ``coupling``.
    """
    assert load.coupling is not None
    k, along = load.coupling, _unit(load.tau1, load.tau2)
    rate = None
    for _ in range(SWEEPS):
        one = replace(directed(load, along), guess=rate)
        rate = solve(law, p, c, s, one).slip_rate
        held = one.tau1 - rate * one.eta
        first, second, mixed = held + rate * k.along11, held + rate * k.along22, rate * k.along12
        along = _unit(second * load.tau1 - mixed * load.tau2, first * load.tau2 - mixed * load.tau1)
    found = solve(law, p, c, s, replace(directed(load, along), guess=rate))
    return replace(found, slip_rate1=found.slip_rate * along[0], slip_rate2=found.slip_rate * along[1])
