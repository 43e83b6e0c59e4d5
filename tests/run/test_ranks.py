"""Runs on several processes: the same numbers to the last bit, stops, deaths, and going on."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import faultwave as fw
from faultwave.case.load import load_case
from faultwave.domain import tets
from faultwave.domain.tets.formats.parts import write_parts
from faultwave.domain.tets.generators.graded import Tpv5, graded_mesh
from faultwave.output.formats.finite_sources.histories import read_histories
from faultwave.output.formats.rupture_files import read_parameters
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import load_results
from tests.run.launch import launch
from tests.run.rupture import fluids
from tests.run.rupture.setup import small_mesh
from tests.run.test_restart import asked

pytestmark = pytest.mark.mpi

END = 0.4


def contents(folder):
    """Every number of every result, cells of fields by their place; energies apart."""
    found = {}
    for kind in ("volume", "surface", "fault"):
        with VtkHdfReader(folder / f"run-{kind}.vtkhdf") as file:
            corners = file.points[file.cells]
            order = np.lexsort((*corners.mean(1).T, file.field("global-id")))
            values = [file.field(n, i)[order] for i in range(len(file.times)) for n in file.fields]
            found[kind] = (file.times, corners[order], *values)
    results = load_results(folder)
    for kind, traces in results.traces.items():
        for number, trace in traces.items():
            found[kind, number] = (trace.time, *trace.columns.values(), *trace.vectors.values())
    return found, {name: v.data for name, v in results.energies.variables.items()}


def same(folder, whole):
    found, energies = contents(folder)
    assert found.keys() == whole[0].keys()
    for key, arrays in whole[0].items():
        assert len(found[key]) == len(arrays), key
        for x, y in zip(found[key], arrays, strict=True):
            np.testing.assert_array_equal(x, y, err_msg=str(key))
    for name, values in whole[1].items():
        scale = np.abs(whole[1]["momentumX"]).max() if name.startswith("momentum") else np.abs(values).max()
        assert np.abs(energies[name] - values).max() <= 1e-12 * scale, name


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    sim = fw.simulate(asked(folder, "out", end_time=END)).run()
    assert len(sim.plan.clustering.steps) > 1
    return contents(folder / "out")


@pytest.mark.parametrize(
    "ranks, threads", [(2, 1), pytest.param(3, 2, marks=pytest.mark.slow), pytest.param(5, 1, marks=pytest.mark.slow)]
)
def test_any_number_of_processes_gives_the_same(tmp_path, alone, ranks, threads):
    case = asked(tmp_path, "out", end_time=END)
    case["numerics"]["threads"] = threads
    done = launch(ranks, case)
    assert done.returncode == 0, done.stderr
    same(tmp_path / "out", alone)
    manifest = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    assert manifest["rates"]["processes"] == ranks
    mesh = case["mesh"]["file"]
    assert manifest["inputs"][mesh]["sha256"] == hashlib.sha256(Path(mesh).read_bytes()).hexdigest()
    assert not [p for p in (tmp_path / "out").rglob("*partial*") if p.is_file()]


def test_maps_of_a_rupture_are_the_same_on_two_processes(tmp_path):
    """Bit for bit but for sums over the fault, whose order is the partition's."""
    rupture = {"rupture": {"interval": 0.05, "slip_interval": 0.1}}
    fw.simulate(asked(tmp_path, "one", end_time=END, output=rupture)).run()
    done = launch(2, asked(tmp_path, "two", end_time=END, output=rupture))
    assert done.returncode == 0, done.stderr
    one, two = tmp_path / "one", tmp_path / "two"
    with VtkHdfReader(one / "run-rupture.vtkhdf") as a, VtkHdfReader(two / "run-rupture.vtkhdf") as b:
        assert a.fields == b.fields and a.static == b.static
        np.testing.assert_array_equal(a.points, b.points)
        assert np.isfinite(a.field("rupture_time")).any()
        for field in (*a.fields, *a.static):
            np.testing.assert_array_equal(a.field(field), b.field(field), err_msg=field)
    for name in ("run-moment-rate.csv", "run-moment-spectrum.csv"):
        tables = [np.loadtxt(folder / name, delimiter=",", skiprows=1) for folder in (one, two)]
        np.testing.assert_allclose(tables[1], tables[0], rtol=1e-7)
    slips = [read_histories(folder / "run-slip.h5") for folder in (one, two)]
    for field in fields(slips[0]):
        np.testing.assert_array_equal(getattr(slips[0], field.name), getattr(slips[1], field.name), err_msg=field.name)
    numbers = [read_parameters(folder / "run-rupture.json") for folder in (one, two)]
    assert numbers[1] == pytest.approx(numbers[0], rel=1e-9, nan_ok=True)


