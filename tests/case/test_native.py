import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultwave.case.load import load_case
from faultwave.case.native import load_native
from faultwave.case.settings.parameters import parameter_to_si
from tests.messages import expect, raises

MINIMAL = """\
end_time: 1 s
mesh:
  generate: {shape: box, cells: [2, 2, 2], lower: [0, 0, 0], upper: [1, 1, 1]}
material:
  constant: {rho: 2.7 g/cm^3, vp: 6 km/s, vs: 3464}
"""


@pytest.fixture
def write(tmp_path):
    def write(text: str, name: str = "case.yaml") -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def only(problems, line, *words):
    """The one problem of that line, which must say all words."""
    found = [p for p in problems.items if p.where.endswith(f":{line}") or p.where.split(":")[1] == str(line)]
    assert len(found) == 1, [str(p) for p in problems.items]
    for word in words:
        assert word in str(found[0])
    return found[0]


def test_units_and_defaults(write):
    case, problems = load_native(write(MINIMAL))
    assert not problems.items
    assert case.material.constant == {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}
    assert case.end_time == 1.0
    assert case.numerics.order == 4
    assert case.mesh.generate.boundaries == {}
    assert case.output.folder == Path.cwd() / "output"


def test_yaml_numbers(write):
    case, problems = load_native(write(MINIMAL.replace("3464", "3.464e3").replace("1 s", "1e0")))
    assert not problems.items
    assert case.end_time == 1.0
    assert case.material.constant["vs"] == 3464.0


@given(st.floats(min_value=1e-99, max_value=1e99))
def test_end_time_survives_its_text(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("case") / "case.yaml"
    path.write_text(MINIMAL.replace("1 s", f"{value!r}"))
    case, problems = load_native(path)
    assert not problems.items
    assert case.end_time == value
    text = f"{value * 1e3!r} ms" if math.isfinite(value * 1e3) else "1 ms"
    path.write_text(MINIMAL.replace("1 s", text))
    assert math.isclose(load_native(path)[0].end_time, value if math.isfinite(value * 1e3) else 1e-3, rel_tol=1e-12)


def test_every_mistake_at_once(write):
    case, problems = load_native(
        write(
            """\
title: bad
end_time: -1 s
mehs: 3
mesh:
  generate:
    shape: box
    cells: [0, 2, 2]
    lower: [0, 0, 0 kg]
    upper: [1, 1, 1]
material:
  constant:
    rho: 2700 m
    vs: 3 Mm/h
numerics:
  ordr: 4
  order: 9
  precision: duble
output:
  fault: {refinement: 2}
  receivers: {points: [[1, 2]]}
  surface:
    interval: 0
"""
        )
    )
    assert case is None
    only(problems, 2, "end_time is -1", "> 0")
    only(problems, 3, "'mehs'", "did you mean 'mesh'?")
    only(problems, 7, "mesh.generate.cells[0]", ">= 1")
    only(problems, 8, "mesh.generate.lower[2]", "'0 kg'")
    only(problems, 12, "rho", "kg/m^3")
    only(problems, 15, "'ordr'", "did you mean 'order'?", "precision")
    only(problems, 16, "order is 9", ">= 2 and <= 8")
    only(problems, 17, "'duble'", "double, single", "did you mean 'double'?")
    only(problems, 19, "output.fault.interval", "missing")
    only(problems, 20, "points[0]", "too short")
    only(problems, 22, "output.surface.interval", "> 0")
    lines = [int(p.where.rsplit(":", 1)[1]) for p in problems.items]
    assert lines == sorted(lines)


@pytest.mark.parametrize("order", [1, 9, 0, -3, 4.5, "four"])
def test_orders_that_do_not_exist(write, order):
    case, problems = load_native(write(MINIMAL + f"numerics:\n  order: {order}\n"))
    assert case is None
    only(problems, 7, "order", "integer >= 2 and <= 8")


def test_missing_groups(write):
    case, problems = load_native(write("title: nothing\n"))
    assert case is None
    texts = " ".join(map(str, problems.errors))
    assert all(f"'{name}' is missing" in texts for name in ("end_time", "mesh", "material"))


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: [1, 2\nb: 3\n", ":2", "not valid YAML"),
        ("a: 1\na: 2\n", ":2", "duplicate key"),
        ("- 1\n- 2\n", ":1", "name: value"),
        ("", ":1", "empty"),
        ("a:\n\t- 1\n", ":2", "tab"),
    ],
)
def test_broken_yaml(write, text, place, words):
    case, problems = load_native(write(text))
    assert case is None
    (problem,) = problems.errors
    assert place in problem.where
    assert words in str(problem)


