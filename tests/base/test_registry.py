import sys
import types
from dataclasses import dataclass

import pytest

from faultwave.base import registry
from faultwave.base.errors import InputError


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
    with pytest.raises(InputError, match="did you mean 'elastic'") as error:
        registry.pick({"elastic": 1, "acoustic": 2}, "elastc", "law", "law")
    assert "acoustic, elastic" in str(error.value)
    assert registry.pick({"elastic": 1}, "elastic", "law", "law") == 1
