"""Quadrature, cell averages against closed forms, and the checks of values."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.media import Constant, Expression, at_points, cell_averages, homogenise
from faultwave.media.homogenise import conical_rule
from tests.messages import raises

ELASTIC = ["rho", "mu", "lambda"]


def cells(count: int, seed: int = 3) -> np.ndarray:
    """Random tetrahedra with x in about 0.2..3.2."""
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0.2, 2.2, (count, 1, 3))
    return corner + np.concatenate([np.zeros((count, 1, 3)), np.eye(3) + rng.uniform(-0.2, 0.2, (count, 3, 3))], axis=1)


def average(thing, names, vertices, order=3, groups=None):
    groups = np.ones(len(vertices), dtype=int) if groups is None else groups
    return cell_averages(thing, names, vertices, groups, order)


@pytest.mark.parametrize("order", [1, 2, 3, 5, 8])
def test_conical_rule_is_exact_to_its_degree(order):
    points, weights = conical_rule(order)
    assert points.shape == (order**3, 4)
    assert (weights > 0).all()
    assert (points > 0).all()
    np.testing.assert_allclose(points.sum(axis=1), 1, rtol=1e-14)
    x, y, z = points[:, 1:].T
    for i in range(2 * order):
        for j in range(2 * order - i):
            for k in range(2 * order - i - j):
                exact = 6 * factorial(i) * factorial(j) * factorial(k) / factorial(i + j + k + 3)
                assert weights @ (x**i * y**j * z**k) == pytest.approx(exact, rel=1e-12)


def test_uniform_material_is_kept_to_the_last_bit():
    values = {"rho": 2670.0, "mu": 32038120320.0, "lambda": 32043759360.0, "Qp": 100.0, "Qs": 50.1}
    for names in (ELASTIC, ["rho", "lambda"], list(values)):
        found = average(Constant(values), names, cells(7), order=4)
        assert list(found) == names
        for name in names:
            assert (found[name] == values[name]).all()


def test_a_field_that_is_the_same_everywhere_is_looked_at_once_a_cell(monkeypatch):
    """It is half of the set-up of a large box otherwise."""
    field, looked = Constant({"rho": 2000.0, "mu": 3.0, "lambda": 4.0}), []
    plain = Constant.evaluate
    monkeypatch.setattr(
        Constant, "evaluate", lambda self, points, *rest: looked.append(len(points)) or plain(self, points, *rest)
    )
    found = average(field, ELASTIC, cells(20), order=4)
    assert looked == [20] and all((found[name] == value).all() for name, value in field.values.items())


def test_densities_and_quality_average_arithmetically():
    """The mean of a linear function is its value at the barycentre."""
    thing = Expression.of({"rho": "1000 + 20*x - y", "mu": "1", "lambda": "1", "Qp": "50+z", "Qs": "20+x"})
    vertices = cells(50)
    x, y, z = vertices.mean(axis=1).T
    found = average(thing, [*ELASTIC, "Qp", "Qs"], vertices)
    np.testing.assert_allclose(found["rho"], 1000 + 20 * x - y, rtol=1e-14)
    np.testing.assert_allclose(found["Qp"], 50 + z, rtol=1e-14)
    np.testing.assert_allclose(found["Qs"], 20 + x, rtol=1e-14)


def test_shear_modulus_averages_harmonically():
    vertices = cells(50)
    found = average(Expression.of({"rho": "1", "mu": "1/(2 + 3*x + y)", "lambda": "1"}), ELASTIC, vertices)
    x, y, _ = vertices.mean(axis=1).T
    np.testing.assert_allclose(found["mu"], 1 / (2 + 3 * x + y), rtol=1e-13)


def test_lambda_averages_through_poisson_over_young():
    """With nu/E linear its mean is the barycentre's, and lambda follows with the harmonic mu."""
    thing = Expression.of({
        "rho": "1", "mu": "1/(2 + x)",
        "lambda": "m = 1/(2 + x); e = 0.05 + 0.1*x; return 4*m*m*e/(1 - 6*m*e);",
    })  # fmt: skip
    vertices = cells(50)
    x = vertices.mean(axis=1)[:, 0]
    mu, ratio = 1 / (2 + x), 0.05 + 0.1 * x
    found = average(thing, ELASTIC, vertices)
    np.testing.assert_allclose(found["lambda"], 4 * mu**2 * ratio / (1 - 6 * mu * ratio), rtol=1e-12)
    # and nu/E of the result is that mean
    lam = found["lambda"]
    np.testing.assert_allclose(lam / (2 * mu * (3 * lam + 2 * mu)), ratio, rtol=1e-12)


