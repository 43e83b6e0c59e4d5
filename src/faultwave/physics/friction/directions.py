"""Friction between rocks in which slip changes the normal traction, and turns away from the shear load (all *kernel* functions).

There the radiation damping is a matrix eta in the fault's frame: slip at the rates V n along a direction n of the fault leaves the traction
tau - V eta_ss n and sigma - V c, c = eta_ns . n. The strength S acts against the slip, so

    tau = (S + V eta_ss) n,    |n| = 1.

Along a given direction this is the problem that laws solve, with the load n . tau, the damping n . eta_ss n and a normal traction that
falls with the rate. The next direction is that of (S + V eta_ss)^-1 tau (docs/theory/friction.md, "Friction solve").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from faultwave.kernels import math as m
from faultwave.physics.friction.load import Load, Solved, Values

SWEEPS = 3
"""Changes of the direction of slip: an error in it falls by the square of what eta_ss differs in share from a multiple of one."""


def _unit(x: Any, y: Any) -> tuple[Any, Any]:
    """The direction of (x, y), the first axis where it is zero."""
    size = m.sqrt(x * x + y * y)
    some = size > 0.0
    share = 1.0 / m.where(some, size, 0.0 * size + 1.0)
    return m.where(some, x * share, 0.0 * size + 1.0), m.where(some, y * share, 0.0 * size)


def directed(load: Load, along: tuple[Any, Any]) -> Load:
    """The load of a fault that can only slip along a direction: its shear traction is the first."""
    assert load.coupling is not None
    x, y, k = *along, load.coupling
    damping = x * (k.along11 * x + k.along12 * y) + y * (k.along12 * x + k.along22 * y)
    tau = load.tau1 * x + load.tau2 * y
    return replace(load, tau1=tau, tau2=0.0 * tau, eta=damping, relief=k.normal1 * x + k.normal2 * y, coupling=None)


def of_slip(load: Load, rate1: Any, rate2: Any) -> Load:
    """The load along the slip, with the normal traction that it leaves; along the shear load where nothing slips."""
    if load.coupling is None:
        return load
    slips = rate1 * rate1 + rate2 * rate2 > 0.0
    one = directed(load, _unit(m.where(slips, rate1, load.tau1), m.where(slips, rate2, load.tau2)))
    return replace(one.at(m.sqrt(rate1 * rate1 + rate2 * rate2)), relief=None)


def in_any_direction(
    solve: Callable[[Any, Values, Values, Values, Load], Solved], law: Any, p: Values, c: Values, s: Values, load: Load
) -> Solved:
    """What a solver finds along the direction in which the fault slips under a load with coupling."""
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
