from pathlib import Path

import pytest

from faultwave.base.errors import InputError
from faultwave.case import Case, describe
from faultwave.case.describe import settings_markdown
from faultwave.case.load import example_text, examples, load_case
from tests.messages import expect, raises

SETTINGS = {
    "end_time": "2 s",
    "mesh": {"generate": {"shape": "tpv5", "size": "1 km"}},
    "material": {"constant": {"rho": 2670, "vp": 6000, "vs": 3464}},
}


def test_examples_load_without_a_word():
    assert {"tpv5", "tpv101", "plane-wave", "point-source"} <= set(examples())
    for name, title in examples().items():
        case, problems = load_case(name)
        assert not problems.items, [str(p) for p in problems.items]
        assert case.title == title != ""
        assert case.output.folder == Path.cwd() / name


def test_a_folder_of_results_does_not_hide_the_example_of_its_name(tmp_path, monkeypatch):
    (tmp_path / "tpv5").mkdir()
    monkeypatch.chdir(tmp_path)
    case, problems = load_case("tpv5")
    assert case is not None and not problems.errors


def test_an_example_is_a_starting_point(tmp_path):
    (tmp_path / "mine.yaml").write_text(example_text("tpv5"))
    case, problems = load_case(tmp_path / "mine.yaml")
    assert not problems.items
    assert case.fault.parameters == load_case("tpv5")[0].fault.parameters


def test_overrides():
    asked = {"order": 6, "precision": "single", "backend": "numpy", "until": "500 ms", "output": "there", "threads": 2}
    case, problems = load_case(SETTINGS, asked)
    assert not problems.items
    n = case.numerics
    assert (n.order, n.precision, n.backend, n.threads) == (6, "single", "numpy", 2)
    assert case.end_time == 0.5
    assert case.output.folder == Path.cwd() / "there"
    assert SETTINGS.keys() == {"end_time", "mesh", "material"}  # the mapping given is left alone
    unchanged, _ = load_case(SETTINGS, dict.fromkeys(asked))
    assert unchanged == load_case(SETTINGS)[0]


def test_wrong_overrides_name_the_option():
    case, problems = load_case(SETTINGS, {"order": 9, "until": -1, "oder": 3})
    assert case is None
    assert {p.where for p in problems.errors} == {"order=", "until=", "oder="}
    assert "did you mean 'order'?" in " ".join(map(str, problems.errors))


def test_case_objects_and_mappings():
    case = Case.model_validate(SETTINGS)
    again, problems = load_case(case, {"order": 3})
    assert not problems.items
    assert again.numerics.order == 3
    assert again.mesh.generate.size == 1000
    assert load_case(again)[0] == again


def test_mappings_get_dotted_places():
    case, problems = load_case(SETTINGS | {"numerics": {"order": 1}, "sources": [{"kind": "nrf", "file": "no.nrf"}]})
    assert case is None
    assert {p.where for p in problems.errors} == {"numerics.order", "sources[0].file"}
    with raises(InputError):
        problems.raise_errors()


def test_places_of_mappings_are_said_once():
    numerics = {"integrator": "rk5", "clustering": {"rates": [0]}}
    _, problems = load_case(SETTINGS | {"numerics": numerics, "mesh": {"generate": {"shape": "tpv5", "size": -1}}})
    texts = [str(p) for p in problems.errors]
    assert any(t.startswith("numerics.integrator: is 'rk5' (allowed: ") for t in texts), texts
    for p in problems.errors:
        assert str(p).count(p.where) == 1, p


@pytest.mark.parametrize(("name", "words"), [("tpv55", "did you mean 'tpv5'?"), ("x.txt", "no such file or example")])
def test_no_such_case(name, words):
    case, problems = load_case(name)
    assert case is None
    assert words in str(problems.errors[0])


def test_a_folder_is_no_case(tmp_path):
    case, problems = load_case(tmp_path)
    assert case is None
    expect(problems.errors[0])


def _settings(model, path=""):
    """(path, name, field) of every setting of every group."""
    for name, field in model.model_fields.items():
        yield model, name, field


def test_reference_tells_every_setting():
    text = settings_markdown()
    from faultwave.case.settings import model
    from faultwave.case.settings.common import Settings

    groups = [m for m in vars(model).values() if isinstance(m, type) and issubclass(m, Settings) and m is not Settings]
    assert len(groups) > 15
    for group in groups:
        for _, name, field in _settings(group):
            if name == "source_files":
                continue
            assert f"| `{name}` |" in text
            assert field.description, f"{group.__name__}.{name} has no help text"
            assert " ".join(field.description.split()).replace("|", "\\|") in text
    assert "| `order` | integer | `4` |  | >= 2 and <= 8 |" in text
    assert "| `end_time` | number | **required** | s | > 0 | Simulated time. |" in text
    assert any(line.startswith("## `material`, ") and "`fault.parameters`" in line for line in text.splitlines())
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.replace("\\|", "").count("|") == 7


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"numerics": {"halo_compression": "zfp-99"}}, "is 'zfp-99' (allowed: exact, single, zfp-8 to zfp-64)"),
        ({"output": {"prefix": "a/b"}}, "is 'a/b' (allowed: a non-empty string without /"),
    ],
)
def test_texts_that_follow_a_pattern_say_which(changes, words):
    for engine in ({}, {"engine": "fd"}):
        assert words in "\n".join(map(str, load_case({**engine, **changes})[1].errors))


def test_every_pattern_is_in_words():
    def patterns(node):
        if isinstance(node, dict):
            assert "pattern" not in node or "words" in node, node
            return ("pattern" in node) + sum(map(patterns, node.values()))
        return sum(map(patterns, node)) if isinstance(node, list) else 0

    assert patterns(describe.schema()) >= 2


@pytest.mark.parametrize("case", (3, None, ["case.yaml"]))
def test_what_is_no_case_at_all(case):
    made, problems = load_case(case)
    assert made is None and "a dict of settings" in problems.errors[0].allowed


@pytest.mark.parametrize("suffix", (".yaml", ".par"))
def test_a_case_of_nearly_that_name(suffix, tmp_path):
    (tmp_path / f"quake{suffix}").write_text("")
    made, problems = load_case(tmp_path / f"quak{suffix}")
    assert made is None and problems.errors[0].advice == f"did you mean 'quake{suffix}'?"
