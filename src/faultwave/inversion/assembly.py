"""Assembly of the prediction, the data and their noise from stored tensors and seismograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.campaign.batches import PointFinder
from faultwave.campaign.synthesis import DOUBLED, STOP, Band, FrequencyGrid
from faultwave.campaign.tensors import Site, load_spectra, reach
from faultwave.inversion.forward import Forward
from faultwave.inversion.noise import WHITE, Noise, autocovariance
from faultwave.inversion.observations import Seismogram
from faultwave.inversion.offsets import NO_OFFSETS, Offsets, static_displacement
from faultwave.inversion.processing import Passband, Window, low_passed
from faultwave.inversion.settings import InversionSettings, NoiseSettings

MARGIN = 1.1
"""Ratio of the Nyquist frequency of the data to the largest frequency of the band."""


@dataclass(frozen=True)
class SourceModel:
    """Point sources of unit slip with a common time function.

    Attributes
    ----------
    location : ndarray (n, 3)
        Places of the subfaults [m].
    potency : ndarray (n, d, 6)
        Potency tensors of unit slip in d directions [m^2].
    modulus : ndarray (n,)
        Shear modulus [Pa], NaN where the material of the tensors applies.
    onset : ndarray (n,)
        Onset of the first window [s].
    steps : ndarray (windows,)
        Onset of each time window after the first one, or earlier, with the time function of unit slip [s].
    duration : float
        Duration of the triangle of a window [s].
    """

    location: np.ndarray
    potency: np.ndarray
    modulus: np.ndarray
    onset: np.ndarray
    steps: np.ndarray
    duration: float

    @property
    def windows(self) -> int:
        """Number of time windows."""
        return len(self.steps)

    @property
    def begin(self) -> float:
        """Time at which the first window begins [s]."""
        return float(self.onset.min() + self.steps.min())

    @property
    def end(self) -> float:
        """Time at which the last window ends [s]."""
        return float(self.onset.max() + self.steps.max() + self.duration)

    def moduli(self, lame: np.ndarray | None) -> np.ndarray:
        """Return the shear moduli (n,) [Pa], for lambda and mu (n, 2) [Pa] of the tensors."""
        return self.modulus if lame is None else np.where(np.isnan(self.modulus), lame[:, 1], self.modulus)


def make_window(inversion: InversionSettings, interval: float) -> tuple[Window, int]:
    """Return the time axis of the data, empty without seismograms, and its interval as a multiple of the tensors' interval."""
    if inversion.window is None or inversion.band is None:
        return Window(0.0, interval, 0, Passband(None, 0.5 / interval)), 1
    begin, end = inversion.window
    every = max(1, int(1.0 / (2.0 * MARGIN * STOP * inversion.band.high * interval)))
    step = every * interval
    band = Passband(inversion.band.low, inversion.band.high)
    return Window(begin, step, int((end - begin) / step + 1e-6) + 1, band), every


def needed_end(window: Window, sources: SourceModel) -> float:
    """Return the time after the centre of the forces until which strain is needed [s]."""
    return window.begin + (window.count - 1) * window.interval - sources.begin


