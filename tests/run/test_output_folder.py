"""Where a run is going to write is looked at before it starts: by `check`, and by the plan of either engine."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, RunError
from faultwave.output.folder import check_folder
from faultwave.output.formats.vtkhdf import VtkHdfReader, VtkHdfWriter
from faultwave.output.results import load_results
from faultwave.run import simulate
from faultwave.run.planned import check
from tests.run.test_unused_settings import ROCK, besides_rest, case


def into(folder: Path, **more: Any) -> dict[str, Any]:
    return case(output={"folder": str(folder)} | more)


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "below" / "it"):
        (told,) = check(into(folder)).errors
        assert told.where == str(tmp_path / "taken") and "is a file, but a folder for output is needed" in told.what
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs").mkdir(mode=0o555)
    monkeypatch.setattr(
        os, "access", lambda path, how: str(path) != str(tmp_path / "theirs")
    )  # root may write everywhere
    (told,) = check(into(tmp_path / "theirs" / "new")).errors
    assert told.where == str(tmp_path / "theirs") and "permission denied" in told.what
    assert not besides_rest(check(into(tmp_path / "new"))) and not (tmp_path / "new").exists()


def test_a_plan_doubts_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """It writes nothing itself, and the run may be elsewhere."""
    (tmp_path / "taken").write_text("mine")
    told = [w for w in fw.plan(into(tmp_path / "taken")).warnings if w.where == str(tmp_path / "taken")]
    assert [w.severity for w in told] == ["warning"] and "is a file" in told[0].what


def test_a_run_that_is_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "run-manifest.json").write_text("{}")
    (told,) = besides_rest(check(into(tmp_path)))
    assert "force=True" in told and "run-manifest.json" in told and not check(into(tmp_path)).errors
    assert check_folder(tmp_path / "another") == []


def test_a_run_that_may_not_write_prepares_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run-manifest.json").write_text("{}")
    monkeypatch.setattr("faultwave.run.simulation.start", lambda *given: pytest.fail("prepared"))
    with pytest.raises(InputError, match="already holds a run"):
        fw.run(into(tmp_path))


@pytest.mark.parametrize(
    "output",
    [
        {"volume": {"interval": 1e-4}},
        {"surface": {"interval": 1e-4}},
        {"receivers": {"points": [[500, 500, 500]] * 60, "interval": 1e-5}},
        {"checkpoint": {"interval": 0.01, "keep": 200}},
    ],
    ids=lambda x: next(iter(x)),
)
def test_a_disk_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: dict[str, Any]) -> None:
    box = {
        "shape": "box",
        "cells": [4, 4, 4],
        "lower": [0, 0, 0],
        "upper": [1e3, 1e3, 1e3],
        "boundaries": {"z+": "free-surface"},
    }
    asked = into(tmp_path / "out", **output) | {"mesh": {"generate": box}, "material": {"constant": ROCK}}
    assert not check(asked).errors
    small = shutil.disk_usage(tmp_path)._replace(free=100_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: small)
    (told,) = check(asked).errors
    assert told.where == "output" and "snapshots, seismograms and checkpoints need" in told.what and "GiB" in told.what


@pytest.mark.parametrize("precision", ["double", "single"])
def test_the_disk_must_hold_all_checkpoints_and_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    box = {
        "shape": "box",
        "cells": [4, 4, 4],
        "lower": [0, 0, 0],
        "upper": [1e3, 1e3, 1e3],
        "boundaries": {"z+": "free-surface"},
    }
    numerics = {"order": 3, "backend": "numpy", "precision": precision}
    asked = into(tmp_path / "out", checkpoint={"interval": 0.1, "keep": 2})
    asked |= {"end_time": 0.15, "mesh": {"generate": box}, "material": {"constant": ROCK}, "numerics": numerics}
    simulate(asked).run()
    (part,) = (tmp_path / "out").rglob("part-*.h5")
    usage = shutil.disk_usage(tmp_path)
    for share, enough in ((0.85, False), (1.2, True)):
        small = usage._replace(free=int(share * 3 * part.stat().st_size))
        monkeypatch.setattr(shutil, "disk_usage", lambda path, small=small: small)
        told = check(asked | {"output": asked["output"] | {"folder": str(tmp_path / "new")}}).errors
        assert (not told) == enough, told


def test_what_was_complete_stays_when_the_disk_fills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box = {
        "shape": "box",
        "cells": [2, 2, 2],
        "lower": [0, 0, 0],
        "upper": [1e3, 1e3, 1e3],
        "boundaries": {"z+": "free-surface"},
    }
    output = {
        "volume": {"interval": 0.02},
        "surface": {"interval": 0.02},
        "receivers": {"points": [[500, 500, 500]], "interval": 0.01},
    }
    force = {
        "kind": "force",
        "location": [450, 500, 550],
        "force": [1e12, 0, 0],
        "time_function": {"kind": "brune", "duration": 0.02},
    }
    asked = into(tmp_path / "out", **output) | {"mesh": {"generate": box}, "end_time": 0.2, "sources": [force]}
    plain = VtkHdfWriter._write_step

    def full(self: VtkHdfWriter, step: int, *more: Any) -> None:
        if step == 4 and "volume" in self.path.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        plain(self, step, *more)

    monkeypatch.setattr(VtkHdfWriter, "_write_step", full)
    with pytest.raises(RunError, match="run-volume.vtkhdf: the disk is full; the snapshot at 0.08 s is incomplete;"):
        simulate(asked).run()
    with (
        VtkHdfReader(tmp_path / "out" / "run-volume.vtkhdf") as volume,
        VtkHdfReader(tmp_path / "out" / "run-surface.vtkhdf") as surface,
    ):
        assert volume.times == pytest.approx([0.0, 0.02, 0.04, 0.06]) and len(surface.times) >= 4
        assert np.abs(volume.field("v1", 3)).max() > 0
    manifest = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    assert manifest["status"] == "failed" and "the disk is full" in manifest["error"]
    recorded = load_results(tmp_path / "out").traces["receiver"][1]
    assert recorded.time[-1] >= 0.06 and "run-receivers.h5" in manifest["outputs"]


def test_the_manifest_says_when_the_run_began(tmp_path: Path) -> None:
    sim = simulate(into(tmp_path / "out") | {"end_time": 0.02})
    before = datetime.now(UTC)

    def wait(progress: Any) -> None:
        time.sleep(max(0.0, 1.1 - (datetime.now(UTC) - before).total_seconds()))

    sim.run(progress=wait)
    manifest = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    began, ended = (datetime.fromisoformat(manifest[name]) for name in ("started", "written"))
    assert before.replace(microsecond=0) <= began < ended


def test_two_runs_do_not_write_one_folder_at_once(tmp_path: Path) -> None:
    told: list[str] = []

    def second(progress: Any) -> None:
        if not told:
            with pytest.raises(InputError) as caught:
                simulate(into(tmp_path / "out"), force=True).run()
            told.append(str(caught.value))

    first = simulate(into(tmp_path / "out")).run(progress=second)
    assert f"another run is writing there, process {os.getpid()} on" in told[0]
    assert json.loads((tmp_path / "out" / "run-manifest.json").read_text())["status"] == "finished"
    assert first.time == pytest.approx(0.1) and not list((tmp_path / "out").glob(".*"))
    (tmp_path / "out" / ".faultwave-running").write_text("4711 on a machine whose run was killed")
    assert simulate(into(tmp_path / "out"), force=True).run().time == pytest.approx(0.1)


@pytest.mark.parametrize("snapshots", [{}, {"refinement": 1}, {"degree": 3}], ids=["cells", "refined", "nodes"])
@pytest.mark.parametrize("output", ["volume", "surface"])
def test_the_disk_must_hold_the_mesh_beside_a_snapshot(tmp_path: Path, output: str, snapshots: dict[str, Any]) -> None:
    """Of a file of one snapshot most is the mesh."""
    box = {
        "shape": "box",
        "cells": [6, 6, 6],
        "lower": [0, 0, 0],
        "upper": [1e3, 1e3, 1e3],
        "boundaries": {"z+": "free-surface"},
    }
    asked = into(tmp_path, **{output: {"interval": 1.0} | snapshots}) | {"end_time": 1e-3}
    numerics = {"order": 2, "backend": "numpy"}
    made = simulate(asked | {"mesh": {"generate": box}, "material": {"constant": ROCK}, "numerics": numerics})
    (told,) = (part.requirements.disk for part in made.plan.parts if part.name == output)
    made.run()
    (file,) = tmp_path.glob(f"*-{output}.vtkhdf")
    held: list[int] = []
    with h5py.File(file) as opened:
        opened.visititems(lambda _, x: held.append(x.id.get_storage_size()) if isinstance(x, h5py.Dataset) else None)
    assert 0.9 < told / sum(held) < 1.1
