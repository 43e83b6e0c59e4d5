"""Checkpoints: what a resumed run gives, what is refused, what a killed run leaves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import h5py
import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, RunError
from faultwave.domain.tets import write_puml
from faultwave.output import checkpoint as disk
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import load_results
from tests.run.rupture.setup import settings, slip_weakening, small_mesh

OUTPUT = {
    "receivers": {"points": [[100.0, 900.0, -300.0], [-2100.0, -1500.0, -2000.0]], "interval": 0.01, "rotation": True},
    "fault": {"interval": 0.1},
    "surface": {"interval": 0.1, "refinement": 1},
    "volume": {"interval": 0.15, "fields": ["v1", "s_xy"]},
    "energies": {"interval": 0.1},
    "checkpoint": {"interval": 0.15},
    "precision": "double",
}
SOURCE = {
    "kind": "force", "location": [500.0, 700.0, -900.0], "force": [1e13, 0.0, 0.0],
    "time_function": {"kind": "triangle", "duration": 0.5},
}  # fmt: skip


def asked(tmp_path, name, **changes):
    """A small rupture with every kind of output, in its own folder."""
    output = {**OUTPUT, "folder": str(tmp_path / name), **changes.pop("output", {})}
    made = settings(
        tmp_path,
        slip_weakening(),
        end_time=changes.pop("end_time", 0.6),
        sources=[SOURCE],
        points=changes.pop("points", ON),
        **changes,
    )
    made["output"] = {**made["output"], **output}
    made["output"]["fault_receivers"]["every"] = 2
    made["numerics"] |= {"threads": 1}
    return made


ON = np.array([[0.0, 0.0, -2210.0], [-1710.0, 0.0, -2790.0]])


def stop_at(moment):
    return lambda p: signal.raise_signal(signal.SIGTERM) if p.time > moment else None


def contents(folder):
    """Every number of every result."""
    found = {}
    for kind in ("volume", "surface", "fault"):
        with VtkHdfReader(folder / f"run-{kind}.vtkhdf") as file:
            found[kind] = (file.times, *[file.field(n, i) for i in range(len(file.times)) for n in file.fields])
    results = load_results(folder)
    for kind, traces in results.traces.items():
        for number, trace in traces.items():
            found[kind, number] = (trace.time, *trace.columns.values())
    found["energies"] = tuple(v.data for v in results.energies.variables.values())
    return found


def same(a, b):
    assert a.keys() == b.keys()
    for key in a:
        assert len(a[key]) == len(b[key]), key
        for x, y in zip(a[key], b[key], strict=True):
            np.testing.assert_array_equal(x, y, err_msg=str(key))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    sim = fw.simulate(asked(folder, "out")).run()
    assert len(sim.plan.clustering.steps) > 1
    return contents(folder / "out")


def test_stopped_and_resumed_is_undisturbed(tmp_path, undisturbed):
    sim = fw.simulate(asked(tmp_path, "out"))
    with pytest.raises(RunError, match="interrupted .* faultwave.resume"):
        sim.run(progress=stop_at(0.37))
    again = fw.resume(tmp_path / "out")
    assert 0.37 < again.time < 0.5
    again.run()
    same(contents(tmp_path / "out"), undisturbed)
    assert again.solver.updates > sim.solver.updates


def test_a_resumed_run_that_is_told_to_stop_twice_tells_where_it_came_from(tmp_path):
    with pytest.raises(RunError, match="interrupted"):
        fw.simulate(asked(tmp_path, "out", output={"checkpoint": None})).run(progress=stop_at(0.0))
    twice = lambda p: [signal.raise_signal(signal.SIGTERM) for _ in range(2)]  # noqa: E731
    with pytest.raises(
        KeyboardInterrupt, match="second signal.*; continue from the last checkpoint with: faultwave.resume"
    ):
        fw.resume(tmp_path / "out").run(progress=twice)


def test_checkpoints_change_nothing(tmp_path, undisturbed):
    fw.simulate(asked(tmp_path, "out", output={"checkpoint": None})).run()
    same(contents(tmp_path / "out"), undisturbed)
    assert not (tmp_path / "out" / "run-checkpoints").exists()


def test_the_last_two_are_kept_and_a_new_run_removes_them(tmp_path):
    case = asked(tmp_path, "out")
    sim = fw.simulate(case).run()
    kept = sorted(p.name for p in (tmp_path / "out" / "run-checkpoints").iterdir())
    assert sim.checkpoints > 2 and kept == [f"{sim.checkpoints - 1:06d}", f"{sim.checkpoints:06d}"]
    case["output"] |= {"checkpoint": None}
    fw.simulate(case, force=True).run(until=0.1)
    assert not list((tmp_path / "out" / "run-checkpoints").iterdir())
    with pytest.raises(InputError, match="there is no checkpoint"):
        fw.resume(tmp_path / "out")


def test_resuming_a_finished_run_gives_the_same_again(tmp_path, undisturbed):
    fw.simulate(asked(tmp_path, "out")).run()
    fw.resume(tmp_path / "out").run()
    same(contents(tmp_path / "out"), undisturbed)


@pytest.mark.parametrize("damage", ["torn", "flipped", "index", "missing"])
def test_a_damaged_checkpoint_is_refused_and_the_one_before_taken(tmp_path, undisturbed, damage, caplog):
    fw.simulate(asked(tmp_path, "out")).run()
    folder = tmp_path / "out" / "run-checkpoints"
    older, newer = sorted(folder.iterdir())
    part, index = newer / "part-000000.h5", newer / "index.json"
    data = bytearray(part.read_bytes())
    if damage == "torn":
        part.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        data[len(data) // 2] ^= 1
        part.write_bytes(data)
    elif damage == "index":
        index.write_text(index.read_text().replace('"order": 3', '"order": 4'))
    else:
        part.unlink()
    sim = fw.resume(tmp_path / "out")
    assert sim.time == disk.read(older).notes["time"]
    assert str(newer) in caplog.text
    sim.run()
    same(contents(tmp_path / "out"), undisturbed)
    there = sorted(p.name for p in folder.iterdir())
    assert older.name in there and newer.name not in there and len(there) == 2  # two that are whole
    for name in sorted(p.name for p in folder.iterdir()):
        (folder / name / "index.json").write_text("{}")
    with pytest.raises(InputError, match="none of its 2 checkpoints is complete"):
        fw.resume(tmp_path / "out")


SCRIPT = """
    import json, os, signal, sys, time
    from pathlib import Path
    import faultwave as fw
    case, moment = json.loads(sys.argv[1]), float(sys.argv[2])
    def kill(progress):
        if progress.time > moment:
            while not list(Path(case["output"]["folder"]).glob("*-checkpoints/0*/index.json")):
                time.sleep(0.05)  # another thread writes them, late on a busy machine
            os.kill(os.getpid(), signal.SIGKILL)
    fw.simulate(case).run(progress=kill)
