"""Sides, strike and dip, rotations, and the names of stresses."""

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.physics.friction.frame import (
    directions,
    plus_side,
    strike_dip,
    tangents,
    to_strike_dip,
    to_tangents,
    traction,
)
from faultwave.physics.friction.initial_stress import choose_stress, initial_traction, prefix_of
from tests.messages import raises

RNG = np.random.default_rng(7)


def unit(v):
    return v / np.linalg.norm(v, axis=1)[:, None]


# Cells on both sides of the fault y = 0: outward normals and off-face vertices of the y < 0 and the y > 0 cell.
NORMALS = np.array([[0.0, 1, 0], [0.0, -1, 0]])
ON_FACE = np.zeros((2, 3)) + [5.0, 0, -3]
OPPOSITE = np.array([[5.0, -1, -3], [5.0, 1, -3]])


def test_the_same_reference_names_opposite_sides():
    reference = (0.0, -1.0, 0.0)
    assert plus_side("point", reference, NORMALS, ON_FACE, OPPOSITE).tolist() == [True, False]
    assert plus_side("direction", reference, NORMALS, ON_FACE, OPPOSITE).tolist() == [False, True]


@pytest.mark.parametrize(
    ("method", "reference", "text"),
    [
        ("point", (9.0, 0.0, 2.0), "plane"),
        ("direction", (1.0, 0.0, 3.0), "parallel"),
        ("direction", (0.0, 0.0, 0.0), "null"),
        ("vector", (0.0, 1.0, 0.0), "vector"),
    ],
)
def test_useless_references_are_refused(method, reference, text):
    with pytest.raises(InputError, match=text):
        plus_side(method, reference, NORMALS, ON_FACE, OPPOSITE)


def test_the_point_that_is_taken_where_none_is_given_is_told():
    with raises(InputError):
        plus_side("point", (0.0, 0.0, 0.0), NORMALS, ON_FACE, OPPOSITE)


def test_strike_and_dip_of_tpv5_and_in_general():
    strike, dip = strike_dip(np.array([[0.0, 1, 0], [0.0, -1, 0]]))
    assert strike.tolist() == [[1, 0, 0], [-1, 0, 0]] and dip.tolist() == [[0, 0, -1], [0, 0, -1]]
    n = unit(RNG.normal(size=(50, 3)))
    strike, dip = strike_dip(n)
    assert np.all(dip[:, 2] <= 0) and np.all(strike[:, 2] == 0)
    assert np.einsum("ni,ni->n", strike, n) == pytest.approx(0, abs=1e-14)
    assert dip == pytest.approx(np.cross(n, strike)) and np.linalg.norm(dip, axis=1) == pytest.approx(1)
    flipped_strike, flipped_dip = strike_dip(-n)
    assert flipped_strike == pytest.approx(-strike) and flipped_dip == pytest.approx(dip)


def test_horizontal_fault_is_refused_with_its_place():
    n = np.array([[0.0, 1, 0], [0, 0, 1.0]])
    with raises(InputError):
        strike_dip(n, np.array([[1.0, 2, 3], [4.0, 5, 6]]))


def test_traction_keeps_the_vector_and_its_sign():
    n = unit(RNG.normal(size=(20, 3)))
    s1, s2 = tangents(n, RNG.normal(size=(20, 3)))
    assert np.cross(s1, s2) == pytest.approx(n)
    stress = RNG.normal(size=(20, 6))
    t = traction(stress, n, s1, s2)
    for i in range(20):
        xx, yy, zz, xy, yz, xz = stress[i]
        vector = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ n[i]
        assert t[i, 0] * n[i] + t[i, 1] * s1[i] + t[i, 2] * s2[i] == pytest.approx(vector)


def test_strike_dip_to_tangents_and_back():
    n = unit(RNG.normal(size=(9, 3)))
    strike, dip = strike_dip(n)
    s1, s2 = tangents(n, RNG.normal(size=(9, 3)))
    d = directions(s1, s2, strike, dip)
    values = RNG.normal(size=(9, 3))
    t = to_tangents(values, d)
    vector = t[:, 1, None] * s1 + t[:, 2, None] * s2
    assert vector == pytest.approx(values[:, 1, None] * strike + values[:, 2, None] * dip)
    back = to_strike_dip(t[:, 1], t[:, 2], d)
    assert np.stack(back, 1) == pytest.approx(values[:, 1:]) and t[:, 0] == pytest.approx(values[:, 0])


def test_tensor_and_traction_input_agree():
    """TPV5: s_xy = 70 MPa is T_s = 70 MPa, right-lateral, for either choice of the plus side."""
    for n in (np.array([[0.0, 1, 0]]), np.array([[0.0, -1, 0]])):
        strike, dip = strike_dip(n)
        frame = (n, *tangents(n, np.array([[0.3, 0.0, 1.0]])), strike, dip)
        tensor = {f"s_{c}": np.zeros(1) for c in ("xx", "yy", "zz", "xy", "yz", "xz")}
        tensor |= {"s_yy": np.array([-120e6]), "s_xy": np.array([70e6])}
        tractions = {"T_n": np.array([-120e6]), "T_s": np.array([70e6]), "T_d": np.array([0.0])}
        old = dict(zip(("Pn0", "Ts0", "Td0"), tractions.values(), strict=True))
        expected = initial_traction(tensor, *frame)
        assert expected[0, 0] == -120e6 and np.hypot(*expected[0, 1:]) == pytest.approx(70e6)
        assert initial_traction(tractions, *frame) == pytest.approx(expected)
        assert initial_traction(old, *frame) == pytest.approx(expected)
        nucleation = {f"nuc2_{k[2:]}": v for k, v in tensor.items()}
        assert initial_traction(nucleation, *frame, prefix="nuc2") == pytest.approx(expected)


TENSOR = ["s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz"]


def test_complete_sets_are_chosen_by_prefix():
    assert choose_stress([*TENSOR, "Tnuc_n", "Tnuc_s", "Tnuc_d", "mu_s"]) == tuple(TENSOR)
    assert choose_stress([*TENSOR, "Tnuc_n", "Tnuc_s", "Tnuc_d"], prefix_of(1)) == ("Tnuc_n", "Tnuc_s", "Tnuc_d")
    assert choose_stress(["Pn0", "Ts0", "Td0"]) == ("Pn0", "Ts0", "Td0")
    assert choose_stress([f"nuc3_{c[2:]}" for c in TENSOR], prefix_of(3))[0] == "nuc3_xx"


@pytest.mark.parametrize(
    ("names", "prefix", "text"),
    [
        ([], "", "initial stress is missing"),
        (TENSOR, "nuc", "nucleation stress is missing"),
        (TENSOR[:5], "", "lacks s_xz"),
        ([*TENSOR, "T_n"], "", "mixes .*T_n"),
        (["T_n", "Ts0", "Td0"], "", "mixes T_n, Ts0, Td0"),
        (["Tnuc_n", "Tnuc_s"], "nuc", "lacks Tnuc_d"),
    ],
)
def test_incomplete_and_mixed_sets_are_refused(names, prefix, text):
    with pytest.raises(InputError, match=text):
        choose_stress(names, prefix)
