"""Golden runs: comparing finds what differs, and every array of the formats is read."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from tools import golden, golden_inputs, golden_outputs

ARRAYS = {
    "a.h5/v": np.array([0.0, -2.0, np.nan, 1.0]),
    "a.h5/names": np.frombuffer(b"v1", np.uint8),
    "b.csv/t": np.arange(3.0),
}
RUN = golden.Run("small", "nothing", None, None, ("run",), (), 1e-12)


def verdict(folder: Path, new: dict[str, np.ndarray]) -> tuple[str, bool]:
    for name, arrays in (("old", ARRAYS), ("new", new)):
        (folder / name).mkdir()
        golden.save(folder / name, RUN.name, arrays)
    return golden.compare_run(folder / "old", folder / "new", RUN)


def test_an_equal_pair_passes(tmp_path: Path) -> None:
    assert verdict(tmp_path, {n: a.copy() for n, a in ARRAYS.items()}) == ("equal bits in 3 arrays", True)


@pytest.mark.parametrize(
    ("name", "values", "said", "fine"),
    [
        (
            "a.h5/v",
            [0.0, np.nextafter(-2.0, 0.0), np.nan, 1.0],
            "1 of 3 arrays differ, at most 1.1e-16 relative in a.h5/v",
            True,
        ),
        ("a.h5/v", [0.0, -2.0, np.nan, 1.1], "at most 5.0e-02 relative in a.h5/v TOO MUCH", False),
        ("a.h5/v", [0.0, -2.0, 3.0, 1.0], "at most inf relative in a.h5/v TOO MUCH", False),
        ("a.h5/v", [-0.0, -2.0, np.nan, 1.0], "at most 0.0e+00 relative", True),
        ("a.h5/v", [0.0, -2.0, np.nan], "TOO MUCH", False),
        ("a.h5/names", np.frombuffer(b"v2", np.uint8), "TOO MUCH", False),
    ],
)
def test_what_differs_is_told(tmp_path: Path, name: str, values: object, said: str, fine: bool) -> None:
    found, good = verdict(tmp_path, ARRAYS | {name: np.asarray(values)})
    assert said in found and good is fine


def test_a_missing_array_is_told_and_a_new_one_allowed(tmp_path: Path) -> None:
    new = {n: a for n, a in ARRAYS.items() if n != "b.csv/t"} | {"c.dat/x": np.zeros(1)}
    assert verdict(tmp_path, new) == ("MISSING 1 arrays: b.csv/t; 1 new arrays: c.dat/x", False)


def test_a_run_that_was_not_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    golden.save(tmp_path / "old", RUN.name, ARRAYS)
    assert golden.compare_run(tmp_path / "old", tmp_path / "new", RUN) == ("NOT RECORDED in new", False)


def test_every_format_is_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "run.vtkhdf", "w") as file:
        file["VTKHDF/v"] = np.arange(4.0)
        file["VTKHDF"].attrs["Version"] = [2, 2]
        file["created"] = 5.0
        file["records"] = np.array([(1, 2.0)], [("n", "i4"), ("x", "f8")])
    (tmp_path / "energy.csv").write_text("time,variable\n0.5,work\n1e-3,heat\n")
    (tmp_path / "station.dat").write_text('TITLE = "t"\n# x1 2.5\n0.0 1.0\n1.0 -1.5d0\n')
    (tmp_path / "grid.xml").write_text('<a when="2020-01-02"><b n="1">3 4.5</b></a>')
    (tmp_path / "flat").write_bytes(np.array([1.5, np.nan], np.float32).tobytes())
    (tmp_path / "run-manifest.json").write_text("{}")
    (tmp_path / "run-checkpoints").mkdir()
    (tmp_path / "run-checkpoints" / "part.csv").write_text("a\n1\n")
    found = {
        n: a.tobytes() if a.dtype == np.uint8 else a.tolist() for n, a in golden_outputs.read_folder(tmp_path).items()
    }
    np.testing.assert_equal(found.pop("flat/bytes"), [1.5, np.nan])
    assert found.pop("run.vtkhdf/VTKHDF@Version") == [2, 2]
    assert found == {
        "run.vtkhdf/VTKHDF/v": [0.0, 1.0, 2.0, 3.0], "run.vtkhdf/records.n": [1], "run.vtkhdf/records.x": [2.0],
        "energy.csv/time": [0.5, 1e-3], "energy.csv/variable": b"work\nheat", "station.dat/places": [2.5],
        "station.dat/block0.column0": [0.0, 1.0], "station.dat/block0.column1": [1.0, -1.5],
        "grid.xml/tags": b'<b n="1">\n</b>\n</a>', "grid.xml/numbers": [3.0, 4.5],
    }  # fmt: skip


def test_changes_of_cases() -> None:
    case = {"a": {"b": 1, "c": 2}, "d": 3}
    assert golden.merged(case, {"a": {"b": None, "e": [4]}, "d": None}) == {"a": {"c": 2, "e": [4]}}
    assert case == {"a": {"b": 1, "c": 2}, "d": 3}


def test_the_set_is_whole() -> None:
    """Every run has a case or a deck, every mesh that a case names is made, and patterns choose."""
    runs = golden.load_runs()
    meshes = golden._meshes()
    for run in runs:
        assert run.covers and (run.case is None) != (run.deck is None)
        file = ((run.case or {}).get("mesh") or {}).get("file")
        assert file is None or file.removesuffix(".msh") in meshes
    assert [r.name for r in golden.load_runs("grid,deck-tpv5*")] == [
        "deck-tpv5",
        "deck-tpv5-ranks-2",
        "deck-tpv5-nuc",
        "grid",
    ]
    with pytest.raises(SystemExit, match="no golden run is called gird"):
        golden.load_runs("gird")


def test_boxes_are_whole(tmp_path: Path) -> None:
    """Six tetrahedra a brick fill the box, and every outer face has its tag."""
    mesh = golden._meshes()["guide"]
    golden_inputs.write_box(tmp_path / "a.msh", mesh)
    lines = (tmp_path / "a.msh").read_text().split("$Elements\n")[1].splitlines()[1:-1]
    rows = [list(map(int, line.split())) for line in lines]
    triangles, tets = ([r for r in rows if r[1] == kind] for kind in (2, 4))
    assert len(tets) == 6 * 6 * 3 * 2 and {r[3] for r in tets} == {1, 2}
    assert len(triangles) == 2 * 2 * (6 * 3 + 6 * 2 + 3 * 2) and {r[3] for r in triangles} == {11, 21, 22}
