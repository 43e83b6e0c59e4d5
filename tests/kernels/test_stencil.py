"""What a stencil records, costs and may not do."""

import numpy as np
import pytest

from faultwave.backends import make_stencils
from faultwave.kernels.stencil import (
    Box,
    Injection,
    Launch,
    Layout,
    Program,
    SampleBuffer,
    Stencil,
    check,
    cost,
    record,
)
from tests.messages import raises

BOX = Box((0, 0, 0), (6, 7, 9))


def program(function, levels=None, **more):
    arrays = {n: Layout(BOX, group="g") for n in ("a", "b")} | {"l": Layout(BOX, "line", "y")}
    return Program("test", BOX, arrays, levels or [[Launch(Stencil("s", function), BOX)]], {"c": 2.0}, **more)


def test_reads_and_writes_are_recorded():
    reads, writes = record(Stencil("s", lambda p: {"a": p.at("a") + p.scalar("c") * p.at("b", x=1, z=-2)}))
    assert set(reads) == {("at", "a", 0, 0, 0), ("scalar", "c"), ("at", "b", -2, 0, 1)}
    assert set(writes) == {"a"}


def test_cost_counts_equal_operations_once():
    def function(p):
        d = p.at("b", x=1) - p.at("b")
        return {"a": p.at("a") + d * d, "b": p.at("b") + d}

    assert cost(Stencil("s", function)) == (4, 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda p: {"a": p.at("a", y=1)},
        lambda p: {"a": p.at("no")},
        lambda p: {"a": p.scalar("no") * p.at("a")},
        lambda p: {"a": p.at("b", x=4)},
    ],
    ids=["reads and writes", "absent array", "absent scalar", "outside the halo"],
)
def test_what_a_launch_may_not_do(function):
    with raises(ValueError):
        check(program(function))


def test_points_outside_are_told():
    sample_buffer = SampleBuffer(0, "a", np.array([[6 + 2, 0, 0]]))
    with raises(ValueError):
        make_stencils("cpu", program(lambda p: {"a": p.at("b")}, sample_buffers=[sample_buffer]))


def test_order_within_a_level():
    """Launches, then injections, then launches with a lag, then the sample buffer; each step again."""
    first = Launch(Stencil("first", lambda p: {"a": 1.0 + p.at("b")}), BOX)
    second = Launch(Stencil("second", lambda p: {"b": p.at("a", y=-1) + p.line("l", "y")}), BOX, lag=1)
    points = np.array([[2, 3, 4]])
    p = program(
        None, [[first, second]], injections=[Injection(0, "a", points, np.array([0.5]), np.array([0]))],
        sample_buffers=[SampleBuffer(0, "a", points), SampleBuffer(0, "b", points + [0, 1, 0])],
    )  # fmt: skip
    for backend in ("numpy", "cpu"):
        runner = make_stencils(backend, p, "double")
        runner.view("l")[:] = np.arange(7)
        a, b = runner.run(2, np.array([[[10.0], [20.0]]]))
        # a = 1 + b + 0.5 amplitude; b[y] = a[y - 1] + y
        assert a[:, 0].tolist() == [1 + 5.0, 1 + (1 + 3.0) + 10.0]
        assert b[:, 0].tolist() == [6.0 + 4, 15.0 + 4]


def test_planes_that_are_worked_on_at_once():
    """However far they are apart, several steps in one pass read what one step after the other does."""
    from faultwave.backends.cpu.stencil import Blocking

    box, top = Box((0, 0, 0), (12, 9, 9)), Box((7, 0, 0), (13, 9, 9))
    below = Box((0, 0, 0), (7, 9, 9))
    arrays = {n: Layout(box, group="g") for n in ("a", "b")}

    def step(name, of):
        def inside(p):
            return {name: 0.9 * p.at(name) + 0.1 * (p.at(of, z=2) - p.at(of, z=-2, y=2))}

        def together(p):
            return {name: 0.9 * p.at(name) + 0.1 * (p.on(of, 12, y=-2) - p.on(of, 5, x=1))}

        return [Launch(Stencil(f"{name}_in", inside), below), Launch(Stencil(f"{name}_top", together), top)]

    made = Program("test", box, arrays, [step("a", "b"), step("b", "a")], {}, together=7)
    found = []
    for backend, blocking in (("numpy", None), ("cpu", Blocking(1, 100)), ("cpu", Blocking(4, 3))):
        runner, rng = make_stencils(backend, made, "double"), np.random.default_rng(0)
        for name in arrays:
            runner.view(name)[...] = rng.normal(size=box.shape)
        runner.blocking = blocking
        runner.run(5, np.zeros((2, 5, 1)))
        found.append({name: np.array(runner.values(name, 2)) for name in arrays})
    for name, expected in found[0].items():
        assert found[1][name] == pytest.approx(expected, abs=1e-13) and np.array_equal(found[1][name], found[2][name])
    with raises(ValueError):
        check(Program("test", box, arrays, [step("a", "b"), step("b", "a")], {}))
    with raises(ValueError):
        check(
            Program("test", box, arrays, [[Launch(Stencil("s", lambda p: {"a": p.on("a", 9)}), top)]], {}, together=7)
        )