def test_any_water_makes_the_cell_acoustic_with_harmonic_bulk_modulus():
    """1/K linear in space, whatever part of it is shear."""
    thing = Expression.of({
        "rho": "1000",
        "mu": "if (x < 1.5) { return 0; } return 0.01;",
        "lambda": "k = 1/(2 + x); if (x < 1.5) { return k; } return k - 0.02/3;",
    })  # fmt: skip
    vertices = cells(200)
    found = average(thing, ELASTIC, vertices, order=4)
    points = np.einsum("qv,cvd->cqd", conical_rule(4)[0], vertices)[..., 0]
    wet = (points < 1.5).any(axis=1)
    mixed = wet & (points >= 1.5).any(axis=1)
    assert mixed.sum() > 20
    assert (found["mu"][wet] == 0).all()
    assert found["mu"][~wet] == pytest.approx(0.01)
    np.testing.assert_allclose(found["lambda"][wet], 1 / (2 + vertices.mean(axis=1)[wet, 0]), rtol=1e-12)


def test_acoustic_law_averages_the_bulk_modulus_harmonically():
    vertices = cells(20)
    found = average(Expression.of({"rho": "1", "lambda": "1/(1+z)"}), ["rho", "lambda"], vertices)
    np.testing.assert_allclose(found["lambda"], 1 / (1 + vertices.mean(axis=1)[:, 2]), rtol=1e-13)


def test_barycentre_when_asked_or_when_there_is_no_mean():
    vertices = cells(30)
    x = vertices.mean(axis=1)[:, 0]
    thing = Expression.of({"rho": "x*x", "mu": "x", "lambda": "x", "c11": "x*x*x"})
    np.testing.assert_allclose(average(thing, ELASTIC, vertices, order=None)["rho"], x**2, rtol=1e-14)
    found = average(thing, ["rho", "c11"], vertices, order=3)
    np.testing.assert_allclose(found["c11"], x**3, rtol=1e-14)
    np.testing.assert_allclose(found["rho"], x**2, rtol=1e-14)
    assert (average(thing, ELASTIC, vertices)["rho"] > x**2).all()  # a convex function's mean


def test_chunks_do_not_change_anything(monkeypatch):
    thing = Expression.of({"rho": "1000 + x*y", "mu": "1 + x*x", "lambda": "exp(z)"})
    vertices = cells(101)
    whole = average(thing, ELASTIC, vertices)
    monkeypatch.setattr(homogenise, "CHUNK", 100)  # 3 cells of 27 points at a time
    parts = average(thing, ELASTIC, vertices)
    for name in ELASTIC:
        np.testing.assert_array_equal(parts[name], whole[name])


def test_groups_reach_the_model(easi):
    field = easi("!Any\ncomponents:\n"
                 " - !GroupFilter {groups: 2, components: !ConstantMap {map: {rho: 2, mu: 2, lambda: 2}}}\n"
                 " - !ConstantMap {map: {rho: 1, mu: 1, lambda: 1}}\n")  # fmt: skip
    groups = np.array([1, 2, 2, 1, 3])
    assert average(field, ELASTIC, cells(5), groups=groups)["rho"].tolist() == [1, 2, 2, 1, 1]


