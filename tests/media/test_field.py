"""Constant, Expression, Layers, Merged, conversions, and fields from settings."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultwave.base.errors import InputError
from faultwave.media import Constant, Converted, Expression, Merged, check_field, load_field
from faultwave.media.load import read_layers
from tests.messages import raises

POINTS = np.array([[1.0, 2.0, -3.0], [4.0, 5.0, -600.0]])
GROUPS = np.array([1, 2])


@dataclass
class Setting:
    """Shaped like the case's setting, which this room does not import."""

    easi: Path | None = None
    constant: dict[str, float] = field(default_factory=dict)
    expression: dict[str, str] = field(default_factory=dict)
    layers: Path | None = None


def evaluate(thing, *names: str, time: float | None = None) -> list[list[float]]:
    found = thing.evaluate(POINTS, GROUPS, names, time)
    assert list(found) == list(names)
    return [found[name].tolist() for name in names]


def test_constant():
    thing = Constant({"rho": 2700.0, "mu": 3e10})
    assert evaluate(thing, "mu", "rho") == [[3e10, 3e10], [2700, 2700]]
    with raises(InputError):
        evaluate(thing, "muu")


def test_expression_bodies_bare_or_with_statements():
    thing = Expression.of({"a": "10*x + y", "b": "if (z < -100) { return 1; } return 0;", "c": "x + t"})
    assert evaluate(thing, "b", "a") == [[0, 1], [12, 45]]
    assert evaluate(thing, "c", time=0.5) == [[1.5, 4.5]]
    with raises(InputError):
        evaluate(thing, "a", "c")


def test_expression_mistakes_are_all_told():
    with pytest.raises(InputError) as caught:
        Expression.of({"a": "x +", "b": "x y", "c": "u = 1;\nreturn v;"}, "fault.parameters.expression")
    told = str(caught.value).splitlines()
    assert told[0].startswith("fault.parameters.expression.a:1:4: expected a number")
    assert told[1].startswith("fault.parameters.expression.b:1:3: unexpected 'y'")
    assert told[2].startswith("fault.parameters.expression.c:2:8: unknown name 'v'")
    with raises(InputError):
        evaluate(Expression.of({"p": "if (z < -5) { return 1; }"}, "e"), "p")