LATE = """
import random
import faultwave.comm.exchange as e
made, lots = e.ClusterExchange.__init__, random.seed(os.getpid())
def slow(self, *given):
    made(self, *given)
    self.delay = lambda: random.choice([0.0, 1e-4, 2e-3])
e.ClusterExchange.__init__ = slow
"""


def test_a_thread_for_messages_and_messages_that_are_late(tmp_path, alone):
    """Whenever messages come and whoever fetches them, the numbers are the same."""
    case = asked(tmp_path, "out", end_time=END)
    core = min(os.sched_getaffinity(0))
    case["numerics"] |= {"progress": "thread", "progress_cores": [core]}
    see = f"assert sim.solver.progress.cores == ({core},) and sim.solver.progress.looks > 0"
    done = launch(2, case, setup=textwrap.indent(LATE, "").strip(), after=see)
    assert done.returncode == 0, done.stderr
    same(tmp_path / "out", alone)


def test_cores_that_are_not_there(tmp_path):
    case = asked(tmp_path, "out", end_time=END)
    case["numerics"] |= {"progress": "thread", "progress_cores": [9999]}
    done = launch(2, case)
    assert done.returncode != 0 and "may not use core 9999" in done.stderr
    case["numerics"] |= {"progress": "polling"}
    with pytest.raises(fw.base.errors.InputError, match="progress_cores"):
        fw.simulate(case)


def tpv5(tmp_path, name, **changes):
    """The benchmark at low order."""
    case, problems = load_case("tpv5")
    problems.raise_errors()
    data = case.model_dump(mode="json", exclude_unset=True)
    data["numerics"] = {**data.get("numerics", {}), **changes["numerics"], "order": 2, "threads": 1}
    output = {**data["output"], **asked(tmp_path, name)["output"]}
    output["receivers"] = data["output"]["receivers"]
    output["fault_receivers"] = data["output"]["fault_receivers"]
    return data | {"end_time": changes["end_time"], "output": output}


@pytest.mark.slow
@pytest.mark.parametrize("make", [asked, tpv5])
@pytest.mark.parametrize("outputs", [True, False])
@pytest.mark.parametrize("rates", [[2], [1]])
def test_seismograms_of_all_ways_to_run(tmp_path, rates, outputs, make):
    """1 to 4 processes, both progress modes, with and without local time steps and other outputs."""

    def seismograms(folder):
        return load_results(tmp_path / folder).traces

    found = {}
    for ranks, progress in ((1, "polling"), *((n, m) for n in (2, 3, 4) for m in ("polling", "thread"))):
        case = make(tmp_path, f"{ranks}-{progress}", end_time=0.25, numerics={"clustering": {"rates": rates}})
        case["numerics"]["progress"] = progress
        if not outputs:
            for kind in ("fault", "surface", "volume", "energies", "checkpoint"):
                del case["output"][kind]
        if ranks == 1:
            fw.simulate(case).run()
        else:
            done = launch(ranks, case)
            assert done.returncode == 0, done.stderr
        found[ranks, progress] = seismograms(f"{ranks}-{progress}")
    first = found.pop((1, "polling"))
    for way, traces in found.items():
        for kind, known in first.items():
            for number, trace in known.items():
                for name, column in trace.columns.items():
                    np.testing.assert_array_equal(traces[kind][number].columns[name], column, err_msg=f"{way} {name}")


