"""Source time functions S(t), each with its exact antiderivative, and sampled ones in flat arrays, integrated together.

Time counts from onset; S is zero before it. As moment rate or slip rate, all but ``Ricker``, ``Burst`` and ``Samples``
have unit integral; Ricker has unit peak and zero integral.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import pi, sqrt
from typing import Protocol, Self

import numpy as np

from faultwave.base import formulas
from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Setting

SUMMED = 16
"""Number of samples between two integrals stored in double precision; others are stored relative to these, as the samples are."""
TOGETHER = 1 << 14
"""Size of a block of work, which bounds temporary memory."""


def pieces(count: int, width: int) -> Iterator[slice]:
    """Yield slices of the rows 0 to ``count`` with at most ``TOGETHER`` numbers each, where a row has ``width`` numbers."""
    rows = max(1, TOGETHER // max(width, 1))
    for first in range(0, count, rows):
        yield slice(first, min(first + rows, count))


@dataclass(frozen=True)
class SampledFunctions:
    """Piecewise linear time functions, zero outside their samples; single precision is preserved.

    Attributes
    ----------
    samples
        Samples of all functions, concatenated; at least two each.
    first : (m + 1,) array
        Index of the first sample of each function; function i ends before first[i + 1].
    interval : (m,) array
        Sampling interval [s].
    """

    samples: np.ndarray
    first: np.ndarray
    interval: np.ndarray
    _sums: np.ndarray = field(init=False, repr=False, compare=False)
    _bases: np.ndarray = field(init=False, repr=False, compare=False)
    _base: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = np.asarray(self.samples)
        object.__setattr__(self, "samples", values if values.dtype == np.float32 else values.astype(float))
        bases = -(-np.diff(self.first) // SUMMED)
        object.__setattr__(self, "_base", np.concatenate([[0], np.cumsum(bases)]))
        object.__setattr__(self, "_sums", np.zeros_like(self.samples))
        object.__setattr__(self, "_bases", np.zeros(int(bases.sum())))
        self._sum()

    @classmethod
    def of(cls, samples: Sequence[np.ndarray], interval: np.ndarray | float | Sequence[float]) -> Self:
        """Return functions of one array of samples each, all of the same precision."""
        first = np.concatenate([[0], np.cumsum([len(s) for s in samples])]).astype(np.int64)
        return cls(np.concatenate(samples), first, np.asarray(interval, float))

    def __len__(self) -> int:
        return len(self.interval)

    @property
    def end(self) -> np.ndarray:
        """Time (m,) of the last sample after onset [s]."""
        return (np.diff(self.first) - 1) * self.interval

    @property
    def largest(self) -> np.ndarray:
        """Largest absolute sample (m,)."""
        return np.maximum.reduceat(np.abs(self.samples), self.first[:-1]) if len(self) else np.zeros(0)

    def one(self, row: int) -> tuple[np.ndarray, float]:
        """Return the samples and the interval of one function."""
        return self.samples[self.first[row] : self.first[row + 1]], float(self.interval[row])

    def integral(self, rows: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return the integrals (k, w) of functions ``rows`` (k,) from onset to times ``t`` (k, w) after it [s]."""
        first, last = self.first[rows, None], (self.first[rows + 1] - self.first[rows] - 1)[:, None]
        interval = self.interval[rows, None]
        x = np.clip(t / interval, 0.0, last)
        i = np.minimum(x.astype(np.int64), np.maximum(last - 1, 0))
        part, here = x - i, self.samples[first + i]
        slope = self.samples[first + np.minimum(i + 1, last)] - here
        sums = self._bases[self._base[rows, None] + i // SUMMED] + self._sums[first + i]
        return np.asarray(sums + interval * part * (here + 0.5 * part * slope))

    def _sum(self) -> None:
        """Compute the integrals up to each sample."""
        count = np.diff(self.first)
        for piece in pieces(len(self), int(count.max(initial=1))):
            width = int(count[piece].max())
            inside = np.arange(width) < count[piece, None]
            all_of = slice(self.first[piece.start], self.first[piece.stop])
            values = np.zeros((len(inside), width))
            values[inside] = self.samples[all_of]
            sums = np.zeros_like(values)
            sums[:, 1:] = np.cumsum(0.5 * (values[:, 1:] + values[:, :-1]), 1) * self.interval[piece, None]
            bases = sums[:, ::SUMMED]
            self._bases[self._base[piece.start] : self._base[piece.stop]] = bases[inside[:, ::SUMMED]]
            sums -= bases.take(np.arange(width) // SUMMED, axis=1)
            self._sums[all_of] = sums[inside]


class TimeFunction(Protocol):
    """Interface of time functions: S and its antiderivative; ``t`` is an array or a number [s]."""

    @property
    def end(self) -> float:
        """Time after onset at which S has ended or is negligible [s]."""

    def value(self, t: np.ndarray | float) -> np.ndarray:
        """Return S(t)."""

    def integral(self, t: np.ndarray | float) -> np.ndarray:
        """Return the integral of S from onset to t; constant after the end of S, zero before onset."""


@dataclass(frozen=True)
class Brune:
    """Brune pulse t/T^2 exp(-t/T) (Brune 1970), the moment rate of the LOH benchmarks."""

    duration: float

    @property
    def end(self) -> float:
        return 20.0 * self.duration

    def value(self, t: np.ndarray | float) -> np.ndarray:
        x = np.maximum(np.asarray(t, float) / self.duration, 0.0)
        return x * np.exp(-x) / self.duration

    def integral(self, t: np.ndarray | float) -> np.ndarray:
        x = np.maximum(np.asarray(t, float) / self.duration, 0.0)
        return -np.expm1(-x) - x * np.exp(-x)


@dataclass(frozen=True)
class Ricker:
    """Ricker wavelet (1 - 2 a) exp(-a), a = (pi f (t - 1.5/f))^2 with f = 1/duration: unit peak 1.5 durations after onset."""

    duration: float

    @property
    def end(self) -> float:
        return 3.0 * self.duration

    def value(self, t: np.ndarray | float) -> np.ndarray:
        t = np.asarray(t, float)
        a = (pi * (t / self.duration - 1.5)) ** 2
        return np.where(t > 0, (1.0 - 2.0 * a) * np.exp(-a), 0.0)

    def integral(self, t: np.ndarray | float) -> np.ndarray:
        t = np.maximum(np.asarray(t, float), 0.0)

        def antiderivative(s: np.ndarray | float) -> np.ndarray:
            x = s / self.duration - 1.5
            return self.duration * x * np.exp(-((pi * x) ** 2))

        return antiderivative(t) - antiderivative(0.0)


@dataclass(frozen=True)
class Bell:
    """Gaussian exp(-((t - delay)/width)^2), truncated at onset and scaled to unit integral."""

    width: float
    delay: float

    @property
    def _norm(self) -> float:
        return 0.5 * (1.0 + float(formulas.erf(self.delay / self.width)))

    @property
    def end(self) -> float:
        return self.delay + 6.0 * self.width

    def value(self, t: np.ndarray | float) -> np.ndarray:
        t = np.asarray(t, float)
        bell = np.exp(-(((t - self.delay) / self.width) ** 2)) / (sqrt(pi) * self.width * self._norm)
        return np.where(t > 0, bell, 0.0)

    def integral(self, t: np.ndarray | float) -> np.ndarray:
        x = (np.maximum(np.asarray(t, float), 0.0) - self.delay) / self.width
        return 0.5 * (formulas.erf(x) + float(formulas.erf(self.delay / self.width))) / self._norm


def gaussian(duration: float) -> Bell:
    """Return a Gaussian with standard deviation ``duration``, centred 6 of them after onset."""
    return Bell(sqrt(2.0) * duration, 6.0 * duration)


def error_function(duration: float) -> Bell:
    """Return the rate of the smoothed step (1 + erf((t - 4T)/T))/2, often called a quasi-Heaviside source."""
    return Bell(duration, 4.0 * duration)


@dataclass(frozen=True)
class Triangle:
    """Isosceles triangle on (0, T)."""

    duration: float

    @property
    def end(self) -> float:
        return self.duration

    def value(self, t: np.ndarray | float) -> np.ndarray:
        x = np.asarray(t, float) / self.duration
        return np.maximum(0.0, 1.0 - np.abs(2.0 * x - 1.0)) * 2.0 / self.duration

    def integral(self, t: np.ndarray | float) -> np.ndarray:
        x = np.clip(np.asarray(t, float) / self.duration, 0.0, 1.0)
        return np.where(x < 0.5, 2.0 * x * x, 1.0 - 2.0 * (1.0 - x) ** 2)


@dataclass(frozen=True)
class Yoffe:
    """Yoffe function 2/(pi T) sqrt((T - t)/t) of rise time T convolved with a triangle of base 2 ``acceleration``.

    It is the regularised function of Tinti et al. (2005) for T >= ``acceleration``; with ``acceleration`` 0 the
    singular one, whose integral is regular. Values are second differences of repeated integrals of the Yoffe function.
    """

    duration: float
    acceleration: float

    @property
    def end(self) -> float:
        return self.duration + 2.0 * self.acceleration

    def value(self, t: np.ndarray | float) -> np.ndarray:
        t, rise = np.asarray(t, float), self.duration
        if self.acceleration == 0:
            inside = (t > 0) & (t < rise)
            x = np.where(inside, t / rise, 0.5)
            return np.where(inside, 2.0 / (pi * rise) * np.sqrt((1.0 - x) / x), 0.0)
        running = (t > 0) & (t < rise + 2 * self.acceleration)
        return np.where(running, np.maximum(self._difference(t, 2), 0.0), 0.0)

    def integral(self, t: np.ndarray | float) -> np.ndarray:
        t = np.asarray(t, float)
        if self.acceleration == 0:
            return self._repeated(t, 1)
        end = self.duration + 2 * self.acceleration
        return np.where(t >= end, 1.0, self._difference(np.minimum(t, end), 3))

    def _difference(self, t: np.ndarray, order: int) -> np.ndarray:
        s = self.acceleration
        f = [self._repeated(t - k * s, order) for k in range(3)]
        return (f[0] - 2.0 * f[1] + f[2]) / (s * s)

    def _repeated(self, t: np.ndarray, order: int) -> np.ndarray:
        """Return the ``order`` times integrated Yoffe function (1 to 3); on its support t = T sin^2(a/2)."""
        rise = self.duration
        a = 2.0 * np.arcsin(np.sqrt(np.clip(t / rise, 0.0, 1.0)))
        sine, cosine, late = np.sin(a), np.cos(a), np.maximum(t - rise, 0.0)
        if order == 1:
            return (a + sine) / pi
        if order == 2:
            return rise / (2 * pi) * (sine - a * cosine + 0.5 * a - 0.5 * sine * cosine) + late
        support = a + sine - a * cosine - sine * cosine * 1.5 + 0.5 * a * np.cos(2 * a) - sine**3 / 3.0
        return rise**2 / (8 * pi) * support + late * (0.75 * rise + 0.5 * late)


@dataclass(frozen=True)
class Samples:
    """Piecewise linear function of ``samples`` at multiples of ``interval`` [s], zero outside; single precision is preserved."""

    samples: np.ndarray
    interval: float
    _table: SampledFunctions = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table = SampledFunctions.of([np.asarray(self.samples)], [self.interval])
        object.__setattr__(self, "samples", table.samples)
        object.__setattr__(self, "_table", table)

    @property
    def end(self) -> float:
        return (len(self.samples) - 1) * self.interval

    def value(self, t: np.ndarray | float) -> np.ndarray:
        times = np.arange(len(self.samples)) * self.interval
        return np.interp(np.asarray(t, float), times, self.samples, left=0.0, right=0.0)

    def integral(self, t: np.ndarray | float) -> np.ndarray:
        times = np.asarray(t, float)
        return self._table.integral(np.zeros(1, np.int64), times.reshape(1, -1)).reshape(times.shape)


@dataclass(frozen=True)
class Burst:
    """Wave packet exp(-((t - 4 T)/T)^2) sin(2 pi f (t - 4 T)), truncated at onset; T f up to 8."""

    duration: float
    frequency: float

    @property
    def end(self) -> float:
        return 8.0 * self.duration

    def value(self, t: np.ndarray | float) -> np.ndarray:
        t = np.asarray(t, float)
        x = t / self.duration - 4.0
        wave = np.exp(-np.minimum(x * x, 700.0)) * np.sin(2 * pi * self.frequency * self.duration * x)
        return np.where(t > 0, wave, 0.0)

    def integral(self, t: np.ndarray | float) -> np.ndarray:
        y = pi * self.frequency * self.duration  # half of the phase over T

        def antiderivative(x: np.ndarray | float) -> np.ndarray:
            return (0.5 * self.duration * sqrt(pi) * np.exp(-y * y) * formulas.erf(x - 1j * y)).imag

        return antiderivative(np.clip(np.asarray(t, float) / self.duration - 4.0, -4.0, 30.0)) - antiderivative(-4.0)


def ricker_duration(setting: Setting) -> float:
    """Return 1/frequency of a Ricker wavelet [s], of which either may be given."""
    return 1.0 / setting.frequency if setting.frequency else float(setting.duration)


def time_function(setting: Setting, where: str = "time_function") -> TimeFunction:
    """Return the time function of a setting (kind, duration, frequency, acceleration, samples, interval).

    Raises
    ------
    InputError
        At ``where`` if the setting is invalid.
    """
    match setting.kind:
        case "brune":
            return Brune(setting.duration)
        case "ricker":
            return Ricker(ricker_duration(setting))
        case "gaussian":
            return gaussian(setting.duration)
        case "error-function":
            return error_function(setting.duration)
        case "triangle":
            return Triangle(setting.duration)
        case "burst":
            if setting.frequency * setting.duration > 8:
                what = f"{setting.frequency * setting.duration:g} periods a duration"
                raise InputError(Problem(where, what, "frequency * duration up to 8"))
            return Burst(setting.duration, setting.frequency)
        case "yoffe":
            if setting.duration < setting.acceleration:
                what = f"duration {setting.duration:g} s is shorter than acceleration {setting.acceleration:g} s"
                raise InputError(Problem(where, what, "duration >= acceleration"))
            return Yoffe(setting.duration, setting.acceleration)
        case "samples":
            if len(setting.samples) < 2 or not np.all(np.isfinite(setting.samples)):
                raise InputError(Problem(f"{where}.samples", "is not a list of numbers", "two or more finite numbers"))
            return Samples(np.asarray(setting.samples, float), setting.interval)
    kinds = "brune, ricker, gaussian, triangle, yoffe, error-function, burst, samples"
    raise InputError(Problem(f"{where}.kind", f"'{setting.kind}' does not exist", kinds))