def test_points_without_material_are_counted_and_ten_are_shown(easi):
    """Two kinds of holes, more chunks than one, every point counted."""
    field = easi("!Any\ncomponents:\n"
                 " - !GroupFilter {groups: [1, 2], components: !ConstantMap {map: {rho: 1, mu: 1, lambda: 1}}}\n"
                 " - !GroupFilter {groups: 3, components: !ConstantMap {map: {rho: 1, mu: 1}}}\n")  # fmt: skip
    groups = np.ones(6000, dtype=int)
    groups[[10, 5900]] = 7
    groups[20] = 3
    with pytest.raises(InputError) as caught:
        average(field, ELASTIC, cells(6000), groups=groups)
    absent, lacking = sorted((str(p) for p in caught.value.problems), key=lambda t: "no lambda" in t)
    assert "no component accepts the point at 54 of 162,000 point(s): cell 10 at (" in absent
    assert absent.count("cell ") == 2  # one place for each cell
    assert "cell 5900 at (" in absent
    assert "no lambda here (only mu, rho) at 27 of 162,000 point(s): cell 20 at (" in lacking


@pytest.mark.parametrize(
    ("bodies", "message"),
    [
        ({"rho": "sqrt(2-x)"}, r"rho is not a finite number at \d+ of 540 point\(s\): cell \d+ at \(.*\) = nan"),
        ({"rho": "1/(x-x)"}, r"rho is not a finite number at .* = inf"),
        ({"rho": "0"}, r"rho is not positive at 20 of 20 point\(s\): cell 0 at \(.*\) = 0;"),
        ({"mu": "-2"}, r"mu is negative at 20 of 20 point\(s\): cell 0 at \(.*\) = -2;"),
        (
            {"lambda": "-0.7"},
            r"the bulk modulus lambda \+ 2/3 mu is not positive, as vp is not above 1.155 vs \(are they exchanged\?\), at 20 of 20 point",
        ),
    ],
)
def test_impossible_values_are_told_with_cell_place_and_value(bodies, message):
    thing = Expression.of({"rho": "1", "mu": "1", "lambda": "1", **bodies}, "material.expression")
    with pytest.raises(InputError, match="material.expression: " + message) as caught:
        average(thing, ELASTIC, cells(20))
    assert str(caught.value).count("cell ") <= 10
    assert len(caught.value.problems) == 1


def test_negative_lambda_with_positive_bulk_modulus_is_a_material():
    found = average(Constant({"rho": 1.0, "mu": 1.0, "lambda": -0.5}), ELASTIC, cells(3))
    assert found["lambda"].tolist() == [-0.5] * 3


def test_at_points_checks_values_and_lets_never_be_infinite():
    points = np.array([[1.0, 0, 0], [2.0, 0, 0]])
    groups = np.array([3, 65])
    thing = Expression.of({"forced_rupture_time": "1/(x-1)", "mu_s": "0.6", "d_c": "sqrt(1-x)", "later": "t"}, "f")
    found = at_points(thing, ["forced_rupture_time", "mu_s"], points, groups)
    assert found["forced_rupture_time"].tolist() == [np.inf, 1]
    assert at_points(thing, ["later"], points, groups, time=3.0)["later"].tolist() == [3, 3]
    with raises(InputError):
        at_points(thing, ["d_c"], points, groups)
    with raises(InputError):
        at_points(thing, ["d_c"], points, groups, cells=np.array([8, 9]))


def test_many_cells_are_evaluated_in_few_large_blocks(easi):
    """A field's own cost is a call's: hundred thousand cells must not be that many calls, nor all points at once."""
    field = easi("!FunctionMap {map: {rho: return 2700;, mu: return 1 + x*x;, lambda: return exp(-abs(z));}}")
    sizes, evaluate = [], field.evaluate

    class Watched:
        def __getattr__(self, name):
            return getattr(field, name)

        def evaluate(self, points, *more):
            sizes.append(len(points))
            return evaluate(points, *more)

    average(Watched(), ELASTIC, cells(100_000), order=4)
    assert sum(sizes) == 100_000 * 64
    assert len(sizes) <= 100 and max(sizes) <= 2_000_000