@pytest.mark.parametrize(
    "changes",
    [
        {"clustering": {"rates": [3]}, "precision": "single"},
        {"precision": "single", "compensated": True},
        {"clustering": {"rates": [3]}, "stored_waves": "single"},
        pytest.param({"clustering": {"rates": [1]}}, marks=pytest.mark.slow),
        {"flux": "rusanov", "flux_near_faults": "godunov"},
        {"flux_near_faults": "rusanov"},
    ],
)
def test_other_time_steps_and_precision(tmp_path, changes):
    case = asked(tmp_path, "one", end_time=0.3, numerics=changes)
    fw.simulate(case).run()
    case["output"]["folder"] = str(tmp_path / "two")
    case["output"]["seissol_layout"] = True
    done = launch(2, case)
    assert done.returncode == 0, done.stderr
    case["output"]["folder"] = str(tmp_path / "three")
    fw.simulate(case).run()
    same(tmp_path / "two", contents(tmp_path / "three"))


@pytest.mark.parametrize("opened", ["in parts", pytest.param("whole", marks=pytest.mark.slow)])
def test_odd_parts(tmp_path, opened):
    """One process has a single cell, one no fault, one all of the slowest cells; the cut is that of the stored mesh, of
    which every process opens its own part, or all of it."""
    mesh = small_mesh()
    topology = tets.build_topology(mesh)
    part = np.where(mesh.vertices[mesh.cells].mean(1)[:, 1] > 2500.0, 1, 0)
    lonely = np.flatnonzero((part == 1) & (topology.kinds != tets.BoundaryKind.FAULT).all(1))[0]
    part[lonely] = 2
    case = asked(tmp_path, "out", end_time=END)
    case["material"] = {
        "constant": {"rho": 2670.0, "vs": 3464.0},
        "expression": {"vp": "return 6000.0 + 0.01 * x + 3.0 * sin(y);"},
    }
    case["numerics"] |= {"clustering": {"wiggle_minimum": 0.7}, "flux": "rusanov"}
    case["mesh"] |= {"scaling": (np.eye(3) + 0.01).tolist()}
    write_parts(case["mesh"]["file"], mesh, topology, part, [3], np.arange(len(part)))
    see = "import faultwave.dg.planning.plan as p; asked = p.tets.load_mesh; seen = []\n"
    see += "p.tets.load_mesh = lambda setting: seen.append(1) or asked(setting)"
    setup = (
        see
        if opened == "in parts"
        else "import faultwave.dg.planning.process_partition as s; s.stored_in_parts = lambda case, world: False"
    )
    if opened == "whole":
        done = launch(3, case, setup=setup)
        assert done.returncode == 0, done.stderr
    else:
        done = launch(3, case, setup=setup, run=STOP, after="assert not seen")
        assert "interrupted at t" in done.stderr, done.stderr
        fw.resume(tmp_path / "out").run()  # knows the mesh of which no process has seen the whole
    reference = dict(case, output={**case["output"], "folder": str(tmp_path / "one")})
    fw.simulate(reference).run()
    same(tmp_path / "out", contents(tmp_path / "one"))


def along_the_fault():
    """A mesh and four parts of it: all fault faces have their cells in two of them."""
    mesh = small_mesh()
    topology = tets.build_topology(mesh)
    centres = mesh.vertices[mesh.cells].mean(1)
    part = (centres[:, 1] > 0) + 2 * ((centres[:, 0] > 500.0) & (np.abs(centres[:, 1]) < 900.0))
    inner = (topology.kinds == tets.BoundaryKind.FAULT) & (topology.neighbours >= 0)
    parted = inner & (part[topology.neighbours] != part[:, None])
    assert parted.sum() == inner.sum() > 60
    return mesh, topology, part


