"""Random fields of von Karman's correlation: statistics against the analytic forms, and dependence on position alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.ndimage import map_coordinates
from scipy.special import gamma, kv

from faultwave.media.random_fields import Taper, VonKarman, von_karman
from faultwave.media.random_fields.noise import key_of, lattice_noise

THREE, TWO = np.eye(3), np.eye(3)[:2]


def matern(r, hurst):
    """Von Karman's correlation at distances over the correlation length."""
    return 2 ** (1 - hurst) / gamma(hurst) * r**hurst * kv(hurst, r)


def grid(steps, count, dimensions):
    """Points of a grid in space, with the shape of the grid first."""
    lines = [np.arange(count) * steps] * dimensions + [np.zeros(1)] * (3 - dimensions)
    return np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 3)


@pytest.mark.parametrize("hurst", [0.3, 0.5, 0.8, 1.0])
def test_the_mixture_of_gaussians_has_von_karmans_correlation(hurst):
    field = VonKarman(hurst, np.full(3, 1e3), THREE, 1e-3, 1, "a")
    r = np.geomspace(0.01, 6, 200)
    # what is left out are scales below the finest; doubling scales departs by 0.01 at most
    left_out = (0.5 * field.scales[0] ** 2) ** hurst / gamma(hurst + 1)
    assert np.abs(field.correlation(r) - matern(r, hurst)).max() < 0.01 + left_out
    assert field.correlation(np.zeros(1)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("dimensions", "count", "spacing", "hurst"), [(2, 400, 0.5, 0.5), (2, 400, 0.5, 0.1), (3, 56, 0.75, 0.5)]
)
def test_fields_have_the_correlation_along_all_directions(dimensions, count, spacing, hurst):
    field = VonKarman(hurst, np.full(dimensions, 2.0), np.eye(3)[:dimensions], 2.0, 5, "a")
    values = field(grid(spacing * 2.0, count, dimensions)).reshape((count,) * dimensions)
    # Standard deviation of a sample covariance: (2 / volume * integral of the squared correlation)^(1/2), which for
    # exponential correlation is pi / 2 in the plane and pi in space; four of them, and 0.01 for splines and scales.
    integral = math.pi / 2 if dimensions == 2 else math.pi
    allowed = 4 * math.sqrt(2 * integral / (count * spacing) ** dimensions) + 0.01
    assert abs(values.mean()) < 4 * math.sqrt(
        (2 * math.pi if dimensions == 2 else 8 * math.pi) / (count * spacing) ** dimensions
    )
    assert values.var() == pytest.approx(1.0, abs=allowed)
    for lag in (1, 2, 4):
        for axis in range(dimensions):
            line = np.moveaxis(values, axis, 0)
            found = (line[lag:] * line[:-lag]).mean()
            assert found == pytest.approx(float(field.correlation(lag * spacing)), abs=allowed)
        diagonal = (values[lag:, lag:] * values[:-lag, :-lag]).mean()
        assert diagonal == pytest.approx(float(field.correlation(lag * spacing * math.sqrt(2))), abs=allowed)


@pytest.mark.parametrize("hurst", [0.1, 0.8])
def test_the_spectrum_falls_with_the_slope_of_the_hurst_exponent(hurst):
    length, spacing, count, lines = 400.0, 10.0, 1024, 32
    field = VonKarman(hurst, np.full(2, length), TWO, 40.0, 3, "a")
    x, y = np.meshgrid(np.arange(count) * spacing, np.arange(lines) * 8 * length, indexing="ij")
    values = field(np.stack([x, y, 0 * x], -1).reshape(-1, 3)).reshape(count, lines)
    power = (np.abs(np.fft.rfft(values * np.hanning(count)[:, None], axis=0)) ** 2).mean(1)
    ka = 2 * np.pi * np.fft.rfftfreq(count, spacing) * length
    use = (ka > 3) & (ka < 24)  # down to wavelengths of 105 m, where all but 5 % of the power are left
    slope = np.polyfit(np.log(1 + ka[use] ** 2), np.log(power[use]), 1)[0]
    # along a line: P ~ (1 + k^2 a^2)^-(H + 1/2). Each of the 54 means of 32 lines has a deviation of 0.18; with the
    # spread of log(1 + k^2 a^2), 1.1, the slope has one of 0.18 / 1.1 / 54^(1/2) = 0.022, and a window joins neighbours.
    assert slope == pytest.approx(-(hurst + 0.5), abs=4 * 0.022 * 1.4)


def test_values_depend_on_the_position_alone():
    """Bits are equal in every order, in dense and scattered sets, and near and far from the origin."""
    field = VonKarman(0.3, np.array([900.0, 700.0, 300.0]), THREE, 150.0, 2, "a")
    dense = np.random.default_rng(1).uniform(-2e3, 3e3, (20_000, 3)) + [5e6, -4e6, 0.0]
    values = field(dense)
    few = np.random.default_rng(2).permutation(len(dense))[:50]
    fresh = VonKarman(0.3, np.array([900.0, 700.0, 300.0]), THREE, 150.0, 2, "a")
    np.testing.assert_array_equal(fresh(dense[few]), values[few])
    np.testing.assert_array_equal(np.concatenate([fresh(dense[k : k + 1]) for k in few[:3]]), values[few[:3]])
    assert len(field.tiles) > 0 and len(fresh.tiles) == 0  # both ways of evaluation were compared


