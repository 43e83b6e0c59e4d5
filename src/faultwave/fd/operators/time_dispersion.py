"""Time dispersion of the leapfrog scheme, and its removal from seismograms.

A step applies the response of a medium at the frequency W in place of w, with W = 2/dt sin(w dt/2), whatever the
medium: differences in time over one step equal a derivative at W. Therefore sources are injected as S'(w) = S(W(w)),
and the spectrum of the medium follows from the seismogram U' of the grid by U(W) = U'(w(W)), with w = 2/dt asin(W dt/2)
(Wang & Xu 2015, Geophysics 80; Koene et al. 2018, Geophys. J. Int. 213). The remaining error is the spatial one of the
grid. Memory variables of attenuation respond at w instead of W in one term, which changes phase speeds by the relative
amount (w dt)^2 / (8 pi Q).

Spectra between the frequencies of a discrete Fourier transform are interpolated from an oversampled one (Barnett et al.
2019, SIAM J. Sci. Comput. 41), to twelve digits.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.settings.model import Case
from faultwave.fd.method.scheme import LEVELS, Level
from faultwave.fd.operators.points import Drive
from faultwave.kernels.stencil import Injection

WIDTH, SHARPNESS = 14, 2.3 * 14
"""Number of points and exponent of the kernel that interpolates spectra."""
TAPER_START, TAPER_END = 1.1, 1.6
"""Times, in lengths of the run, at which the taper of sources after the run begins and ends.

Source signals later than the first do not affect the run, for frequencies of 7 samples a period and fewer. They are
tapered smoothly, because an abrupt end would contain higher frequencies.
"""
TOGETHER = 512
"""Number of steps whose amplitudes are computed together."""
FADING = 0.125
"""Length of the taper after the end of a seismogram, relative to its length."""
PREDICTORS, PREDICTION_SAMPLES = 40, 1000
"""Order of the linear prediction after the end of a series, and number of final samples from which it is estimated."""
INEXACT_STEPS, INEXACT_RELATIVE_ERROR, MOTION_THRESHOLD = 12, 0.04, 0.05
"""Number of final steps that are less accurate because of the prediction, their relative error, and the motion threshold.

