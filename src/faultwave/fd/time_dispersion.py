"""Time dispersion of leapfrog, and how seismograms are freed of it.

A step takes what a medium does at the frequency W for what it does at w, with W = 2/dt sin(w dt/2), whatever the medium: differences in
time over one step are those of a derivative at W. So sources are given as S'(w) = S(W(w)), and of a seismogram U' of the grid the one
of the medium is U(W) = U'(w(W)), with w = 2/dt asin(W dt/2) (Wang & Xu 2015, Geophysics 80; Koene et al. 2018, Geophys. J. Int. 213).
What is left is the error of the grid in space. Memory variables of attenuation see w where they should see W in one term,
which changes phase speeds by (w dt)^2 / (8 pi Q) of themselves.

Spectra between the frequencies of a discrete Fourier transform are interpolated in an oversampled one (Barnett et al. 2019, SIAM J.
Sci. Comput. 41), to twelve digits.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.model import Case
from faultwave.fd.drives import Drive
from faultwave.fd.program import LEVELS, STRESS_LEVEL
from faultwave.kernels.stencil import Injection

WIDTH, SHARPNESS = 14, 2.3 * 14
"""Points of the kernel that interpolates spectra, and its exponent."""
LATER, GONE = 1.1, 1.6
"""What sources do after the first of these times the length of a run never comes into it: frequencies of 7 samples a period and fewer.
There they go on as they are but fade, and are gone at the second: an end all at once would have higher ones."""
TOGETHER = 512
"""Steps whose amplitudes are asked for together."""
FADING = 0.125
"""Share of a seismogram's length over which it goes to zero after its end, for the transform."""
PREDICTORS, LEARNT = 40, 1000
"""Samples that the next one is predicted from after the end, and those at the end that this is learnt from."""
LAST, ERRS, STILL = 12, 0.04, 0.05
"""Steps at the end of a run that are less exact, as what follows is predicted; by how much of the motion there; the share of its peak
with which a receiver counts as in motion then."""


def removes(case: Case) -> bool:
    """Whether time dispersion is removed: where the case says so, else with order 8, unless it begins with motion."""
    setting = case.grid
    if setting is None or setting.time_dispersion is None:
        return setting is not None and setting.order == 8 and case.initial.kind == "zero"
    return setting.time_dispersion == "remove"


def check_removal(case: Case, problems: Problems) -> None:
    """What time dispersion cannot be removed from."""
    if not removes(case):
        return
    if case.initial.kind != "zero":
        what = "time dispersion can be removed from what sources make, not from motion at the start"
        problems.error("grid.time_dispersion", what, "keep", "Or give no initial.")
    maps = [name for name in ("intensity", "surface", "volume") if getattr(case.output, name) is not None]
    if maps:
        what = "is removed from seismograms, and stays in " + ", ".join(f"output.{name}" for name in maps)
        advice = "Lower numerics.cfl where that matters, or say 'keep' to have both alike."
        problems.warn("grid.time_dispersion", what, advice=advice)


def fast_length(least: int, real: bool = False) -> int:
    """The next length of so many numbers or more that NumPy transforms quickly: its prime factors are 2, 3 and 5, of complex numbers 7 and
    11, too. SciPy's function of this kind takes a tenth of a second to import."""
    primes = (2, 3, 5) if real else (2, 3, 5, 7, 11)
    return next(length for length in itertools.count(least) if _rest(length, primes) == 1)


def _rest(number: int, primes: Sequence[int]) -> int:
    """The factor of a number without these primes."""
    for prime in primes:
        while number % prime == 0:
            number //= prime
    return number


class Spectrum:
    """Fourier sums over ``count`` samples at the angles (m,) [rad a sample]: sum of x_n exp(-i angle n)."""

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
        """Of samples (count,), at all angles."""
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
    """1 at 0, next to nothing at -1 and 1, zero outside."""
    return np.where(np.abs(x) < 1.0, np.exp(SHARPNESS * (np.sqrt(np.maximum(1.0 - x * x, 0.0)) - 1.0)), 0.0)


