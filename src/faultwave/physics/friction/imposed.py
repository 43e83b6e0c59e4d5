"""Imposed slip: the slip rate is prescribed, at once, by a Gaussian ramp or by a Yoffe function, and the traction results.

Base of the laws of imposed slip. Each defines the fraction of the final slip at a time. A sub-step slips by the increment of this
fraction, so that the final slip is exact for any time step.

The rate function is sqrt((tau_R - t)/t) convolved with a triangle of base 2 tau_S.
"""

from __future__ import annotations

from math import pi

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Parameter
from faultwave.kernels import math as m
from faultwave.kernels.expr import Number
from faultwave.physics.friction.initial_stress import smooth_step, unmistakable
from faultwave.physics.friction.law import Directions, FrictionLaw, Load, Values, report

SLIP = (
    Parameter("strike_slip", "m", "slip along the strike vector; positive is right-lateral (z up)"),
    Parameter("dip_slip", "m", "slip along the dip vector; positive is reverse if plus is the hanging wall"),
    Parameter("rupture_onset", "s", "when slip starts"),
)
"""Parameters of all laws of imposed slip."""


class Imposed(FrictionLaw):
    """Base of the friction laws with imposed slip: slip along the face tangents times a rate function of unit integral."""

    solver = "imposed"
    work = 0.9
    needs_stress = False
    outputs = ()

    def prepare(self, p: Values, c: Values, directions: Directions | None) -> dict[str, np.ndarray]:
        """Rotate slip along (strike, dip) to the face tangents; ``directions`` is required."""
        if directions is None:
            raise ValueError(f"{self.name}: slip along strike and dip needs their directions on the face")
        d, strike, dip = directions, p["strike_slip"], p["dip_slip"]
        result = {"slip1": strike * d.strike1 + dip * d.dip1, "slip2": strike * d.strike2 + dip * d.dip2}
        return result | self.times(p)

    def times(self, p: Values) -> dict[str, np.ndarray]:
        """Return the kernel parameters other than slip, (n,) each."""
        raise NotImplementedError

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        return {"friction": np.zeros_like(p["slip1"], dtype=float)}

    def rates(self, p: Values, c: Values, load: Load) -> tuple[Number, Number]:
        """Return the slip rates along the tangents [m/s] in the sub-step that ends at ``load.t`` (kernel)."""
        shape = self.shape(p, c, load)
        return p["slip1"] * shape, p["slip2"] * shape

    def shape(self, p: Values, c: Values, load: Load) -> Number:
        """Return the mean over the sub-step of the rate function of unit integral [1/s] (kernel)."""
        return self.grown(p, load.t - p["rupture_onset"], load.dt) / load.dt

    def grown(self, p: Values, t: Number, dt: Number) -> Number:
        """Return the fraction of the slip in the interval of length ``dt`` that ends ``t`` after the onset (kernel)."""
        return self.done(p, t) - self.done(p, t - dt)

    def done(self, p: Values, t: Number) -> Number:
        """Return the fraction of the slip until ``t`` after the onset (kernel)."""
        raise NotImplementedError


def check_onset(p: Values, at_once: np.ndarray, points: np.ndarray, problems: Problems) -> None:
    """Report instantaneous slip with an onset before the start of the run: it would never happen."""
    slips = (p["strike_slip"] != 0) | (p["dip_slip"] != 0)
    bad = at_once & slips & (p["rupture_onset"] < 0)
    report(
        problems,
        bad,
        points,
        "rupture_onset is",
        p["rupture_onset"],
        ">= 0 s, the start of the run, for instantaneous slip",
    )


class Delta(Imposed):
    """Imposed slip that occurs at once."""

    name = "imposed-delta"
    title = "Imposed slip, instantaneous"
    deck_number = 35
    parameters = SLIP
    kernel_parameters = ("slip1", "slip2", "rupture_onset")

    def times(self, p: Values) -> dict[str, np.ndarray]:
        return {"rupture_onset": unmistakable(p["rupture_onset"])}

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        problems = super().check(p, c, tau, sigma, points)
        check_onset(p, np.full(len(points), True), points, problems)
        return problems

    def done(self, p: Values, t: Number) -> Number:
        return m.where(t > 0.0, 0.0 * t + 1.0, 0.0 * t)


