"""Ensembles that run: their results, what a second run computes, members that fail, and other executors."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, RunError
from faultwave.cli.launch import mpiexec
from faultwave.comm.world import FIRST_PROCESS, World
from faultwave.ensemble import supervisor
from faultwave.ensemble.folder import EnsembleFolder
from faultwave.ensemble.process import Outcome, own_process
from faultwave.ensemble.process import environment as environment_of_members
from tests.ensemble.case import rupture_case, study, wave_case
from tests.ensemble.processes import assert_equal, contents, ends, environment, wait_for, workers_of, written
from tests.messages import expect, raises

pytest.importorskip("xarray")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    found = fw.Ensemble(study(folder)).run()
    assert (found.done, found.failed, found.missing) == (4, 0, 0)
    return folder


def test_a_member_has_the_results_of_its_case_alone(reference, tmp_path):
    ensemble = fw.Ensemble(study(reference))
    alone = fw.simulate(ensemble.case(2), output=str(tmp_path), threads=1).run(write=False).receivers
    with ensemble.open() as data:
        assert dict(data.sizes) == {"member": 4, "station": 2, "time": len(alone["time"]), "component": 3}
        np.testing.assert_array_equal(data["push"], [1.0, 2.0, 3.0, 4.0])
        assert list(data["status"].values) == ["done"] * 4
        for name in alone.quantities:
            values = data[name].sel(member=2).values
            np.testing.assert_array_equal(values, alone.quantity(name).T.astype(np.float32))
            assert np.abs(values).max() > 0
        np.testing.assert_allclose(data["station_location"], alone["location"])
    with (reference / "members.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["push"] for row in rows] == ["1.0", "2.0", "3.0", "4.0"]
    assert float(rows[3]["peak_ground_velocity"]) > float(rows[0]["peak_ground_velocity"]) > 0


def test_results_do_not_depend_on_workers_or_order(reference, tmp_path):
    fw.Ensemble(study(tmp_path), workers=1).run()
    assert_equal(reference, tmp_path)


def test_a_second_run_computes_only_what_is_missing(tmp_path):
    first = fw.Ensemble(study(tmp_path))
    seen: list[int] = []
    first.run(progress=lambda state: seen.append(state.done))
    assert seen[-1] == 4
    before = ends(tmp_path)
    stamp = (tmp_path / "ensemble.nc").stat().st_mtime_ns
    assert fw.Ensemble(study(tmp_path)).plan().missing == ()
    assert str(fw.Ensemble(study(tmp_path)).run()).startswith("4 of 4 members done")
    assert ends(tmp_path) == before and (tmp_path / "ensemble.nc").stat().st_mtime_ns == stamp
    more = {"push": {"setting": "sources[0].force[0]", "values": [1.0, 2.5, 3.0, 4.0, 5.0]}}
    assert fw.Ensemble(study(tmp_path, vary=more)).plan().missing == (1, 4)
    fw.Ensemble(study(tmp_path, vary=more)).run()
    after = ends(tmp_path)
    assert {m for m, t in after.items() if t != before.get(m)} == {1, 4}
    fresh = tmp_path / "fresh"
    fw.Ensemble(study(fresh, vary=more)).run()
    assert_equal(tmp_path, fresh)
    (tmp_path / "ensemble.nc").unlink()  # lost results are computed again
    assert len(fw.Ensemble(study(tmp_path, vary=more)).plan().missing) == 5


def test_another_study_in_the_folder_is_refused(reference):
    other = study(reference, case=wave_case(end=0.1))
    with raises(InputError):
        fw.Ensemble(other).run()
    assert len(fw.Ensemble(other).plan(force=True).missing) == 4


def test_failed_members_do_not_stop_the_others(tmp_path):
    """One blows up, one never ends; both are recorded with their reason and computed again only if that can help."""
    case = wave_case(
        numerics={"order": 2, "precision": "single"}, material={"constant": {"rho": 1e-3, "mu": 1.0, "lambda": 2.0}}
    )
    vary = {
        "push": {"setting": "sources[0].force[0]", "values": [1.0, 3e37, 1.0, 2.0]},  # too large for single precision
        "end": {"setting": "end_time", "values": [0.04, 0.04, 1e6, 0.06]},
    }
    settings = study(tmp_path, case=case, vary=vary, execution={"workers": 2, "time_limit": 15.0})
    found = fw.Ensemble(settings).run()
    assert (found.done, found.failed) == (2, 2)
    reasons = dict(found.reasons)
    assert reasons.keys() == {1, 2} and "exceeded the time limit of 15 s" in reasons[2]
    kinds = {r.member: r.kind for r in EnsembleFolder(tmp_path).records() if r.status == "failed"}
    assert kinds == {1: "run", 2: "time limit"} and "the run blew up" in reasons[1]
    with fw.Ensemble(settings).open() as data:
        assert list(data["status"].values) == ["done", "failed", "failed", "done"]
        assert "time limit" in str(data["reason"].values[2])
        assert np.isnan(data["v1"].sel(member=[1, 2])).all() and np.isfinite(data["v1"].sel(member=3)).all()
        assert np.isnan(data["v1"].sel(member=0).values[:, -1]).all(), "shorter seismograms are filled"
    assert fw.Ensemble(settings).plan().missing == ()
    assert fw.Ensemble(settings).plan(retry=True).missing == (1, 2)
    assert fw.Ensemble(settings, time_limit=16.0).plan().missing == (2,)


def test_statistics_without_members_are_those_of_stored_members(tmp_path):
    vary = {
        "d_c": {
            "setting": "fault.parameters.constant.d_c",
            "distribution": "uniform",
            "parameters": {"loc": 0.2, "scale": 0.3},
        }
    }
    more = {
        "case": rupture_case(), "vary": vary, "design": {"kind": "sobol", "members": 4},
        "results": {"exceedance": {"slip": ["1 cm", 0.03]}, "maps": ["slip", "rupture_time"], "percentiles": [0, 50]},
    }  # fmt: skip
    fw.Ensemble(study(tmp_path / "all", **more)).run()
    more["results"] = {**more["results"], "store": "statistics"}
    fw.Ensemble(study(tmp_path / "few", **more)).run()
    stored, streamed = (fw.Ensemble(study(tmp_path / n, **more)).statistics() for n in ("all", "few"))
    with fw.Ensemble(study(tmp_path / "all", **more)).open() as data:
        slip = data["slip"].values.astype(float)
    assert slip.max() > 0.03
    np.testing.assert_allclose(stored["slip_mean"], slip.mean(0), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(stored["slip_std"], slip.std(0, ddof=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(stored["slip_exceedance"], [(slip > level).mean(0) for level in (0.01, 0.03)])
    np.testing.assert_allclose(stored["slip_percentiles"], np.percentile(slip, [0, 50], axis=0), rtol=1e-6)
    for name in stored.data_vars:
        if "percentiles" not in name:
            np.testing.assert_array_equal(stored[name], streamed[name], err_msg=name)
    lowest = streamed["slip_percentiles"].values[0]
    np.testing.assert_allclose(lowest, slip.min(0), rtol=0.011, atol=1e-8)
    with fw.Ensemble(study(tmp_path / "few", **more)).open() as data:
        assert "slip" not in data and np.isfinite(data["scalar_seismic_moment"]).all()
    assert not list((tmp_path / "few").rglob("0*.npz"))


def test_problems_of_results_come_before_the_first_member(tmp_path):
    settings = study(
        tmp_path, case=rupture_case(), results={"maps": ["slipp"], "exceedance": {"slip": ["1 s"], "vm": [1]}},
        vary={"slip": {"setting": "fault.parameters.constant.d_c", "values": [0.3]}},
    )  # fmt: skip
    text = str(fw.Ensemble(settings).check())
    expect(text)
    assert not list(tmp_path.iterdir())


def test_members_that_exceed_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("faultwave.base.processes.host.machine_memory", lambda: 50 << 20)
    with pytest.raises(InputError, match=r"2 members at a time need .* this machine has 0.0488 GiB"):
        fw.Ensemble(study(tmp_path)).run()


def test_complete_outputs_are_counted(tmp_path, monkeypatch):
    """``results.runs`` writes the files of every member."""
    case = wave_case(end=0.4)
    case["output"]["volume"] = {"interval": 0.02}
    few, all_ = (fw.Ensemble(study(tmp_path / n, case=case, results={"runs": n == "b"})).plan() for n in "ab")
    assert few.forecast.files == 0
    fw.run(case | {"output": case["output"] | {"folder": str(tmp_path / "c")}})
    written = sum(f.stat().st_size for f in (tmp_path / "c").iterdir())
    assert all_.disk - few.disk == 4 * all_.forecast.files
    assert 0.3 * written < all_.forecast.files < 3 * written
    assert "files of a run" in str(all_) and "files of a run" not in str(few)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=3 * all_.forecast.files))
    with pytest.raises(InputError, match=r"the results need up to .*results.runs: false"):
        fw.Ensemble(study(tmp_path / "b", case=case, results={"runs": True})).plan()


def test_workers_use_different_devices(monkeypatch):
    """In cyclic order; processes of members of several processes follow each other."""
    seen = {}

    def watch(name):
        process = own_process(1)
        seen[name] = int(process.call(os.getenv, FIRST_PROCESS))
        process.close()

    for name in range(3):
        thread = threading.Thread(target=watch, args=(name,))
        thread.start()
        thread.join()
    assert seen[1] - seen[0] == 1 and seen[2] - seen[1] == 1
    assert environment_of_members(1, 6)[FIRST_PROCESS] == "6" and World().device_number == 0
    monkeypatch.setenv(FIRST_PROCESS, "6")
    assert World().device_number == 6 and World().local_rank == 0


FULL = """
import resource, sys
import faultwave as fw
sys.path.insert(0, sys.argv[1])
from tests.ensemble.case import study
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
fw.Ensemble(study(sys.argv[2])).run()
"""


def test_results_that_cannot_be_stored_stay_missing(reference, tmp_path):
    """Files larger than a kilobyte cannot be written, as on a full disk."""
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", FULL, root, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment())
    assert done.returncode == 1 and "RunError" in done.stderr, done.stderr
    assert "exceeds the size limit" in done.stderr and "0 of 4 members are stored" in done.stderr
    assert not list(EnsembleFolder(tmp_path).records())
    fw.Ensemble(study(tmp_path)).run()
    assert_equal(reference, tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "members").write_text("a file in the place of a folder")
    with raises(RunError):
        fw.Ensemble(study(tmp_path, execution={"workers": 1})).run()  # with two workers, either may fail first


class Stuck(Executor):
    """Executor whose first member cannot be stored and whose others never begin."""

    def submit(self, function, task):
        future = Future()
        if task.member == 0:
            future.set_result(Outcome(0, "not stored", "the disk is full."))
        return future


def test_members_that_never_began_have_not_failed(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor, "executor_of", lambda _: Stuck())
    ensemble = fw.Ensemble(written(tmp_path, execution={"retries": 0}))
    with raises(RunError):
        ensemble.run()
    assert ensemble.status().failed == 0 and not list(EnsembleFolder(tmp_path / "out").records())


# ---- kills ------------------------------------------------------------------------------------------------------------------

LONG = {"push": {"setting": "sources[0].force[0]", "values": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}}


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_killed_workers_and_a_killed_supervisor_lose_nothing(tmp_path):
    case = wave_case(end=6.0)
    file = written(tmp_path, case=case, vary=LONG)
    out, folder = tmp_path / "out", EnsembleFolder(tmp_path / "out")
    command = [sys.executable, "-m", "faultwave", "ensemble", str(file)]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())

    first = start()
    wait_for(lambda: len(folder.running()) >= 1 and len(workers_of(first.pid)) >= 1)
    os.kill(workers_of(first.pid)[0], 9)  # a worker in the middle of a member
    wait_for(lambda: len(list(folder.records())) >= 2)
    running = workers_of(first.pid)
    os.kill(first.pid, 9)
    first.wait()
    wait_for(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() and workers_of(pid) for pid in running))
    wait_for(lambda: not folder.running())  # no member goes on without its supervisor
    before = ends(out)
    assert 0 < len(before) < 6, "the kill came too late for a test"
    assert fw.Ensemble(file).status().done == len(before)
    second = start()
    assert second.wait(300) == 0
    after = ends(out)
    assert len(after) == 6 and all(after[m] == t for m, t in before.items())
    undisturbed = tmp_path / "undisturbed"
    fw.Ensemble(file, folder=str(undisturbed)).run()
    assert_equal(out, undisturbed)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_a_member_whose_process_always_dies_is_recorded(tmp_path, monkeypatch):
    """Its process takes more memory than it may; the others complete."""
    monkeypatch.setenv("FAULTWAVE_TEST_KILL", "2.0")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).parent / "killed"), os.environ.get("PYTHONPATH", "")])
    )
    found = fw.Ensemble(study(tmp_path)).run()
    assert (found.done, found.failed) == (3, 1)
    assert (
        dict(found.reasons)[1].startswith("its process was ended by SIGKILL") and "2 attempts" in dict(found.reasons)[1]
    )
    monkeypatch.delenv("FAULTWAVE_TEST_KILL")
    assert fw.Ensemble(study(tmp_path)).plan().missing == (1,)
    assert fw.Ensemble(study(tmp_path)).run().done == 4


# ---- executors --------------------------------------------------------------------------------------------------------------


def test_members_run_on_dask(reference, tmp_path):
    pytest.importorskip("distributed")
    found = fw.Ensemble(study(tmp_path), executor="dask", workers=2).run()
    assert found.done == 4
    assert_equal(reference, tmp_path)


@pytest.mark.mpi
def test_members_run_on_three_mpi_processes(reference, tmp_path):
    file = written(tmp_path, execution={})
    command = [mpiexec(), "-n", "3", sys.executable, "-m", "mpi4py.futures", "-m", "faultwave", "ensemble", str(file),
               "--executor", "mpi"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 members done" in done.stdout
    assert_equal(reference, tmp_path / "out")


@pytest.mark.mpi
def test_members_of_two_processes(reference, tmp_path):
    found = fw.Ensemble(study(tmp_path), processes=2, workers=1).run()
    assert found.done == 4, found.reasons
    first, second = contents(reference), contents(tmp_path)
    for name in ("ensemble.nc v1", "ensemble.nc v3"):
        np.testing.assert_allclose(second[name], first[name], rtol=1e-5, atol=1e-7 * np.abs(first[name]).max())


SBATCH = """#!{python}
# Runs the jobs of an array at once, as far as the dependency allows.
import os, re, subprocess, sys
script = open(sys.argv[-1]).read()
found = re.search(r"--array=0-(\\d+)", script)
for job in range(int(found[1]) + 1 if found else 1):
    env = dict(os.environ, SLURM_ARRAY_TASK_ID=str(job), SLURM_JOB_ID="17")
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True)
    with open({log!r}, "a") as log:
        log.write(f"{{os.path.basename(sys.argv[-1])}} {{' '.join(sys.argv[1:-1])}}: {{done.returncode}}\\n{{done.stdout}}{{done.stderr}}")
