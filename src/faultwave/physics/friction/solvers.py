"""Solvers of friction laws: slip rate for a given load, also in anisotropic rock, where slip changes the normal traction.

All are *kernel* functions. A solver calls functions of the law: ``strength`` (closed form), ``balance`` (Newton), ``rates`` (imposed).

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
from typing import Any, Protocol, TypeVar, cast

from faultwave.kernels import math as m
from faultwave.kernels.expr import Changes, Condition, Number
from faultwave.physics.friction.load import Balance, Load, Solved, Trial, Values, Variation


class LawOfStrength(Protocol):
    """Friction law whose strength is known before a sub-step; ``friction.law.FrictionLaw`` describes the methods."""

    solver: str

    def strength(self, p: Values, c: Values, s: Values, load: Load) -> Number: ...

    def pressed(self, p: Values, c: Values, s: Values, load: Load) -> Load: ...

    def modified(self, p: Values, c: Values, s: Values, slip_rate: Number, load: Load) -> Changes: ...


class ImposedLaw(LawOfStrength, Protocol):
    """Law that prescribes the slip rate."""

    def rates(self, p: Values, c: Values, load: Load) -> tuple[Number, Number]:
        """Return the slip rates along the tangents [m/s]."""


class BalancedLaw(LawOfStrength, Protocol):
    """Law whose strength depends on the slip rate, which balances it with the load."""

    positive: bool
    """True if the state variable is always positive."""

    def guess(self, p: Values, c: Values, s: Values, start: Trial) -> Number:
        """Return a guess of the slip rate [m/s]."""

    def balance(self, p: Values, c: Values, s: Values, trial: Trial) -> Balance:
        """Return the residual of the balance of forces at a trial slip rate."""

    def evolved(self, s: Values, psi: Number, dt: Number) -> Changes:
        """Return the state variables of the law after a sub-step with the state variable ``psi``."""


AnyLaw = TypeVar("AnyLaw")

FindRate = Callable[
    [Callable[[Number], Balance], Number, tuple[Number, Number], float, int, bool, bool], tuple[Number, Number, Number]
]
"""Function that finds the root of a balance, with the parameters of ``newton_rate``."""

# Slip rates below this are negligible; the limit keeps logarithms and L/V finite in double precision.
SMALLEST_RATE = 1e-45
_ROUNDING = 8.9e-16
# Safety factor on the error estimate of the last Newton step, and its largest length.
_SAFETY, _LONGEST_LAST = 0.01, 0.3
# Relative error of ``growth`` divided by the fifth power.
_GROWTH_ERROR = 1.3e-7
# Relative variation of the slip rate for finite differences of the normal traction.
_VARIED = 1.0 / 64.0
# Above this curvature of the normal traction, only a small step ends the iteration.
_STEEP = 0.05
# Longest step of a converged iteration, in ln V.
_LAST = 1e-3
# Steps of ``sliding``; the later ones are for faults that open.
_SECANTS = 3
# Compression below this fraction of the shear load does not affect the slip rate in double precision: the fault is open.
_OPEN = 1e-13


def closed_form(law: LawOfStrength, p: Values, c: Values, s: Values, load: Load) -> Solved:
    """Solve for the slip rate if the strength is known before the sub-step: |V| = max(0, |tau| - strength)/eta."""
    rate, strength = sliding(known_strength(law, p, c, s, load), load)
    rate1, rate2 = along(load, load.shear(), rate)
    return Solved(rate1, rate2, rate, strength, s["friction"], law.modified(p, c, s, rate, load.at(rate)))


def known_strength(law: LawOfStrength, p: Values, c: Values, s: Values, load: Load) -> Callable[[Load], Number]:
    """Return the strength as a function of the load, for laws whose strength is known before the sub-step.

    The function accepts loads with other normal tractions than ``load``.
    """
    now = {**s, **law.modified(p, c, s, s["slip_rate"], load)}
    return lambda load: law.strength(p, c, now, law.pressed(p, c, now, load))


def sliding(strength_at: Callable[[Load], Number], load: Load) -> tuple[Number, Number]:
    """Return the slip rate and strength under a load along the slip.

    If slip reduces the normal traction, strength is interpolated linearly between no slip and the previous rate: exact
    after the first step while the fault stays closed.
    """
    tau, strength = load.shear(), strength_at(load)
    over = m.maximum(tau - strength, 0.0)
    rate = over * (1.0 / load.eta)  # the same for a whole face
    if load.relief is None:
        return rate, strength
    slips = over > 0.0
    for _ in range(_SECANTS):
        change = (strength_at(load.at(rate)) - strength) / m.where(slips, rate, 0.0 * rate + 1.0)
        total = load.eta + change
        rate = over / m.where(total > 0.0, total, load.eta)
    return rate, m.where(slips, tau - load.eta * rate, strength)


def imposed(law: ImposedLaw, p: Values, c: Values, s: Values, load: Load) -> Solved:
    """Return the slip rate prescribed by the law; the fault carries the resulting traction, so strength is zero."""
    rate1, rate2 = law.rates(p, c, load)
    rate = m.sqrt(rate1 * rate1 + rate2 * rate2)
    return Solved(rate1, rate2, rate, 0.0 * rate1, 0.0 * rate1, law.modified(p, c, s, rate, load))


def newton(law: BalancedLaw, p: Values, c: Values, s: Values, load: Load, find: FindRate | None = None) -> Solved:
    """Solve for slip rate and state at the end of a sub-step by a bracketed Newton method, point by point.

    ``find`` replaces ``newton_rate``, see ``differentiable_rate``.

    The state evolves from its value at the start of the sub-step with a mean slip rate: the mean of the rates at start
    and end (``rs_average`` 0), or the rate at the end (1), to which the iteration of Kaneko et al. (2008, section 2.3)
    converges. The ``balance`` of the law returns the excess of the load over friction and damping, the step in the
    logarithm of the rate, and the state after it. ``s['unconverged']`` counts sub-steps that end without balance.
    """
    start, tau = m.maximum(s["slip_rate"], SMALLEST_RATE), load.shear()
    at_end = bool(c["rs_average"])
    changing = law.modified(p, c, s, start, load)

    def mean(v: Number) -> Number:
        return v if at_end else 0.5 * (start + v)

    def normal(v: Number) -> Number:
        here = load.at(v)
        later = law.modified(p, c, s, mean(v), here) if changing else {}
        return m.maximum(-law.pressed(p, c, {**s, **later}, here).sigma, 0.0)

    def trial(v: Number) -> Trial:
        average = mean(v)
        share = 1.0 if at_end else 0.5 * v / average
        # Smaller compression counts as none, but must not be zero.
        held = m.maximum(normal(v), _OPEN * tau + SMALLEST_RATE)
        return Trial(v, average, share, tau, held, load.eta, load.dt)

    def balance(v: Number) -> Balance:
        return law.balance(p, c, s, _varied(trial(v), normal) if changing else trial(v))

    top = m.maximum(tau / load.eta, SMALLEST_RATE)
    begin = law.guess(p, c, s, trial(start)) if load.guess is None else load.guess, s["state"]
    tolerance, exact = max(c["rs_slip_rate_tolerance"], 1e-14), load.relief is None
    updates = int(c["rs_slip_rate_updates"])
    root, psi, unbalanced = (find or newton_rate)(balance, top, begin, tolerance, updates, exact, law.positive)
    compression = normal(root)
    open_ = compression <= _OPEN * tau
    rate = m.where(open_, top, root)
    held = m.maximum(tau - load.eta * rate, 0.0)
    mu = m.where(open_, s["friction"], held / m.where(open_, 0.0 * tau + 1.0, compression))
    later = (
        law.modified(p, c, s, mean(root), load.at(root)) if changing else {}
    )  # as in ``normal``, so that it is computed once
    unconverged = s["unconverged"] + m.where(open_, 0.0 * tau, unbalanced)
    rate1, rate2 = along(load, tau, rate)
    state = law.evolved(s, psi, load.dt) | {"unconverged": unconverged}
    return Solved(rate1, rate2, rate, mu * compression, mu, state | later)


def _varied(trial: Trial, normal: Callable[[Number], Number]) -> Trial:
    """Return the trial with the dependence of compression on its rate, by finite differences.

    They are exact for frictional heat, which is a parabola in the rate.
    """
    more, less = normal(trial.rate * (1.0 + _VARIED)), normal(trial.rate * (1.0 - _VARIED))
    by_normal = 1.0 / trial.normal
    growing = (more - less) * by_normal * (0.5 / _VARIED)
    bend = m.abs((more - trial.normal) - (trial.normal - less)) * by_normal * (1.0 / _VARIED**2)
    bend = bend + m.abs(growing) * (1.0 + m.abs(growing))
    variation = Variation(growing, m.where(bend > _STEEP, 0.0 * bend + 1e30, bend), by_normal)
    return replace(trial, variation=variation)


def newton_rate(
    balance: Callable[[Number], Balance], top: Number, begin: tuple[Number, Number], tolerance: float, maximum: int,
    exact_slope: bool = True, positive: bool = False,
) -> tuple[Number, Number, Number]:  # fmt: skip
    """Return the root V < ``top`` of an excess that decreases with V, the state at V, and 1 if not converged, else 0.

    Where the load balances friction alone, the excess is nearly linear in ln V; where it balances damping, in V. Each
    step is of the kind that the curvature of the excess shows to be closer. For an excess of the form C - ln V - k V, a
    step in V never passes the root from below, and a step in ln V never from above, so one of the two is always inside
    the bracket. If the state changes this form and neither is, the step halves the logarithm of the bracket.

    Parameters
    ----------
    balance
        Function of a trial rate.
    top
        Upper bound of the root [m/s].
    begin
        Initial rate, and any state variable.
    tolerance
        Relative error of the root.
    maximum
        Largest number of steps.
    exact_slope
        True if the last step is accepted by its error estimate; False if it must itself be small.
    positive
        True if the state variable must remain positive.
    """

    def step(v: Number, low: Number, high: Number, _: Number, open_: Number) -> tuple[tuple[Number, ...], Condition]:
        b = balance(v)
        below = b.excess > 0.0
        low, high = m.where(below, v, low), m.where(below, high, v)
        straight, logarithmic = v + v * b.step, v * growth(b.step)
        log_nearer = b.bend < 0.5
        far = m.where(log_nearer & (high >= top), 0.5 * top, straight)
        by_log = (below & log_nearer & (logarithmic < high)) | (~below & (log_nearer | (straight <= low)))
        new = m.where(by_log, logarithmic, m.where(below, m.maximum(straight, far), straight))
        falls = b.step * b.excess >= 0.0  # negative where the excess rises with the rate
        inside = (new > low) & (new < high) & falls
        length = m.abs(b.step)
        near = (length <= tolerance) & falls
        if exact_slope:
            near = near | (inside & (_error_left(b, by_log, length) <= _SAFETY * tolerance) & (length <= _LONGEST_LAST))
        # At the smallest rate friction may still exceed the load: the fault is locked.
        rest = ((b.excess <= 0.0) & (v <= 2.0 * SMALLEST_RATE)) | (top <= SMALLEST_RATE)
        # A fault with almost no strength slips at a rate within rounding of the top.
        done = near | rest | (high - low <= _ROUNDING * high)
        # Close to the top the remaining load matters: go nearly all the way, because the excess is steep there.
        elsewhere = m.where(below & (high >= top), v + 0.98 * (top - v), m.sqrt(low * high))
        new = m.where(inside, new, m.where(done, v, elsewhere))
        along_step = b.state + b.by_rate * b.step
        psi = m.where(inside & (along_step > 0.0) if positive else inside, along_step, b.state)
        return (new, low, high, psi, m.where(done, 0.0 * v, 0.0 * v + 1.0)), ~done

    first = m.maximum(m.minimum(begin[0], 0.9 * top), SMALLEST_RATE)
    initial = (first, 0.0 * top + SMALLEST_RATE, top, begin[1], 0.0 * top + 1.0)
    root, _, _, psi, unbalanced = m.iterate(step, initial, maximum, keep_last=True)
    return root, psi, unbalanced


def differentiable_rate(
    balance: Callable[[Number], Balance], top: Number, begin: tuple[Number, Number], tolerance: float, maximum: int,
    exact_slope: bool, positive: bool,
) -> tuple[Number, Number, Number]:  # fmt: skip
    """Return the result of ``newton_rate`` after one more step of Newton's method outside of the iteration.

    Its derivatives are those of the root and of the state there, while results of iterations count as constants
    (``kernels.derivatives``). Parameters are those of ``newton_rate``.
    """
    root, _, unbalanced = newton_rate(balance, top, begin, tolerance, maximum, exact_slope, positive)
    b = balance(root)
    step = m.where(m.abs(b.step) <= _LAST, b.step, 0.0 * b.step)  # a locked fault has no root
    return root * (1.0 + step), b.state + b.by_rate * step, unbalanced


def _error_left(b: Balance, by_log: Condition, length: Number) -> Number:
    """Return an estimate of the relative error after a step of this ``length``, in ln V where ``by_log``, else in V."""
    bend = 0.5 * m.where(by_log, m.abs(b.bend), m.abs(1.0 - b.bend)) + b.doubt
    square = length * length
    return square * (bend + _GROWTH_ERROR * square * length)


def growth(x: Number) -> Number:
    """Return e^x to fourth order, clipped to [-16, 60]; it is positive and increases with x."""
    d = m.maximum(m.minimum(x, 60.0), -16.0) * (1.0 / 16.0)
    g = 1.0 + d * (1.0 + d * (0.5 + d * (1.0 / 6.0 + d * (1.0 / 24.0))))
    g = g * g
    g = g * g
    g = g * g
    return g * g


def along(load: Load, tau: Number, rate: Number) -> tuple[Number, Number]:
    """Return the components of a slip rate of magnitude ``rate`` along the shear load; zero without load."""
    scale = rate / m.where(tau > 0.0, tau, 0.0 * tau + 1.0)
    return scale * load.tau1, scale * load.tau2


def known_rates(
    law: LawOfStrength, p: Values, c: Values, s: Values, load: Load, rates: tuple[Number, Number]
) -> Solved:
    """Return the result of a sub-step with known slip rates along the tangents, without solving.

    The fault carries the traction of ``load`` reduced by eta times these rates.
    """
    rate = m.sqrt(rates[0] * rates[0] + rates[1] * rates[1])
    if law.solver == "newton":
        return _known_newton(cast(BalancedLaw, law), p, c, s, load, (*rates, rate))
    changed = law.modified(p, c, s, rate, load.at(rate))
    if law.solver == "imposed":
        return Solved(*rates, rate, 0.0 * rate, 0.0 * rate, changed)
    return Solved(*rates, rate, known_strength(law, p, c, s, load)(load), s["friction"], changed)


def _known_newton(
    law: BalancedLaw, p: Values, c: Values, s: Values, load: Load, rates: tuple[Number, Number, Number]
) -> Solved:
    """Return the result for laws of ``newton``: the state evolves likewise, and friction balances the traction."""
    start, rate = m.maximum(s["slip_rate"], SMALLEST_RATE), m.maximum(rates[2], SMALLEST_RATE)
    mean = rate if c["rs_average"] else 0.5 * (start + rate)
    share = 1.0 if c["rs_average"] else 0.5 * rate / mean
    changed = law.modified(p, c, s, mean, load.at(rate))
    compression = m.maximum(-law.pressed(p, c, {**s, **changed}, load.at(rate)).sigma, 0.0)
    one, two = load.tau1 - load.eta * rates[0], load.tau2 - load.eta * rates[1]
    held = m.sqrt(one * one + two * two)
    pressed = m.maximum(compression, _OPEN * held + SMALLEST_RATE)
    trial = Trial(rate, mean, share, load.shear(), pressed, load.eta, load.dt)
    mu = m.where(compression > 1.0, held / m.maximum(compression, 1.0), s["friction"])
    state = law.evolved(s, law.balance(p, c, s, trial).state, load.dt) | {"unconverged": s["unconverged"]} | changed
    return Solved(*rates, mu * compression, mu, state)


SOLVERS: dict[str, Callable[[Any, Values, Values, Values, Load], Solved]] = {  # each for laws of its own kind
    "closed-form": closed_form,
    "newton": newton,
    "imposed": imposed,
}


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
    solve: Callable[[AnyLaw, Values, Values, Values, Load], Solved],
    law: AnyLaw,
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