IMPOSED_DELTA = Delta()


class Gaussian(Imposed):
    """Imposed slip with a Gaussian smooth step in time."""

    name = "imposed-gaussian"
    title = "Imposed slip, Gaussian smooth step"
    deck_number = 34
    parameters = (*SLIP, Parameter("rupture_rise_time", "s", "rise time; 0 slips at once", lower=0.0))
    kernel_parameters = ("slip1", "slip2", "rupture_onset", "rupture_rise_time")

    def times(self, p: Values) -> dict[str, np.ndarray]:
        onset, rise = (np.array(p[name], float) for name in ("rupture_onset", "rupture_rise_time"))
        return {"rupture_onset": np.where(rise > 0, onset, unmistakable(onset)), "rupture_rise_time": rise}

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        problems = super().check(p, c, tau, sigma, points)
        check_onset(p, p["rupture_rise_time"] == 0, points, problems)
        return problems

    def done(self, p: Values, t: Number) -> Number:
        return smooth_step(t, p["rupture_rise_time"])


IMPOSED_GAUSSIAN = Gaussian()


class Yoffe(Imposed):
    """Imposed slip rate with a regularised Yoffe function."""

    name = "imposed-yoffe"
    title = "Imposed slip rate, regularised Yoffe function"
    deck_number = 33
    parameters = (
        *SLIP,
        Parameter("tau_S", "s", "half base of the smoothing triangle (peak rate at about 1.27 tau_S)", lower=0.0),
        Parameter("tau_R", "s", "rise time of the Yoffe function; raised to tau_S where smaller"),
    )
    constants = (
        Parameter(
            "rate_at_end",
            "",
            "slip rate of a sub-step: 0 its mean, so that slip is exact; 1 that at the end, as SeisSol",
            0,
            0,
            1,
            whole=True,
        ),
    )
    kernel_parameters = ("slip1", "slip2", "rupture_onset", "tau_S", "tau_R")
    work = 1.1
    double = True  # second differences lose (tau_R/tau_S)^2 of the accuracy

    def times(self, p: Values) -> dict[str, np.ndarray]:
        still = (p["strike_slip"] == 0) & (p["dip_slip"] == 0)  # points without slip may have times of zero
        tau_s = np.where(still & ~(p["tau_S"] > 0), 1.0, p["tau_S"])
        return {"rupture_onset": np.array(p["rupture_onset"]), "tau_S": tau_s, "tau_R": np.maximum(p["tau_R"], tau_s)}

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        problems = super().check(p, c, tau, sigma, points)
        slips = (p["strike_slip"] != 0) | (p["dip_slip"] != 0)
        report(problems, slips & ~(p["tau_S"] > 0), points, "tau_S is", p["tau_S"], "> 0 s where there is slip")
        return problems

    def shape(self, p: Values, c: Values, load: Load) -> Number:
        if c["rate_at_end"]:
            return yoffe_rate(load.t - p["rupture_onset"], p["tau_S"], p["tau_R"])
        return super().shape(p, c, load)

    def grown(self, p: Values, t: Number, dt: Number) -> Number:
        return yoffe_grown(t, dt, p["tau_S"], p["tau_R"])


def yoffe_rate(t: Number, tau_s: Number, tau_r: Number) -> Number:
    """Return the regularised Yoffe function [1/s] at ``t`` after the onset (kernel): unit integral, support (0, tau_R + 2 tau_S).

    A triangle is the second antiderivative of three impulses, so the convolution of Tinti et al. (2005) is a second difference of the twice
    integrated Yoffe function. This replaces their nine pieces (appendix A) for every ratio tau_R/tau_S >= 1.
    """
    second = _yoffe_twice(t, tau_r) - 2.0 * _yoffe_twice(t - tau_s, tau_r) + _yoffe_twice(t - 2.0 * tau_s, tau_r)
    running = (t > 0.0) & (t < tau_r + 2.0 * tau_s)
    return m.where(running, m.maximum(second, 0.0) / (tau_s * tau_s), 0.0 * t)


