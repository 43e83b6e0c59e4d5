"""Imposed slip by the regularised Yoffe function (Tinti et al. 2005; deck number 33): sqrt((tau_R - t)/t) convolved with a triangle of
base 2 tau_S."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Parameter
from faultwave.kernels import math as m
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
    work = 7.0
    double = True  # second differences lose (tau_R/tau_S)^2 of the digits

    def times(self, p: Values) -> dict[str, np.ndarray]:
        still = (p["strike_slip"] == 0) & (p["dip_slip"] == 0)  # such points may leave their times at zero
        tau_s = np.where(still & ~(p["tau_S"] > 0), 1.0, p["tau_S"])
        return {"rupture_onset": np.array(p["rupture_onset"]), "tau_S": tau_s, "tau_R": np.maximum(p["tau_R"], tau_s)}

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        problems = super().check(p, c, tau, sigma, points)
        slips = (p["strike_slip"] != 0) | (p["dip_slip"] != 0)
        report(problems, slips & ~(p["tau_S"] > 0), points, "tau_S is", p["tau_S"], "> 0 s where there is slip")
        return problems

    def shape(self, p: Values, c: Values, load: Load) -> Any:
        if c["rate_at_end"]:
            return yoffe_rate(load.t - p["rupture_onset"], p["tau_S"], p["tau_R"])
        return super().shape(p, c, load)

    def done(self, p: Values, t: Any) -> Any:
        return yoffe_slip(t, p["tau_S"], p["tau_R"])


def yoffe_rate(t: Any, tau_s: Any, tau_r: Any) -> Any:
    """Regularised Yoffe function [1/s] ``t`` after onset (kernel): unit integral, support (0, tau_R + 2 tau_S).

    A triangle is the second antiderivative of three impulses, so the convolution of Tinti et al. (2005) is a second
    difference of the twice integrated Yoffe function; that replaces their nine pieces (appendix A) for every ratio
    tau_R/tau_S >= 1.
    """
    second = _yoffe_twice(t, tau_r) - 2.0 * _yoffe_twice(t - tau_s, tau_r) + _yoffe_twice(t - 2.0 * tau_s, tau_r)
    running = (t > 0.0) & (t < tau_r + 2.0 * tau_s)
    return m.where(running, m.maximum(second, 0.0) / (tau_s * tau_s), 0.0 * t)


def yoffe_slip(t: Any, tau_s: Any, tau_r: Any) -> Any:
    """Integral of ``yoffe_rate`` (kernel): 0 until the onset, 1 after the support; the second difference of the third antiderivative."""
    third = _yoffe_thrice(t, tau_r) - 2.0 * _yoffe_thrice(t - tau_s, tau_r) + _yoffe_thrice(t - 2.0 * tau_s, tau_r)
    return m.where(t < tau_r + 2.0 * tau_s, third / (tau_s * tau_s), 0.0 * t + 1.0)


def _angle(t: Any, rise: Any) -> tuple[Any, Any, Any]:
    """The angle a with t = T sin^2(a/2) on (0, T), held at its ends, its sine and cosine (kernel)."""
    x = m.maximum(m.minimum(t / rise, 1.0), 0.0)
    nearer = 2.0 * m.asin(m.sqrt(m.minimum(x, 1.0 - x)))  # to an end: there the angle keeps its digits
    return m.where(x < 0.5, nearer, pi - nearer), 2.0 * m.sqrt(x * (1.0 - x)), 1.0 - 2.0 * x


def _yoffe_twice(t: Any, rise: Any) -> Any:
    """Second antiderivative of 2/(pi T) sqrt((T - t)/t) on (0, T) (kernel)."""
    angle, sine, cosine = _angle(t, rise)
    on_support = rise / (2.0 * pi) * (sine - angle * cosine + 0.5 * angle - 0.5 * sine * cosine)
    return on_support + m.maximum(t - rise, 0.0)


def _yoffe_thrice(t: Any, rise: Any) -> Any:
    """Third antiderivative of the same (kernel)."""
    angle, sine, cosine = _angle(t, rise)
    twice = 2.0 * cosine * cosine - 1.0
    on_support = (
        0.5 * (angle + sine - angle * cosine) - 0.75 * sine * cosine + 0.25 * angle * twice - sine * sine * sine / 6.0
    )
    after = m.maximum(t - rise, 0.0)
    return rise * rise / (4.0 * pi) * on_support + after * (0.75 * rise + 0.5 * after)


IMPOSED_YOFFE = Yoffe()
