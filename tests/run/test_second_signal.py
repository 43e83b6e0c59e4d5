"""A second signal while a checkpoint is written: what is on disk stays whole, and what is told of it is true."""

from __future__ import annotations

import json
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.output import checkpoint as disk
from faultwave.output.checkpoint import CheckpointWriter
from tests.fd.test_blocks import numbers, surfaced
from tests.run.test_restart import asked, contents, same

GO_ON = "second signal.*; continue from the last checkpoint with: faultwave.resume"


def stop(progress: Any) -> None:
    if progress.time > 0.2:
        signal.raise_signal(signal.SIGTERM)


def told_within(monkeypatch: pytest.MonkeyPatch, of: Any, name: str, first: bool, static: bool = False) -> None:
    """The main thread gets a signal before (``first``) or after what is called."""
    does: Callable[..., Any] = getattr(of, name)

    def called(*given: Any, **named: Any) -> Any:
        found = None if first else does(*given, **named)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        time.sleep(0.2)  # another thread than this may be the one that is told
        return does(*given, **named) if first else found

    monkeypatch.setattr(of, name, staticmethod(called) if static else called)


MOMENTS = {
    "before the arrays": ("write_part", True, True), "after the arrays": ("write_part", False, True),
    "after all": ("commit", False, False),
}  # fmt: skip


@pytest.mark.parametrize("moment", MOMENTS)
def test_on_a_mesh_a_checkpoint_that_is_begun_is_finished_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """It is written beside the run."""
    name, first, static = MOMENTS[moment]
    sim = fw.simulate(asked(tmp_path, "out", output={"checkpoint": None}))
    with monkeypatch.context() as patch:
        told_within(patch, CheckpointWriter, name, first, static)
        with pytest.raises(KeyboardInterrupt, match=GO_ON) as caught:
            sim.run(progress=stop)
    manifest = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    assert (manifest["status"], manifest["error"]) == ("failed", str(caught.value))
    assert [p.name for p in (tmp_path / "out" / "run-checkpoints").iterdir()] == ["000001"]
    resumed = fw.resume(tmp_path / "out")
    assert resumed.time == sim.time
    resumed.run()
    fw.simulate(asked(tmp_path, "whole", output={"checkpoint": None})).run()
    same(contents(tmp_path / "out"), contents(tmp_path / "whole"))


@pytest.mark.parametrize("moment", MOMENTS)
def test_on_a_grid_a_checkpoint_is_whole_or_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """It is written between two steps; the one before stays."""
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    name, first, static = MOMENTS[moment]
    case = surfaced(tmp_path / "out")
    case["output"]["checkpoint"] = {"interval": 0.1}
    sim = fw.simulate(case)

    def twice(progress: Any) -> None:
        if progress.time > 0.15 and not sim.interrupted:
            told_within(patch, CheckpointWriter, name, first, static)
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt, match=GO_ON):
        sim.run(progress=twice)
    kept = ["000001", "000002"] if moment == "after all" else ["000001"]
    folder = tmp_path / "out" / "run-checkpoints"
    assert sorted(p.name for p in folder.iterdir()) == kept
    resumed = fw.resume(tmp_path / "out")
    assert resumed.time == disk.read(folder / kept[-1]).notes["time"]
    resumed.run()
    fw.simulate(surfaced(tmp_path / "whole")).run()
    expected, found = numbers(tmp_path / "whole"), numbers(tmp_path / "out")
    assert expected.keys() == found.keys()
    for key, values in expected.items():
        assert np.array_equal(values, found[key]), key


def test_without_any_checkpoint_none_is_promised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    case = surfaced(tmp_path / "out")
    case["output"]["checkpoint"] = None
    sim = fw.simulate(case)
    with monkeypatch.context() as patch:
        told_within(patch, CheckpointWriter, "write_part", True, True)
        with pytest.raises(KeyboardInterrupt, match=r"second signal: ended at once at t = 0\.\d+ s$"):
            sim.run(progress=stop)
    assert not list((tmp_path / "out" / "run-checkpoints").iterdir())


def test_an_old_checkpoint_is_whole_or_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is removed when a newer one is whole, which a signal may end half-way."""
    writer = CheckpointWriter(tmp_path, keep=1)

    def take() -> None:
        writer.begin()
        writer.commit({"time": 1.0}, dict([writer.write_part(writer.target(), 0, {"a/b": np.zeros(3)})]))

    def half(path: Path, **named: Any) -> None:
        for file in sorted(Path(path).glob("*"))[:1]:
            file.unlink()
        if Path(path).exists():
            raise KeyboardInterrupt

    take()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        remove = shutil.rmtree
        patch.setattr(
            shutil, "rmtree", lambda path, **named: half(path) if "000001" in str(path) else remove(path, **named)
        )
        take()
    assert [p.name for p in tmp_path.iterdir() if not p.name.startswith(".")] == ["000002"]
    assert disk.latest(tmp_path).number == 2
    take()
    assert [p.name for p in tmp_path.iterdir()] == ["000003"]  # what was left is gone, too
    (tmp_path / ".000007.partial").mkdir()
    disk.remove_all(tmp_path)
    assert not list(tmp_path.iterdir())
