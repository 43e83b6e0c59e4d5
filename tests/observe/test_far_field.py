"""Fields of a dipole on a sphere around it transform to the far field of the dipole; Mie's series against its own sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid

from faultwave.engine.surface_sums import ClosedSurface, FourierRecorder, cross_section
from faultwave.verify.exact.electromagnetic import bistatic_cross_section, mie_efficiencies


def test_a_dipole_radiates_as_sine_squared() -> None:
    """E and H of a current moment m along z with exp(i w t), on |x - offset| = 1; sigma/(k^2 Z^2 m^2/(4 pi)) = sin^2 theta."""
    k, z, moment = 2.3, 1.7, 0.6
    u, w = np.polynomial.legendre.leggauss(24)
    azimuth = 2 * np.pi * np.arange(48) / 48
    cosine, angle = (a.reshape(-1) for a in np.meshgrid(u, azimuth, indexing="ij"))
    sine = np.sqrt(1 - cosine**2)
    normal = np.stack([sine * np.cos(angle), sine * np.sin(angle), cosine], 1)
    weights = np.repeat(w, 48) * 2 * np.pi / 48
    x = normal + np.array([0.2, -0.1, 0.15])  # the dipole is not at the centre
    r = np.linalg.norm(x, axis=1)
    n, along = x / r[:, None], np.array([0.0, 0.0, moment])
    wave = np.exp(-1j * k * r) / (4 * np.pi * r)
    across = along - (n @ along)[:, None] * n
    radial = 3 * (n @ along)[:, None] * n - along
    electric = (
        -1j * k * z * wave[:, None] * across + z * (1 / r + 1 / (1j * k * r**2))[:, None] * wave[:, None] * radial
    )
    magnetic = np.cross(along, n) * ((1j * k + 1 / r) * wave)[:, None]
    spectra = np.concatenate([electric, magnetic], 1)[:, None, None, :]
    theta, phi = np.array([0.3, 1.0, np.pi / 2, 2.5]), np.array([0.0, 1.0, -2.0, 3.0])
    surface = ClosedSurface(x[:, None], normal, weights[:, None])
    found = cross_section(spectra, surface, np.array([k]), z, np.array([1.0]), theta, phi)
    np.testing.assert_allclose(found[0], (k * z * moment) ** 2 / (4 * np.pi) * np.sin(theta) ** 2, rtol=1e-6)


def test_fourier_sums_of_samples() -> None:
    frequency, interval = np.array([2.0, 3.0]), 0.01

    class Wave:
        """Half of the samples are on their way for a while."""

        def __init__(self, time: float):
            self.time, self.here = time, round(time / interval) % 2 == 0

        def values(self) -> np.ndarray:
            return np.full((1, 1, 6), np.cos(2 * np.pi * 2.0 * self.time))

    steps = iter(np.arange(10) * 0.2)
    begin = [0.0]
    recorder = FourierRecorder(
        interval, [np.array([0])], np.ones((1, 1, 1)), lambda c, tau: Wave(begin[0] + tau), frequency, 6
    )
    for begin[0] in steps:
        recorder.record(0, begin[0], 0.2)
    assert recorder.coming
    np.testing.assert_allclose(recorder.spectra[0, 0, :, 0], [1.0, 0.0], atol=1e-12)  # half of two seconds, and nothing


def test_how_much_still_passes_is_known() -> None:
    """Of bells around 1 s and 0.2 s, an eighth of a second wide: E^2 + Z^2 H^2 with Z = 2, at their height and two seconds in."""
    time, frequencies, both = np.arange(201) * 0.01, np.array([2.0, 5.0]), np.arange(2)
    taken: Any = None
    recorder = FourierRecorder(0.01, [both], np.ones((2, 3, 1)), taken, frequencies, 6, 2.0)
    for number, t in enumerate(time):
        bells = np.exp(-(((t - np.array([1.0, 0.2])) / 0.125) ** 2))
        field = np.array([0, 1, 0, 0, 0, 0.5]) * np.ones((2, 3, 1))
        recorder._store(number, both, bells[:, None, None] * field)
    np.testing.assert_allclose(recorder.strength[:, 0], 6.0, rtol=1e-3)
    late = np.log(recorder.strength[:, 1] / recorder.strength[:, 0])  # as fast as the bell, then by four a second
    np.testing.assert_allclose(late, [-4.0 + 2 * 0.125**2, -7.2 + 2 * 0.125**2], atol=5e-3)


def test_mie_series() -> None:
    """Wiscombe's case x = 10, m = 1.5; what is scattered into all directions is the scattering cross section."""
    assert mie_efficiencies(10.0, 1.5)[0] == pytest.approx(2.8820, abs=1e-4)
    theta, phi = np.linspace(0, np.pi, 801), np.linspace(0, 2 * np.pi, 73)
    grid = np.meshgrid(theta, phi, indexing="ij")
    sigma = bistatic_cross_section(2.0, 2.0, grid[0].reshape(-1), grid[1].reshape(-1)).reshape(grid[0].shape)
    whole = trapezoid(trapezoid(sigma, phi, axis=1) * np.sin(theta), theta) / (4 * np.pi)
    assert whole == pytest.approx(mie_efficiencies(2.0, 2.0)[0], rel=1e-4)
    assert mie_efficiencies(2.0, 2.0)[0] == pytest.approx(mie_efficiencies(2.0, 2.0)[1], rel=1e-12)