def test_files(write, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "mesh.h5").write_bytes(b"")
    (tmp_path / "model.yaml").write_text("")
    text = "end_time: 1\nmesh: {file: mesh.h5}\nmaterial: {easi: ../model.yaml}\n"
    case, problems = load_native(write(text, "deep/case.yaml"))
    assert not problems.items
    assert case.mesh.file == tmp_path / "deep" / "mesh.h5"
    assert case.material.easi.samefile(tmp_path / "model.yaml")
    assert case.source_files == (tmp_path / "deep" / "case.yaml",)
    case, problems = load_native(write(text))
    assert case is None
    only(problems, 2, "mesh.file: no such file", str(tmp_path / "mesh.h5"))
    only(problems, 3, "material.easi: no such file")


def test_mesh_needs_one_source(write):
    both = MINIMAL.replace("mesh:\n", "mesh:\n  file: case.yaml\n")
    case, problems = load_native(write(both))
    assert case is None
    only(problems, 2, "set one of file, generate and build")


def test_shapes_are_named(write):
    case, problems = load_native(write(MINIMAL.replace("shape: box", "shape: tpv6")))
    assert case is None
    only(problems, 3, "'tpv6'", "box, tpv5")
    case, problems = load_native(write(MINIMAL.replace("lower", "lowr")))
    texts = " ".join(map(str, problems.errors))
    assert "'lowr'" in texts
    assert "did you mean 'lower'?" in texts
    assert "mesher" not in texts  # that is a setting of the other shape


@pytest.mark.parametrize(
    "boundaries", ["{x-: periodic}", "{x: periodic, x+: absorbing}", "{q: absorbing}", "{x: fre-surface}"]
)
def test_sides_of_a_box(write, boundaries):
    case, problems = load_native(write(MINIMAL.replace("upper", f"boundaries: {boundaries}, upper")))
    assert case is None
    only(problems, 3)


def test_names_that_nobody_knows_are_refused(write):
    _, problems = load_native(write(MINIMAL.replace("vs: 3464", "vvs: 3464") + "output:\n  energies:\n"))
    only(problems, 5, "'vvs'", "did you mean 'vs'?")
    only(problems, 7, "'output.energies' is empty")
    assert [p.where.rsplit(":", 1)[1] for p in problems.errors] == ["5"]
    regions = "regions: {1: {relative_permitivity: 2}}"
    _, problems = load_native(write(re.sub(r"constant: \{.*?\}", regions, MINIMAL)))
    expect(problems.errors)


def test_parameters_are_converted_by_name(write):
    text = MINIMAL + (
        "fault:\n  friction: linear-slip-weakening\n  constants: {rs_sr0: 1 mm/s}\n  parameters:\n    constant: "
        "{T_n: -120 MPa, nuc3_xx: 1 kPa, d_c: 40 cm, mu_s: 0.6, cohesion: 0.4 MPa, rs_srW: 10 cm/s}\n"
    )
    case, problems = load_native(write(text))
    assert not problems.items
    assert case.fault.parameters.constant == pytest.approx(
        {"T_n": -120e6, "nuc3_xx": 1e3, "d_c": 0.4, "mu_s": 0.6, "cohesion": 4e5, "rs_srW": 0.1}
    )
    assert case.fault.constants == pytest.approx({"rs_sr0": 1e-3})
    case, problems = load_native(write(text.replace("-120 MPa", ".nan")))
    only(problems, 10, "T_n", "not a number")


