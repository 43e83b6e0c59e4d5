"""Reuse of results: keys of contents, files, limits, and protection of stored arrays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from faultwave.base.files.paths import candidate_paths, first_file, recording_files, searching_case_folders
from faultwave.base.reuse import RESULTS, Store, UnknownContents, contents, reused, reusing

CALLS: list[Any] = []


@dataclass(frozen=True)
class Pair:
    values: np.ndarray
    names: dict[str, int]


class Setting(BaseModel):
    size: float = 1.0
    file: Path | None = None


class Kind(Enum):
    FIRST = 1
    SECOND = 2


def double(values: np.ndarray, names: dict[str, int]) -> Pair:
    CALLS.append("double")
    return Pair(2 * values, dict(names))


def text_of(setting: Setting) -> str:
    CALLS.append("text")
    return setting.file.read_text() if setting.file is not None else ""


def included(model: Path) -> str:
    """Return the text of the file that a model names."""
    CALLS.append("included")
    found = first_file(candidate_paths(Path(model.read_text()), model.parent))
    return found.read_text() if found is not None else "nothing"


@pytest.fixture(autouse=True)
def no_calls() -> None:
    CALLS.clear()


def test_equal_contents_are_computed_once():
    with reusing(Store(1e6)) as store:
        first = reused(double, np.arange(3.0), {"a": 1})
        second = reused(double, np.arange(3.0), {"a": 1})
        other = reused(double, np.arange(3.0), {"a": 2})
    assert CALLS == ["double", "double"] and second.values is first.values
    np.testing.assert_array_equal(second.values, [0, 2, 4])
    assert other.names == {"a": 2}
    (name,) = store.hits
    assert name.endswith("test_reuse.double") and store.hits[name] == 1 and store.misses[name] == 2
    reused(double, np.arange(3.0), {"a": 1})
    assert len(CALLS) == 3, "without a store nothing is reused"


def test_callers_cannot_change_what_is_stored():
    with reusing(Store(1e6)):
        first = reused(double, np.arange(3.0), {"a": 1})
        first.names["a"] = 7
        with pytest.raises(ValueError, match="read-only"):
            first.values[0] = 5.0
        assert reused(double, np.arange(3.0), {"a": 1}).names == {"a": 1}


different = [
    None, True, 1, 1.0, "1", b"1", -0.0, 0.0, 0, float("nan"), (), [], {}, (1,), [1], ("a", "b"), ("ab",), ("a,b",), {"a": 1}, {"a": 1.0},
    {"a": {"b": 1}}, {1}, {2}, Kind.FIRST, Kind.SECOND, np.float32(1), np.float64(1), Path("1"), Setting(), Setting(size=1.0),
    Setting(size=2.0), np.zeros(2), np.zeros((2, 1)), np.zeros(2, np.float32), np.zeros(2, ">f8"), np.zeros(4), np.zeros(0),
    np.array([0.0, -0.0]), np.zeros(2, [("a", "f8")]), np.zeros(2, [("b", "f8")]), np.zeros(2, bool), Pair(np.zeros(2), {}),
    Pair(np.zeros(2), {"a": 1}), [Pair(np.zeros(2), {})], (np.zeros(1), np.zeros(1)), np.zeros((2, 2)), [[1], [2]], [[1, 2]],
]  # fmt: skip


def test_different_contents_have_different_keys():
    keys = [contents(value) for value in different]
    assert len(set(keys)) == len(keys)
    assert keys == [contents(value) for value in different]


def test_arrays_count_with_their_values_not_their_memory():
    values = np.arange(12.0).reshape(3, 4)
    assert contents(values) == contents(np.asfortranarray(values)) == contents(values.repeat(2, 0)[::2])
    assert contents(np.broadcast_to(1.0, (2, 3))) == contents(np.ones((2, 3)))


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
    | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(values, values)
@settings(max_examples=40)
def test_keys_are_equal_only_for_equal_values(one, other):
    assert (contents(one) == contents(other)) == (repr(one) == repr(other))


@pytest.mark.parametrize("value", [len, object(), np.array([None]), lambda: 1])
def test_values_without_known_contents_are_not_reused(value):
    with pytest.raises(UnknownContents):
        contents([1, value])
    with reusing(Store(1e6)) as store:
        assert reused(isinstance, value, object) and reused(isinstance, value, object)
    assert not store.hits


def test_files_count_with_their_present_contents(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("one")
    with reusing(Store(1e6)):
        assert reused(text_of, Setting(file=file)) == reused(text_of, Setting(file=file)) == "one"
        file.write_text("two")  # same size, written at once
        assert reused(text_of, Setting(file=file)) == "two"
        with pytest.raises(IsADirectoryError):
            reused(text_of, Setting(file=tmp_path))
    assert len(CALLS) == 3


def test_files_named_by_other_files_belong_to_the_result(tmp_path):
    """Their contents count, and a file that appears in a folder that is searched earlier."""
    model, case = tmp_path / "model" / "m.txt", tmp_path / "case"
    for folder in (model.parent, case):
        folder.mkdir()
    model.write_text("part.txt")
    (case / "part.txt").write_text("one")

    def now() -> tuple[str, list[Path]]:
        with searching_case_folders([case / "case.yaml"]), recording_files() as read:
            return reused(included, model), read

    with reusing(Store(1e6)):
        first = now()
        assert first == ("one", [case / "part.txt"]) == now() and len(CALLS) == 1, "files are recorded each time"
        (case / "part.txt").write_text("two")
        assert now()[0] == "two"
        (model.parent / "part.txt").write_text("near")
        assert now() == ("near", [model.parent / "part.txt"])
        (model.parent / "part.txt").unlink()
        assert now()[0] == "two"
        with searching_case_folders([tmp_path / "elsewhere" / "case.yaml"]):
            assert reused(included, model) == "nothing"


def changing(file: Path) -> str:
    found = file.read_text()
    file.write_text("later")
    return found


def test_a_file_that_changes_during_the_call_is_not_stored(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("early")
    with reusing(Store(1e6)) as store:
        assert reused(changing, file) == "early"
        file.write_text("early")
        assert reused(changing, file) == "early" and not store.hits


def failing(text: str) -> str:
    CALLS.append(text)
    raise ValueError(text)


def test_errors_are_not_stored():
    with reusing(Store(1e6)):
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                reused(failing, "no")
    assert len(CALLS) == 2


def test_memory_is_bounded():
    with reusing(Store(1e6)) as store:
        for number in range(RESULTS + 2):
            reused(double, np.full(1000, float(number)), {})
        assert store.size == RESULTS * 8000
        reused(double, np.full(1000, 0.0), {})
        assert len(CALLS) == RESULTS + 3, "the oldest results are removed"
        reused(double, np.zeros(1_000_000), {})
        assert store.size == RESULTS * 8000, "what exceeds the limit alone is not stored"
    with reusing(Store(10_000)) as store:
        for number in range(3):
            reused(double, np.full(1000, float(number)), {})
        assert store.size == 8000
