"""Time functions g(t) of SW4 as time functions of a case.

SW4 solves for displacement: g is the history of a force or of a moment. A case states forces by their history as well, but moments by their
rate g'. ``tau`` below is freq (t - t0); with three exceptions, which ``Shape.power`` marks, g depends on tau only.

References
----------
.. [1] Petersson, N.A. & Sjögreen, B. (2017). User's guide to SW4, chapter on sources, time functions and grid size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from faultwave.base.types import Settings

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

TAILS = 6.0
"""Standard deviations of a Gaussian beyond which it counts as zero."""
FINE, COARSE = 1e-3, 2e-3
"""Steps of tau between samples: of functions that change within a fraction of 1, and of others."""
MAX_SAMPLES = 200_000
"""Largest number of samples of a function in a case."""
TAU_0 = 2.31
"""Time at which the smoothed Brune function becomes Brune's."""
BRUNE_END = 30.0
"""tau from which Brune's function counts as finished: exp(-30) (1 + 30) is 3e-12."""


@dataclass(frozen=True)
class Shape:
    """Time function of SW4.

    Attributes
    ----------
    value, slope : callable
        g and dg/dtau as functions of tau within ``start`` and ``end``, for freq = 1.
    start, end : float
        Range of tau outside of which g is constant.
    power : int
        g is multiplied by this power of freq.
    final : float
        g after ``end``.
    step : float
        Step of tau between samples.
    """

    value: Function
    slope: Function
    start: float
    end: float
    power: int = 0
    final: float = 0.0
    step: float = FINE


def _polynomial(coefficients: list[float]) -> tuple[Function, Function]:
    """Return a polynomial in tau, of ascending coefficients, and its slope."""
    poly = np.polynomial.Polynomial(coefficients)
    slope = poly.deriv()
    return lambda x: np.asarray(poly(x)), lambda x: np.asarray(slope(x))


def _bump(power: int, height: float) -> Shape:
    """Return ``height`` (tau (1 - tau))^power."""
    return Shape(
        lambda x: height * (x * (1 - x)) ** power,
        lambda x: height * power * (1 - 2 * x) * (x * (1 - x)) ** (power - 1),
        0.0,
        1.0,
    )


def _zigzag(turns: float, height: float, power: int) -> Shape:
    """Return four terms of the Fourier series of a triangle, ``turns`` half waves long."""
    odd, signs = np.array([1.0, 3.0, 5.0, 7.0])[:, None], np.array([1.0, -1.0, 1.0, -1.0])[:, None]
    scale = 8.0 / math.pi**2 * height

    def value(x: Array) -> Array:
        return np.asarray(scale * (signs / odd**2 * np.sin(odd * math.pi * turns * x)).sum(0))

    def slope(x: Array) -> Array:
        return np.asarray(scale * math.pi * turns * (signs / odd * np.cos(odd * math.pi * turns * x)).sum(0))

    return Shape(value, slope, 0.0, 1.0, power)


def _gaussian(x: Array) -> Array:
    return np.asarray(np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi))


def _ricker(x: Array) -> Array:
    a = (math.pi * x) ** 2
    return np.asarray((2 * a - 1) * np.exp(-a))


def _ricker_slope(x: Array) -> Array:
    a = (math.pi * x) ** 2
    return np.asarray(math.pi**2 * x * (6 - 4 * a) * np.exp(-a))


def _brune_smoothed(x: Array) -> Array:
    h, s = 1.0 / TAU_0, np.minimum(x, TAU_0)
    early = 1 + s + 0.5 * s**2 - 1.5 * h * s**3 + 1.5 * h**2 * s**4 - 0.5 * h**3 * s**5
    return np.asarray(1 - np.exp(-x) * np.where(x < TAU_0, early, 1 + x))


def _brune_smoothed_slope(x: Array) -> Array:
    h, s = 1.0 / TAU_0, np.minimum(x, TAU_0)
    early = 1 + s + 0.5 * s**2 - 1.5 * h * s**3 + 1.5 * h**2 * s**4 - 0.5 * h**3 * s**5
    growth = 1 + s - 4.5 * h * s**2 + 6 * h**2 * s**3 - 2.5 * h**3 * s**4
    return np.asarray(np.exp(-x) * np.where(x < TAU_0, early - growth, x))


LIU_END, LIU_PEAK = 2 * math.pi, 0.13 * 2 * math.pi
"""Duration of Liu's function, and the time of its largest slope, both times freq."""


def _liu(x: Array) -> Array:
    one, two = LIU_PEAK, LIU_END - LIU_PEAK
    scale = 1 / (1.4 * one + 1.2 * one / math.pi + 0.3 * two)
    rise = 0.7 * x - 0.7 * one / math.pi * np.sin(math.pi * x / one)
    first = rise - 1.2 * one / math.pi * (np.cos(0.5 * math.pi * x / one) - 1)
    decay = 0.3 * two / math.pi * np.sin(math.pi * (x - one) / two)
    second = x - 0.3 * one + 1.2 * one / math.pi - 0.7 * one / math.pi * np.sin(math.pi * x / one) + decay
    third = 0.3 * x + 1.1 * one + 1.2 * one / math.pi + decay
    return np.asarray(scale * np.select([x <= one, x <= 2 * one], [first, second], third))


def _liu_slope(x: Array) -> Array:
    one, two = LIU_PEAK, LIU_END - LIU_PEAK
    scale = 1 / (1.4 * one + 1.2 * one / math.pi + 0.3 * two)
    decay = 0.3 * np.cos(math.pi * (x - one) / two)
    peak = -0.7 * np.cos(math.pi * x / one)
    first = 0.7 + peak + 0.6 * np.sin(0.5 * math.pi * x / one)
    return np.asarray(scale * np.select([x <= one, x <= 2 * one], [first, 1 + peak + decay], 0.3 + decay))