The threshold is the fraction of its peak above which a receiver counts as moving at the end.
"""


def removes(case: Case) -> bool:
    """Return True if time dispersion is removed: as the case says, by default with order 8 and a start from rest."""
    setting = case.grid
    if setting is None or setting.time_dispersion is None:
        return setting is not None and setting.order == 8 and case.initial.kind == "zero"
    return setting.time_dispersion == "remove"


def check_removal(case: Case, problems: Problems) -> None:
    """Report combinations of settings in which time dispersion cannot be removed."""
    if not removes(case):
        return
    if case.initial.kind != "zero":
        what = "time dispersion can be removed from waves of sources, but not from initial motion"
        problems.error("grid.time_dispersion", what, "keep", "Or remove initial.")
    maps = [name for name in ("intensity", "surface", "volume") if getattr(case.output, name) is not None]
    if maps:
        what = "is removed from seismograms, but remains in " + ", ".join(f"output.{name}" for name in maps)
        advice = "Lower numerics.cfl if this matters, or use 'keep' for consistent results."
        problems.warn("grid.time_dispersion", what, advice=advice)


def fast_length(least: int, real: bool = False) -> int:
    """Return the smallest length of at least ``least`` that NumPy transforms quickly.

    Its prime factors are 2, 3 and 5, for complex numbers also 7 and 11. The equivalent function of SciPy takes a tenth
    of a second to import.
    """
    primes = (2, 3, 5) if real else (2, 3, 5, 7, 11)
    return next(length for length in itertools.count(least) if _cofactor(length, primes) == 1)


def _cofactor(number: int, primes: Sequence[int]) -> int:
    """Return the cofactor of a number without the given prime factors."""
    for prime in primes:
        while number % prime == 0:
            number //= prime
    return number


class Spectrum:
    """Fourier sums over ``count`` samples at arbitrary angles (m,) [rad per sample]: sum of x_n exp(-i angle n)."""

    def __init__(self, count: int, angles: np.ndarray):
        self.count, self.half = count, count // 2
        self.size = fast_length(max(2 * count, 2 * WIDTH))
        fine = 2.0 * np.pi / self.size
        nodes, weights = np.polynomial.legendre.leggauss(4 * WIDTH)
        modes = np.arange(count) - self.half
        turns = np.cos(np.outer(modes, 0.5 * WIDTH * fine * nodes))
        self.scale = fine / (0.5 * WIDTH * fine * (turns @ (weights * _kernel(nodes))))
        first = np.ceil(angles / fine - 0.5 * WIDTH).astype(int)
        self.at = [(first + n) % self.size for n in range(WIDTH)]
        self.shares = [_kernel((angles - (first + n) * fine) / (0.5 * WIDTH * fine)) for n in range(WIDTH)]
        self.turn = np.exp(-1j * angles * self.half)

    def __call__(self, samples: np.ndarray) -> np.ndarray:
        """Return the sums (m,) of samples (count,)."""
        padded = np.zeros(self.size)
        scaled = samples * self.scale
        padded[: self.count - self.half] = scaled[self.half :]
        padded[self.size - self.half :] = scaled[: self.half]
        fine = np.fft.fft(padded)
        total = self.shares[0] * fine[self.at[0]]
        for share, at in zip(self.shares[1:], self.at[1:], strict=True):
            total = total + share * fine[at]
        return np.asarray(self.turn * total)


def _kernel(x: np.ndarray) -> np.ndarray:
    """Return the interpolation kernel: 1 at 0, nearly 0 at -1 and 1, zero outside."""
    return np.where(np.abs(x) < 1.0, np.exp(SHARPNESS * (np.sqrt(np.maximum(1.0 - x * x, 0.0)) - 1.0)), 0.0)


class DispersionCorrectedSource:
    """Source injector whose signals are modified so that time dispersion can be removed from the seismograms.

    Parameters
    ----------
    drive : Drive
        Original injector.
    step : float
        Time step [s].
    steps : int
        Number of steps of the run.
    """

    def __init__(self, drive: Drive, step: float, steps: int):
        self.drive, self.step, self.steps = drive, step, steps
        self._made: dict[int, np.ndarray] | None = None

    @property
    def injections(self) -> Sequence[Injection]:
        """Injections of the original injector."""
        return self.drive.injections

    @property
    def count(self) -> int:
        """Number of sources of the original injector."""
        return self.drive.count

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """Return amplitudes (levels, steps, count); zero long after the run, where only speed may be measured."""
        if self._made is None:
            self._made = self._all()
        found = np.zeros((LEVELS, steps, max(1, self.count)))
        for level, made in self._made.items():
            some = made[:, first : first + steps].T
            found[level, : len(some)] = some
        return found

    def _all(self) -> dict[int, np.ndarray]:
        """Return the modified amplitudes (count, n) of the whole run and its taper, by level.

        Amplitudes of the original injector are means over a step, which the spectra are corrected for.
        """
        found = self._given()
        if not found:
            return found
        count = stored_source_steps(self.steps)
        length = fast_length(2 * count, real=True)
        half = np.pi * np.arange(length // 2 + 1) / length  # w dt / 2
        angles = 2.0 * np.sin(half)  # W dt
        spectrum, means = Spectrum(count, angles), np.sinc(angles / (2.0 * np.pi))
        middle = np.exp(-0.5j * angles + 1j * half)  # time of the amplitudes of stresses within a step
        for level, series in found.items():
            for number in np.flatnonzero(np.any(series, axis=1)):
                mapped = spectrum(series[number]) / means * (middle if level == Level.STRESS else 1.0)
                series[number] = np.fft.irfft(mapped, length)[:count]
        return found

    def _given(self) -> dict[int, np.ndarray]:
        """Return the original amplitudes (count, n) by the levels that they drive, tapered after the end of the run."""
        count, found = stored_source_steps(self.steps), dict[int, np.ndarray]()
        for first in range(0, count, TOGETHER):
            block = self.drive.amplitudes(first, min(TOGETHER, count - first))
            for level in np.flatnonzero(np.any(block, axis=(1, 2))).tolist():
                if level not in found:
                    found[level] = np.zeros((block.shape[2], count))
                found[level][:, first : first + block.shape[1]] = block[level].T
        x = np.clip((np.arange(count) / max(1, self.steps) - TAPER_START) / (TAPER_END - TAPER_START), 0.0, 1.0)
        fall = 0.5 + 0.5 * np.cos(np.pi * x * x * (3.0 - 2.0 * x))
        for series in found.values():
            series *= fall
        return found


@dataclass(frozen=True)
class Stepped:
    """Time stepping of a grid whose time dispersion is not removed.

    Waves are late in proportion to the time since their emission.

    Attributes
    ----------
    step : float
        Time step [s].
    origin : float
        Time [s] around which the sources act.
    """

    step: float
    origin: float = 0.0


def stored_source_steps(steps: int) -> int:
    """Return the number of samples stored for each source and driven level in a run of ``steps`` steps."""
    return int(np.ceil(TAPER_END * steps)) + 1


def remove_dispersion(
    values: np.ndarray, first: float, step: float, interval: float, count: int, of: Stepped | None = None
) -> np.ndarray:
    """Return series without time dispersion.

    Parameters
    ----------
    values : ndarray (n, m)
        Series of a grid, zero before the first sample.
    first, step : float
        Time of the first sample and sampling interval [s].
    interval : float
        Output interval [s].
    count : int
        Number of output samples.
    of : Stepped, optional
        Time stepping of the grid if it differs from ``step``.

    Returns
    -------
    ndarray (count, m)
        Series at multiples of ``interval``.
    """
    of = of or Stepped(step)
    fading = max(WIDTH, int(FADING * len(values)))
    fall = 0.5 + 0.5 * np.cos(np.pi * (np.arange(fading) + 1.0) / (fading + 1.0))
    finer = max(1, int(np.ceil(interval / step * (1 - 1e-9))))
    fine, total = interval / finer, len(values) + fading
    length = fast_length(max(int(1.5 * total * step / fine) + 1, 2 * count * finer), real=True)
    sine = 0.5 * of.step * 2.0 * np.pi / (length * fine) * np.arange(length // 2 + 1)  # W dt / 2
    inside = int((sine < 1.0).sum())
    sine, ratio = sine[:inside], step / of.step
    angles = 2.0 * np.arcsin(sine) * ratio  # w, in samples
    spectrum, found = Spectrum(total, angles), np.zeros((count, values.shape[1]))
    shift = step / fine * np.exp(-1j * angles * (first / step))
    if of.origin:
        shift = shift * np.exp(1j * (angles - 2.0 * sine * ratio) * (of.origin / step))
    for number, series in enumerate(values.T):
        whole = np.zeros(length // 2 + 1, complex)
        whole[:inside] = shift * spectrum(np.concatenate([series, extrapolate_burg(series, fading) * fall]))
        found[:, number] = np.fft.irfft(whole, length)[: count * finer : finer]
    return found


def late(of: Stepped, values: np.ndarray, interval: float, finer: float = 1.0) -> np.ndarray:
    """Return the change of series due to time dispersion.

    The sources were not modified, so that the delay counts from the time around which they act; the effect within the
    length of a pulse itself is neglected.

    Parameters
    ----------
    of : Stepped
        Time stepping of the grid.
    values : ndarray (n, ...)
        Series at multiples of ``interval``.
    interval : float
        Sampling interval [s].
    finer : float
        Factor by which the grid's step was shorter than ``of.step``.
    """
    stepped, flat = Stepped(of.step / finer, of.origin), np.asarray(values, float).reshape(len(values), -1)
    freed = remove_dispersion(flat, 0.0, interval, interval, len(flat), stepped)
    return np.asarray((flat - freed).reshape(np.shape(values)))


def extrapolate_burg(series: np.ndarray, count: int) -> np.ndarray:
    """Return a continuation (count,) of a series (n,) by linear prediction with Burg's method (1975), which never grows."""
    known = series[-PREDICTION_SAMPLES:]
    forward, backward, rule = known[1:], known[:-1], np.ones(1)
    for _ in range(min(PREDICTORS, len(known) // 3)):
        energy = float(forward @ forward + backward @ backward)
        if energy <= 1e-28 * float(known @ known):
            break
        share = -2.0 * float(backward @ forward) / energy
        rule = np.append(rule, 0.0) + share * np.append(rule, 0.0)[::-1]
        forward, backward = (forward + share * backward)[1:], (backward + share * forward)[:-1]
    back = len(rule) - 1
    made = np.append(series[len(series) - back :], np.zeros(count))
    for n in range(back, back + count):
        made[n] = -(rule[:0:-1] @ made[n - back : n])
    return made[back:]


def removed(values: np.ndarray, late: Sequence[float], step: float, interval: float) -> tuple[np.ndarray, np.ndarray]:
    """Return seismograms without time dispersion at multiples of an interval.

    Parameters
    ----------
    values : ndarray (n, receivers, channels, Q)
        Samples of every step; the first are the state before the first step.
    late : sequence of float (Q,)
        Time of each quantity after the start of its step, in steps.
    step, interval : float
        Time step and output interval [s].

    Returns
    -------
    time : ndarray (nt,)
    series : ndarray (nt, receivers, channels, Q)
    """
    count = int(np.floor((len(values) - 1) * step / interval * (1 + 1e-12) + 1e-9)) + 1
    found = np.zeros((count, *values.shape[1:]))
    for share in np.unique(late):
        columns = np.flatnonzero(np.asarray(late) == share)
        series = np.asarray(values[..., columns], float)
        made = remove_dispersion(series.reshape(len(series), -1), (share - 1.0) * step, step, interval, count)
        found[..., columns] = made.reshape(count, *series.shape[1:])
    return np.arange(count) * interval, found


def residual_motion_warning(velocity: np.ndarray, step: float) -> str:
    """Return a warning text if any receiver still moves at the end of its series; empty otherwise.

    ``velocity`` (n, receivers, 3) is sampled at every ``step`` [s].
    """
    speed = np.sqrt((np.asarray(velocity, float) ** 2).sum(-1))
    peak = speed.max(0)
    share = np.divide(speed[-INEXACT_STEPS:].max(0), peak, out=np.zeros_like(peak), where=peak > 0)
    moving = np.flatnonzero(share > MOTION_THRESHOLD)
    if not len(moving):
        return ""
    worst = int(share.argmax())
    return (
        f"{len(moving)} of {len(share)} still move at the end, number {worst + 1} with "
        f"{100 * share[worst]:.0f} % of its peak: the correction of time dispersion extrapolates their motion, "
        f"so that errors of the last {INEXACT_STEPS} steps ({INEXACT_STEPS * step:.3g} s) are up to "
        f"{100 * INEXACT_RELATIVE_ERROR:.0f} % of the motion there"
    )