"""


def test_killed_and_resumed_is_undisturbed(tmp_path, undisturbed, moment=0.42):
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), json.dumps(asked(tmp_path, "out")), str(moment)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (tmp_path / "out" / "run-volume.vtkhdf").exists()
    sim = fw.resume(tmp_path / "out")
    assert 0.1 < sim.time < moment
    sim.run()
    same(contents(tmp_path / "out"), undisturbed)
    left = [p.name for p in (tmp_path / "out").iterdir() if "partial" in p.name]
    assert not left


def test_resuming_twice_from_one_checkpoint(tmp_path, undisturbed):
    """What the first attempt wrote after the checkpoint is written anew by the second."""
    with pytest.raises(RunError):
        fw.simulate(asked(tmp_path, "out")).run(progress=stop_at(0.2))
    kept = tmp_path / "kept"
    shutil.copytree(tmp_path / "out" / "run-checkpoints", kept)
    with pytest.raises(RunError):
        fw.resume(tmp_path / "out").run(progress=stop_at(0.5))
    shutil.rmtree(tmp_path / "out" / "run-checkpoints")
    shutil.copytree(kept, tmp_path / "out" / "run-checkpoints")
    fw.resume(tmp_path / "out").run()
    same(contents(tmp_path / "out"), undisturbed)


def test_full_disk_keeps_the_run_and_the_last_checkpoint(tmp_path, monkeypatch, undisturbed, caplog):
    write_part, calls = disk.CheckpointWriter.write_part, []

    def full(target, number, arrays):
        calls.append(number)
        if len(calls) > 2:
            raise RunError(f"{target}: the disk is full")
        return write_part(target, number, arrays)

    monkeypatch.setattr(disk.CheckpointWriter, "write_part", staticmethod(full))
    sim = fw.simulate(asked(tmp_path, "out")).run()
    same(contents(tmp_path / "out"), undisturbed)
    (told,) = (w for w in sim.warnings if w.where == "output.checkpoint")
    assert f"{len(calls) - 2} could not be written, at t = " in told.what and "the disk is full" in told.what
    assert str(told) in json.loads((tmp_path / "out" / "run-manifest.json").read_text())["warnings"]
    assert "the disk is full" in caplog.text and "last checkpoint is retained" in caplog.text
    names = sorted(p.name for p in (tmp_path / "out" / "run-checkpoints").iterdir())
    assert len(calls) > 2 and names == ["000001", "000002"]


def test_a_folder_for_checkpoints_that_cannot_be_made(tmp_path, caplog):
    case = asked(tmp_path, "out", end_time=0.3)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run-checkpoints").write_text("in the way")
    sim = fw.simulate(case).run()
    assert sim.checkpoints == 0 and sim.time == pytest.approx(0.3)
    assert "no checkpoint at t" in caplog.text and "run-checkpoints" in caplog.text


def test_what_was_reached_is_not_thrown_away(tmp_path):
    fw.simulate(asked(tmp_path, "out", end_time=0.4)).run()
    before = {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir() if p.is_file()}
    for until in (0.1, 0.35):  # before the last checkpoint, and between it and the end
        with pytest.raises(InputError, match=r"has already reached 0\.4 s"):
            fw.resume(tmp_path / "out", until=until)
    assert before == {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir() if p.is_file()}
    assert fw.resume(tmp_path / "out", until=0.45).run().time == pytest.approx(0.45)


@pytest.mark.parametrize("what", ["rho", "mu_s"])
def test_another_medium_or_friction_is_refused(tmp_path, what):
    """Files that a case names may change between a stop and going on."""
    case = asked(tmp_path, "out", end_time=0.3)
    files = {}
    for setting, name in ((case["material"], "medium.yaml"), (case["fault"]["parameters"], "friction.yaml")):
        constants = setting.pop("constant")
        files[name] = tmp_path / name
        files[name].write_text("!ConstantMap\nmap:\n" + "".join(f"  {k}: {v}\n" for k, v in constants.items()))
        setting["easi"] = str(files[name])
    fw.simulate(case).run()
    fw.resume(tmp_path / "out")
    file = next(f for f in files.values() if f"  {what}: " in f.read_text())
    file.write_text("".join(f"  {what}: 0.5\n" if line.startswith(f"  {what}: ") else f"{line}\n"
                            for line in file.read_text().splitlines()))  # fmt: skip
    with pytest.raises(InputError, match=f"{file}: its content has changed: .* sha256 .* in the checkpoint"):
        fw.resume(tmp_path / "out")


def test_full_disk_at_a_snapshot_keeps_what_the_checkpoint_needs(tmp_path, monkeypatch, undisturbed):
    from faultwave.output.formats.vtkhdf import VtkHdfWriter

    put = VtkHdfWriter._write_step

    def full(self, step, moment, values):
        if moment > 0.45:
            raise OSError(28, "No space left on device")
        put(self, step, moment, values)

    with monkeypatch.context() as patch:
        patch.setattr(VtkHdfWriter, "_write_step", full)
        with pytest.raises(RunError, match="the disk is full"):
            fw.simulate(asked(tmp_path, "out")).run()
    fw.resume(tmp_path / "out").run()
    same(contents(tmp_path / "out"), undisturbed)


def test_other_threads_are_the_same_and_backend_and_precision_nearly(tmp_path, undisturbed):
    with pytest.raises(RunError):
        fw.simulate(asked(tmp_path, "out")).run(progress=stop_at(0.5))
    for name in ("threads", "precision", "backend"):
        shutil.copytree(tmp_path / "out", tmp_path / name)
    fw.resume(tmp_path / "threads", threads=2).run()
    same(contents(tmp_path / "threads"), undisturbed)
    for name, value, limit in (("precision", "single", 1e-3), ("backend", "numpy", 1e-9)):
        fw.resume(tmp_path / name, **{name: value}).run()
        for number, trace in load_results(tmp_path / name).traces["receiver"].items():
            whole = undisturbed["receiver", number][1:]
            for ours, theirs in zip(trace.columns.values(), whole, strict=True):
                assert np.abs(ours - theirs).max() <= limit * max(np.abs(v).max() for v in whole[:6])


def test_another_order_projects_and_says_so(tmp_path, undisturbed, caplog):
    with pytest.raises(RunError):
        fw.simulate(asked(tmp_path, "out")).run(progress=stop_at(0.5))
    before = fw.resume(tmp_path / "out")
    sim = fw.resume(tmp_path / "out", order=4)
    assert "order 4 instead of 3: the state is projected" in caplog.text
    points = sim.receivers["location"]
    np.testing.assert_allclose(sim.sample(points), before.sample(points), rtol=1e-10, atol=1e-4)
    mine, theirs = (s.solver.parts["rupture"].fault.energies(False, False) for s in (sim, before))
    assert mine["seismic_moment"] == pytest.approx(theirs["seismic_moment"], rel=0.05)
    sim.run()
    for number, trace in load_results(tmp_path / "out").traces["receiver"].items():
        time, *columns = undisturbed["receiver", number]
        v, whole = np.stack([trace.columns[n] for n in ("v1", "v2", "v3")]), np.stack(columns[6:9])
        np.testing.assert_array_equal(v[:, time < before.time], whole[:, time < before.time])
        assert 0 < np.abs(v - whole).max() < 0.3 * np.abs(whole).max()  # the mesh is coarse: orders differ


def test_another_mesh_is_refused(tmp_path):
    case = asked(tmp_path, "out")
    with pytest.raises(RunError):
        fw.simulate(case).run(progress=stop_at(0.2))
    moved = small_mesh()
    vertices = moved.vertices.copy()
    vertices[0] += 1.0
    write_puml(case["mesh"]["file"], type(moved)(vertices, moved.cells, moved.groups, moved.tags))
    with pytest.raises(InputError, match="mesh.file: .*its content has changed"):
        fw.resume(tmp_path / "out")


def damaged(path, damage):
    """Damage a file of snapshots that a checkpoint relies on."""
    if damage == "gone":
        path.unlink()
    elif damage == "cut short":
        os.truncate(path, path.stat().st_size // 2)
    elif damage == "zeros":
        path.write_bytes(bytes(path.stat().st_size))
    else:  # the fields of another run on the same mesh
        with h5py.File(path, "r+") as file:
            field = file["VTKHDF/CellData/v1"]
            field[3] = -field[3] + 1.0


@pytest.mark.parametrize("damage", ["gone", "cut short", "zeros", "other numbers"])
def test_snapshots_that_were_lost_are_an_error_and_nothing_is_touched(tmp_path, damage):
    with pytest.raises(RunError):
        fw.simulate(asked(tmp_path, "out")).run(progress=stop_at(0.4))
    file = tmp_path / "out" / "run-volume.vtkhdf"
    damaged(file, damage)
    before = {p: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    with pytest.raises(InputError, match="lacks the 3 snapshots .* Restore the file of that run") as found:
        fw.resume(tmp_path / "out").run()
    assert str(file) in str(found.value)
    after = {p: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file() and not p.name.startswith(".")}
    assert after == before
    fw.resume(tmp_path / "out", put_aside=True).run()
    with VtkHdfReader(file) as read:
        assert read.times[0] > 0.3 and read.times[-1] == pytest.approx(0.6)
    aside = tmp_path / "out" / "run-volume.vtkhdf.aside1"
    assert aside.exists() == (damage != "gone")
    if damage != "gone":
        assert aside.read_bytes() == before[file]


def test_surface_of_a_simulation_run_on_counts_from_the_start(tmp_path):
    whole = fw.simulate(asked(tmp_path, "a", output={"sync": True})).run()
    parts = fw.simulate(asked(tmp_path, "b", output={"sync": True}), force=True)
    parts.run(until=0.4)
    parts.run()
    with (
        VtkHdfReader(tmp_path / "a" / "run-surface.vtkhdf") as a,
        VtkHdfReader(tmp_path / "b" / "run-surface.vtkhdf") as b,
    ):
        np.testing.assert_allclose(b.times, a.times, rtol=0, atol=1e-12)
        assert len(a.times) == 7
        for name in ("u1", "PGV"):
            assert np.abs(a.field(name)).max() > 0
            for i in range(7):
                np.testing.assert_array_equal(a.field(name, i), b.field(name, i))
    assert whole.time == parts.time


def test_wall_clock_checkpoints(tmp_path):
    case = asked(tmp_path, "out", output={"checkpoint": {"wall_time": 0.05, "keep": 3}})
    sim = fw.simulate(case)
    sim.run(progress=lambda p: time.sleep(0.02))
    assert sim.checkpoints >= 2
    assert len(list((tmp_path / "out" / "run-checkpoints").iterdir())) == min(sim.checkpoints, 3)


def test_a_checkpoint_holds_plain_arrays(tmp_path):
    sim = fw.simulate(asked(tmp_path, "out")).run()
    found = disk.latest(tmp_path / "out" / "run-checkpoints")
    part = found.part(0)
    assert part["cells/dofs"].shape == (sim.plan.cells, 10, 9)
    with h5py.File(found.folder / found.parts[0]) as file:
        assert set(file) >= {"cells", "energies", "receivers", "rupture"}
    assert os.path.getsize(found.folder / found.parts[0]) > part["cells/dofs"].nbytes


def test_rows_that_are_no_rows_of_this_run_are_refused():
    from faultwave.run.checkpoints import _check_shape

    _check_shape("here", np.zeros((4, 20, 9)), np.zeros((4, 10, 9)))  # of another order
    _check_shape("here", np.zeros((4, 5)), np.zeros((4, 0)))  # of a run that has gone on
    for found, now in (((4, 10, 8), (4, 10, 9)), ((4, 10, 9, 1), (4, 10, 9)), ((4,), (4, 3))):
        with pytest.raises(InputError, match="has the shape"):
            _check_shape("here", np.zeros(found), np.zeros(now))


COMPENSATED = {"precision": "single", "compensated": True}


def test_compensated_sums_go_on_where_they_were(tmp_path):
    case = asked(tmp_path, "whole")
    case["numerics"] |= COMPENSATED
    fw.simulate(case).run()
    again = asked(tmp_path, "out")
    again["numerics"] |= COMPENSATED
    with pytest.raises(RunError, match="interrupted"):
        fw.simulate(again).run(progress=stop_at(0.37))
    fw.resume(tmp_path / "out").run()
    same(contents(tmp_path / "out"), contents(tmp_path / "whole"))