@pytest.mark.parametrize("start", ["-1 s", -1e-9])
def test_nucleation_starts_with_the_run_or_later(write, start):
    """Of an episode that starts before, only what falls into the run would be added, and nothing said."""
    fault = "fault:\n  friction: linear-slip-weakening\n  parameters: {constant: {T_n: -1}}\n  nucleation:\n"
    text = MINIMAL + fault + "  - {start: START, duration: 2 s, stress: {constant: {nuc_p: 1}}}\n"
    case, problems = load_native(write(text.replace("START", str(start))))
    assert case is None
    only(problems, 10, "start is -", "before the run", "to the initial stress in fault.parameters")
    assert load_native(write(text.replace("START", "0")))[0].fault.nucleation[0].start == 0


def test_a_parameter_is_given_once(write):
    case, problems = load_native(write(MINIMAL + "  expression: {vs: return 3.0;}\n"))
    assert case is None
    only(problems, 4, "defined both as constant and as expression", "vs")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sources: [{kind: moment-tensor, tensor: {xy: 1}}]", "time_function"),
        ("sources: [{kind: moment-tensor, tensor: {yx: 1}, time_function: {kind: brune}}]", "'yx'"),
        ("sources: [{kind: force, time_function: {kind: brune}}]", "force that is not zero"),
        ("sources: [{kind: nrf}]", "needs a file"),
        (
            "sources: [{kind: moment-tensor, tensor: {xy: 1}, time_function: {kind: brune}}]",
            "needs a location: [x, y, z]",
        ),
        ("sources: [{kind: force, force: [1, 0, 0], time_function: {kind: brune}}]", "kind force needs a location"),
        (
            "sources: [{kind: double-couple, strike: 0, dip: 90, rake: 0, magnitude: 3, time_function: {kind: brune}}]",
            "kind double-couple needs a location: [x, y, z] (or geographic)",
        ),
        (
            "sources: [{kind: force, location: [0, 0, 0], geographic: [9, 45, 0], force: [1, 0, 0], time_function: {kind: brune}}]",
            "location or geographic, not both",
        ),
        ("sources: [{kind: force, force: [1, 0, 0], time_function: {kind: samples}}]", "two samples"),
        ("initial: {kind: plane-wave}", "at least one wave"),
        ("initial: {kind: plane-wave, wave: [{mode: S, k: [1, 0, 0], polarisation: [2, 0, 0]}]}", "polarisation"),
        ("initial: {kind: easi}", "needs a field"),
        ("numerics: {clustering: {rates: [1, 2]}}", "can only be the last"),
        ("numerics: {clustering: {rates: [2], wiggle_minimum: 0.5}}", "above 1/rate"),
        ("numerics: {clustering: {rates: 1000000}}", "1000"),
        ("numerics: {clustering: {wiggle_minimum: 0.6, wiggle_step: 1e-30}}", "0.001"),
        ("numerics: {clustering: {rates: []}}", "rates"),
        ("stop: {slip_rate_below: 1 mm/s}", "time_after_rupture"),
        ("output: {volume: {interval: 1, region: [1, 0, 0, 1, 0, 1]}}", "min < max: x is from 1 to 0"),
        ("output: {receivers: {interval: 1}}", "points or a file"),
        ("output: {prefix: a/b}", "prefix"),
        ("law: [elastic]", "law"),
        ("end_time: 1 s", "duplicate"),
    ],
)
def test_cross_checks(write, text, words):
    case, problems = load_native(write(MINIMAL + text + "\n"))
    assert case is None
    only(problems, 6, words)


def test_a_decimal_comma_is_told(write):
    """Which YAML takes for two entries, the second without a value."""
    case, problems = load_native(write(MINIMAL.replace("vp: 6 km/s", "vp: 6,5 km/s")))
    assert case is None
    only(problems, 5, "'5 km/s' has no value", "decimal point")
    _, problems = load_native(write(MINIMAL.replace("vp: 6 km/s", "vp: 6,5 km/s").replace("vs:", "vvs:")))
    assert len(problems.errors) == 2, problems
    expect(problems)  # of one line, and all are told


