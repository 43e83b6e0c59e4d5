"""Every component that needs no data file: what it computes, which points it takes, what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from faultwave.base.errors import InputError
from tests.messages import raises

ORIGIN = [0.0, 0.0, 0.0]


def test_constant_map(easi, at):
    field = easi("!ConstantMap {map: {rho: 2.7e3, mu: 2.9403e+010, far: .inf, low: -.Inf}}")
    assert field.parameters == {"rho", "mu", "far", "low"}
    assert [at(field, n, ORIGIN)[0] for n in ("rho", "mu", "far", "low")] == [2700, 2.9403e10, math.inf, -math.inf]


@pytest.mark.parametrize("text", ["!Any", "!IdentityMap", "!IdentityMap {}", "!Any\ncomponents:\n"])
def test_identity_as_a_leaf_delivers_its_inputs(easi, at, text):
    field = easi(text)
    assert field.parameters == {"x", "y", "z"}
    assert at(field, "y", [[1, 2, 3], [4, 5, 6]]) == [2, 5]


def test_affine_map_takes_inputs_in_ascii_order(easi, at):
    field = easi("""
        !ConstantMap
        map: {b: 3, A: 1, _: 2}
        components: !AffineMap
          matrix: {q: [100, 10, 1], r: [0, 0, -1]}
          translation: {q: 0.5, r: 7}
    """)
    assert at(field, "q", ORIGIN) == [123.5]  # A, _, b
    assert at(field, "r", ORIGIN) == [4]


def test_polynomial_map_has_the_highest_power_first(easi, at):
    field = easi("""
        !AffineMap
        matrix: {d: [0, 0, -1]}
        translation: {d: 0}
        components: !PolynomialMap {map: {p: [2, 3, 5], q: [0, 1, 0]}}
    """)
    assert at(field, "p", [[0, 0, -2], [0, 0, 3]]) == [2 * 4 + 3 * 2 + 5, 2 * 9 - 9 + 5]
    assert at(field, "q", [0, 0, -2]) == [2]


def test_function_map_sees_inputs_only_and_children_see_outputs_only(easi, at):
    field = easi("""
        !FunctionMap
        map: {depth: return abs(z);, s0: "return x + y;"}
        components:
          - !AxisAlignedCuboidalDomainFilter
            limits: {depth: [0, 10], s0: [-.inf, .inf]}
            components: !FunctionMap {map: {p: return depth * s0;}}
          - !ConstantMap {map: {p: -1}}
    """)
    assert at(field, "p", [[1, 2, -10], [1, 2, -10.5]]) == [30, -1]
    with raises(InputError):
        easi("!FunctionMap\nmap:\n  b: return a;\n  a: return x;\n")


def test_switch_routes_by_parameter(easi, at):
    field = easi("""
        !Switch
        [a, b]: !ConstantMap {map: {a: 1, b: 2, c: 99}}
        [c]: !FunctionMap {map: {c: return x;}}
        d: !ConstantMap {map: {d: 4}}
        [never]: !ConstantMap {map: {other: 4}}
    """)
    assert field.parameters == {"a", "b", "c", "d"}
    points = np.array([[5.0, 0, 0]])
    values = field.evaluate(points, np.ones(1, int), ["d", "c", "b"])
    assert {n: v[0] for n, v in values.items()} == {"d": 4, "c": 5, "b": 2}  # c from its own branch
    with raises(InputError):
        at(field, "e", ORIGIN)


def test_switch_never_runs_a_branch_nobody_asks(easi, at):
    field = easi("""
        !Switch
        [a]: !ConstantMap {map: {a: 1}}
        [b]: !GroupFilter {groups: 7, components: !ConstantMap {map: {b: 1}}}
    """)
    assert at(field, "a", ORIGIN) == [1]
    assert at(field, "b", ORIGIN, [7]) == [1]
    with raises(InputError):
        at(field, "b", ORIGIN)


def test_switch_lists_must_be_disjoint(easi):
    with raises(InputError):
        easi("!Switch\n[a, b]: !ConstantMap {map: {a: 1, b: 1}}\n[a]: !ConstantMap {map: {a: 1}}\n")


def test_first_child_that_accepts_wins(easi, at):
    field = easi("""
        !Any
        components:
          - !GroupFilter {groups: [1, 3], components: !ConstantMap {map: {p: 13}}}
          - !GroupFilter {groups: 3, components: !ConstantMap {map: {p: 3}}}
          - !SphericalDomainFilter
            radius: 2
            centre: {x: 1, y: 0, z: 0}
            components: !ConstantMap {map: {p: 2}}
    """)
    points = [[0, 0, 0], [0, 0, 0], [3, 0, 0], [1, 0, -2]]
    assert at(field, "p", points, [3, 1, 5, 5]) == [13, 13, 2, 2]
    with raises(InputError):
        at(field, "p", [[0, 0, 0], [3.5, 0, 0]], [3, 5])


def test_one_child_must_accept_too(easi, at):
    field = easi("!Any\ncomponents: !GroupFilter {groups: 2, components: !ConstantMap {map: {p: 1}}}")
    assert at(field, "p", ORIGIN, [2]) == [1]
    with raises(InputError):
        at(field, "p", ORIGIN, [1])


def test_cuboid_is_closed_and_open_ended(easi, at):
    field = easi("""
        !Any
        components:
          - !AxisAlignedCuboidalDomainFilter
            limits: {x: [-1, 1], y: [-.inf, .inf], z: [-.inf, 0]}
            components: !ConstantMap {map: {p: 1}}
          - !ConstantMap {map: {p: 0}}
    """)
    points = [[1, 1e9, 0], [-1, 0, -1e9], [1.0000001, 0, 0], [0, 0, 1e-9]]
    assert at(field, "p", points) == [1, 1, 0, 0]


def test_leaf_that_lacks_a_parameter_is_told_with_its_place(easi, at):
    field = easi("""\
        !Any
        components:
          - !GroupFilter {groups: 1, components: !ConstantMap {map: {p: 1, q: 2}}}
          - !ConstantMap {map: {p: 0}}
    """)
    assert field.parameters == {"p", "q"}
    with raises(InputError):
        at(field, "q", [[0, 0, 0], [1, 2, 3]], [1, 2])


LAYERS = """
    !LayeredModel
    map: !AffineMap {{matrix: {{d: [0, 0, -1]}}, translation: {{d: 0}}}}
    interpolation: {kind}
    parameters: [p, q]
    nodes:
      1000: [3, 30]
      0: [1, 10]
      10e2.0: [0, 0]
