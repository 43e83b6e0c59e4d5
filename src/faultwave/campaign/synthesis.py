"""Synthesis of seismograms from strain Green tensors, with all convolutions in the frequency domain.

The velocity of a site along force n is the sum over subfaults of (M : e_n) * s, where M is the moment tensor per unit slip, e_n the
strain under the force and s the slip rate with its onset. For each of a few subfaults at a time, the tensors of all ruptures of a
batch are contracted with the spectra of the strain in one matrix product, multiplied by the spectra of the slip rates and added; one
inverse transform ends the batch. Spectra of slip rates are exact for rates that are linear between samples, at any onset: no
rate is resampled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

ROWS = 64
"""Number of subfaults times ruptures whose spectra are in the cache of a processor at once."""
FINE = 32
"""Number of frequencies between those at which phases of onsets are computed in double precision."""
DOUBLED = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
"""Number of times that a component xx yy zz xy yz xz occurs in a symmetric tensor."""
STOP = 1.5
"""Frequency of the low-pass above which nothing remains, as a multiple of its corner."""
RESOLVED = 0.05
"""Amplitude of the Gaussian of the forces at the highest frequency that the grid resolves."""
LARGEST_GAIN = 1e3
"""Largest factor by which the smoothing of the forces may be undone: more would amplify rounding errors of single precision."""


@dataclass(frozen=True)
class FrequencyGrid:
    """Frequencies of the synthesis: multiples of 1 / (samples * interval) from zero.

    Attributes
    ----------
    samples : int
        Length of the transforms.
    interval : float
        Sampling interval [s].
    count : int
        Number of frequencies that are computed; higher ones are zero.
    """

    samples: int
    interval: float
    count: int

    @cached_property
    def frequency(self) -> np.ndarray:
        """Frequencies (count,) [Hz]."""
        return np.arange(self.count) / (self.samples * self.interval)


@dataclass(frozen=True)
class Band:
    """Correction of the smoothing of the forces.

    Attributes
    ----------
    sigma : float
        Standard deviation of the Gaussian of the forces [s].
    corner : float or None
        Frequency up to which the smoothing is undone [Hz]; None keeps the smoothing and all frequencies.
    """

    sigma: float
    corner: float | None

    @property
    def gain(self) -> float:
        """Largest factor of the correction."""
        return 1.0 if self.corner is None else float(1.0 / self.smoothing(STOP * self.corner))

    @property
    def highest(self) -> float:
        """Highest frequency of the seismograms [Hz]: the corner, or the one that the grid resolves."""
        return float(np.sqrt(-2 * np.log(RESOLVED)) / (2 * np.pi * self.sigma)) if self.corner is None else self.corner

    def smoothing(self, frequency: np.ndarray | float) -> np.ndarray:
        """Return the amplitude of the Gaussian at frequencies [Hz]."""
        return np.asarray(np.exp(-0.5 * (2 * np.pi * self.sigma * np.asarray(frequency)) ** 2))

    def response(self, frequency: np.ndarray) -> np.ndarray:
        """Return the factor at frequencies [Hz] below ``STOP`` times the corner."""
        if self.corner is None:
            return np.ones(len(frequency))
        x = np.clip((frequency / self.corner - 1.0) / (STOP - 1.0), 0.0, 1.0)
        passes = frequency < STOP * self.corner  # the Gaussian underflows far above
        taper = 0.5 + 0.5 * np.cos(np.pi * x)
        return np.where(passes, taper, 0.0) / np.where(passes, self.smoothing(frequency), 1.0)


def make_grid(samples: int, interval: float, corner: float | None) -> FrequencyGrid:
    """Return the frequencies for transforms of at least ``samples`` samples, up to the end of a low-pass."""
    from scipy import fft

    length = int(fft.next_fast_len(samples, real=True))
    count = length // 2 + 1
    if corner is not None:
        count = min(count, int(STOP * corner * length * interval) + 1)
    return FrequencyGrid(length, interval, count)


@dataclass(frozen=True)
class Batch:
    """Sources of some ruptures in common rows, one for each point and direction of slip.

    Attributes
    ----------
    point : ndarray (k,)
        Row of each source in the spectra of a site, ascending.
    moment : ndarray (k, v, 6)
        Moment tensors per unit slip of v ruptures [N], zero where a rupture does not slip.
    samples : ndarray (k, v, j)
        Slip rates [m/s], followed by zeros.
    onset, interval : ndarray (k, v)
        Time of the first sample and sampling interval [s].
    """

    point: np.ndarray
    moment: np.ndarray
    samples: np.ndarray
    onset: np.ndarray
    interval: np.ndarray

    @property
    def ruptures(self) -> int:
        """Number of ruptures."""
        return self.moment.shape[1]


@dataclass
class SlipSpectra:
    """Spectra of slip rates at the frequencies of a grid.

    Attributes
    ----------
    grid : FrequencyGrid
        Frequencies.
    """

    grid: FrequencyGrid
    _kernels: dict[tuple[float, int], np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        blocks = -(-self.grid.count // FINE)
        step = 1.0 / (self.grid.samples * self.grid.interval)
        self._wide = blocks * FINE
        self._coarse = -2j * np.pi * step * FINE * np.arange(blocks)
        self._fine = -2j * np.pi * step * np.arange(FINE)
        self._frequency = step * np.arange(self._wide)

    def of(self, samples: np.ndarray, interval: np.ndarray, onset: np.ndarray) -> np.ndarray:
        """Return the Fourier transforms (n, count) of slip rates (n, j) that are linear between samples.

        Parameters
        ----------
        samples : ndarray (n, j)
            Slip rates; the first and the last of each rate are zero.
        interval, onset : ndarray (n,)
            Sampling interval and time of the first sample [s].
        """
        first = float(interval[0])
        if (interval == first).all():
            spectra = samples @ self._kernel(first, samples.shape[1])
        else:
            spectra = np.empty((len(samples), 2 * self._wide), np.float32)
            for value in np.unique(interval):
                mine = interval == value
                spectra[mine] = samples[mine] @ self._kernel(float(value), samples.shape[1])
        found = spectra.view(np.complex64).reshape(len(samples), -1, FINE)
        found *= np.exp(onset[:, None] * self._coarse).astype(np.complex64)[:, :, None]
        found *= np.exp(onset[:, None] * self._fine).astype(np.complex64)[:, None, :]
        return found.reshape(len(samples), -1)[:, : self.grid.count]

    def _kernel(self, interval: float, count: int) -> np.ndarray:
        """Return the transforms (count, 2 * frequencies) of triangles around multiples of an interval, as real numbers."""
        found = self._kernels.get((interval, count))
        if found is None:
            f = self._frequency
            phase = np.exp(-2j * np.pi * interval * np.outer(np.arange(count), f))
            made = (phase * (interval * np.sinc(f * interval) ** 2)).astype(np.complex64)
            if len(self._kernels) >= 64:
                self._kernels.clear()
            found = self._kernels[interval, count] = np.ascontiguousarray(made).view(np.float32)
        return found


def seismograms(tensors: np.ndarray, batch: Batch, slip: SlipSpectra, filter_: np.ndarray, samples: int) -> np.ndarray:
    """Return the velocities (ruptures, 3, samples) [m/s] of a site.

    Parameters
    ----------
    tensors : ndarray (p, 6, 3 * frequencies)
        Spectra of the strain of the site.
    batch : Batch
        Sources.
    slip : SlipSpectra
        Spectra of slip rates.
    filter_ : ndarray (frequencies,)
        Factor of the result at each frequency, including the phase of its start time.
    samples : int
        Number of samples of the result.
    """
    from scipy import fft

    grid, ruptures = slip.grid, batch.ruptures
    total = np.zeros((ruptures, 3, grid.count), np.complex64)
    moments = np.ascontiguousarray(batch.moment * DOUBLED, np.float32)
    rows = max(1, ROWS // ruptures)
    for begin in range(0, len(batch.point), rows):
        part = slice(begin, begin + rows)
        rates = slip.of(
            batch.samples[part].reshape(-1, batch.samples.shape[2]), batch.interval[part].reshape(-1), batch.onset[part].reshape(-1)
        )  # fmt: skip
        strain = _rows_of(tensors, batch.point[part]).view(np.float32)
        moved = np.matmul(moments[part], strain).view(np.complex64).reshape(-1, ruptures, 3, grid.count)
        moved *= rates.reshape(-1, ruptures, 1, grid.count)
        total += moved.sum(0)
    total *= filter_.astype(np.complex64)
    return np.asarray(fft.irfft(total, grid.samples, axis=-1)[..., :samples])


def _rows_of(tensors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return rows of the tensors, without a copy if they are adjacent."""
    if rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return tensors[rows[0] : rows[-1] + 1]
    return tensors[rows]


def start_filter(grid: FrequencyGrid, band: Band, start: float) -> np.ndarray:
    """Return the factor (frequencies,) that corrects the smoothing and lets results begin ``start`` [s] later."""
    f = grid.frequency
    return np.asarray(band.response(f) * np.exp(2j * np.pi * f * start))
