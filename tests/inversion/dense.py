"""A small inversion with random Green's functions, and the same in full matrices."""

import numpy as np
from scipy.linalg import block_diag, toeplitz

from faultwave.inversion.forward import Forward
from faultwave.inversion.noise import Noise
from faultwave.inversion.prior import Segment, SlipPrior, make_prior, von_karman
from faultwave.inversion.processing import Passband, Window

SHAPE = (2, 3)
STATIC = np.array([[0.25, 0.1], [0.1, 0.49]])
"""Covariance of two static offsets."""
LENGTHS, HURST = (2500.0, 1500.0), 0.75


def make_forward(
    low: float | None = None, channels: int = 3, count: int = 20, windows: int = 2, seed: int = 1
) -> Forward:
    """Random spectra for six subfaults in two directions, and two static rows."""
    rng = np.random.default_rng(seed)
    length, interval = 64, 0.5
    frequency = np.arange(20) / (length * interval)
    green = rng.standard_normal((20, channels, 12)) + 1j * rng.standard_normal((20, channels, 12))
    green[0].imag = 0.0
    window = Window(0.0, interval, count, Passband(low, 0.8))
    return Forward(
        green, frequency, rng.random(12), 0.7 * np.arange(windows), length, window, rng.standard_normal((2, 12))
    )


def make_segment() -> Segment:
    d, s = np.meshgrid(1000.0 * np.arange(SHAPE[0]), 1500.0 * np.arange(SHAPE[1]), indexing="ij")
    return Segment(np.arange(6), s.ravel(), d.ravel(), SHAPE)


def make_slip_prior(windows: int = 2, amplitude: float = 0.8) -> SlipPrior:
    return make_prior([make_segment()], LENGTHS, HURST, amplitude, (1.0, 0.5), windows)


def make_noise(forward: Forward, level: float = 2.0) -> Noise:
    column = level**2 * np.exp(-np.arange(forward.window.count) / 1.5)
    return Noise(np.array([(c + 1) * column for c in range(forward.channels)]), STATIC)


def dense_prior(prior: SlipPrior) -> np.ndarray:
    """Covariance (m, m), from the definition."""
    segment = make_segment()
    s, d = segment.along / LENGTHS[0], segment.down / LENGTHS[1]
    one = von_karman(np.hypot(s[:, None] - s, d[:, None] - d), HURST) * prior.amplitude**2 / prior.windows
    return block_diag(*([one, 0.25 * one] * prior.windows))


def dense_forward(forward: Forward) -> np.ndarray:
    """Matrix (n, m) from sums of cosines and sines, without a band-pass."""
    time = forward.window.interval * np.arange(forward.window.count)
    rows = []
    for channel in range(forward.channels):
        columns = []
        for step in forward.steps:
            for source in range(forward.green.shape[2]):
                phase = 2 * np.pi * forward.frequency * (time[:, None] - step - forward.delay[source])
                wave = (forward.green[:, channel, source] * np.exp(1j * phase)).real
                columns.append((2 * wave.sum(1) - wave[:, 0]) / forward.length)
        rows.append(np.stack(columns, 1))
    return np.concatenate([*rows, np.tile(forward.static, len(forward.steps))])


def dense_noise(noise: Noise) -> np.ndarray:
    return noise.scale**2 * block_diag(*map(toeplitz, noise.columns), noise.static)
