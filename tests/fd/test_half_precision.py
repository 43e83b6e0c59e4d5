"""Coefficients in sixteen bits: every size keeps its digits, means stay, backends read them alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultwave.backends import make_stencils
from faultwave.fd.method.effective_medium import Units, rounded_at, spread_rounding
from faultwave.kernels.stencil import Box, Launch, Layout, Program, Stencil
from tests.messages import raises


@given(st.floats(1e-4, 3e4), st.integers(0, 9))
def test_rounded_to_a_neighbour_and_right_on_average(value, pattern):
    cells = np.full((16, 16, 16), value)
    halves = spread_rounding(cells, (3, 0, 0), pattern).astype(float)
    assert (np.abs(halves / value - 1) <= 2.0**-10).all()
    assert halves.mean() / value == pytest.approx(1, abs=2e-6)
    boxes = halves.reshape(4, 4, 4, 4, 4, 4).mean((1, 3, 5))
    assert (np.abs(boxes / value - 1) <= 2.0**-10 / 12).all()  # of 64 points


def test_what_is_exact_stays_and_numbers_do_not_depend_on_where_a_part_begins():
    exact = np.array([0.0, -3.0, 1.0, 2.0**-14, 65504.0]).reshape(1, 1, 5)
    assert np.array_equal(spread_rounding(exact, (7, 1, 2), 3), exact)
    whole = np.random.default_rng(0).uniform(1, 2, (6, 5, 4))
    halves = spread_rounding(whole, (0, 0, 0), 1)
    assert np.array_equal(halves[2:, 1:, 3:], spread_rounding(whole[2:, 1:, 3:], (2, 1, 3), 1))


def test_units_keep_soft_and_stiff():
    made = {
        "lam": np.array([1e5, 9e10]),
        "mu2": np.array([0.0, 6e10]),
        "b_x": np.array([1 / 900, 1 / 8000]),
        "defect_p": np.array([0.1]),
    }
    units = Units.fitting(made)
    assert 2**14 <= 9e10 / units.modulus < 2**15 and 2**14 <= 1 / 900 / units.buoyancy < 2**15
    assert 1e5 / units.modulus == pytest.approx(float(np.float16(1e5 / units.modulus)), rel=2.0**-11)
    assert units.of("defect_p") == 1.0


@pytest.mark.parametrize("backend", ["numpy", "cpu"])
def test_backends_read_every_half(backend):
    """All finite halves, subnormal and negative ones too."""
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    every = every[np.isfinite(every)]
    box = Box((0, 0, 0), (4, 8, len(every) // 32))
    copy = Stencil("copy", lambda p: {"out": 1.0 * p.at("half", x=1)})
    arrays = {"half": Layout(box, half=True), "out": Layout(box)}
    made = make_stencils(backend, Program("halves", box, arrays, [[Launch(copy, box)]], {}), "single", 1)
    assert made.view("half").dtype == np.float16
    made.view("half")[...] = every[: box.points].reshape(box.shape)
    made.run(1, np.zeros((1, 1, 1)))
    expected = made.view("half").astype(np.float32)
    assert np.array_equal(made.view("out")[..., :-1], expected[..., 1:])


def test_halves_cannot_be_written():
    box = Box((0, 0, 0), (4, 4, 8))
    program = Program(
        "bad", box, {"h": Layout(box, half=True)}, [[Launch(Stencil("s", lambda p: {"h": p.at("h") + 1.0}), box)]], {}
    )
    with raises(ValueError):
        make_stencils("numpy", program, "single", 1)


def test_single_points_are_rounded_as_the_whole_array_is():
    values = np.random.default_rng(5).uniform(0.1, 3.0, (5, 6, 7))
    whole = spread_rounding(values, (10, 0, 3), 4)
    points = np.stack(np.meshgrid(*(np.arange(n) for n in values.shape), indexing="ij"), -1).reshape(-1, 3)
    assert np.array_equal(rounded_at(values.reshape(-1), points + [10, 0, 3], 4), whole.reshape(-1).astype(float))
