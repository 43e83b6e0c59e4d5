"""Files that would crash, hang or fill a process are told before they are read."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.base.files import probe as probing
from faultwave.base.files import probe_child
from faultwave.base.files.hdf5 import dataset, opened
from faultwave.base.files.probe import probe
from tests.messages import raises


def written(path: Path, **values: object) -> Path:
    with h5py.File(path, "w") as file:
        for name, value in values.items():
            file[name] = value
    return path


def refused(path: Path, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        probe(path, "model")
    assert str(path) in str(error.value)


def test_sound_files_pass_and_are_probed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.h5", x=np.arange(10.0))
    probe(path, "model")
    monkeypatch.setattr(probing.READER, "ask", lambda *_: pytest.fail("asked again"))
    probe(path, "model")


def test_sound_files_are_remembered_between_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTWAVE_CACHE", str(tmp_path / "cache"))
    path, asked = written(tmp_path / "a.h5", x=np.arange(10.0)), []
    plain = probing.READER.ask
    monkeypatch.setattr(probing.READER, "ask", lambda *of: asked.append(of) or plain(*of))

    def run() -> int:
        probing._probed.cache_clear()
        probe(path, "model")
        return len(asked)

    assert [run(), run()] == [1, 2], "a file that has just been written may change again within one tick of the clock"
    monkeypatch.setattr(probing, "SETTLED", -(10**9))
    assert [run(), run(), run()] == [3, 3, 3]
    about = path.stat()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))  # who hides a change cannot hide that of the file's state
    assert run() == 4
    os.chmod(tmp_path / "cache" / "sound-files", 0o777)
    assert [run(), run()] == [5, 6], "what others may have written is not believed"


def test_unsound_files_are_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTWAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(probing, "SETTLED", -(10**9))
    path = written(tmp_path / "a.h5", x=np.arange(10.0))
    path.write_bytes(path.read_bytes()[:-20])
    for _ in range(2):
        probing._probed.cache_clear()
        refused(path, "truncated")


def test_a_changed_file_is_probed_again(tmp_path: Path) -> None:
    path = written(tmp_path / "a.h5", x=np.arange(10.0))
    probe(path, "model")
    path.write_bytes(path.read_bytes()[:-20])
    refused(path, "truncated")


def test_sizes_that_the_file_cannot_hold(tmp_path: Path) -> None:
    path = tmp_path / "huge.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (10**12,), float, chunks=(10**6,))
    refused(path, "8,000,000,000,000 bytes, more than the .* of the file can hold")
    with opened(path, "model", probed=False) as file, raises(InputError):
        dataset(path, file, "x", 1)


def test_packed_zeros_are_sound(tmp_path: Path) -> None:
    path = tmp_path / "zeros.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.zeros(10_000_000), compression="gzip", chunks=(10**6,))
    with opened(path, "model") as file:
        assert dataset(path, file, "x", 1).shape == (10_000_000,)


@pytest.mark.parametrize("way", ["external link", "external values", "virtual", "dangling"])
def test_other_files_are_not_read(tmp_path: Path, way: str) -> None:
    path, secret = tmp_path / "a.h5", written(tmp_path / "secret.h5", x=np.arange(10.0))
    with h5py.File(path, "w") as file:
        if way == "external link":
            file["x"] = h5py.ExternalLink(str(secret), "x")
        elif way == "dangling":
            file["x"] = h5py.SoftLink("/nowhere")
        elif way == "virtual":
            layout = h5py.VirtualLayout((10,), float)
            layout[:] = h5py.VirtualSource(str(secret), "x", (10,))
            file.create_virtual_dataset("x", layout)
        else:
            file.create_dataset("x", (10,), "u1", external=[(str(secret), 0, 10)])
    refused(path, "nowhere" if way == "dangling" else "other? ?file|another file")


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_crash_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    def crash(*_: object) -> None:
        faulthandler.disable()  # pytest's, which would tell of it
        os.kill(os.getpid(), number)

    monkeypatch.setattr(probe_child, "look", crash)
    assert number.name in probe_child.answer("probe HDF5", str(tmp_path), {}, len)


def test_an_endless_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_child, "look", lambda *_: time.sleep(60))
    monkeypatch.setattr(probe_child, "PATIENCE", 0.2)
    assert "does not finish" in probe_child.answer("probe HDF5", str(tmp_path), {}, len)


def test_without_a_child_files_are_read_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.h5", x=np.arange(10.0))
    monkeypatch.setattr(probing, "PYTHON", ("/nowhere/python",))
    monkeypatch.setattr(probing, "READER", probing.ReaderProcess())
    probe(path, "model")


def test_the_child_comes_again_after_it_has_gone(tmp_path: Path) -> None:
    probe(written(tmp_path / "a.h5", x=[1.0]), "model")
    assert probing.READER.process is not None
    probing.READER.process.kill()
    probe(written(tmp_path / "b.h5", x=[1.0]), "model")
