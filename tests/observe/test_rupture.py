"""Rupture speed from times, and spectra of moment rates, against formulas."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.observe.rupture import (
    INNER,
    brune_spectrum,
    moment_rate,
    moment_spectrum,
    released_within,
    rupture_speed,
)


def triangles(count: int = 12, size: float = 400.0, seed: int = 3) -> np.ndarray:
    """Corners (n, 3, 3) of an irregular triangulation of a square in a tilted plane."""
    random = np.random.default_rng(seed)
    x, y = np.meshgrid(np.arange(count + 1.0), np.arange(count + 1.0), indexing="ij")
    inside = (x > 0) & (x < count) & (y > 0) & (y < count)
    x, y = (v + inside * random.uniform(-0.2, 0.2, v.shape) for v in (x, y))
    plane = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, -0.8]])
    points = size * (np.stack([x, y], -1) @ plane)
    a, b, c, d = points[:-1, :-1], points[1:, :-1], points[:-1, 1:], points[1:, 1:]
    return np.concatenate([np.stack(t, -2).reshape(-1, 3, 3) for t in ((a, b, c), (d, c, b))])


def at_inner(corners: np.ndarray) -> np.ndarray:
    edge = corners[:, 1:] - corners[:, :1]
    return corners[:, :1] + INNER[None, :, :1] * edge[:, :1] + INNER[None, :, 1:] * edge[:, 1:]


def test_a_straight_front_has_its_speed_everywhere() -> None:
    corners = triangles()
    times = 1.0 + at_inner(corners) @ [0.6, 0.48, -0.64] / 2800.0
    speed = rupture_speed(corners, times, np.zeros(len(corners)))
    np.testing.assert_allclose(speed, 2800.0, rtol=1e-9)


def test_a_round_front_has_its_speed_with_noisy_times() -> None:
    """With 5 ms of noise the gradient of a single face tells nothing: its points are 200 m, or 80 ms, apart."""
    corners = triangles(20)
    centre = corners.mean((0, 1)) - [6e3, 0.0, 0.0]
    exact = np.linalg.norm(at_inner(corners) - centre, axis=2) / 2500.0
    smooth = rupture_speed(corners, exact, np.zeros(len(corners)))
    np.testing.assert_allclose(smooth, 2500.0, rtol=1e-2)
    noise = np.random.default_rng(0).normal(0.0, 5e-3, exact.shape)
    rough = rupture_speed(corners, exact + noise, np.zeros(len(corners)))
    assert abs(np.median(rough) / 2500.0 - 1) < 0.01
    assert np.quantile(np.abs(rough / 2500.0 - 1), 0.9) < 0.05


def test_speed_is_not_known_where_too_little_ruptured_or_all_at_once() -> None:
    corners = triangles(6)
    times = np.full((len(corners), 3), np.nan)
    times[0] = 1.0
    assert np.isnan(rupture_speed(corners, times, np.zeros(len(corners)))).all()
    assert np.isnan(rupture_speed(corners, np.ones((len(corners), 3)), np.zeros(len(corners)))).all()
    assert len(rupture_speed(np.zeros((0, 3, 3)), np.zeros((0, 3)), np.zeros(0))) == 0


def test_faults_are_taken_apart() -> None:
    """Two halves of one plane with different speeds, named as two faults: none sees the other."""
    corners = triangles(10)
    place = at_inner(corners)[..., 0]
    half = corners.mean(1)[:, 0] > 2000.0
    times = np.where(half[:, None], 5.0 + place / 1000.0, 1.0 + place / 3000.0)
    speed = rupture_speed(corners, times, half.astype(int))
    np.testing.assert_allclose(speed, np.where(half, 1000.0, 3000.0), rtol=1e-9)


def test_brune_moment_rate_gives_its_corner_frequency() -> None:
    corner, moment = 0.4, 3e18
    rate = 2 * np.pi * corner
    time = np.arange(0.0, 40.0, 0.01)
    released = moment * (1.0 - (1.0 + rate * time) * np.exp(-rate * time))
    found = moment_spectrum(time, released)
    assert found is not None
    assert found.moment == pytest.approx(moment, rel=1e-6)
    assert found.corner == pytest.approx(corner, rel=5e-3)
    low = found.frequency < 5.0
    np.testing.assert_allclose(found.amplitude[low], brune_spectrum(found.frequency[low], moment, corner), rtol=5e-3)
    np.testing.assert_allclose(found.brune, brune_spectrum(found.frequency, found.moment, found.corner))
    assert found.misfit < 0.01


def test_moment_rate_integrates_to_the_moment() -> None:
    time = np.cumsum(np.random.default_rng(1).uniform(0.01, 0.1, 50))
    moment = np.sin(time) ** 2
    middle, rate = moment_rate(time, moment)
    assert np.sum(rate * np.diff(time)) == pytest.approx(moment[-1] - moment[0])
    assert ((middle > time[:-1]) & (middle < time[1:])).all()


def test_nothing_released_has_no_spectrum() -> None:
    time = np.arange(20.0)
    assert moment_spectrum(time, np.zeros(20)) is None
    assert moment_spectrum(time[:4], time[:4]) is None
    assert np.isnan(released_within(time, np.zeros(20)))
    assert released_within(time, time) == pytest.approx(0.9 * 19)