print("17;cluster")
"""


def test_members_run_as_a_job_array(reference, tmp_path):
    (tmp_path / "bin").mkdir()
    stand_ins = {
        "sbatch": SBATCH.format(python=sys.executable, log=str(tmp_path / "log.txt")),
        "faultwave": f'#!/bin/sh\nexec {sys.executable} -m faultwave "$@"\n',
    }
    for name, text in stand_ins.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    slurm = {"jobs": 3, "at_once": 2, "time": "00:10:00", "partition": "short", "options": ["--mem=4G"]}
    file = written(tmp_path, execution={"executor": "slurm", "workers": 2, "slurm": slurm})
    env = environment()
    env["PATH"] = f"{tmp_path / 'bin'}:{env['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "faultwave", "ensemble", str(file)], capture_output=True, text=True, timeout=600, env=env
    )
    log = (tmp_path / "log.txt").read_text()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "job array 17" in done.stdout
    script = (tmp_path / "out" / "members.sbatch").read_text()
    for line in ("--array=0-2%2", "--cpus-per-task=2", "--time=00:10:00", "--partition=short", "--mem=4G"):
        assert f"#SBATCH {line}\n" in script
    assert "--account" not in script
    assert "combine.sbatch --parsable --dependency=afterany:17: 0\n4 of 4 members done" in log, log
    assert_equal(reference, tmp_path / "out")


def test_the_command_shows_plan_progress_and_failures(tmp_path):
    from typer.testing import CliRunner

    from faultwave.cli.main import app

    file = written(tmp_path)
    done = CliRunner().invoke(app, ["ensemble", str(file), "--dry-run"])
    assert (
        done.exit_code == 0
        and "4 of the design list, 4 to compute" in done.output
        and "time of a member" in done.output
    )
    assert not (tmp_path / "out").exists()
    done = CliRunner().invoke(app, ["ensemble", str(file), "--workers", "1"])
    assert done.exit_code == 0 and "4 of 4 members done, 0 failed" in done.output, done.output
    done = CliRunner().invoke(app, ["ensemble", "--status", str(tmp_path / "out")])
    assert done.exit_code == 0 and "4 of 4 members done, 0 failed, 0 running" in done.output
    assert CliRunner().invoke(app, ["ensemble", "--status", str(tmp_path)]).exit_code == 2
    assert CliRunner().invoke(app, ["ensemble"]).exit_code == 2
