"""Resonances of recorded signals: frequencies and quality factors by harmonic inversion.

A signal that rings is a sum of damped exponentials; their poles follow from the shift invariance of the signal
subspace (ESPRIT: Roy & Kailath 1989; matrix pencil: Hua & Sarkar 1990), far sharper than bins of a Fourier transform.
The band of interest is mixed to zero frequency, filtered and decimated first: a filter scales exponentials but does not change
their poles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.log import get_logger
from faultwave.observe.dataset import Dataset, Variable

FEWEST = 12  # minimum number of samples after decimation
LONGEST = 600  # maximum number of samples used after decimation
ATTENUATION = 100.0  # [dB] attenuation outside the band
GROWTH = 0.01  # over all samples: more cannot be rounding of an undamped resonance
LISTED_LINES = 5  # most frequencies that a warning states
LOWEST_QUALITY = float(np.pi)
"""Minimum quality factor of a resonance.

Its amplitude after one period is at least 1/e of the initial one. Below it, ringing cannot be distinguished from a transient.
"""
WIDEST = 0.5
"""Maximum half-power width f / Q of a resonance relative to the band; wider lines are residues of the filter."""


@dataclass(frozen=True)
class Resonance:
    """Resonance of recorded signals.

    Attributes
    ----------
    frequency : float
        Frequency [Hz].
    quality : float
        Quality factor, pi frequency / decay rate; infinite if the signals show no decay.
    amplitude : float
        Amplitude at the first sample, in the unit of the signal in which it is largest.
    share : float
        Fraction of the strongest amplitude in the band.
    """

    frequency: float
    quality: float
    amplitude: float
    share: float


def resonances(
    signals: np.ndarray,
    interval: float,
    band: tuple[float, float],
    floor: float = 1e-3,
    resolution: float = 1e-6,
) -> list[Resonance]:
    """Return the resonances of signals within a frequency band, ascending in frequency.

    Lines that grow, and lines that do not ring (``rings``), are no resonances: they are omitted, with a warning if they are strong.

    Parameters
    ----------
    signals : ndarray of shape (n,) or (n, p)
        One or several signals.
    interval : float
        Sampling interval [s].
    band : tuple of float
        Lowest and highest frequency [Hz].
    floor : float
        Fraction of the strongest amplitude below which a peak is omitted.
    resolution : float
        Relative size of singular values that are considered noise.

    Raises
    ------
    ValueError
        If the band does not fit the sampling, or the signals are too short for it.
    """
    x = np.asarray(signals, float)
    x = x[:, None] if x.ndim == 1 else x
    low, high = band
    if not 0 < low < high <= 0.5 / interval:
        raise ValueError(f"the band {low:g} to {high:g} Hz does not fit samples every {interval:g} s")
    y, step, centre, taps = _decimated(x, interval, low, high)
    if len(y) < FEWEST:
        raise ValueError(f"{len(x)} samples of {interval:g} s are too short for the band {low:g} to {high:g} Hz")
    scale = np.abs(y).max()
    if not scale > 0:
        return []
    poles = _poles(y / scale, resolution)
    rate = np.log(poles) / step  # -decay + i (omega - centre)
    omega = rate.imag + centre
    inside = (omega >= 2 * np.pi * low) & (omega <= 2 * np.pi * high)
    basis = np.exp(np.outer(np.arange(len(y)) * step, rate))
    gain = np.exp(np.outer(rate, np.arange(len(taps))[::-1]) * interval) @ taps
    amplitudes = np.abs(np.linalg.lstsq(basis, y, rcond=None)[0]).max(1) / np.abs(gain)
    grows = inside & (rate.real * len(y) * step > GROWTH)
    ringing = rings(omega / (2 * np.pi), -rate.real, high - low)
    retained = inside & ~grows & ringing
    found = [(omega[i] / (2 * np.pi), rate[i].real, amplitudes[i]) for i in np.flatnonzero(retained)]
    strongest = max((a for *_, a in found), default=0.0)
    strong = amplitudes >= floor * strongest
    _warn_omitted(omega / (2 * np.pi), rate.real, amplitudes, grows & strong, inside & ~grows & ~ringing & strong)
    return [
        Resonance(float(f), _quality(f, r), 2.0 * float(a), float(a / strongest))
        for f, r, a in sorted(found)
        if a >= floor * strongest
    ]


def _warn_omitted(
    frequency: np.ndarray, growth: np.ndarray, amplitudes: np.ndarray, grow: np.ndarray, fade: np.ndarray
) -> None:
    """Warn of strong lines (n,) that ``grow`` or ``fade`` too quickly to be resonances; ``growth`` is their rate [1/s]."""
    if grow.any():
        reported = ", ".join(f"{f:.6g}" for f in np.sort(frequency[grow])[:LISTED_LINES])
        get_logger(__name__).warning(
            ("omitted %d lines that grow, at %s Hz: a source may still be acting (start later), or they are "
            "noise (raise the resolution)"),
            grow.sum(), reported,
        )  # fmt: skip
    if fade.any():
        worst = np.argmax(np.where(fade, amplitudes, 0.0))
        get_logger(__name__).warning(
            "omitted %d lines that do not ring, the strongest at %.6g Hz with a quality factor of %.2g: a "
            "source may still be acting (start later), or waves leave",
            fade.sum(), frequency[worst], _quality(frequency[worst], growth[worst]),
        )  # fmt: skip


def rings(frequency: np.ndarray, decay: np.ndarray, band: float) -> np.ndarray:
    """Return True for each line (n,) that is a resonance, not a transient represented by a sum of exponentials.

    Parameters
    ----------
    frequency : ndarray of shape (n,)
        Frequencies of the lines [Hz].
    decay : ndarray of shape (n,)
        Decay rates of their amplitudes [1/s]; the quality factor is pi frequency / decay.
    band : float
        Width of the band in which they were found [Hz].
    """
    width = decay / np.pi  # at half the power [Hz]
    return np.asarray((width * LOWEST_QUALITY <= np.abs(frequency)) & (width <= WIDEST * band))


def long_enough(samples: int, interval: float, band: tuple[float, float]) -> bool:
    """Return True if ``samples`` samples every ``interval`` [s] suffice to find lines within ``band`` [Hz]."""
    if samples < 1:
        return False
    every, length, _ = _decimation(samples, interval, *band)
    return -(-(samples - length + 1) // every) >= FEWEST


def _quality(frequency: float, rate: float) -> float:
    return float(-np.pi * frequency / rate) if rate < 0 else float("inf")


def _decimated(x: np.ndarray, interval: float, low: float, high: float) -> tuple[np.ndarray, float, float, np.ndarray]:
    """Return decimated signals (samples, p) around zero frequency, their step [s], the angular centre frequency and the filter."""
    centre = np.pi * (low + high)
    every, length, beta = _decimation(len(x), interval, low, high)
    mixed = x * np.exp(-1j * centre * np.arange(len(x)) * interval)[:, None]
    taps = np.ones(1)
    if every > 1:
        from scipy import signal as processing  # slow import, needed by few runs

        taps = processing.firwin(length, 1.0 / every, window=("kaiser", beta))  # half the new sampling rate
    filtered = np.stack([np.convolve(c, taps, "valid") for c in mixed.T], 1)[::every]
    return filtered[:LONGEST], every * interval, centre, taps


def _decimation(samples: int, interval: float, low: float, high: float) -> tuple[int, int, float]:
    """Return the decimation factor, and the length and Kaiser parameter of the filter before it."""
    width = high - low
    every = max(1, int(0.25 / (width * interval)))  # avoids aliasing of other bands into this one
    if every == 1:
        return 1, 1, 0.0
    from scipy import signal as processing  # slow import, needed by few runs

    transition = 1.0 / (every * interval) - width  # between the band and its images [Hz]
    length, beta = processing.kaiserord(ATTENUATION, 2.0 * transition * interval)
    return every, min(int(length) | 1, (samples // 2) | 1), float(beta)


def _poles(y: np.ndarray, resolution: float) -> np.ndarray:
    """Return the poles exp(rate step) of the exponentials in y (n, p)."""
    n, p = y.shape
    rows = n // 2
    hankel = np.concatenate([y[i : i + n - rows + 1].T for i in range(rows)])  # row i p + k: signal k from sample i on
    u, s, _ = np.linalg.svd(hankel, full_matrices=False)
    rank = int(np.clip((s > resolution * s[0]).sum(), 1, min(rows - 1, n - rows)))
    u = u[:, :rank]
    shift = np.linalg.lstsq(u[:-p], u[p:], rcond=None)[0]
    poles = np.linalg.eigvals(shift)
    return np.asarray(poles[np.abs(poles) > 1e-6])


def dataset(found: Sequence[Resonance]) -> Dataset:
    """Return frequency [Hz], quality, amplitude and share (n,) as a Dataset."""
    units = {"frequency": "Hz", "quality": "", "amplitude": "", "share": ""}
    columns = {n: Variable(np.array([getattr(r, n) for r in found]), ("resonance",), u) for n, u in units.items()}
    return Dataset("resonances", columns)
