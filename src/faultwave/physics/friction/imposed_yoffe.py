"""Imposed slip with the regularised Yoffe function (Tinti et al. 2005; deck number 33).

The rate function is sqrt((tau_R - t)/t) convolved with a triangle of base 2 tau_S.
"""

from __future__ import annotations

from math import pi

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Parameter
from faultwave.kernels import math as m
from faultwave.kernels.types import Number
from faultwave.physics.friction.imposed import SLIP, Imposed
from faultwave.physics.friction.law import Load, Values, report


class Yoffe(Imposed):
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
