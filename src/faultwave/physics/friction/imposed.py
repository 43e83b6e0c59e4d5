"""Imposed slip: the slip rate is prescribed, the traction follows (docs/theory/friction.md, "Imposed slip rate").

``imposed-yoffe`` is the regularised Yoffe function of Tinti et al. (2005), sqrt((tau_R - t)/t) convolved with a
triangle of base 2 tau_S (deck number 33); ``imposed-gaussian`` the smooth step of nucleation over a rise time (34).
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Parameter
from faultwave.kernels import math as m
from faultwave.physics.friction.law import Directions, FrictionLaw, Load, Values, report
from faultwave.physics.friction.nucleation import smooth_step

_SLIP = (
    Parameter("strike_slip", "m", "slip along the strike vector; positive is right-lateral (z up)"),
    Parameter("dip_slip", "m", "slip along the dip vector; positive is reverse if plus is the hanging wall"),
    Parameter("rupture_onset", "s", "when slip starts"),
)


class Imposed(FrictionLaw):
    """Slip along the face tangents times a rate function of unit integral."""

    solver = "imposed"
    work = 4.5
    needs_stress = False
    outputs = ()

    def prepare(self, p: Values, c: Values, directions: Directions | None) -> dict[str, np.ndarray]:
        """Rotates (strike, dip) slip into the face tangents; ``directions`` is required."""
        if directions is None:
            raise ValueError(f"{self.name}: slip along strike and dip needs their directions on the face")
        d, strike, dip = directions, p["strike_slip"], p["dip_slip"]
        result = {"slip1": strike * d.strike1 + dip * d.dip1, "slip2": strike * d.strike2 + dip * d.dip2}
        return result | self.times(p)

    def times(self, p: Values) -> dict[str, np.ndarray]:
        """The other kernel parameters, (n,) each."""
        raise NotImplementedError

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        return {"friction": np.zeros_like(p["slip1"], dtype=float)}

    def rates(self, p: Values, c: Values, load: Load) -> tuple[Any, Any]:
        """Slip rates along the tangents for the sub-step that ends at load.t (kernel)."""
        shape = self.shape(p, load)
        return p["slip1"] * shape, p["slip2"] * shape

    def shape(self, p: Values, load: Load) -> Any:
        """Rate function of unit integral [1/s] (kernel)."""
        raise NotImplementedError


class Yoffe(Imposed):
    name = "imposed-yoffe"
    title = "Imposed slip rate, regularised Yoffe function"
    deck_number = 33
    parameters = (
        *_SLIP,
        Parameter("tau_S", "s", "half base of the smoothing triangle (peak rate at about 1.27 tau_S)", lower=0.0),
        Parameter("tau_R", "s", "rise time of the Yoffe function; raised to tau_S where smaller"),
    )
    kernel_parameters = ("slip1", "slip2", "rupture_onset", "tau_S", "tau_R")
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

    def shape(self, p: Values, load: Load) -> Any:
        return yoffe_rate(load.t - p["rupture_onset"], p["tau_S"], p["tau_R"])


class Gaussian(Imposed):
    name = "imposed-gaussian"
    title = "Imposed slip, Gaussian smooth step"
    deck_number = 34
    parameters = (*_SLIP, Parameter("rupture_rise_time", "s", "rise time; 0 slips at once", lower=0.0))
    kernel_parameters = ("slip1", "slip2", "rupture_onset", "rupture_rise_time")

    def times(self, p: Values) -> dict[str, np.ndarray]:
        return {name: np.array(p[name], float) for name in ("rupture_onset", "rupture_rise_time")}

    def shape(self, p: Values, load: Load) -> Any:
        """Increment of the smooth step over the sub-step, so that total slip is exact whatever the steps."""
        end, rise = load.t - p["rupture_onset"], p["rupture_rise_time"]
        return (smooth_step(end, rise) - smooth_step(end - load.dt, rise)) / load.dt


def yoffe_rate(t: Any, tau_s: Any, tau_r: Any) -> Any:
    """Regularised Yoffe function [1/s] ``t`` after onset (kernel): unit integral, support (0, tau_R + 2 tau_S).

    A triangle is the second antiderivative of three impulses, so the convolution of Tinti et al. (2005) is a second
    difference of the twice integrated Yoffe function; that replaces their nine pieces (appendix A) for every ratio
    tau_R/tau_S >= 1.
    """
    second = _yoffe_twice(t, tau_r) - 2.0 * _yoffe_twice(t - tau_s, tau_r) + _yoffe_twice(t - 2.0 * tau_s, tau_r)
    running = (t > 0.0) & (t < tau_r + 2.0 * tau_s)
    return m.where(running, m.maximum(second, 0.0) / (tau_s * tau_s), 0.0 * t)


def _yoffe_twice(t: Any, rise: Any) -> Any:
    """Second antiderivative of 2/(pi T) sqrt((T - t)/t) on (0, T) (kernel); there t = T sin^2(angle/2)."""
    x = m.maximum(m.minimum(t / rise, 1.0), 0.0)
    angle = 2.0 * m.asin(m.sqrt(x))
    sine, cosine = 2.0 * m.sqrt(x * (1.0 - x)), 1.0 - 2.0 * x
    on_support = rise / (2.0 * pi) * (sine - angle * cosine + 0.5 * angle - 0.5 * sine * cosine)
    return on_support + m.maximum(t - rise, 0.0)


IMPOSED_YOFFE, IMPOSED_GAUSSIAN = Yoffe(), Gaussian()
