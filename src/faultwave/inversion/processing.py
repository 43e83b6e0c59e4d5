"""Processing of records and Green's functions by the same linear operator: band-pass, cut and taper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from faultwave.campaign.synthesis import Band

ORDER = 4
"""Order of the Butterworth filter whose amplitude, run forwards and backwards, is that of the high-pass."""
TAPER = 0.05
"""Fraction of the window over which motion rises from zero and decreases to zero where a high-pass follows."""
PERIODS = 3.0
"""Number of periods of the low corner over which the high-pass spreads motion."""
FINE = 20
"""Samples per period of the high corner between which records are interpolated."""


@dataclass(frozen=True)
class Passband:
    """Band of an inversion: all frequencies up to ``high``, which decrease to zero at 1.5 times it, and above ``low`` if it is not None.

    Attributes
    ----------
    low : float or None
        Corner of the high-pass [Hz].
    high : float
        Corner of the low-pass [Hz].
    """

    low: float | None
    high: float

    def low_pass(self, frequency: np.ndarray) -> np.ndarray:
        """Return the amplitude of the low-pass at frequencies [Hz]."""
        return Band(0.0, self.high).response(frequency)

    def high_pass(self, frequency: np.ndarray) -> np.ndarray:
        """Return the amplitude of the high-pass at frequencies [Hz], 1 without a low corner."""
        if self.low is None:
            return np.ones(len(frequency))
        ratio = (np.asarray(frequency, float) / self.low) ** (2 * ORDER)
        return np.asarray(ratio / (1.0 + ratio))

    def correlation(self, interval: float, count: int) -> np.ndarray:
        """Return the autocorrelation (count,) of white noise in the band at multiples of an interval [s], 1 at zero."""
        length = 8 * count
        frequency = np.fft.rfftfreq(length, interval)
        power = (self.low_pass(frequency) * self.high_pass(frequency)) ** 2
        found = np.fft.irfft(power, length)[:count]
        return np.asarray(found / found[0])


@dataclass(frozen=True)
class Window:
    """Time axis of the data, with the operator that is applied to records and predictions after the low-pass.

    Attributes
    ----------
    begin : float
        Time of the first sample [s].
    interval : float
        Sampling interval [s].
    count : int
        Number of samples.
    band : Passband
        Band.
    """

    begin: float
    interval: float
    count: int
    band: Passband

    @property
    def time(self) -> np.ndarray:
        """Times (count,) [s]."""
        return self.begin + self.interval * np.arange(self.count)

    @cached_property
    def taper(self) -> np.ndarray:
        """Factor (count,) before the high-pass."""
        found = np.ones(self.count)
        if self.band.low is not None:
            ends = max(2, int(TAPER * self.count))
            rise = 0.5 - 0.5 * np.cos(np.pi * (np.arange(ends) + 1) / (ends + 1))
            found[:ends], found[-ends:] = rise, rise[::-1]
        return found

    def apply(self, motion: np.ndarray) -> np.ndarray:
        """Return motion (..., count) after taper and high-pass."""
        return motion if self.band.low is None else self._high_pass(motion * self.taper)

    def adjoint(self, motion: np.ndarray) -> np.ndarray:
        """Return the transpose of ``apply`` times motion (..., count)."""
        return motion if self.band.low is None else self._high_pass(motion) * self.taper

    def _high_pass(self, motion: np.ndarray) -> np.ndarray:
        from scipy import fft

        assert self.band.low is not None
        padding = int(np.ceil(PERIODS / (self.band.low * self.interval)))
        length = int(fft.next_fast_len(self.count + padding, real=True))
        response = self.band.high_pass(fft.rfftfreq(length, self.interval))
        return np.asarray(fft.irfft(fft.rfft(motion, length, axis=-1) * response, length, axis=-1)[..., : self.count])


def low_passed(time: np.ndarray, motion: np.ndarray, at: np.ndarray, band: Passband, rate: bool = False) -> np.ndarray:
    """Return the low-pass of motion (..., n) at times ``time``, interpolated exactly in its band to the times ``at``.

    Parameters
    ----------
    time : ndarray (n,)
        Times at one interval [s].
    motion : ndarray (..., n)
        Motion.
    at : ndarray (m,)
        Times of the result within ``time`` [s].
    band : Passband
        Band.
    rate : bool
        If True, the derivative with respect to time is returned.
    """
    from scipy import fft
    from scipy.interpolate import CubicSpline

    interval = float(time[1] - time[0])
    first, last = motion[..., :1], motion[..., -1:]
    ends = int(np.ceil(PERIODS / (band.high * interval)))
    extended = np.concatenate([np.repeat(first, ends, -1), motion, np.repeat(last, ends, -1)], -1)
    ramp = np.linspace(0.0, 1.0, extended.shape[-1])
    line = first + (last - first) * ramp  # makes the ends equal, so that the periodic extension has no step
    length = extended.shape[-1]
    frequency = fft.rfftfreq(length, interval)
    spectrum = fft.rfft(extended - line, axis=-1) * band.low_pass(frequency)
    finer = max(1, int(np.ceil(FINE * band.high * interval)))
    smooth = finer * fft.irfft(spectrum, finer * length, axis=-1)
    times = time[0] + interval * (np.arange(finer * length) / finer - ends)
    found = CubicSpline(times, smooth, axis=-1)(at, 1 if rate else 0)
    slope = (last - first) / (interval * (length - 1))
    return np.asarray(found + (slope if rate else first + slope * (at - times[0])))
