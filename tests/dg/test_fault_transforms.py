"""Modes to fault points and back by way of lines, against the whole tables."""

import numpy as np
import pytest

from faultwave.backends.numpy.runtime import execute
from faultwave.dg.fault.points import point_rule
from faultwave.dg.fault.transforms import degree_of, tables, transforms
from faultwave.dg.method.basis import triangle_size
from faultwave.kernels.language import Kernel
from tests.messages import raises

EVERY_ORDER = pytest.mark.parametrize("order", range(1, 9))
KINDS = pytest.mark.parametrize("kind", ["symmetric", "conical"])
COLUMNS = 2


def computed(kind, order, kept):
    """Modes and points that went in, and what came out of the three transforms, in every group of the rule."""
    rule, degree = point_rule(kind, order - 1), order - 1
    groups, points, size = rule.phi.shape
    k = Kernel("there_and_back", fixed=True)
    modes, values = k.batch("modes", size, COLUMNS), k.batch("values", points, COLUMNS)
    outs = {
        n: k.batch(n, rows, COLUMNS, "out") for n, rows in (("at_points", points), ("of_points", size), ("low", points))
    }
    made = transforms(k, points, degree, k.index("group"), kind == "conical")
    series = k.temp("series", size, COLUMNS)
    k.pointwise(lambda x: [list(x)], [modes], [series])
    inner = k.temp("inner", points, COLUMNS)
    k.pointwise(lambda x: [list(x)], [values], [inner])
    made.to_points(outs["at_points"], made.turned(series, [size]))
    made.to_modes(outs["of_points"], inner)
    made.project(outs["low"], inner, kept)
    rng = np.random.default_rng(order)
    data = {"modes": rng.normal(size=(groups, size, COLUMNS)), "values": rng.normal(size=(groups, points, COLUMNS))}
    data |= {n: np.zeros((groups, a.rows, COLUMNS)) for n, a in outs.items()} | {"group": np.arange(groups)[:, None]}
    given = tables(rule, [a.name for a in k.arguments if a.space == "matrix"])
    execute(k, data | {n: np.reshape(v, (-1, *v.shape[-2:])) for n, v in given.items()}, {})
    return rule, data


@KINDS
@EVERY_ORDER
def test_transforms_are_those_of_the_whole_tables(kind, order):
    for kept in range(order):
        rule, data = computed(kind, order, kept)
        expected = {"at_points": rule.phi @ data["modes"], "of_points": rule.back @ data["values"]}
        expected["low"] = rule.projection(kept) @ data["values"]
        for name, values in expected.items():
            np.testing.assert_allclose(data[name], values, atol=1e-11 * max(1.0, np.abs(values).max()), err_msg=name)


@EVERY_ORDER
def test_turning_keeps_degrees_and_lengths(order):
    turn = point_rule("conical", order - 1).turn
    np.testing.assert_allclose(
        turn @ np.swapaxes(turn, 1, 2), np.broadcast_to(np.eye(turn.shape[1]), turn.shape), atol=1e-11
    )
    for d in range(order):
        block = slice(triangle_size(d - 1), triangle_size(d))
        others = np.delete(turn[:, block], np.r_[block], axis=2)
        assert np.abs(others).max(initial=0.0) < 1e-11
        assert degree_of(triangle_size(d)) == d


def test_other_points_are_not_on_lines():
    k = Kernel("points", fixed=True)
    with raises(ValueError):
        transforms(k, 16, 3, k.index("group"), True)