def _window(cycles: int) -> Shape:
    """Return a sine under a Gaussian of ``cycles``."""
    c = 1.0 / cycles**2

    def value(x: Array) -> Array:
        return np.asarray(np.sin(x) * np.exp(-0.5 * c * x * x))

    def slope(x: Array) -> Array:
        return np.asarray((np.cos(x) - c * x * np.sin(x)) * np.exp(-0.5 * c * x * x))

    return Shape(value, slope, -TAILS * cycles, TAILS * cycles, step=COARSE)


_WAVE = [0.0, 0.0, 0.0, 2187 / 8, -10935 / 8, 19683 / 8, -15309 / 8, 2187 / 4]
_RICKER_ENDS = -1.8, 1.8

SHAPES: dict[str, Shape] = {
    "Gaussian": Shape(_gaussian, lambda x: -x * _gaussian(x), -TAILS, TAILS, 1, step=COARSE),
    "GaussianInt": Shape(lambda x: special.ndtr(x), _gaussian, -TAILS, TAILS, final=1.0, step=COARSE),
    "Ricker": Shape(_ricker, _ricker_slope, *_RICKER_ENDS),
    "RickerInt": Shape(lambda x: -x * np.exp(-((math.pi * x) ** 2)), _ricker, *_RICKER_ENDS, power=-1),
    "Ramp": Shape(
        lambda x: 0.5 * (1 - np.cos(math.pi * x)),
        lambda x: 0.5 * math.pi * np.sin(math.pi * x),
        0.0,
        1.0,
        final=1.0,
    ),
    "Triangle": _zigzag(1.0, 2.0, 1),
    "Sawtooth": _zigzag(2.0, 1.0, 0),
    "SmoothWave": Shape(*_polynomial(_WAVE), 0.0, 1.0),
    "VerySmoothBump": _bump(5, 1024.0),
    "C6SmoothBump": _bump(7, 51480.0),
    "Brune": Shape(
        lambda x: 1 - np.exp(-x) * (1 + x), lambda x: x * np.exp(-x), 0.0, BRUNE_END, final=1.0, step=COARSE
    ),
    "BruneSmoothed": Shape(_brune_smoothed, _brune_smoothed_slope, 0.0, BRUNE_END, final=1.0, step=COARSE),
    "DBrune": Shape(lambda x: x * np.exp(-x), lambda x: (1 - x) * np.exp(-x), 0.0, BRUNE_END, 1, step=COARSE),
    "Liu": Shape(_liu, _liu_slope, 0.0, LIU_END, final=1.0),
}
"""Time functions by their names in SW4, apart from ``GaussianWindow``, which has a number of cycles."""

ALIASES = {"Erf": "GaussianInt"}
NAMES = (*SHAPES, *ALIASES, "GaussianWindow")


def shape_of(name: str, cycles: int) -> Shape:
    """Return a time function of SW4 by its name; raise KeyError for an unknown one."""
    return _window(cycles) if name == "GaussianWindow" else SHAPES[ALIASES.get(name, name)]


@dataclass(frozen=True)
class Converted:
    """Time function of a case.

    Attributes
    ----------
    setting : dict
        Setting ``time_function``.
    onset : float
        Onset [s].
    sign : float
        Factor of the tensor or force.
    """

    setting: Settings
    onset: float
    sign: float = 1.0


def convert(name: str, freq: float, start: float, moment: bool, end_time: float, cycles: int = 1) -> Converted:
    """Convert a time function of SW4.

    Those that exist in a case are exact; others are sampled, with errors below 1e-5 of their largest value.

    Parameters
    ----------
    name : str
        Name in SW4.
    freq, start : float
        ``freq`` [Hz or rad/s, as the function defines it] and ``t0`` [s].
    moment : bool
        True for the rate of a moment, False for a force.
    end_time : float
        End of the run [s], up to which a force that remains must last.
    cycles : int
        ``ncyc`` of GaussianWindow.

    Raises
    ------
    ValueError
        If the function needs too many samples.
    """
    name = ALIASES.get(name, name)
    own = {
        ("Gaussian", False): "gaussian",
        ("GaussianInt", True): "gaussian",
        ("Brune", True): "brune",
        ("DBrune", False): "brune",
    }
    if (name, moment) in own:
        kind = own[name, moment]
        return Converted({"kind": kind, "duration": 1 / freq}, start - (TAILS / freq if kind == "gaussian" else 0.0))
    if (name, moment) in (("Ricker", False), ("RickerInt", True)):
        # Ricker's wavelet of a case has a positive peak 1.5 periods after its onset.
        return Converted({"kind": "ricker", "frequency": freq}, start - 1.5 / freq, -1.0)
    shape = shape_of(name, cycles)
    last = shape.end
    if not moment and shape.final:
        last = max(last, freq * (end_time - start) + 1.0)
    count = math.ceil((last - shape.start) / shape.step) + 1
    if count > MAX_SAMPLES:
        raise ValueError(f"{name} with freq={freq:g} needs {count:,} samples; at most {MAX_SAMPLES:,} are possible")
    tau = np.linspace(shape.start, last, count)
    if moment:
        samples = freq ** (shape.power + 1) * shape.slope(tau)
    else:
        samples = freq**shape.power * np.where(tau < shape.end, shape.value(tau), shape.final)
    interval = (last - shape.start) / (count - 1) / freq
    return Converted({"kind": "samples", "samples": samples.tolist(), "interval": interval}, start + shape.start / freq)
