"""The container of checkpoints: whatever its files hold, they are read or refused with the file named."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.output import checkpoint as container
from faultwave.output.checkpoint import INDEX, CheckpointWriter, Form, latest, read

ARRAYS: dict[str, Any] = {"time": np.array(0.5), "cells/id": np.arange(4), "cells/dofs": np.zeros((4, 10, 9))}
NOTES: dict[str, Any] = {"time": 0.5, "order": 3, "case": {"end_time": 1.0}, "files": {}}
FORMS = {"time": Form(()), "cells/id": Form(("cells",), "iu"), "cells/dofs": Form(("cells", None, 9))}


def written(folder: Path, arrays: dict[str, Any] = ARRAYS, notes: dict[str, Any] = NOTES) -> Path:
    writer = CheckpointWriter(folder)
    writer.begin()
    parts = dict([writer.write_part(writer.target(), 0, arrays)])
    return writer.commit(notes, parts, [{"cells": (0, 3)}])


def resigned(folder: Path, **changes: Any) -> None:
    """The index changed, with a checksum that fits."""
    index = json.loads((folder / INDEX).read_text()) | changes
    index.pop("checksum")
    (folder / INDEX).write_text(json.dumps(index | {"checksum": container._digest(index)}))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    found = read(written(tmp_path))
    found.require({"time": float, "order": int, "case": dict}, FORMS)
    assert found.number == 1 and found.notes["order"] == 3 and found.spans == ({"cells": (0, 3)},)
    part = found.part(0)
    assert all(np.array_equal(part[name], ARRAYS[name]) for name in ARRAYS)
    assert pickle.loads(pickle.dumps(found)).notes.where == found.notes.where


@pytest.mark.parametrize(
    "text", ["[]", "3", '"a"', "null", "{}", "[" * 100_000, '{"time": NaN}', "\x00", '{"checksum": []}']
)
def test_an_index_that_is_none(tmp_path: Path, text: str) -> None:
    folder = written(tmp_path)
    (folder / INDEX).write_text(text)
    with pytest.raises(InputError, match="index.json: is damaged"):
        read(folder)
    with pytest.raises(InputError, match="none of its 1 checkpoints is complete"):
        latest(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("parts", []), ("parts", {}), ("parts", {"../../../etc/passwd": "x"}), ("parts", {"part-000000.h5": 3}), ("notes", []),
        ("notes", {"case": []}), ("time", {"time": "now"}), ("spans", {"a": 1}), ("spans", [[]]), ("spans", [{"cells": "ab"}]),
        ("spans", [{"cells": [0, 2.5]}]), ("spans", [{}, {}]),
    ],
)  # fmt: skip
def test_an_index_that_says_something_else(tmp_path: Path, name: str, value: Any) -> None:
    folder = written(tmp_path)
    resigned(folder, **{"notes" if name == "time" else name: value})
    with pytest.raises(InputError, match=f"index.json: is damaged: .*{name}.* cannot be understood"):
        read(folder)


def test_names_that_are_no_numbers_are_passed_over(tmp_path: Path) -> None:
    written(tmp_path)
    for name in ("00000\u00b2", "12345678901234567890", "7a", ".000003.partial"):
        (tmp_path / name).mkdir()
    assert latest(tmp_path).number == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cells/dofs": None}, "has no 'cells/dofs'"),
        (
            {"cells/dofs": np.zeros((4, 10, 9, 1))},
            r"cells/dofs: holds float64 of shape \(4, 10, 9, 1\) \(allowed: 4 x n x 9\)",
        ),
        ({"cells/dofs": np.zeros((3, 10, 9))}, r"allowed: 4 x n x 9"),
        ({"cells/id": np.arange(4.0)}, "holds float64"),
        ({"time": np.zeros(2)}, "time: holds .* one number"),
        ({"time": "soon"}, "time: holds object, not an array of numbers or names"),
    ],
)
def test_arrays_of_another_form(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    arrays = {name: value for name, value in (ARRAYS | changes).items() if value is not None}
    found = read(written(tmp_path, arrays))
    with pytest.raises(InputError, match=words) as error:
        found.require({"time": float}, FORMS)
    assert "part-000000.h5" in str(error.value)


@pytest.mark.parametrize(("notes", "words"), [({}, "has no entry 'order'"), ({"order": "3"}, "contains 'order' = '3'")])
def test_notes_of_another_form(tmp_path: Path, notes: dict[str, Any], words: str) -> None:
    found = read(written(tmp_path, notes={"time": 0.5, **notes}))
    with pytest.raises(InputError, match=words):
        found.require({"order": int}, {})


def test_what_is_not_there_is_told_by_name(tmp_path: Path) -> None:
    found = read(written(tmp_path))
    with pytest.raises(InputError, match="index.json: has no entry 'energies'"):
        found.notes["energies"]
    with found.opened(0) as part, pytest.raises(InputError, match="part-000000.h5: has no entry 'fault/stress'"):
        part["fault/stress"]


def test_arrays_larger_than_their_file(tmp_path: Path) -> None:
    folder = written(tmp_path)
    with h5py.File(folder / "part-000000.h5", "a") as file:
        del file["cells/dofs"]
        file.create_dataset("cells/dofs", (10**9, 10, 9), "f8", chunks=(1000, 10, 9))
    resigned(folder, parts={"part-000000.h5": container.hash_file(folder / "part-000000.h5")})
    with pytest.raises(InputError, match="cells/dofs' says it has shape .* can hold"):
        read(folder)


def test_reading_turns_what_does_not_fit_into_words(tmp_path: Path) -> None:
    found = read(written(tmp_path))
    with pytest.raises(InputError, match="does not fit this run .ValueError: .*broadcast"), found.reading():
        np.zeros(3)[:] = found.part(0)["cells/id"]
    with pytest.raises(InputError, match="does not fit this run .TypeError"), found.reading():
        int(found.notes["case"])
