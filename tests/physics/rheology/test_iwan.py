"""Soil of many yield surfaces: backbone, damping, radial return in three dimensions, and Masing's rules."""

import numpy as np
import pytest

from faultwave.physics.rheology import iwan
from faultwave.verify.exact.soil_column import MasingPoint

X = np.geomspace(0.01, 10.0, 400)


def hyperbola(x):
    return x / (1.0 + np.abs(x))


@pytest.mark.parametrize(
    ("count", "error", "damping"),
    [
        (5, 0.19477, (0.0452, 0.2130, 0.1707)),
        (10, 0.04326, (0.0491, 0.1590, 0.2756)),
        (20, 0.00993, (0.0580, 0.1479, 0.2764)),
        (40, 0.00235, (0.0561, 0.1454, 0.2765)),
    ],
)
def test_more_surfaces_follow_the_hyperbola_and_its_damping(count, error, damping):
    of = iwan.along_curve(count)
    assert np.abs(of.stress(X) / hyperbola(X) - 1.0).max() == pytest.approx(error, abs=6e-6)
    assert of.damping(np.array([0.3, 1.0, 3.0])) == pytest.approx(damping, abs=6e-5)
    assert sum(of.shares) == pytest.approx(1.0, abs=1e-14)
    assert of.stress(np.array(of.strains[:1]))[0] == pytest.approx(of.strains[0], rel=1e-14)


def test_damping_of_the_hyperbola():
    assert [iwan.masing_damping(r) for r in (0.3, 1.0, 3.0)] == pytest.approx((0.0555, 0.1448, 0.2766), abs=6e-5)
    many = iwan.along_curve(400)
    for ratio in (0.3, 1.0, 3.0):
        assert many.damping(np.array(ratio)) == pytest.approx(iwan.masing_damping(ratio), rel=2e-3)


def driven(of, path):
    """Stresses in simple shear along a path of strains, and the energy dissipated."""
    plastic, work, found = [[0.0] * 5 for _ in of.strains], 0.0, []
    for strain in path:
        plastic, _, more = iwan.step(of, plastic, [0.0, 0.0, strain, 0.0, 0.0])
        found.append(sum(m * (strain - p[2]) for m, p in zip(of.shares, plastic, strict=True)))
        work += float(more)
    return np.array(found), work


def test_load_unload_and_reload_follow_masing():
    of, turns = iwan.along_curve(200), (0.0, 1.5, -0.7, 0.4, -0.2, 2.5, -3.0)
    path = np.concatenate([np.linspace(a, b, 40)[1:] for a, b in zip(turns, turns[1:], strict=False)])
    point = MasingPoint(1.0, 1.0)
    expected = np.array([point.to(float(x)) for x in path])
    found, _ = driven(of, path)
    assert np.abs(found - expected).max() < 2e-4 * np.abs(expected).max()


def test_work_of_a_cycle_is_the_area_of_its_loop():
    of, x = iwan.along_curve(10), 1.3
    loop = x * np.sin(np.linspace(0.0, 4.0 * np.pi, 4001))
    first, second = driven(of, loop[:2001])[1], driven(of, loop)[1]
    area = of.damping(np.array(x)) * 2.0 * np.pi * of.stress(np.array(x)) * x
    assert second - first == pytest.approx(area, rel=1e-2)


def test_three_dimensions_follow_the_radial_return_of_tensors():
    of, rng = iwan.along_curve(10), np.random.default_rng(3)
    strain, old = np.zeros((3, 3)), np.zeros((3, 3))
    stress, plastic = [np.zeros((3, 3)) for _ in of.strains], [[0.0] * 5 for _ in of.strains]
    for _ in range(60):
        change = rng.normal(0.0, 0.4, (3, 3))
        strain = strain + change + change.T - np.eye(3) * 2.0 * np.trace(change) / 3.0
        for n, limit in enumerate(of.strains):
            trial = stress[n] + strain - old
            size = np.sqrt(0.5 * (trial * trial).sum())
            stress[n] = trial * min(1.0, limit / size)
        old = strain
        parts = [strain[0, 0], strain[1, 1], strain[0, 1], strain[1, 2], strain[0, 2]]
        plastic, lost, work = iwan.step(of, plastic, parts)
        for s, p in zip(stress, plastic, strict=True):
            mine = np.array(parts) - np.array(p)
            assert mine == pytest.approx([s[0, 0], s[1, 1], s[0, 1], s[1, 2], s[0, 2]], abs=1e-12)
        assert work >= 0 and np.abs(lost).max() > 0


def test_what_has_not_yielded_keeps_every_bit():
    of = iwan.along_curve(10)
    plastic = [[1e-4, -2e-4, 0.0, 3e-5, 1e-5]] * len(of.strains)
    after, lost, work = iwan.step(of, plastic, [2e-4, -1e-4, 1e-4, 0.0, 0.0])
    assert np.array_equal(after, plastic) and not np.any(lost) and work == 0


@pytest.mark.parametrize(
    ("strains", "stresses", "text"),
    [
        ((1e-4, 1e-3), (1e-4, 0.9e-4), "stress of the backbone falls before the strain 0.001"),
        ((1e-4, 1e-3, 1e-2), (0.5e-4, 2e-4, 9e-3), "gets steeper at the strain 0.001"),
        ((1e-3, 1e-3), (1e-4, 2e-4), "above 0 and rise"),
        ((1e-3,), (1e-4,), "two points or more"),
    ],
)
def test_curves_that_no_such_soil_follows(strains, stresses, text):
    with pytest.raises(ValueError, match=text):
        iwan.surfaces(strains, stresses)


def test_reference_strains():
    mu, confining = np.array([5e7]), np.array([iwan.ATMOSPHERE])
    strength = {"cohesion": np.array([1e4]), "friction_angle": np.array([30.0])}
    found = iwan.BACKBONES["strength"].strain(strength, mu, confining)
    assert found == pytest.approx((1e4 * np.cos(np.pi / 6) + 0.5 * iwan.ATMOSPHERE) / 5e7)
    clay = {"plasticity_index": np.array([15.0]), "overconsolidation_ratio": np.array([1.0])}
    assert iwan.BACKBONES["darendeli"].strain(clay, mu, confining) == pytest.approx(0.01 * (0.0352 + 0.0150))