def yoffe_grown(t: Number, dt: Number, tau_s: Number, tau_r: Number) -> Number:
    """Return the integral of ``yoffe_rate`` over the interval of length ``dt`` that ends ``t`` after the onset (kernel).

    It is the second difference of the increments of the third antiderivative of the Yoffe function.
    """
    parts = [_thrice_grown(t - shift * tau_s, dt, tau_r) for shift in (0.0, 1.0, 2.0)]
    running = t - dt < tau_r + 2.0 * tau_s
    return m.where(running, (parts[0] - 2.0 * parts[1] + parts[2]) / (tau_s * tau_s), 0.0 * t)


def _angle(t: Number, rise: Number) -> tuple[Number, Number, Number]:
    """Return the angle a with t = T sin^2(a/2), clipped to (0, T), its sine and its cosine (kernel)."""
    x = m.maximum(m.minimum(t / rise, 1.0), 0.0)
    nearer = 2.0 * m.asin(m.sqrt(m.minimum(x, 1.0 - x)))  # from the nearer end, where the angle keeps its accuracy
    return m.where(x < 0.5, nearer, pi - nearer), 2.0 * m.sqrt(x * (1.0 - x)), 1.0 - 2.0 * x


def _yoffe_twice(t: Number, rise: Number) -> Number:
    """Return the second antiderivative of 2/(pi T) sqrt((T - t)/t), whose support is (0, T) (kernel)."""
    angle, sine, cosine = _angle(t, rise)
    on_support = rise / (2.0 * pi) * (sine - angle * cosine + 0.5 * angle - 0.5 * sine * cosine)
    return on_support + m.maximum(t - rise, 0.0)


def _thrice_grown(t: Number, dt: Number, rise: Number) -> Number:
    """Return the increment of the third antiderivative of 2/(pi T) sqrt((T - t)/t) in the ``dt`` before ``t`` (kernel).

    In the angles m + h and m - h of the two times, the difference of each term is a multiple of h or sin h. A
    difference of two values of the antiderivative would lose the digits of a short step. Half angles have the sines
    sqrt(x), x = t/T.
    """
    before = t - dt
    x, y = (m.maximum(m.minimum(time / rise, 1.0), 0.0) for time in (t, before))
    sx, cx, sy, cy = m.sqrt(x), m.sqrt(1.0 - x), m.sqrt(y), m.sqrt(1.0 - y)
    sin_m, cos_m, cos_h = sx * cy + cx * sy, cx * cy - sx * sy, cx * cy + sx * sy
    after, until = (m.maximum(time - rise, 0.0) for time in (t, before))
    longer = m.where(before > rise, dt + 0.0 * t, after)  # part of dt after the support
    sin_h = m.minimum(m.where(before > 0.0, (dt - longer) / rise, x) / m.maximum(sin_m, 1e-300), 1.0)
    last, first = _angle(t, rise)[0], _angle(before, rise)[0]
    h, middle = m.where(sin_h < 0.5, m.asin(sin_h), 0.5 * (last - first)), 0.5 * (last + first)
    cos_2m, sin_2m, sin_2h = cos_m * cos_m - sin_m * sin_m, 2.0 * sin_m * cos_m, 2.0 * sin_h * cos_h
    sine = cos_m * sin_h  # half of the increment of the sine of the angle
    triple = (
        cos_m * (1.0 - 4.0 * sin_m * sin_m) * sin_h * (3.0 - 4.0 * sin_h * sin_h)
    )  # the same for three times the angle
    on_support = (
        h + sine - h * cos_m * cos_h + middle * sin_m * sin_h - 0.75 * cos_2m * sin_2h
        + 0.5 * (h * cos_2m * (1.0 - 2.0 * sin_h * sin_h) - middle * sin_2m * sin_2h) - 0.25 * sine + triple / 12.0
    )  # fmt: skip
    return rise * rise / (4.0 * pi) * on_support + longer * (0.75 * rise + 0.5 * (after + until))


IMPOSED_YOFFE = Yoffe()
