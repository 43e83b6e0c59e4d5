"""The solvers friction laws name: how the slip rate follows from a load (all *kernel* functions).

A solver calls what the law states: ``strength`` (closed form), ``coefficient`` and ``relax`` (Newton), ``rates``
(imposed).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faultwave.kernels import math as m
from faultwave.physics.friction.load import Load, Solved, Values

# Slip rates below this are as good as none; keeps logarithms and L/V finite in double precision.
SMALLEST_RATE = 1e-45
_ROUNDING = 2.3e-16


def closed_form(law: Any, p: Values, c: Values, s: Values, load: Load) -> Solved:
    """Strength known before the sub-step: |V| = max(0, |tau| - strength)/eta."""
    now = {**s, **law.modified(p, c, s, s["slip_rate"], load)}
    tau, strength = load.shear(), law.strength(p, c, now, law.pressed(p, c, now, load))
    rate = m.maximum(tau - strength, 0.0) / load.eta
    rate1, rate2 = along(load, tau, rate)
    return Solved(rate1, rate2, rate, strength, s["friction"], law.modified(p, c, s, rate, load))


def imposed(law: Any, p: Values, c: Values, s: Values, load: Load) -> Solved:
    """Slip rate prescribed by the law; the fault carries whatever traction follows, so strength is zero."""
    rate1, rate2 = law.rates(p, c, load)
    rate = m.sqrt(rate1 * rate1 + rate2 * rate2)
    return Solved(rate1, rate2, rate, 0.0 * rate1, 0.0 * rate1, law.modified(p, c, s, rate, load))


def newton(law: Any, p: Values, c: Values, s: Values, load: Load) -> Solved:
    """Slip rate and state together: fixed point in the state, Newton in the rate (Kaneko et al. 2008, section 2.3).

    The state is always advanced from its value at the start of the sub-step, with a mean slip rate of the sub-step; by
    ``rs_average`` 0 the mean of the rates at its start and end, by 1 the mean of the last two iterates (which
    tends to the rate at the end). ``s['unconverged']`` counts sub-steps that end with the balance of forces violated.
    """
    psi0, start = s["state"], m.maximum(s["slip_rate"], SMALLEST_RATE)
    tau, unmodified = load.shear(), m.maximum(-load.sigma, 0.0)

    def modified(rate: Any) -> tuple[dict[str, Any], Any]:
        """State of modifiers after the sub-step at a slip rate, and the compression it leaves."""
        later = law.modified(p, c, s, rate, load)
        sigma = law.pressed(p, c, {**s, **later}, load).sigma
        return later, unmodified if sigma is load.sigma else m.maximum(-sigma, 0.0)

    def inner(psi: Any, guess: Any, normal: Any) -> Any:
        return newton_rate(
            lambda v: law.coefficient(p, c, v, psi),
            tau, normal, load.eta, guess, c["rs_slip_rate_tolerance"], int(c["rs_slip_rate_updates"]),
        )  # fmt: skip

    def outer(rate: Any, mean: Any, open_: Any) -> tuple[tuple[Any, Any, Any], Any]:
        new = inner(law.relax(p, c, psi0, mean, load.dt), rate, modified(mean)[1])
        new_mean = 0.5 * ((rate if c["rs_average"] else start) + new)
        moves = m.abs(new_mean - mean) > c["rs_state_tolerance"]
        # A change below the tolerance ends the iteration but still counts: creep is slower than any such tolerance.
        return (new, new_mean, m.where(moves, open_, 0.0 * open_)), open_ > 0.5

    rate, mean, _ = m.iterate(outer, (start, start, 0.0 * start + 1.0), int(c["rs_state_updates"]))
    psi = law.relax(p, c, psi0, mean, load.dt)
    mu, _ = law.coefficient(p, c, rate, psi)
    later, normal = modified(mean)
    residual = m.abs((tau - normal * mu) / load.eta - rate)
    # Written so that a NaN counts as not converged; at the smallest rate the fault is at rest whatever its strength.
    balanced = (residual <= 10.0 * c["rs_slip_rate_tolerance"] + 1e-6 * tau / load.eta) | (rate <= 2.0 * SMALLEST_RATE)
    unconverged = s["unconverged"] + m.where(balanced, 0.0 * rate, 0.0 * rate + 1.0)
    rate1, rate2 = along(load, tau, rate)
    return Solved(rate1, rate2, rate, mu * normal, mu, {"state": psi, "unconverged": unconverged, **later})


def newton_rate(
    coefficient: Callable[[Any], tuple[Any, Any]],
    tau: Any,
    normal: Any,
    eta: Any,
    guess: Any,
    tolerance: float,
    maximum: int,
) -> Any:
    """Root V of g(V) = (tau - normal mu(V))/eta - V, |g| <= tolerance [m/s] or what rounding allows.

    ``coefficient(V)`` gives mu and dmu/dV. g falls with V from g(0) = tau/eta > 0 to g(tau/eta) <= 0: the bracket.
    The resistance eta V + normal mu(V) is concave in V and convex in ln V, so that a Newton step in V never passes the
    root from below and one in ln V never from above: one of the two is always inside the bracket. Where friction
    alone would let the slip rate pass tau/eta, damping governs and half of that is the better guess; where rounding
    spoils all of them, the step halves the decades of the bracket.
    """
    top = m.maximum(tau / eta, SMALLEST_RATE)
    limit = m.maximum(8.0 * _ROUNDING * top, tolerance)

    def step(v: Any, low: Any, high: Any) -> tuple[tuple[Any, Any, Any], Any]:
        mu, slope = coefficient(v)
        g = (tau - normal * mu) / eta - v
        decrease = normal * slope / eta + 1.0
        below = g > 0.0
        low, high = m.where(below, v, low), m.where(below, high, v)
        straight = v + g / decrease
        relative = g / (decrease * v)
        logarithmic = v * m.exp(m.maximum(m.minimum(relative, 200.0), -200.0))
        new = m.where(
            below,
            m.where(logarithmic < high, logarithmic, m.maximum(straight, m.where(high < top, straight, 0.5 * top))),
            m.where(straight > low, straight, logarithmic),
        )
        inside = (new > low) & (new < high)
        # At the smallest rate friction may still exceed the load: the fault is at rest.
        active = (m.abs(g) > limit) & (below | (v > 2.0 * SMALLEST_RATE))
        return (m.where(inside, new, m.sqrt(low) * m.sqrt(high)), low, high), active

    first = m.minimum(m.maximum(guess, SMALLEST_RATE), top)
    return m.iterate(step, (first, 0.0 * top + SMALLEST_RATE, top), maximum)[0]


def along(load: Load, tau: Any, rate: Any) -> tuple[Any, Any]:
    """Components of a slip rate of magnitude ``rate`` along the shear load; zero where there is no load."""
    scale = rate / m.where(tau > 0.0, tau, 0.0 * tau + 1.0)
    return scale * load.tau1, scale * load.tau2


SOLVERS: dict[str, Callable[[Any, Values, Values, Values, Load], Solved]] = {
    "closed-form": closed_form,
    "newton": newton,
    "imposed": imposed,
}
