"""Relaxation that gives a quality factor over a band of frequencies: weights of Debye mechanisms, fitted.

A modulus with mechanisms of relaxation times tau_m and defects d_m is M(w) = M_u (1 - d_m / (1 + i w tau_m)), M_u its
value at high frequency. Either all mechanisms act at every point and their defects add, or, coarse-grained (Day &
Bradley 2001), each point of a cell of 2 x 2 x 2 has one of eight; waves much longer than the cell then see one modulus made of the eight
(``coarse_grained``). The fit is of that one, so that it also holds for strong attenuation.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from faultwave.media.coarse_grained import effective

COARSE = 8
"""Mechanisms of a coarse-grained cell."""
ORDER = np.array([1, 6, 7, 4, 8, 3, 2, 5]) - 1
"""Mechanism of each point of a 2 x 2 x 2 cell, x fastest, then y, then z (Day & Bradley 2001)."""
LOWEST_Q = 5.0
FREQUENCIES = 60  # of the fit
WIDER = 2.5  # how far relaxation times reach beyond the band, where they still help at its ends


@dataclass(frozen=True)
class Spectrum:
    """What Q shall be: constant, or (f / corner)^exponent times that above ``corner``.

    ``low`` and ``high`` [Hz] bound the band; wave speeds are those at ``reference`` [Hz], which may lie outside of it.
    """

    low: float
    high: float
    reference: float
    exponent: float = 0.0
    corner: float = 1.0

    def factor(self, frequency: np.ndarray) -> np.ndarray:
        """Q(f) over Q."""
        return np.maximum(np.asarray(frequency, float) / self.corner, 1.0) ** self.exponent

    @property
    def nearest(self) -> float:
        """The frequency of the band [Hz] that is nearest to the reference."""
        return float(np.clip(self.reference, self.low, self.high))

    def drift(self, inverse_q: float) -> float:
        """Phase speed at ``nearest`` over that at the reference: d ln c / d ln f = atan(1/Q) / pi (Kjartansson 1979)."""
        path = np.linspace(np.log(self.reference), np.log(self.nearest), 65)
        rate = np.arctan(inverse_q / self.factor(np.exp(path))) / np.pi
        return float(np.exp(np.trapezoid(rate, path)))

    @property
    def times(self) -> np.ndarray:
        """Relaxation times (8,) [s], logarithmic over the band, ascending."""
        edges = np.log([1.0 / (2 * np.pi * self.high * WIDER), WIDER / (2 * np.pi * self.low)])
        return np.exp(np.linspace(edges[0], edges[1], COARSE))


def modulus(defects: np.ndarray, times: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """Complex modulus (nf,) over M_u of a coarse-grained medium for long waves, the mean of those along and across all axes."""
    omega = 2 * np.pi * np.asarray(frequency, float)[:, None]
    return effective((1.0 - defects / (1.0 + 1j * omega * times))[:, ORDER])


@dataclass(frozen=True)
class Relaxation:
    """Defects of each mechanism and the unrelaxed modulus as functions of 1/Q, tabulated.

    ``inverse_q`` (n,) ascending from 0; ``defects`` (n, 8); ``ratio`` (n,) unrelaxed modulus over the modulus that gives
    the phase speed at the reference frequency.
    """

    spectrum: Spectrum
    inverse_q: np.ndarray
    defects: np.ndarray
    ratio: np.ndarray

    def unrelaxed(self, q: np.ndarray) -> np.ndarray:
        """M_u over rho c^2 at quality factors q (infinite: 1)."""
        return np.interp(1.0 / np.asarray(q, float), self.inverse_q, self.ratio)

    def defect(self, q: np.ndarray, mechanism: np.ndarray) -> np.ndarray:
        """Defects at quality factors q (...) of mechanisms (...) 0 to 7."""
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
    """Defects per 1/Q where attenuation is weak: 1/Q is the mean of the mechanisms' own, non-negative least squares."""
    from scipy.optimize import nnls

    x = 2 * np.pi * frequency[:, None] * spectrum.times
    target = 1.0 / spectrum.factor(frequency)
    return nnls(x / (1 + x * x) / COARSE / target[:, None], np.ones(len(frequency)))[0]