def layers(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "layers.txt"
    path.write_text(text)
    return path


def test_layers_hold_from_their_top_down(tmp_path):
    thing = read_layers(
        layers(tmp_path, "# a model\ndepth vp vs rho Qs\n0 4000 2000 2600 50\n\n1000 6000 3464 2700 99 # rock\n")
    )
    z = np.array([500.0, 0, -999.9, -1000, -5000])
    points = np.column_stack([0 * z, 0 * z, z])
    found = thing.evaluate(points, np.ones(5, int), ["vp", "Qs"])
    assert found["vp"].tolist() == [4000, 4000, 4000, 6000, 6000]
    assert found["Qs"].tolist() == [50, 50, 50, 99, 99]
    assert thing.parameters == {"vp", "vs", "rho", "Qs"}


def test_layers_with_declared_units_answer_for_moduli(tmp_path):
    path = layers(tmp_path, "rho[g/cm^3] Depth[km] Vs[km/s] VP[km/s]\n2.7 0 3 6\n2.8 0.5 3.5 6.5\n")
    thing = load_field(Setting(layers=path))
    rho, mu, lam, vp = evaluate(thing, "rho", "mu", "lambda", "vp")
    assert rho == pytest.approx([2700, 2800])
    assert mu == pytest.approx([2700 * 9e6, 2800 * 3.5e3**2])
    assert lam == pytest.approx([2700 * (36e6 - 18e6), 2800 * (6.5e3**2 - 2 * 3.5e3**2)])
    assert vp == pytest.approx([6000, 6500])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("depth vp vx\n0 1 2\n", "layers.txt:1: unknown column 'vx'"),
        ("depth vp Vp\n0 1 2\n", "layers.txt:1: column 'vp' occurs twice"),
        ("vp rho\n1 2\n", "layers.txt:1: the header lacks 'depth'"),
        ("depth vp[kg]\n0 1\n", "layers.txt:1: column 'vp'"),
        ("depth vp\n0 1\n# gap\n5\n", "layers.txt:4: '5' .allowed: 2 finite numbers"),
        ("depth vp\n0 one\n", "layers.txt:2: '0 one' is not a row of numbers"),
        ("depth vp\n0 nan\n", "layers.txt:2: '0 nan'"),
        ("depth vp\n0 1\n\n500 2\n500 3\n", "layers.txt:5: depth 500 m is not below the layer before"),
        ("depth vp\n", "no layers"),
    ],
)
def test_layer_mistakes(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_layers(layers(tmp_path, text))


def test_all_ways_merge_and_convert(tmp_path):
    model = tmp_path / "m.yaml"
    model.write_text("!FunctionMap {map: {vs: return 2000 + x;}}\n")
    thing = load_field(
        Setting(
            easi=model, constant={"rho": 2000.0}, expression={"vp": "4000"}, layers=layers(tmp_path, "depth Qs\n0 50\n")
        )
    )
    assert thing.parameters == {"rho", "vp", "vs", "Qs", "mu", "lambda"}
    assert evaluate(thing, "mu", "Qs", "vs") == [[2000 * 2001.0**2, 2000 * 2004.0**2], [50, 50], [2001, 2004]]
    assert not check_field(thing, ["rho", "mu", "lambda", "Qs"], "material").errors


def test_duplicates_and_broken_ways_are_all_told(tmp_path):
    with pytest.raises(InputError) as caught:
        load_field(Setting(constant={"mu": 1.0, "a": 1.0}, expression={"mu": "x", "a": "y"}), "fault.parameters")
    assert [str(p) for p in caught.value.problems] == [
        f"fault.parameters.expression: parameter {name} is defined twice, also by fault.parameters.constant. "
        "Remove one of the two"
        for name in ("a", "mu")
    ]
    with pytest.raises(InputError) as caught:
        load_field(
            Setting(easi=tmp_path / "none.yaml", expression={"mu": "u"}, layers=tmp_path / "none.txt"), "material"
        )
    assert len(caught.value.problems) == 3
    with raises(InputError):
        load_field(Setting(), "material")


def test_check_field_names_who_needs_what():
    problems = check_field(Constant({"rho": 1.0, "lamda": 1.0}, "m.yaml"), ["rho", "lambda", "mu"], "law elastic")
    told = [str(p) for p in problems.errors]
    assert len(told) == 2
    assert told[0].startswith("law elastic: parameter lambda is required, but m.yaml does not define it")
    assert "did you mean 'lamda'" in told[0]


speeds = st.floats(100, 4000)


@given(st.floats(500, 5000), speeds, st.floats(1.42, 3))
def test_velocities_and_moduli_are_two_sides(rho, vs, ratio):
    given_velocities = Converted.of(Constant({"rho": rho, "vp": ratio * vs, "vs": vs}))
    (mu, _), (lam, _) = evaluate(given_velocities, "mu", "lambda")
    back = Converted.of(Constant({"rho": rho, "mu": mu, "lambda": lam}))
    (vp2, _), (vs2, _) = evaluate(back, "vp", "vs")
    assert (vp2, vs2) == (pytest.approx(ratio * vs), pytest.approx(vs))


def test_fluids_have_a_bulk_modulus_only():
    water = Converted.of(Constant({"rho": 1000.0, "vp": 1500.0}))
    assert water.parameters == {"rho", "vp", "lambda"}
    assert evaluate(water, "lambda") == [[2.25e9, 2.25e9]]
    assert evaluate(Converted.of(Constant({"rho": 1000.0, "lambda": 2.25e9})), "vp") == [[1500, 1500]]


def test_given_values_win_and_nothing_is_invented():
    both = Converted.of(Constant({"rho": 2.0, "vp": 10.0, "vs": 3.0, "mu": 7.0}))
    assert evaluate(both, "mu", "lambda") == [[7, 7], [200 - 14, 200 - 14]]
    friction = Constant({"mu_s": 0.6})
    assert Converted.of(friction) is friction


def test_merged_asks_each_field_only_for_its_own():
    class Picky(Constant):
        def evaluate(self, points, groups, names, time=None):
            assert list(names) == ["b"]
            return super().evaluate(points, groups, names, time)

    both = Merged((Constant({"a": 1.0}), Picky({"b": 2.0, "c": 3.0})))
    assert evaluate(both, "b", "a") == [[2, 2], [1, 1]]


def test_a_header_of_layers_may_be_a_comment_and_must_be_there(tmp_path):
    file = tmp_path / "crust.txt"
    rows = "0 5 2.9 2600\n2 6 3.464 2700\n"
    file.write_text("# my crust\n# depth[km] vp[km/s] vs[km/s] rho\n" + rows)
    found = read_layers(file)
    assert found.tops.tolist() == [0.0, 2000.0] and found.names == ("vp", "vs", "rho")
    file.write_text("# my crust\n" + rows)
    with raises(InputError):
        read_layers(file)


def test_values_are_given_back_at_once():
    """Not only when Python looks for objects that hold each other, which is seldom."""
    made = []

    class Columns(Constant):
        def evaluate(self, points, groups, names, time=None):
            found = {name: np.array(column) for name, column in super().evaluate(points, groups, names, time).items()}
            made.extend(map(weakref.ref, found.values()))
            return found

    material = Converted.of(Columns({"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}))
    gc.collect()
    gc.disable()
    try:
        found = material.evaluate(POINTS, GROUPS, ["lambda"])
        assert list(found) == ["lambda"] and len(made) == 3
        assert not any(column() is not None for column in made)
    finally:
        gc.enable()
