"""Source time functions with their first integral and derivative, as needed by the exact seismograms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import erf

from faultwave.verify.exact import Array

Function = Callable[[Array], Array]


@dataclass(frozen=True)
class TimeFunction:
    """Source time function S(t) [1/s for a moment rate of unit integral], its integral from -infinity and its derivative.

    ``scale`` [s] is the time over which S is smooth: quadrature panels are no longer. ``breakpoints`` are times at
    which S or a derivative jumps: no panel crosses one.
    """

    value: Function
    integral: Function
    derivative: Function
    scale: float
    breakpoints: tuple[float, ...] = ()

    def level(self, order: int) -> Function:
        """Return the derivative of order -1 (the integral), 0 or 1."""
        return {-1: self.integral, 0: self.value, 1: self.derivative}[order]


def brune(duration: float, onset: float = 0.0) -> TimeFunction:
    """Return Brune's pulse (t/T^2) exp(-t/T) after the onset: unit integral, corner frequency 1/(2 pi T)."""

    def decay(t: Array) -> tuple[Array, Array]:
        s = np.maximum(np.asarray(t, dtype=float) - onset, 0.0) / duration
        return s, np.exp(-s)

    def value(t: Array) -> Array:
        s, e = decay(t)
        return s * e / duration

    def integral(t: Array) -> Array:
        s, e = decay(t)
        return 1 - (1 + s) * e

    def derivative(t: Array) -> Array:
        s, e = decay(t)
        return np.where(np.asarray(t) >= onset, (1 - s) * e / duration**2, 0.0)

    return TimeFunction(value, integral, derivative, duration, (onset,))


def gaussian(width: float, centre: float) -> TimeFunction:
    """Return the Gaussian exp(-(t - centre)^2 / (2 width^2)) / (width sqrt(2 pi)) of unit integral.

    Its derivative S' peaks at the frequency 1/(2 pi width).
    """

    def value(t: Array) -> Array:
        return np.exp(-0.5 * ((t - centre) / width) ** 2) / (width * np.sqrt(2 * np.pi))

    def integral(t: Array) -> Array:
        return 0.5 * (1 + erf((t - centre) / (width * np.sqrt(2))))

    return TimeFunction(value, integral, lambda t: -(t - centre) / width**2 * value(t), width)


def ricker(frequency: float, centre: float) -> TimeFunction:
    """Return the Ricker wavelet (1 - 2a) exp(-a), a = (pi f (t - centre))^2: zero integral, spectral peak at ``frequency``."""
    p = (np.pi * frequency) ** 2

    def value(t: Array) -> Array:
        a = p * (t - centre) ** 2
        return (1 - 2 * a) * np.exp(-a)

    def integral(t: Array) -> Array:
        return (t - centre) * np.exp(-p * (t - centre) ** 2)

    def derivative(t: Array) -> Array:
        a = p * (t - centre) ** 2
        return -2 * p * (t - centre) * (3 - 2 * a) * np.exp(-a)

    return TimeFunction(value, integral, derivative, 0.2 / frequency)


def numerical(value: Function, scale: float, start: float, breakpoints: tuple[float, ...] = ()) -> TimeFunction:
    """Return a time function for any S(t) that is zero before ``start``, integrated and differentiated numerically.

    The integral uses Gauss-Legendre panels. The derivative is of sixth order on a stencil of +-3 scale/200; within that distance of a
    breakpoint it is wrong.

    Parameters
    ----------
    value : callable
        Function S(t).
    scale : float
        Time over which S is smooth [s].
    start : float
        Time before which S is zero [s].
    breakpoints : tuple of float
        Times at which S or a derivative jumps [s].
    """
    step = scale / 200

    def integral(t: Array) -> Array:
        t = np.asarray(t, dtype=float)
        stops = np.stack([np.clip(np.full_like(t, b), start, np.maximum(t, start)) for b in (start, *breakpoints)], -1)
        return integrate(value, np.sort(stops, axis=-1), np.maximum(t, start), scale)

    def derivative(t: Array) -> Array:
        pairs = ((1, 0.75), (2, -0.15), (3, 1 / 60))
        return np.asarray(sum(c * (value(t + n * step) - value(t - n * step)) for n, c in pairs)) / step

    return TimeFunction(value, integral, derivative, scale, breakpoints)


def integrate(function: Function, stops: Array, end: Array, scale: float, points: int = 16) -> Array:
    """Return the integral of a function from ``stops[..., 0]`` to ``end`` by Gauss-Legendre panels.

    Parameters
    ----------
    function : callable
        Integrand, vectorised.
    stops : array (..., k)
        Ascending lower limit and break points, at which the integral is split.
    end : array (...)
        Upper limit.
    scale : float
        Largest length of a panel.
    points : int
        Quadrature points per panel.

    Returns
    -------
    array (...)
    """
    x, w = np.polynomial.legendre.leggauss(points)
    edges = np.concatenate([stops, np.asarray(end)[..., None]], axis=-1)
    lengths = np.diff(edges, axis=-1)
    panels = max(1, int(np.ceil(lengths.max(initial=0.0) / scale)))
    total = np.zeros(np.shape(end))
    for panel in range(panels):
        nodes = edges[..., :-1, None] + lengths[..., None] * (panel + 0.5 * (x + 1)) / panels
        total = total + (function(nodes) @ w * lengths).sum(axis=-1) * 0.5 / panels
    return total