def test_one_spline_is_the_sum_of_the_splines_of_all_levels():
    field = VonKarman(0.5, np.full(2, 1.0), TWO, 0.8, 9, "a")
    first, count = np.array([[3], [-6]]), 7
    x = np.random.default_rng(0).uniform(1, count - 2, (2, 40)) + first  # coordinates of the finest lattice
    expected, origin = np.zeros(40), np.zeros(2)
    for level, variance in enumerate(field.variances):
        local = (x - origin[:, None]) / 2**level
        from_coarsest = len(field.variances) - 1 - level
        noise = lattice_noise(np.array([[-40], [-40]]), 80, key_of(9, "a", from_coarsest))[0]
        part = map_coordinates(noise, local + 40, order=3, prefilter=False)
        expected += part * math.sqrt(variance) / von_karman.SPLINE_VARIANCE
        origin += 2**level * (from_coarsest % 2)
    made = field.coefficients(first, count)[0]
    np.testing.assert_allclose(map_coordinates(made, x - first, order=3, prefilter=False), expected, atol=1e-12)


def test_half_the_wavelength_adds_a_level_only():
    """A field for a finer mesh has the same larger scales, with variances that are normalised again."""
    coarse, fine = (VonKarman(0.3, np.array([900.0, 700.0, 300.0]), THREE, w, 2, "a") for w in (200.0, 100.0))
    assert len(fine.scales) == len(coarse.scales) + 1
    ratio = math.sqrt(fine.variances[-1] / coarse.variances[-1])
    points = np.random.default_rng(3).uniform(-3e3, 3e3, (500, 3))
    added = fine(points) - ratio * coarse(points)
    assert np.corrcoef(fine(points), coarse(points))[0, 1] == pytest.approx(ratio, abs=0.02)
    assert added.std() == pytest.approx(math.sqrt(fine.variances[0]), rel=0.1)


@pytest.mark.parametrize(("hurst", "wavelength"), [(0.1, 0.1), (0.3, 1.0), (0.8, 0.5)])
def test_resolved_fraction_of_the_variance(hurst, wavelength):
    """The fraction is that of the integral over the scales, with a boundary half a level below the finest."""
    from scipy.special import gammaincc

    field = VonKarman(hurst, np.ones(3), THREE, wavelength, 1, "a")
    boundary = 0.5 * (field.scales[0] / math.sqrt(2)) ** 2
    assert field.resolved == pytest.approx(gammaincc(hurst, boundary), abs=0.02)


def test_no_points_have_no_values():
    assert VonKarman(0.3, np.ones(3), THREE, 1.0, 1, "a")(np.zeros((0, 3))).shape == (0,)


def test_seeds_and_names_make_independent_fields():
    points = grid(4.0, 60, 2)
    one, *others = (
        VonKarman(0.5, np.full(2, 1.0), TWO, 0.5, s, n, "w")(points) for s, n in ((1, "a"), (2, "a"), (1, "b"))
    )
    for other in others:
        assert abs((one * other).mean()) < 4 / 60


def test_lengths_stretch_the_field_along_its_axes():
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    lengths = np.array([4.0, 1.0, 2.0])
    plain, turned = VonKarman(0.2, np.ones(3), THREE, 0.5, 1, "a"), VonKarman(0.2, lengths, turn, 0.5, 1, "a")
    points = np.random.default_rng(4).uniform(-5, 5, (500, 3))
    np.testing.assert_allclose(turned((points * lengths) @ turn), plain(points), atol=1e-4)


def test_fields_of_two_lengths_are_constant_along_the_normal():
    field = VonKarman(0.2, np.ones(2), np.array([[1.0, 0, 0], [0, 0, -1.0]]), 0.5, 1, "a")
    points = np.random.default_rng(4).uniform(-5, 5, (50, 3))
    np.testing.assert_array_equal(field(points), field(points + [0, 7.0, 0]))


def test_finer_wavelengths_leave_the_coarse_field_similar():
    """A shorter cutoff adds detail; the standard deviation remains 1."""
    points = grid(1.0, 150, 2)
    for shortest in (0.25, 1.0, 3.0):
        values = VonKarman(0.3, np.full(2, 2.0), TWO, shortest, 1, "a")(points)
        assert values.std() == pytest.approx(1.0, abs=0.07)


def test_the_stored_tiles_are_bounded(monkeypatch):
    field = VonKarman(0.3, np.full(2, 1.0), TWO, 0.5, 1, "a")
    one = (von_karman.TILE[2] + 3) ** 2 * 8
    monkeypatch.setattr(von_karman, "CACHE", 3 * one)
    field(grid(0.5, 100, 2))
    assert len(field.tiles) == 3


def test_tapers_rise_from_the_ends():
    taper = Taper(np.array([[-10.0, 10.0], [-np.inf, np.inf], [-5.0, np.inf]]), 4.0)
    points = np.array([[0, 0, 0], [-10, 0, 0], [-11, 0, 0], [8, 1e9, 0], [0, 0, -3], [0, 0, -5.1]], float)
    np.testing.assert_allclose(taper(points), [1, 0, 0, 0.5, 0.5, 0], atol=1e-15)
    sharp = Taper(np.array([[-10.0, 10.0], [-np.inf, np.inf], [-np.inf, np.inf]]), 0.0)
    np.testing.assert_array_equal(sharp(points), [1, 1, 0, 1, 1, 1])