"""


@pytest.mark.parametrize(
    ("kind", "expected"),
    # depths -5, 0, 500, 1000, 1000.1, 2000, 9999
    [
        ("lower", [1, 1, 1, 1, 3, 3, 7]),
        ("upper", [1, 1, 3, 3, 7, 7, 7]),
        ("linear", [1, 1, 2, 3, 3 + 4 * 0.1 / 1000, 7, 7]),
        ("Linear", [1, 1, 2, 3, 3 + 4 * 0.1 / 1000, 7, 7]),
    ],
)
def test_layered_model(easi, at, kind, expected):
    field = easi(LAYERS.format(kind=kind).replace("10e2.0: [0, 0]", "2e3: [7, 70]"))
    points = [[0, 0, -d] for d in (-5, 0, 500, 1000, 1000.1, 2000, 9999)]
    assert at(field, "p", points) == pytest.approx(expected, rel=1e-14)
    assert at(field, "q", points) == pytest.approx([10 * v for v in expected], rel=1e-14)


def test_layered_model_takes_infinite_nodes_unless_linear(easi, at):
    text = LAYERS.replace("10e2.0: [0, 0]", ".inf: [9, 90]")
    assert at(easi(text.format(kind="upper")), "p", [[0, 0, -5000]]) == [9]
    with raises(InputError):
        easi(text.format(kind="linear"))


def test_layered_model_refuses_bad_nodes(easi):
    with raises(InputError):
        easi(LAYERS.format(kind="lower"))
    with raises(InputError):
        easi(LAYERS.replace("10e2.0", "1e3").format(kind="lower"))
    with raises(InputError):
        easi(LAYERS.replace("10e2.0: [0, 0]", "2e3: [0]").format(kind="lower"))
    with raises(InputError):
        easi(LAYERS.replace("10e2.0", "2e3").format(kind="linaer"))


def test_eval_model_passes_only_its_parameters(easi, at):
    field = easi("""
        !EvalModel
        parameters: [strength, offset]
        model: !Switch
          [strength]: !ConstantMap {map: {strength: 10}}
          [offset]: !FunctionMap {map: {offset: return x;}}
        components: !AffineMap
          matrix: {p: [1, 100]}
          translation: {p: 0}
    """)
    assert at(field, "p", [[3, 0, 0]]) == [1003]  # sorted: offset, strength


def test_eval_model_whose_model_lacks_a_parameter(easi):
    with raises(InputError):
        easi("!EvalModel\nparameters: [stength]\nmodel: !ConstantMap {map: {strength: 1}}\n")


def test_include_resolves_beside_its_file_and_sees_the_root_again(tmp_path, easi, at, monkeypatch):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "inner.yaml").write_text("!Include leaf.yaml\n")
    (tmp_path / "parts" / "leaf.yaml").write_text("!FunctionMap {map: {p: return 10*x + z;}}\n")
    field = easi("""
        !Switch
        [p]: !FunctionMap
          map: {depth: return -z;}
          components: !Include parts/inner.yaml
    """)
    assert at(field, "p", [[1, 0, 5], [2, 0, 7]]) == [15, 27]
    moved = easi("!AffineMap\nmatrix: {x: [0, 1, 0], y: [1, 0, 0], z: [0, 0, 2]}\ntranslation: {x: 0, y: 0, z: 0}\n"
                 "components: !Include parts/leaf.yaml\n")  # fmt: skip
    assert at(moved, "p", [[1, 4, 5]]) == [50]  # x, y, z as the parent computed them
    monkeypatch.chdir(tmp_path / "parts")
    assert at(easi("!Include leaf.yaml"), "p", [[1, 0, 5]]) == [15]  # else from the working directory


@pytest.mark.parametrize(
    "text",
    [
        "!Switch\n[p]:\n!LuaMap\n  returns: p\n  function: |\n    function f(x)\n      return {p = x['x'] + 1}\n    end\n",
        "!EvalModel\nparameters: [q]\nmodel:\n!AffineMap   # as yaml-cpp takes it\n  matrix: {q: [1, 0, 0]}\n  translation: {q: 1}\n"
        "components:\n!AffineMap\n  matrix: {p: [1]}\n  translation: {p: 0}\n",
        "!Any\ncomponents:\n  - !IdentityMap\n    components:\n\n    # beside it\n    !FunctionMap\n      map: {p: return x+1;}\n",
        "!Any\r\ncomponents:\r\n!FunctionMap\r\n  map: {p: return x+1;}\r\n",
    ],
)
def test_tags_in_the_column_of_their_key(easi, at, caplog, text):
    """yaml-cpp, which easi uses, reads them; the value is that of the tag behind the key."""
    assert at(easi(text), "p", [[1, 0, 0], [4, 0, 0]]) == [2, 5]
    assert "a tag in the column of the key before it" in caplog.text


def test_a_tag_before_a_list_of_components_does_nothing(easi, at, caplog):
    inner = "- !ConstantMap {map: {p: 3}}\n- !ConstantMap {map: {p: 4}}\n"
    field = easi("!IdentityMap\ncomponents: !Any\n" + inner)
    assert at(field, "p", [[1, 0, 0]]) == [3] and "the tag !Any before the list" in caplog.text


def test_missing_files_below_lists_and_models_are_told(tmp_path, easi):
    """Whatever else is wrong on the way to them."""
    grid = "!ASAGI {file: none.nc, parameters: [p]}"
    for form, place in (
        (f"!Switch\n  [p]: !Any\n    components:\n    - {grid}\n", "6:21"),
        (f"!Switch\n  [p]: !IdentityMap\n    components: !Any\n    - {grid}\n", "6:21"),
        (f"!Switch\n  [p]: !Any\n    - {grid}\n", "5:21"),
    ):
        with pytest.raises(InputError, match=rf"model.yaml:{place}: 'none.nc' does not exist"):
            easi("!EvalModel\nparameters: [p]\nmodel: " + form)
    (tmp_path / "inner.yaml").write_text(f"!Any\ncomponents:\n- {grid}\n")
    with raises(InputError):
        easi("!EvalModel\nparameters: [p]\nmodel: !Include inner.yaml\n")
    with raises(InputError):
        easi("!Any\n- !ConstantMap {map: {p: 3}}\n")


def test_include_errors(tmp_path, easi):
    with raises(InputError):
        easi("!Include absent.yaml")
    (tmp_path / "b.yaml").write_text("!Any\ncomponents: !Include model.yaml\n")
    with raises(InputError):
        easi("!Include b.yaml")


def test_time_is_the_first_dimension(easi, at):
    text = "!AffineMap {matrix: {p: [1000, 100, 10, 1]}, translation: {p: 0}}"
    for time in (True, None):  # None: tried with x, y, z first
        field = easi(text, time)
        assert at(field, "p", [[1, 2, 3]], time=4.0) == [4123]
        with raises(InputError):
            at(field, "p", [[1, 2, 3]])
    with raises(InputError):
        easi(text, False)
    assert at(easi("!FunctionMap {map: {p: return x;}}"), "p", [[1, 2, 3]], time=4.0) == [1]


def test_function_without_return_at_a_point(easi, at):
    field = easi("!FunctionMap\nmap:\n  p: |\n    if (x > 0) {\n      return 1;\n    }\n")
    assert at(field, "p", [[1, 0, 0]]) == [1]
    with raises(InputError):
        at(field, "p", [[1, 0, 0], [-1, 0, 0]])


def test_many_points_are_chunked_with_rows_kept(easi):
    field = easi("!Any\ncomponents:\n - !GroupFilter {groups: 1, components: !FunctionMap {map: {p: return 2*x;}}}\n")
    count = 150_000
    points = np.zeros((count, 3))
    points[:, 0] = np.arange(count)
    groups = np.ones(count, dtype=int)
    np.testing.assert_array_equal(field.evaluate(points, groups, ["p"])["p"], 2 * points[:, 0])
    groups[140_000] = 2
    with raises(InputError) as caught:
        field.evaluate(points, groups, ["p"])
    assert caught.value.rows.tolist() == [140_000]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("!ConstantMap\nmap:\n  rho: 2700 kg\n", r":3:8: 'rho' is '2700 kg' \(allowed: a number"),
        ("!ConstantMap\nmap:\n  rho: 1\n  rho: 2\n", ":4:3: 'rho' occurs twice"),
        ("!ConstantMap\nmap: [1]\n", ":2:6: 'map' is a list .allowed: a mapping"),
        ("!ConstantMap\nmapp: {a: 1}\n", "has no 'map'"),
        ("!ConstnatMap\nmap: {a: 1}\n", ":1:1: unknown component !ConstnatMap.*did you mean '!ConstantMap'"),
        ("map: {a: 1}\n", ":1:1: a component without a tag"),
        ("!Any\ncomponents: {map: {a: 1}}\n", ":2:13: a component without a tag"),
        ("!Any\ncomponents: []\n", ":2:13: 'components' is an empty list"),
        ("!Any\n\tcomponents: 1\n", "not valid YAML.*spaces only"),
        ("!Any {components: [}\n", ":1:20: not valid YAML"),
        ("", "the file is empty"),
        ("!AffineMap {matrix: {a: [1, 2]}, translation: {a: 0}}", "has 2 numbers .allowed: 3, one for each of x, y, z"),
        ("!AffineMap {matrix: {a: [1, 2, 3]}, translation: {b: 0}}", "name different dimensions: a, b"),
        ("!PolynomialMap {map: {a: [1]}}", "receives 3 dimensions: x, y, z"),
        ("!GroupFilter {groups: one}", "a group is 'one' .allowed: an integer"),
        ("!SphericalDomainFilter {radius: -1, centre: {x: 0, y: 0, z: 0}}", "'radius' is -1"),
        ("!SphericalDomainFilter {radius: 1, centre: {x: 0, y: 0}}", "lacks z"),
        (
            "!AxisAlignedCuboidalDomainFilter {limits: {x: [0, 1], depth: [0, 1]}}",
            "lacks y, z and names depth, which it does not receive",
        ),
        ("!AxisAlignedCuboidalDomainFilter {limits: {x: [0], y: [0, 1], z: [0, 1]}}", "limits of 'x' are 1 numbers"),
        ("!EvalModel {parameters: [a, a], model: !Any }", "lists a more than once"),
    ],
)
def test_mistakes_are_told_with_file_line_and_column(easi, text, message):
    with pytest.raises(InputError, match="model.yaml.*" + message):
        easi(text)


def test_every_mistake_of_a_file_is_told_at_once(easi):
    with pytest.raises(InputError) as caught:
        easi("""\
            !Switch
            [a]: !ConstantMap {map: {a: one}}
            [b]: !FunctionMap
              map:
                b: |
                  r = sqrt(x*x);

                  return r + foo;
                c: return 1
              components: [!Nope {}, !Any {}]
        """)
    told = [str(p) for p in caught.value.problems]
    assert len(told) == 4
    for text, place in zip(told, (":2:29:", ":8:18:", ":9:16:", ":10:16:"), strict=True):
        assert f"model.yaml{place}" in text


def test_absent_file(tmp_path):
    from faultwave.media.easi import load_easi

    with raises(InputError):
        load_easi(tmp_path / "nothing.yaml")


def test_unknown_keys_and_regrouped_arithmetic_are_warnings(easi, caplog):
    with caplog.at_level("WARNING", logger="faultwave"):
        field = easi("""\
            !FunctionMap
            mapp: {}
            map:
              a: return x - 1 - 2;
              b: return x / 2 / 2;
        """)
    assert field.parameters == {"a", "b"}
    lines = [record.getMessage() for record in caplog.records]
    assert any("model.yaml:2:1: !FunctionMap ignores the unknown key 'mapp'. did you mean 'map'?" in t for t in lines)
    assert [t for t in lines if "group from the left" in t] == [t for t in lines if "model.yaml:4:19:" in t]
    assert len(lines) == 2  # the second expression is not told again


def test_aliases_of_aliases_end(easi):
    """A file of ten lines that asks for ten million components."""
    lines = ["  - &a0 !ConstantMap {map: {rho: 1}}"]
    lines += [f"  - &a{k + 1} !Any {{components: [{', '.join(10 * [f'*a{k}'])}]}}" for k in range(7)]
    with raises(InputError):
        easi("!Any\ncomponents:\n" + "\n".join(lines))
