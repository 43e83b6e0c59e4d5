"""Atomic files, run folders, manifests."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from faultwave.base.errors import InputError, RunError
from faultwave.output.atomic import atomic_path, atomic_text, concurrent_flush, user_error_for
from faultwave.output.folder import find_prefix, prepare_folder
from faultwave.output.manifest import build_manifest, machine, read_manifest, write_manifest
from tests.messages import raises


def test_text_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with atomic_text(path) as file:
        file.write("first\n")
        assert not path.exists()
    assert path.read_bytes() == b"first\n"
    with pytest.raises(ZeroDivisionError), atomic_text(path) as file:
        file.write("second\n")
        raise ZeroDivisionError
    assert path.read_bytes() == b"first\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "number, kind, message",
    [
        (errno.ENOSPC, RunError, "the disk is full"),
        (errno.EDQUOT, RunError, "quota"),
        (errno.EIO, RunError, "writing failed"),
        (errno.EACCES, InputError, "permission denied"),
        (errno.EROFS, InputError, "read-only"),
        (errno.ENOTDIR, InputError, "a file, not a folder"),
    ],
)
def test_system_errors_are_explained(tmp_path: Path, number: int, kind: type, message: str) -> None:
    path = tmp_path / "a.txt"
    with pytest.raises(kind, match=message) as caught, atomic_path(path) as temporary:
        temporary.write_text("half")
        raise OSError(number, os.strerror(number))
    assert str(path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_number_within_text() -> None:
    error = OSError("Unable to flush file (file write failed: errno = 28, error message = 'No space left on device')")
    assert "the disk is full" in str(user_error_for(error, Path("x.h5")))
    assert "snapshots until 3 s are kept" in str(user_error_for(error, Path("x.h5"), "snapshots until 3 s are kept"))


def test_mistakes_of_the_program_stay_themselves(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError), atomic_path(tmp_path / "a"):
        raise NotImplementedError


def test_rename_that_fails(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with raises(InputError), atomic_text(tmp_path / "a") as file:
        file.write("x")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_files_reach_the_disk_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are on their way at once; at the end all have their names, the last contents where one is written twice."""
    both, sync = threading.Barrier(2, timeout=30.0), os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (both.wait(), sync(descriptor)))
    with concurrent_flush():
        for name in "ab":
            with atomic_text(tmp_path / name) as file:
                file.write(name)
    monkeypatch.setattr(os, "fsync", sync)
    with concurrent_flush():
        for text in ("first", "second"):
            with atomic_text(tmp_path / "c") as file:
                file.write(text)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"a": "a", "b": "b", "c": "second"}


def test_of_files_side_by_side_the_finished_stay(tmp_path: Path) -> None:
    """Whether the block fails or the disk does."""
    with pytest.raises(ZeroDivisionError), concurrent_flush():
        with atomic_text(tmp_path / "a") as file:
            file.write("a")
        raise ZeroDivisionError
    (tmp_path / "b").mkdir()
    with raises(InputError), concurrent_flush():
        for name in "bc":
            with atomic_text(tmp_path / name) as file:
                file.write(name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "c"]
    assert (tmp_path / "c").read_text() == "c"


def test_folder_is_created(tmp_path: Path) -> None:
    folder = prepare_folder(tmp_path / "a" / "b")
    assert folder.is_dir() and list(folder.iterdir()) == []
    prepare_folder(folder)  # an empty folder, or one with other files, is fine
    (folder / "notes.txt").touch()
    prepare_folder(folder)


def test_folder_with_a_run_is_refused(tmp_path: Path) -> None:
    outputs = [tmp_path / "tpv-energy.csv", tmp_path / "tpv-fault.vtkhdf"]
    for path in [*outputs, tmp_path / "other-energy.csv", tmp_path.parent / "outside.txt"]:
        path.touch()
    manifest = build_manifest({}, outputs=outputs)
    manifest["outputs"] += ["../outside.txt", 3]  # a forged manifest must not reach out of its folder
    write_manifest(tmp_path / "tpv-manifest.json", manifest)
    with raises(InputError):
        prepare_folder(tmp_path, prefix="tpv")
    assert all(path.exists() for path in outputs)
    prepare_folder(tmp_path, force=True)
    assert all(path.exists() for path in outputs)
    prepare_folder(tmp_path, force=True, prefix="tpv")
    assert [p.name for p in tmp_path.iterdir()] == ["other-energy.csv"]
    assert (tmp_path.parent / "outside.txt").exists()


def test_folder_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    with raises(InputError):
        prepare_folder(tmp_path / "file")
    with raises(InputError):
        prepare_folder(tmp_path / "file" / "below")

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "touch", denied)  # tests may run as root, whom no permission stops
    with raises(InputError):
        prepare_folder(tmp_path / "new")


@pytest.mark.parametrize(
    "names, prefix",
    [
        (["tpv-energy.csv", "tpv-receiver-00001.dat"], "tpv"),
        (["a-b-faultreceiver-00002-00000.dat"], "a-b"),
        (["run-manifest.json", "run-fault.vtkhdf", "notes.txt"], "run"),
    ],
)
def test_prefix_is_found(tmp_path: Path, names: list[str], prefix: str) -> None:
    for name in names:
        (tmp_path / name).touch()
    assert find_prefix(tmp_path) == prefix


def test_prefix_not_found(tmp_path: Path) -> None:
    with raises(InputError):
        find_prefix(tmp_path / "absent")
    with raises(InputError):
        find_prefix(tmp_path)
    for name in ("a-energy.csv", "b-receivers.h5"):
        (tmp_path / name).touch()
    with raises(InputError):
        find_prefix(tmp_path)


def test_manifest(tmp_path: Path) -> None:
    deck = tmp_path / "parameters.par"
    deck.write_bytes(b"&equations\n/\n")
    case = {"title": "t", "end_time": float("inf"), "path": deck, "vector": np.arange(2), "flag": np.bool_(True)}
    manifest = build_manifest(
        case,
        [deck, deck],
        timings={"stepping": 1.5},
        rates={"element updates per second": 4e5},
        outputs=[tmp_path / "x.csv"],
    )
    path = write_manifest(tmp_path / "run-manifest.json", manifest)
    found = read_manifest(path)
    assert found["inputs"] == {str(deck): {"sha256": hashlib.sha256(deck.read_bytes()).hexdigest()}}
    assert found["case"] == {"title": "t", "end_time": "inf", "path": str(deck), "vector": [0, 1], "flag": True}
    assert found["timings_s"] == {"stepping": 1.5}
    assert found["outputs"] == ["x.csv"]
    assert found["status"] == "finished"
    assert {"faultwave", "python", "numpy", "h5py"} <= set(found["versions"])
    json.loads(path.read_text(), parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))


def test_machine() -> None:
    found = machine()
    assert found["cpu"]
    assert 1 <= found["cores"] <= os.cpu_count()
    assert found["memory_bytes"] > 1e8


def test_broken_manifests(tmp_path: Path) -> None:
    path = tmp_path / "a-manifest.json"
    with raises(InputError):
        read_manifest(path)
    path.write_text("{")
    with raises(InputError):
        read_manifest(path)
    path.write_text("[]")
    with raises(InputError):
        read_manifest(path)
    with raises(InputError):
        build_manifest({}, [tmp_path / "absent"])
