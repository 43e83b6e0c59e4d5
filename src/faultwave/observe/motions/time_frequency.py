"""Envelope and phase misfits in time and frequency (Kristekova, Kristek & Moczo 2006, 2009).

Both records are transformed with a Morlet wavelet with w0 = 6. The single-valued misfits, normalised globally by the reference, are

    EM = sqrt( sum (|W| - |Wr|)^2 / sum |Wr|^2 ),   PM = sqrt( sum (|Wr| arg(W / Wr) / pi)^2 / sum |Wr|^2 )

over all times and frequencies, and the scores are 10 exp(-EM) and 10 (1 - PM).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

W0 = 6.0
COUNT = 60
"""Number of logarithmically spaced frequencies."""


@dataclass(frozen=True)
class Misfit:
    """Single-valued misfits, and misfits by ``frequency`` (k,) [Hz] of ``envelopes`` and ``phases`` (k,)."""

    envelope: float
    phase: float
    frequency: np.ndarray
    envelopes: np.ndarray
    phases: np.ndarray

    @property
    def envelope_score(self) -> float:
        return float(10.0 * np.exp(-abs(self.envelope)))

    @property
    def phase_score(self) -> float:
        return float(10.0 * (1.0 - abs(self.phase)))


def wavelets(values: np.ndarray, step: float, frequency: np.ndarray) -> np.ndarray:
    """Return the continuous wavelet transform (k, n) of values (n,) at frequencies (k,) [Hz]."""
    window = _windows(len(values), step, frequency)
    spectrum = np.fft.fft(values, window.shape[1])
    return np.asarray(np.fft.ifft(spectrum * window, axis=1)[:, : len(values)])


def correlate_wavelets(coefficients: np.ndarray, step: float, frequency: np.ndarray) -> np.ndarray:
    """Return the transpose of the wavelet transform: the series (n,) x with x . v = Re sum(conj(coefficients) * wavelets(v)) for all v.

    ``coefficients`` has the shape (k, n).
    """
    count = coefficients.shape[1]
    window = _windows(count, step, frequency)
    spectrum = np.fft.fft(coefficients, window.shape[1], axis=1)
    return np.asarray(np.fft.ifft((spectrum * window).sum(0))[:count].real)


def _windows(count: int, step: float, frequency: np.ndarray) -> np.ndarray:
    """Return the transforms of the wavelets at frequencies (k,) [Hz] for series of ``count`` values.

    They have no negative frequencies, since the wavelet is analytic up to exp(-w0^2 / 2).
    """
    size = 1 << (2 * count - 1).bit_length()
    angular = 2 * np.pi * np.fft.fftfreq(size, step)
    scale = W0 / (2 * np.pi * frequency)[:, None]
    return np.asarray(
        np.pi**-0.25 * np.sqrt(2 * np.pi * scale) * np.exp(-0.5 * (scale * angular - W0) ** 2) * (angular > 0)
    )


def misfit(values: np.ndarray, reference: np.ndarray, step: float, low: float, high: float) -> Misfit:
    """Return the misfits of values (n,) against a reference (n,) between two frequencies [Hz], not finite for a zero reference."""
    frequency = np.geomspace(low, high, COUNT)
    w, r = wavelets(values, step, frequency), wavelets(reference, step, frequency)
    size = np.abs(r)
    envelope = np.abs(w) - size
    phase = size * np.angle(w * np.conj(r)) / np.pi
    norm = (size**2).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        em, pm = (np.sqrt((x**2).sum() / norm) for x in (envelope, phase))
        rows = [np.sqrt((x**2).sum(1) / (size**2).sum(1).max()) for x in (envelope, phase)]
    return Misfit(float(em), float(pm), frequency, rows[0], rows[1])


__all__ = ["Misfit", "correlate_wavelets", "misfit", "wavelets"]