def assemble(
    sources: SourceModel, seismograms: Sequence[Seismogram], window: Window, every: int, offsets: Offsets = NO_OFFSETS
) -> Forward:
    """Return the prediction of all recorded components of the seismograms, and of static offsets."""
    from scipy import fft

    directions = sources.potency.shape[1]
    onset, steps = np.tile(sources.onset, directions), sources.steps
    static = _static_rows(sources, offsets)
    if not seismograms:
        return Forward(np.zeros((1, 0, len(onset))), np.zeros(1), onset, steps, 1, window, static)
    files = [s.site.file for s in seismograms]
    interval, high = files[0].interval, window.band.high
    after, late = reach(interval, high), int(np.ceil((max(0.0, sources.end) + max(0.0, -sources.begin)) / interval))
    before = max(int(np.ceil(-(window.begin + f.centre - f.start) / interval)) for f in files)
    needed = [_needed(s.site, window, sources) for s in seismograms]
    length = int(fft.next_fast_len(-(-(max(needed) + 2 * after + late + max(0, before)) // every), real=True))
    grid = FrequencyGrid(
        every * length, interval, min(length // 2 + 1, int(STOP * high * length * every * interval) + 1)
    )
    rate = 0.5 * sources.duration * grid.frequency
    pulse = np.sinc(rate) ** 2 * np.exp(-2j * np.pi * rate) / every
    parts = [
        _green(sources, s, grid, (n, after))
        * (pulse * np.exp(2j * np.pi * grid.frequency * (window.begin + s.site.file.centre - s.site.file.start)))
        * Band(s.site.file.sigma, high).response(grid.frequency)
        for s, n in zip(seismograms, needed, strict=True)
    ]
    green = np.ascontiguousarray(np.concatenate(parts).transpose(2, 0, 1))
    return Forward(green, grid.frequency, onset, steps, length, window, static)


def _needed(site: Site, window: Window, sources: SourceModel) -> int:
    file = site.file
    last = needed_end(window, sources) + file.centre - file.start
    return min(file.samples, int(np.ceil(last / file.interval - 1e-6)) + 1)


def _green(sources: SourceModel, seismogram: Seismogram, grid: FrequencyGrid, ends: tuple[int, int]) -> np.ndarray:
    """Return the spectra (components, directions * subfaults, frequencies) of unit slip, without time function."""
    site = seismogram.site
    used, rows, moment = _moments(sources, site)
    strain = load_spectra(site, used, grid, *ends).reshape(len(used), 6, 3, grid.count)[rows]
    recorded = np.flatnonzero(seismogram.recorded)
    found = np.einsum("kdc,kcnf->ndkf", moment, strain[:, :, recorded], optimize=True)
    return np.asarray(found.reshape(len(recorded), -1, grid.count), complex)


def _moments(sources: SourceModel, site: Site) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the points (p,) of the sources, the number (n,) of the point of each, and moments (n, d, 6) times the number of components."""
    finder = PointFinder(site.file)
    points, _ = finder.nearest(sources.location)
    moduli = sources.moduli(finder.lame(points))
    used, rows = np.unique(points, return_inverse=True)
    return used, rows, 2.0 * moduli[:, None, None] * sources.potency * DOUBLED


def _static_rows(sources: SourceModel, offsets: Offsets) -> np.ndarray:
    """Return the static offsets (rows, directions * subfaults) of unit slip."""
    found = np.empty((len(offsets), sources.potency.shape[1] * len(sources.location)))
    for site, numbers in offsets.by_site():
        used, rows, moment = _moments(sources, site)
        moved = np.einsum("kdc,fkc->fdk", moment, static_displacement(site, used)[:, rows], optimize=True)
        found[numbers] = offsets.direction[numbers] @ moved.reshape(3, -1)
    return found


def make_data(
    seismograms: Sequence[Seismogram], window: Window, settings: NoiseSettings | None, rate: bool,
    offsets: Offsets = NO_OFFSETS,
) -> tuple[np.ndarray, Noise]:  # fmt: skip
    """Return the data (n,) of all recorded components and static offsets, and their noise.

    Parameters
    ----------
    seismograms : sequence of Seismogram
        Seismograms that cover the window, and the time before it from which noise is estimated.
    window : Window
        Time axis and processing.
    settings : NoiseSettings or None
        Settings of the noise of seismograms, None without seismograms.
    rate : bool
        If True, the seismograms are displacements.
    offsets : Offsets
        Static offsets.
    """
    if settings is None:
        return offsets.values, Noise(np.zeros((0, window.count)), offsets.covariance)
    data, columns = list[np.ndarray](), list[np.ndarray]()
    shape = window.band.correlation(window.interval, window.count)
    for seismogram in seismograms:
        motion = seismogram.motion[np.flatnonzero(seismogram.recorded)]
        series = window.apply(low_passed(seismogram.time, motion, window.time, window.band, rate))
        variance = settings.level**2 + settings.fraction**2 * (series**2).mean(1).max()
        found = np.tile(variance * shape, (len(series), 1))
        if settings.pre_event is not None:
            found = found + _before(seismogram.time, motion, window, settings.pre_event, rate)
        data.append(series)
        columns.append(found)
    made = np.concatenate(columns)
    made[:, 0] *= 1.0 + WHITE
    scale = 1.0 if settings.scale == "auto" else settings.scale
    values = np.concatenate([np.concatenate(data).ravel(), offsets.values])
    return values, Noise(made, offsets.covariance, scale)


def _before(time: np.ndarray, motion: np.ndarray, window: Window, duration: float, rate: bool) -> np.ndarray:
    """Return the autocovariance (components, count) of the noise before the window."""
    count = int(duration / window.interval + 1e-6)
    early = Window(window.begin - count * window.interval, window.interval, count, window.band)
    series = early.apply(low_passed(time, motion, early.time, early.band, rate))
    return np.array([autocovariance(s, window.count) for s in series])  # an offset is noise too: data contain it