class Undispersed:
    """A drive whose sources are given so that time dispersion can be removed from what they make in ``steps`` of ``step`` [s]."""

    def __init__(self, drive: Drive, step: float, steps: int):
        self.drive, self.step, self.steps = drive, step, steps
        self._made: dict[int, np.ndarray] | None = None

    @property
    def injections(self) -> Sequence[Injection]:
        """As of the drive."""
        return self.drive.injections

    @property
    def count(self) -> int:
        """As of the drive."""
        return self.drive.count

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """As of every ``Drive``; nothing long after the run, where speed may be measured."""
        if self._made is None:
            self._made = self._all()
        found = np.zeros((LEVELS, steps, max(1, self.count)))
        for level, made in self._made.items():
            some = made[:, first : first + steps].T
            found[level, : len(some)] = some
        return found

    def _all(self) -> dict[int, np.ndarray]:
        """(count, steps and more) of the whole run, by level. Amplitudes of a drive are means over a step, which their spectra are freed
        of."""
        found = self._given()
        if not found:
            return found
        count = kept_steps(self.steps)
        length = fast_length(2 * count, real=True)
        half = np.pi * np.arange(length // 2 + 1) / length  # w dt / 2
        angles = 2.0 * np.sin(half)  # W dt
        spectrum, means = Spectrum(count, angles), np.sinc(angles / (2.0 * np.pi))
        middle = np.exp(-0.5j * angles + 1j * half)  # where amplitudes of stresses stand in a step
        for level, series in found.items():
            for number in np.flatnonzero(np.any(series, axis=1)):
                mapped = spectrum(series[number]) / means * (middle if level == STRESS_LEVEL else 1.0)
                series[number] = np.fft.irfft(mapped, length)[:count]
        return found

    def _given(self) -> dict[int, np.ndarray]:
        """What the drive gives, by the levels that it pushes, faded after the end of the run."""
        count, found = kept_steps(self.steps), dict[int, np.ndarray]()
        for first in range(0, count, TOGETHER):
            block = self.drive.amplitudes(first, min(TOGETHER, count - first))
            for level in np.flatnonzero(np.any(block, axis=(1, 2))).tolist():
                if level not in found:
                    found[level] = np.zeros((block.shape[2], count))
                found[level][:, first : first + block.shape[1]] = block[level].T
        x = np.clip((np.arange(count) / max(1, self.steps) - LATER) / (GONE - LATER), 0.0, 1.0)
        fall = 0.5 + 0.5 * np.cos(np.pi * x * x * (3.0 - 2.0 * x))
        for series in found.values():
            series *= fall
        return found


@dataclass(frozen=True)
class Stepped:
    """How a grid stepped that kept time dispersion: its ``step`` [s], and the time [s] about which what drives it acts. Waves that sources
    sent then are late in proportion to the time since."""

    step: float
    origin: float = 0.0


def kept_steps(steps: int) -> int:
    """Numbers that are kept of each source, and level that it pushes, for a run of so many steps."""
    return int(np.ceil(GONE * steps)) + 1


def undispersed(
    values: np.ndarray, first: float, step: float, interval: float, count: int, of: Stepped | None = None
) -> np.ndarray:
    """Series (count, m) at multiples of ``interval`` [s], of a grid's values (n, m) at first, first + step, ... [s]. Before them all is at
    rest. ``of``: how the grid stepped, where that is not by ``step``."""
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
        whole[:inside] = shift * spectrum(np.concatenate([series, predicted(series, fading) * fall]))
        found[:, number] = np.fft.irfft(whole, length)[: count * finer : finer]
    return found


def late(of: Stepped, values: np.ndarray, interval: float, finer: float = 1.0) -> np.ndarray:
    """What time dispersion changes in series (n, ...) at multiples of ``interval`` [s], of a grid whose step was so many times shorter
    than ``of`` says. Sources were not given for it, so that it counts from the time about which they act; what it does to a pulse within
    that pulse's own length is left out."""
    stepped, flat = Stepped(of.step / finer, of.origin), np.asarray(values, float).reshape(len(values), -1)
    freed = undispersed(flat, 0.0, interval, interval, len(flat), stepped)
    return np.asarray((flat - freed).reshape(np.shape(values)))


def predicted(series: np.ndarray, count: int) -> np.ndarray:
    """So many values (count,) that go on as a series (n,) ends: linear prediction by Burg's method (1975), which never grows."""
    known = series[-LEARNT:]
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
    """Times (nt,) and series (nt, receivers, channels, Q) at multiples of ``interval`` of those of every step (n, receivers, channels, Q),
    of which the first are those before the first step; a column is ``late`` (Q,) steps after its start."""
    count = int(np.floor((len(values) - 1) * step / interval * (1 + 1e-12) + 1e-9)) + 1
    found = np.zeros((count, *values.shape[1:]))
    for share in np.unique(late):
        columns = np.flatnonzero(np.asarray(late) == share)
        series = np.asarray(values[..., columns], float)
        made = undispersed(series.reshape(len(series), -1), (share - 1.0) * step, step, interval, count)
        found[..., columns] = made.reshape(count, *series.shape[1:])
    return np.arange(count) * interval, found


def unquiet(velocity: np.ndarray, step: float) -> str:
    """What is wrong with the last samples of series (n, receivers, 3) at every ``step`` [s], if any receiver still moves then."""
    speed = np.sqrt((np.asarray(velocity, float) ** 2).sum(-1))
    peak = speed.max(0)
    share = np.divide(speed[-LAST:].max(0), peak, out=np.zeros_like(peak), where=peak > 0)
    moving = np.flatnonzero(share > STILL)
    if not len(moving):
        return ""
    worst = int(share.argmax())
    return (
        f"{len(moving)} of {len(share)} still move at the end, number {worst + 1} with "
        f"{100 * share[worst]:.0f} % of its peak: removing time dispersion predicts what follows, so that "
        f"the last {LAST} steps ({LAST * step:.3g} s) err by up to {100 * ERRS:.0f} % of the motion there"
    )


__all__ = [
    "Spectrum",
    "Stepped",
    "Undispersed",
    "check_removal",
    "kept_steps",
    "late",
    "predicted",
    "removed",
    "removes",
    "undispersed",
    "unquiet",
]
