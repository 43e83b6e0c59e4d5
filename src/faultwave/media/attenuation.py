"""Coarse-grained relaxation mechanisms that yield a quality factor over a band of frequencies.

A modulus with mechanisms of relaxation times tau_m and defects d_m is M(w) = M_u (1 - d_m / (1 + i w tau_m)), where M_u
is its value at high frequency. Either all mechanisms act at every point and their defects add, or, coarse-grained (Day
& Bradley 2001), each point of a cell of 2 x 2 x 2 has one of eight; waves much longer than the cell then see one
effective modulus (``coarse_grained``). The fit uses that modulus, so that it also holds for strong attenuation.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from faultwave.media.coarse_grained import effective

COARSE = 8
"""Number of mechanisms of a coarse-grained cell."""
ORDER = np.array([1, 6, 7, 4, 8, 3, 2, 5]) - 1
"""Mechanism of each point of a 2 x 2 x 2 cell, x fastest, then y, then z (Day & Bradley 2001)."""
LOWEST_Q = 5.0
FREQUENCIES = 60  # number of frequencies of the fit
WIDER = 2.5  # extent of relaxation times beyond the band, where they still improve the fit at its ends


@dataclass(frozen=True)
class Spectrum:
    """Frequency dependence of Q: constant, or growing as (f / corner)^exponent above ``corner``.

    Attributes
    ----------
    low, high : float
        Ends of the band [Hz].
    reference : float
        Frequency of the wave speeds [Hz], which may lie outside the band.
    exponent : float
    corner : float
        Frequency above which Q grows [Hz].
    """

    low: float
    high: float
    reference: float
    exponent: float = 0.0
    corner: float = 1.0

    def factor(self, frequency: np.ndarray) -> np.ndarray:
        """Return Q at a frequency [Hz] relative to the constant Q."""
        return np.maximum(np.asarray(frequency, float) / self.corner, 1.0) ** self.exponent

    @property
    def nearest(self) -> float:
        """Frequency of the band [Hz] nearest to the reference."""
        return float(np.clip(self.reference, self.low, self.high))

    def drift(self, inverse_q: float) -> float:
        """Return the ratio of the phase speeds at ``nearest`` and at the reference frequency.

        It follows from d ln c / d ln f = atan(1/Q) / pi (Kjartansson 1979).
        """
        path = np.linspace(np.log(self.reference), np.log(self.nearest), 65)
        rate = np.arctan(inverse_q / self.factor(np.exp(path))) / np.pi
        return float(np.exp(np.trapezoid(rate, path)))

    @property
    def times(self) -> np.ndarray:
        """Relaxation times (8,) [s], logarithmic over the band, ascending."""
        edges = np.log([1.0 / (2 * np.pi * self.high * WIDER), WIDER / (2 * np.pi * self.low)])
        return np.exp(np.linspace(edges[0], edges[1], COARSE))


def modulus(defects: np.ndarray, times: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """Return the effective complex modulus (nf,) over M_u for long waves, the mean over all axes and wave types."""
    omega = 2 * np.pi * np.asarray(frequency, float)[:, None]
    return effective((1.0 - defects / (1.0 + 1j * omega * times))[:, ORDER])


@dataclass(frozen=True)
class Relaxation:
    """Defects of each mechanism and unrelaxed modulus, tabulated over 1/Q.

    Attributes
    ----------
    spectrum : Spectrum
    inverse_q : ndarray (n,)
        1/Q, ascending from 0.
    defects : ndarray (n, 8)
    ratio : ndarray (n,)
        Unrelaxed modulus over the modulus of the phase speed at the reference frequency.
    """

    spectrum: Spectrum
    inverse_q: np.ndarray
    defects: np.ndarray
    ratio: np.ndarray

    def unrelaxed(self, q: np.ndarray) -> np.ndarray:
        """Return M_u over rho c^2 at quality factors ``q`` (1 at infinity)."""
        return np.interp(1.0 / np.asarray(q, float), self.inverse_q, self.ratio)

    def defect(self, q: np.ndarray, mechanism: np.ndarray) -> np.ndarray:
        """Return the defects of mechanisms (...), 0 to 7, at quality factors ``q`` (...)."""
        x = np.clip(1.0 / np.asarray(q, float), self.inverse_q[0], self.inverse_q[-1])
        i = np.clip(np.searchsorted(self.inverse_q, x) - 1, 0, len(self.inverse_q) - 2)
        part = (x - self.inverse_q[i]) / (self.inverse_q[i + 1] - self.inverse_q[i])
        return (1 - part) * self.defects[i, mechanism] + part * self.defects[i + 1, mechanism]


@functools.lru_cache(maxsize=8)
def relaxation(spectrum: Spectrum) -> Relaxation:
    """Fit the mechanisms for every Q above ``LOWEST_Q``."""
    from scipy.optimize import least_squares

    inverse = np.concatenate(([0.0], np.geomspace(1e-4, 1.0 / LOWEST_Q, 48)))
    times = spectrum.times
    frequency = np.geomspace(spectrum.low, spectrum.high, FREQUENCIES)
    defects, ratio = np.zeros((len(inverse), COARSE)), np.ones(len(inverse))
    start = _linear(spectrum, frequency)
    for n, x in enumerate(inverse[1:], 1):
        target = x / spectrum.factor(frequency)

        def misfit(d: np.ndarray, target: np.ndarray = target) -> np.ndarray:
            m = modulus(d, times, frequency)
            return m.imag / m.real / target - 1.0

        guess = np.clip(start if n == 1 else defects[n - 1] / inverse[n - 1], 0, None) * x
        defects[n] = least_squares(misfit, np.clip(guess, 1e-9, 0.9), bounds=(0.0, 0.99), x_scale=max(x, 1e-9)).x
        speed = 1.0 / (1.0 / np.sqrt(modulus(defects[n], times, np.array([spectrum.nearest]))[0])).real
        ratio[n] = (spectrum.drift(float(x)) / speed) ** 2
    return Relaxation(spectrum, inverse, defects, ratio)


def _linear(spectrum: Spectrum, frequency: np.ndarray) -> np.ndarray:
    """Return defects per 1/Q for weak attenuation, where mechanisms are averaged, by non-negative least squares."""
    from scipy.optimize import nnls

    x = 2 * np.pi * frequency[:, None] * spectrum.times
    target = 1.0 / spectrum.factor(frequency)
    return nnls(x / (1 + x * x) / COARSE / target[:, None], np.ones(len(frequency)))[0]
