import sys
import types
from dataclasses import dataclass

import pytest

from faultwave.base import registry
from faultwave.base.errors import InputError
from tests.messages import raises


@dataclass(frozen=True)
class Thing:
    name: str


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package on disk with modules that hold things."""
    name = f"things_{tmp_path.name.replace('-', '_')}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    holder = types.ModuleType("thing_kind")
    holder.Thing = Thing
    monkeypatch.setitem(sys.modules, "thing_kind", holder)
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_finds_instances_by_name(package):
    (package / "one.py").write_text("from thing_kind import Thing\nA = Thing('a')\n")
    (package / "two.py").write_text(f"from {package.name}.one import A\nfrom thing_kind import Thing\nB = Thing('b')\n")
    (package / "_private.py").write_text("raise RuntimeError\n")
    assert sorted(registry.scan(package.name, Thing)) == ["a", "b"]


def test_two_of_one_name_are_a_mistake(package):
    (package / "one.py").write_text("from thing_kind import Thing\nA = Thing('a')\nC = 3\n")
    (package / "two.py").write_text("from thing_kind import Thing\nA = Thing(name='a')\nA2 = A\n")
    # Equal is not the same: the second definition would shadow the first without a word.
    with pytest.raises(ValueError, match="'a'"):
        registry.scan(package.name, Thing)


def test_pick_suggests():
    with raises(InputError) as error:
        registry.get_entry({"elastic": 1, "acoustic": 2}, "elastc", "law", "law")
    assert "acoustic, elastic" in str(error.value)
    assert registry.get_entry({"elastic": 1}, "elastic", "law", "law") == 1


def test_names_are_found_without_importing(package):
    (package / "plain_file.py").write_text("raise RuntimeError\n")
    (package / "_private.py").write_text("raise RuntimeError\n")
    for folder, module in (("with_runtime", "runtime.py"), ("without", "other.py")):
        (package / folder).mkdir()
        (package / folder / "__init__.py").write_text("raise RuntimeError\n")
        (package / folder / module).write_text("raise RuntimeError\n")
    assert sorted(registry.entries(package.name)) == ["plain-file", "with-runtime", "without"]
    assert registry.entries(package.name)["plain-file"].value == f"{package.name}.plain_file"
    assert list(registry.entries(package.name, "runtime")) == ["with-runtime"]


@pytest.fixture
def plugin(tmp_path, package, monkeypatch):
    """A module ``brought`` that a distribution's entry points name in the group of ``package``."""

    def install(text: str, *lines: str) -> None:
        (tmp_path / "brought.py").write_text(text)
        about = tmp_path / "brought-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1\n")
        (about / "entry_points.txt").write_text("\n".join([f"[{package.name}]", *lines]) + "\n")
        monkeypatch.delitem(sys.modules, "brought", raising=False)
        registry.clear_registry_caches()

    yield install
    monkeypatch.delitem(sys.modules, "brought", raising=False)
    registry.clear_registry_caches()


def test_entry_points_name_modules_or_objects(package, plugin):
    (package / "one.py").write_text("from thing_kind import Thing\nA = Thing('a')\n")
    plugin("from thing_kind import Thing\nB = Thing('b')\nC = Thing('c')\n", "whole = brought")
    assert sorted(registry.scan(package.name, Thing)) == ["a", "b", "c"]
    assert sorted(registry.entries(package.name)) == ["one", "whole"]
    assert registry.entries(package.name)["whole"].load().B.name == "b"


def test_an_entry_point_cannot_take_a_name_that_is_there(package, plugin):
    (package / "one.py").write_text("")
    plugin("", "one = brought")
    with pytest.raises(ValueError, match="'one'"):
        registry.entries(package.name)