def test_dips_of_a_built_mesh_say_both_ways(write):
    build = "build: {lower: [0, 0], upper: [9e3, 5e3], depth: 9e3, faults: [{planes: x.srf, dip: 95 deg}]}"
    _, problems = load_native(write(re.sub("generate:.*", build, MINIMAL)))
    expect(problems.errors)


def test_corners_say_which_axis_is_turned(write):
    turned = MINIMAL.replace("lower: [0, 0, 0]", "lower: [0, 0, 5]")
    _, problems = load_native(write(turned))
    expect(problems.errors)


def test_a_missing_file_is_a_problem(tmp_path):
    case, problems = load_case(tmp_path / "none.yaml")
    assert case is None
    expect(problems.errors[0])


@pytest.mark.parametrize(
    "text",
    [
        "a: &a ["
        + ", ".join("x" * 9)
        + "]\n"
        + "".join(f"{b}: &{b} [{', '.join(9 * ['*' + a])}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=False)),
        "title: &a [*a]\n",
        "title: " + "[" * 3000 + "]" * 3000 + "\n",
        "? [a, b]\n: 1\n",
        "? {a: b}\n: 1\n",
        "title: !!python/object/apply:os.system [id]\n",
        "title: 2001-99-99\nend_time: 1e\n",
    ],
    ids=["aliases of aliases", "itself", "deep", "list as key", "group as key", "python", "no date"],
)
def test_yaml_that_is_no_case(tmp_path, text):
    (tmp_path / "case.yaml").write_text(text)
    case, problems = load_native(tmp_path / "case.yaml")
    assert case is None and problems.errors
    assert all("case.yaml" in p.where and len(str(p)) < 3000 for p in problems.errors), problems.items


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("vp", -1e308, "too large"), ("vp", -6000, "-6000 is not above 0"), ("vp", 4e8, "speed of light"), ("rho", 0, "not above 0"),
        ("vs", -1, "is negative"), ("relative_permittivity", -1, "not above 0"), ("mu", "nan", "not a number"),
        ("vp", ".inf", "not a number"), ("Qs", 0, "not above 0"),
    ],
)  # fmt: skip
def test_values_that_nothing_has(tmp_path, name, value, words):
    text = f"end_time: 1\nmesh: {{file: none.h5}}\nmaterial:\n  constant:\n    {name}: {value}\n"
    (tmp_path / "case.yaml").write_text(text)
    problems = load_native(tmp_path / "case.yaml")[1]
    assert any(words in str(p) and p.where.endswith(":5") for p in problems.errors), [str(p) for p in problems.items]


def test_what_never_happens_may_be_infinite(tmp_path):
    assert parameter_to_si("forced_rupture_time", float("inf")) == math.inf
    assert parameter_to_si("Qp", "inf") == math.inf
    with raises(ValueError):
        parameter_to_si("mu_s", "inf")


def test_negative_numbers_as_keys_are_told(tmp_path):
    (tmp_path / "case.yaml").write_text(
        MINIMAL + "sources: {-1: 3}\nnumerics: {-7: 1}\noutput: {-1: {-2: 1}}\n-1: [1]\n"
    )
    case, problems = load_native(tmp_path / "case.yaml")
    assert case is None and len(problems.errors) >= 3


def test_a_modifier_that_is_no_list_is_told_those_that_exist():
    fault = {"friction": "linear-slip-weakening", "modifiers": "thermal", "parameters": {"constant": {"mu_s": 0.6}}}
    problems = load_case(
        {
            "end_time": 1.0,
            "mesh": {"generate": {"shape": "tpv5"}},
            "material": {"constant": {"rho": 1.0}},
            "fault": fault,
        }
    )[1]
    assert any("thermal-pressurisation" in p.allowed for p in problems.errors)