def test_a_fault_between_processes(tmp_path):
    """Both processes solve a face's friction, one of them shows it."""
    mesh, topology, part = along_the_fault()
    case = asked(tmp_path, "out", end_time=END)
    case["output"]["seissol_layout"] = True
    write_parts(case["mesh"]["file"], mesh, topology, part, [4], np.arange(len(part)))
    done = launch(4, case, run=STOP)
    assert "faultwave.resume" in done.stderr, done.stderr
    done = launch(4, str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    reference = dict(case, output={**case["output"], "folder": str(tmp_path / "one")})
    fw.simulate(reference).run()
    same(tmp_path / "out", contents(tmp_path / "one"))


def test_a_plan_by_several_processes_is_of_the_whole_fault(tmp_path):
    """Of a mesh in parts, too: sizes, cohesive zone, stress and strength as one process tells them."""
    mesh, topology, part = along_the_fault()
    case = asked(tmp_path, "out", end_time=END)
    write_parts(case["mesh"]["file"], mesh, topology, part, [2, 4], np.arange(len(part)))
    told = "rows = fw.plan(case).sections\n"
    told += "os.write(1, (json.dumps([rows['fault'], rows['resolution']]) + chr(10)).encode())\nsys.exit()"
    done = launch(2, case, setup=told)
    assert done.returncode == 0, done.stderr
    rows = fw.plan(case).sections
    alone = json.loads(json.dumps([rows["fault"], rows["resolution"]]))
    assert [json.loads(line) for line in done.stdout.splitlines()] == [alone, alone]


def test_nothing_but_a_fault_between_processes(tmp_path):
    """A fault from side to side, and no waves to send."""
    mesh = graded_mesh(Tpv5(1500.0, 6000.0, (6000.0, 5000.0), 7000.0, 6000.0, 4500.0, 90.0))
    middle = (np.abs(mesh.vertices[mesh.cells[:, tets.FILE_FACES], 1]) < 1e-6).all(-1)
    mesh = replace(mesh, tags=np.where(middle, 3, mesh.tags))
    topology = tets.build_topology(mesh)
    part = (mesh.vertices[mesh.cells].mean(1)[:, 1] > 0).astype(np.int64)
    parted = (topology.neighbours >= 0) & (part[topology.neighbours] != part[:, None])
    assert parted.any() and (topology.kinds[parted] == tets.BoundaryKind.FAULT).all()
    case = asked(tmp_path, "out", end_time=END, numerics={"order": 2})
    write_parts(case["mesh"]["file"], mesh, topology, part, [2], np.arange(len(part)))
    done = launch(2, case)
    assert done.returncode == 0, done.stderr
    fw.simulate(dict(case, output={**case["output"], "folder": str(tmp_path / "one")})).run()
    same(tmp_path / "out", contents(tmp_path / "one"))


@pytest.mark.parametrize("kind", list(fluids.FAULTS))
def test_fluids_in_the_fault_on_any_number_of_processes(tmp_path, kind):
    asked = [
        fluids.case(tmp_path, fluids.FAULTS[kind](), end_time=0.25, output={"folder": str(tmp_path / f"on{n}")})
        for n in (1, 2, 3)
    ]
    fw.simulate(asked[0], force=True).run()
    whole = load_results(tmp_path / "on1").traces["faultreceiver"]
    for ranks in (2, 3):
        done = launch(ranks, asked[ranks - 1])
        assert done.returncode == 0, done.stderr
        found = load_results(tmp_path / f"on{ranks}").traces["faultreceiver"]
        assert found.keys() == whole.keys()
        for number, trace in whole.items():
            for name, values in trace.columns.items():
                np.testing.assert_array_equal(found[number].columns[name], values, err_msg=name)
    assert any(trace.columns["P_f"].min() < -1e4 for trace in whole.values())


@pytest.mark.parametrize("jump, fault", [(False, 60), (True, 120)])
def test_what_travels(tmp_path, jump, fault):
    """Order 4: 30 numbers a face, 60 from a slower to a faster cluster, for two of its steps; across a fault 60, and as many for the
    velocity where its jump is asked for."""
    mesh, topology, part = along_the_fault()
    energies = {"interval": 0.1, "slip_from_velocity": jump}
    case = asked(tmp_path, "out", end_time=0.05, numerics={"order": 4}, output={"energies": energies})
    write_parts(case["mesh"]["file"], mesh, topology, part, [4], np.arange(len(part)))
    after = (
        "size = lambda x: x.sending.source.buffer.size // (len(x.channel.cells) or x.channel.count)\n"
        "found = {(x.channel.send, x.channel.other - x.channel.cluster, size(x)) for x in sim.solver.messages.exchange.lines}\n"
        "open(f'{sim.folder}/travels-{sim.world.rank}', 'w').write(json.dumps(sorted(found)))"
    )
    done = launch(4, case, after=after)
    assert done.returncode == 0, done.stderr
    written = [json.loads((tmp_path / "out" / f"travels-{rank}").read_text()) for rank in range(4)]
    found = {tuple(x) for each in written for x in each}
    assert found == {("wave", 0, 30), ("wave", 1, 30), ("wave", -1, 60), ("fault", 0, fault)}


STOP = "progress=lambda p: os.kill(os.getpid(), signal.SIGTERM) if p.time > 0.2 else None"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stopped")
    done = launch(2, asked(folder, "out", end_time=END), run=STOP)
    assert done.returncode != 0 and "interrupted at t" in done.stderr and "faultwave.resume" in done.stderr
    return folder / "out"


@pytest.mark.parametrize("again", [1, pytest.param(2, marks=pytest.mark.slow), 3])
def test_stopped_on_two_and_resumed_on_others(tmp_path, alone, stopped, again):
    folder = shutil.copytree(stopped, tmp_path / "out")
    if again == 1:
        fw.resume(folder).run()
    else:
        done = launch(again, str(folder))
        assert done.returncode == 0, done.stderr
    same(folder, alone)


def test_a_checkpoint_that_fails_on_one_process_is_told(tmp_path):
    """By the first, which is the one that the user hears; the run goes on."""
    setup = (
        "from faultwave.base.errors import RunError\n"
        "from faultwave.comm import world\n"
        "from faultwave.output.checkpoint import CheckpointWriter as W\n"
        "from faultwave.base.log import configure\n"
        "configure('WARNING' if world().first else 'ERROR')\n"
        "def full(target, number, arrays): raise RunError(f'{target.name}: the disk is full')\n"
        "W.write_part = staticmethod(full if world().rank == 1 else W.write_part)"
    )
    done = launch(2, asked(tmp_path, "out", end_time=0.2), setup=setup)
    assert done.returncode == 0, done.stderr
    assert "no checkpoint at t = " in done.stderr and "process 1 of 2: .000001.partial: the disk is full" in done.stderr
    assert not list((tmp_path / "out" / "run-checkpoints").iterdir())  # nor anything left of it


def test_only_what_overlaps_is_read(tmp_path):
    """Four stored parts, written by four processes and read by two: each opens the first, and those of its own cells."""
    mesh, topology, _ = along_the_fault()
    part = np.argsort(np.argsort(mesh.vertices[mesh.cells].mean(1)[:, 0])) * 4 // len(mesh.cells)  # across the fault
    case = asked(tmp_path, "out", end_time=END)
    del case["output"]["receivers"], case["output"]["fault_receivers"]
    write_parts(case["mesh"]["file"], mesh, topology, part, [2, 4], np.arange(len(part)))
    done = launch(4, case, run=STOP)
    assert "faultwave.resume" in done.stderr, done.stderr
    setup = (
        "from faultwave.output.checkpoint import Checkpoint as C\n"
        "opened, real = [], C.opened\n"
        "C.opened = lambda self, number: (opened.append(number), real(self, number))[1]"
    )
    after = "open(f'{sim.folder}/opened-{sim.world.rank}', 'w').write(json.dumps(opened))"
    done = launch(2, str(tmp_path / "out"), setup=setup, after=after)
    assert done.returncode == 0, done.stderr
    opened = [json.loads((tmp_path / "out" / f"opened-{rank}").read_text()) for rank in range(2)]
    assert opened == [[0, 1], [0, 1, 2, 3]]  # 1 is the first that has fault faces: it tells how they look
    reference = dict(case, output={**case["output"], "folder": str(tmp_path / "one")})
    fw.simulate(reference).run()
    same(tmp_path / "out", contents(tmp_path / "one"))


@pytest.mark.parametrize("victims", ["one", pytest.param("all", marks=pytest.mark.slow)])
def test_killed_in_mid_run_and_resumed(tmp_path, alone, victims):
    """A process that dies brings the others down at once; nothing hangs."""
    die = (
        "import faultwave.dg.stepping.local_time_stepping as m\n"
        "advance = m.LocalTimeStepping.advance\n"
        "def deadly(self, until, *more):\n"
        "    from faultwave.comm import world\n"
        f"    if self.time > 0.3 and ({victims == 'all'} or world().rank == 1):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    advance(self, until, *more)\n"
        "m.LocalTimeStepping.advance = deadly\n"
    )
    started = time.monotonic()
    done = launch(2, asked(tmp_path, "out", end_time=END), setup=die)
    assert done.returncode != 0 and time.monotonic() - started < 60
    assert not (tmp_path / "out" / "run-receivers.h5").exists()
    done = launch(2, str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    same(tmp_path / "out", alone)


def test_told_to_stop_twice_all_end_at_once(tmp_path):
    twice = "progress=lambda p: [signal.raise_signal(signal.SIGTERM) for _ in range(2)] if p.time > 0.2 else None"
    done = launch(2, asked(tmp_path, "out", end_time=END), run=twice)
    assert done.returncode != 0 and "stopped by a second signal: ended at once at t = " in done.stderr, done.stderr
    assert "ends the run" in done.stderr and "Traceback" not in done.stderr.partition("stopped")[0]
    assert json.loads((tmp_path / "out" / "run-manifest.json").read_text())["status"] == "failed"


@pytest.mark.slow
def test_a_process_that_fails_tells_why_and_ends_all(tmp_path):
    fail = (
        "from faultwave.dg.blowup import StateMonitor\n"
        "check = StateMonitor.check\n"
        "def broken(self, world, time):\n"
        "    if world.rank == 1 and time > 0.1:\n"
        "        raise MemoryError('no more memory on this node')\n"
        "    check(self, world, time)\n"
        "StateMonitor.check = broken\n"
    )
    started = time.monotonic()
    done = launch(3, asked(tmp_path, "out", end_time=END), setup=fail)
    assert done.returncode != 0 and time.monotonic() - started < 60
    assert "process 1 of 3 failed and ends the run" in done.stderr
    assert "no more memory on this node" in done.stderr


@pytest.mark.parametrize("stored", [False, True])
def test_what_is_wrong_is_said_once(tmp_path, stored):
    case = asked(tmp_path, "out", end_time=END)
    case["output"]["receivers"] = {"points": [[1e9, 0.0, 0.0]]}
    if stored:
        mesh, topology = small_mesh(), tets.build_topology(small_mesh())
        part = (mesh.vertices[mesh.cells].mean(1)[:, 0] > 3500.0).astype(int)
        write_parts(case["mesh"]["file"], mesh, topology, part, [2], np.arange(len(part)))
    done = launch(2, case)
    assert done.returncode != 0 and "outside the mesh" in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_error_that_the_others_cannot_hear_of_ends_the_run(tmp_path):
    """They wait inside the action for the process that failed."""
    fail = (
        "import faultwave.dg.solver as e\n"
        "from faultwave.base.errors import BackendError\n"
        "from faultwave.comm import world\n"
        "def broken(*given):\n"
        "    raise BackendError('no room on this device')\n"
        "e.build_layout = broken if world().rank == 1 else e.build_layout"
    )
    started = time.monotonic()
    done = launch(2, asked(tmp_path, "out", end_time=END), setup=fail)
    assert done.returncode != 0 and time.monotonic() - started < 60
    assert "process 1 of 2 failed and ends the run:\nno room on this device" in done.stderr


def test_more_processes_than_cells(tmp_path):
    case = {
        "end_time": 1.0, "mesh": {"generate": {"shape": "box", "cells": [1, 1, 1], "lower": [0, 0, 0], "upper": [1, 1, 1]}},
        "material": {"constant": {"rho": 1.0, "mu": 1.0, "lambda": 2.0}}, "output": {"folder": str(tmp_path / "out")},
    }  # fmt: skip
    done = launch(7, case)
    assert done.returncode != 0 and "7 processes for 6 cells (allowed: 1 to 6)" in done.stderr


@pytest.mark.slow
def test_blow_up_ends_all_processes(tmp_path):
    case = asked(tmp_path, "out", end_time=30.0)
    case["numerics"]["cfl"] = 3.0
    loosen = "from faultwave.dg.planning import plan; plan.LARGEST_CFL[3] = 9.0"
    done = launch(2, case, setup=loosen)
    assert done.returncode != 0 and "blew up" in done.stderr
    assert json.loads((tmp_path / "out" / "run-manifest.json").read_text())["status"] == "failed"


def test_the_command_starts_the_processes(tmp_path, alone):
    from ruamel.yaml import YAML

    case = asked(tmp_path, "out", end_time=END)
    with open(tmp_path / "case.yaml", "w") as file:
        YAML(typ="safe").dump(json.loads(json.dumps(case)), file)
    command = [sys.executable, "-m", "faultwave.cli.main", "run", str(tmp_path / "case.yaml"), "--ranks", "2"]
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("simulated in") == 1  # one process speaks
    same(tmp_path / "out", alone)
    wrong = [*command[:-2], "--ranks", "0"]
    assert subprocess.run(wrong, capture_output=True, timeout=600).returncode == 2


@pytest.mark.slow
def test_sigterm_to_the_command_writes_a_checkpoint(tmp_path, alone):
    from ruamel.yaml import YAML

    case = asked(tmp_path, "out", end_time=600.0)
    with open(tmp_path / "case.yaml", "w") as file:
        YAML(typ="safe").dump(json.loads(json.dumps(case)), file)
    command = [sys.executable, "-m", "faultwave.cli.main", "run", str(tmp_path / "case.yaml"), "--ranks", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    kept = tmp_path / "out" / "run-checkpoints"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (kept / "000001").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, text = process.communicate(timeout=600)
    assert process.returncode == 75 and "interrupted at t" in text and "faultwave resume" in text
    assert fw.resume(tmp_path / "out").time > 0.15


def test_forecasts_of_a_fault_in_two_parts(tmp_path):
    """The same warnings as of the whole mesh, though no process plans the whole fault."""
    mesh = small_mesh()
    topology = tets.build_topology(mesh)
    part = np.where(mesh.vertices[mesh.cells].mean(1)[:, 0] > 0, 1, 0)
    cell, face = np.nonzero(topology.kinds == tets.BoundaryKind.FAULT)
    for one, other in zip(cell, topology.neighbours[cell, face], strict=True):
        part[other] = part[one]
    assert len(set(part[cell])) == 2
    case = asked(tmp_path, "out", end_time=0.02)
    write_parts(case["mesh"]["file"], mesh, topology, part, [2], np.arange(len(part)))
    told = []
    for ranks in (1, 2):
        see = "assert sim.solver.world.size == 1 or len(sim.plan.part('rupture').faces.area) < 32; "
        after = (
            see
            + "sim.solver.world.first and print(json.dumps([str(w) for w in sim.plan.warnings if 'fault' in w.where]))"
        )
        done = launch(ranks, case, after=after)
        assert done.returncode == 0, done.stderr
        told.append(json.loads(done.stdout.splitlines()[-1]))
    assert told[0] == told[1] and len(told[0]) > 0, told
