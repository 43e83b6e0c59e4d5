"""What an ensemble stores after files changed, writes were interrupted, or files cannot be read; members are computed by a formula."""

from __future__ import annotations

import errno
import threading
import time
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from typer.testing import CliRunner

from faultwave.base.errors import InputError, RunError
from faultwave.base.files.digests import file_digest
from faultwave.cli.main import app
from faultwave.ensemble import folder as folders
from faultwave.ensemble import supervisor as supervisors
from faultwave.ensemble.checks import plan_without_forecast
from faultwave.ensemble.ensemble import Ensemble
from faultwave.ensemble.folder import EnsembleFolder, Record
from faultwave.ensemble.process import Outcome
from faultwave.ensemble.slurm import array_script
from faultwave.ensemble.statistics import Sketch, Statistics
from faultwave.ensemble.study import load_study
from faultwave.ensemble.supervisor import Supervisor, compute_part, submit_jobs
from faultwave.ensemble.tasks import FilesChanged, Task, compute
from faultwave.observe.dataset import Dataset, Variable
from tests.ensemble.case import study, wave_case
from tests.messages import raises

PLACES = 5


class Members:
    """Formula in place of a solver: the slip of member n is ``level`` + n, and each run reads the file ``included``."""

    def __init__(self, path: Path):
        self.included, self.level, self.ran = path / "included.txt", 1.0, list[int]()
        self.included.write_text("first")

    def compute(self, task: Task) -> Outcome:
        self.ran.append(task.member)
        slip = np.full(PLACES, self.level + task.member, np.float32)
        location = Variable(np.zeros((PLACES, 3)), ("fault_place", "component"), "m", "location")
        found = {"fault_place_location": location, "slip": Variable(slip, ("fault_place",), "m", "slip")}
        read = ((str(self.included), file_digest(self.included)),)
        record = Record(task.member, task.digest, "done", seconds=1.0, finished=time.time(), files=read)
        EnsembleFolder(task.folder).write(record, Dataset("member", found, {"stations": []}))
        return Outcome(task.member, "done", seconds=1.0)

    def run(self, folder: Path, store: str = "members", **more: Any) -> list[int]:
        """Run the study and return the members that were computed."""
        self.ran.clear()
        results = {"store": store, "maps": ["slip"], "exceedance": {"slip": ["2.5 m"]}}
        Supervisor(plan_without_forecast(Ensemble(study(folder, results=results, **more)).members)).run()
        return sorted(self.ran)


@pytest.fixture
def members(tmp_path, monkeypatch):
    made = Members(tmp_path)
    monkeypatch.setattr(supervisors, "compute_member", made.compute)
    return made


def statistics_of(folder: Path) -> tuple[float, float]:
    """Return the mean of the slip and the probability of more than 2.5 m."""
    with netCDF4.Dataset(folder / "statistics.nc") as file:
        return float(file["slip_mean"][0]), float(file["slip_exceedance"][0, 0])


@pytest.mark.parametrize("store", ["members", "statistics"])
def test_results_of_changed_files_replace_earlier_ones(members, tmp_path, store):
    """Files that settings name directly are in the digest of a case; others, such as included ones, are known after a run."""
    folder = tmp_path / "e"
    assert members.run(folder, store) == [0, 1, 2, 3]
    assert statistics_of(folder) == (2.5, 0.5)
    members.included.write_text("second")
    members.level = 100.0
    assert members.run(folder, store) == [0, 1, 2, 3]
    assert statistics_of(folder) == (101.5, 1.0)
    assert members.run(folder, store) == []
    if store == "members":
        with netCDF4.Dataset(folder / "ensemble.nc") as file:
            assert file["slip"][:, 0].tolist() == [100.0, 101.0, 102.0, 103.0]


def test_damaged_results_are_computed_again(members, tmp_path, monkeypatch):
    folder = tmp_path / "e"
    monkeypatch.setattr(Supervisor, "combine", lambda self: None)
    members.run(folder)
    EnsembleFolder(folder).results_file(2).write_bytes(b"damaged")
    monkeypatch.undo()
    monkeypatch.setattr(supervisors, "compute_member", members.compute)
    with raises(RunError):
        members.run(folder)
    assert members.run(folder) == [2]
    assert statistics_of(folder) == (2.5, 0.5)


def test_results_that_cannot_be_read_stay(members, tmp_path, monkeypatch):
    folder = tmp_path / "e"
    load = np.load

    def fail(path: Path, **options: Any) -> Any:
        if Path(path).name == "00001.npz":
            raise OSError(errno.EIO, "Input/output error")
        return load(path, **options)

    monkeypatch.setattr(folders.np, "load", fail)
    with pytest.raises(RunError, match=r"00001.npz cannot be read: .*Input/output error"):
        members.run(folder)
    monkeypatch.setattr(folders.np, "load", load)
    assert members.run(folder) == []
    assert statistics_of(folder) == (2.5, 0.5)


def test_a_store_that_cannot_be_opened_is_an_error(members, tmp_path):
    """Its members must not be computed again, for it may be open elsewhere only."""
    folder = tmp_path / "e"
    members.run(folder)
    good = (folder / "ensemble.nc").read_bytes()
    (folder / "ensemble.nc").write_bytes(b"locked")
    with pytest.raises(RunError, match=r"ensemble.nc cannot be read as the store of an ensemble"):
        members.run(folder)
    assert members.ran == [] and (folder / "ensemble.nc").read_bytes() == b"locked"
    (folder / "ensemble.nc").write_bytes(good)
    assert members.run(folder) == []


def test_statistics_survive_an_end_between_two_files(members, tmp_path, monkeypatch):
    folder, save = tmp_path / "e", Statistics.save

    def end(self: Statistics, path: Path) -> None:
        save(self, path)
        raise KeyboardInterrupt

    monkeypatch.setattr(Statistics, "save", end)
    with pytest.raises(KeyboardInterrupt):
        members.run(folder, "statistics")
    monkeypatch.setattr(Statistics, "save", save)
    assert members.run(folder, "statistics") == []
    assert statistics_of(folder) == (2.5, 0.5)


@pytest.mark.parametrize("name", ["statistics.nc", "members.csv", "ensemble.nc"])
def test_removed_files_are_written_again(members, tmp_path, name):
    folder = tmp_path / "e"
    members.run(folder)
    (folder / name).unlink()
    assert members.run(folder) == ([0, 1, 2, 3] if name == "ensemble.nc" else [])
    assert (folder / name).is_file() and statistics_of(folder) == (2.5, 0.5)


def test_results_without_the_record_of_their_version_are_not_used(members, tmp_path):
    """Results are written before their record; a study may change back after an end in between."""
    folder = tmp_path / "e"
    members.run(folder)
    made = EnsembleFolder(folder)
    record = made.record(1)
    assert record is not None
    other = Record(1, "another study", "done")
    values = Variable(np.full(PLACES, 1e3, np.float32), ("fault_place",), "m", "slip")
    folders.write_results_file(
        made.results_file(1), Dataset("member", {"slip": values}, {"stations": []}), other.version
    )
    assert made.results(record) is None
    vary = {"push": {"setting": "sources[0].force[0]", "values": [1.0, 2.0, 3.0, 4.0, 5.0]}}
    assert members.run(folder, vary=vary) == [4]
    assert statistics_of(folder) == (3.0, 0.6)


def test_queries_of_the_status_refuse_no_claim(tmp_path):
    made, ended = EnsembleFolder(tmp_path), threading.Event()

    def look() -> None:
        while not ended.is_set():
            made.running()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(300):
            with made.claim(3) as mine:
                assert mine
    finally:
        ended.set()
        thread.join()


def test_a_claimed_member_stays_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "PATIENCE", 0.05)
    made = EnsembleFolder(tmp_path)
    with made.claim(3) as mine, made.claim(3) as other:
        assert mine and not other


# ---- job arrays ------------------------------------------------------------------------------------------------------------------


def test_jobs_share_the_submitted_members(members, tmp_path, monkeypatch):
    """The members that jobs of an earlier array have left are distributed anew, and failed ones are computed again if requested."""
    folder = tmp_path / "e"
    vary = {"push": {"setting": "sources[0].force[0]", "values": [float(n) for n in range(12)]}}
    ensemble = Ensemble(study(folder, vary=vary, execution={"executor": "slurm", "slurm": {"jobs": 4}}))
    monkeypatch.setattr(supervisors, "submit", lambda *given: ("1", []))
    everything = plan_without_forecast(ensemble.members)
    for member in (0, 1, 2, 4, 5, 6, 8, 9, 10):  # those of job 3 of 4 are left
        members.compute(supervisors.task_of(ensemble.members, member, everything.digests[member]))
    failed = Record(10, everything.digests[10], "failed", "run", "blew up")
    EnsembleFolder(folder).write(failed)
    plan = plan_without_forecast(ensemble.members)
    assert plan.missing == (3, 7, 11)
    retried = supervisors.replace(plan, missing=(3, 7, 10, 11))
    submit_jobs(retried, tmp_path / "study.yaml")
    found = []
    for job in range(4):
        members.ran.clear()
        compute_part(ensemble.members, job, 4)
        found.append(list(members.ran))
    assert found == [[3], [7], [10], [11]]


def test_a_script_has_the_resolved_settings(tmp_path):
    execution = {"executor": "slurm", "time_limit": "30 min", "threads": 4, "workers": 2, "slurm": {"jobs": 3}}
    made, _ = load_study(study(tmp_path / "two words", execution=execution))
    text = array_script(made, tmp_path / "study.yaml", 7)
    assert "--threads 4" in text and "--time-limit '1800 s'" in text and "--cpus-per-task=8" in text
    assert f"--output='{tmp_path}/two words/log/%A_%a.log'" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--jobs", "4"), "--jobs does nothing without --job"),
        (("--job", "0"), "--job does nothing without --jobs"),
        (("--job", "4", "--jobs", "4"), "--job is 4 allowed: 0 to 3, as --jobs is 4"),
        (("--combine", "--dry-run"), "--dry-run computes nothing, but --job and --combine write results"),
    ],
)
def test_options_that_contradict_each_other(tmp_path, options, message):
    done = CliRunner().invoke(app, ["ensemble", str(tmp_path / "none.yaml"), *options])
    assert done.exit_code == InputError.code and message in " ".join(done.output.split())


# ---- files and values ----------------------------------------------------------------------------------------------------------


def test_a_file_that_changes_during_a_run_is_no_input_of_its_results(tmp_path, monkeypatch):
    from faultwave.ensemble import tasks

    stations = tmp_path / "stations.txt"
    stations.write_text("0.3 0.4 0.5\n")
    case = wave_case(output={"receivers": {"file": str(stations), "interval": 0.02}})
    ensemble, run = Ensemble(study(tmp_path / "e", case=case)), tasks.run_member

    def edited(*given: Any) -> Any:
        session = run(*given)
        stations.write_text("0.9 0.4 0.5\n")
        return session

    monkeypatch.setattr(tasks, "run_member", edited)
    task = supervisors.task_of(ensemble.members, 0, "digest")
    with raises(FilesChanged):
        compute(task)
    assert EnsembleFolder(tmp_path / "e").record(0) is None


@pytest.mark.parametrize("count", [1, 2, 3, 16, 101])
def test_percentiles_of_histograms_are_those_of_stored_members(count):
    values = np.random.default_rng(count).lognormal(sigma=2.0, size=(count, 7)) * [1, -1, 1e-3, 1e6, 1, 1, 1]
    values[:, 5] = 0.0
    sketch = Sketch.empty(7)
    for row in values:
        sketch.add(row)
    wanted = [0, 2.5, 16, 50, 84, 99, 100]
    found, exact = sketch.percentiles(wanted), np.percentile(values, wanted, axis=0)
    np.testing.assert_allclose(found, exact, rtol=0.0101)


@pytest.mark.parametrize(
    "changes",
    [
        {"setting": ""},
        {"setting": ["end_time", "sources[0].force[0]"]},
    ],
    ids=str,
)
def test_settings_of_a_variable_that_cannot_be(tmp_path, changes):
    with raises(InputError):
        Ensemble(study(tmp_path / "e", vary={"a": {"distribution": "norm", "parameters": {"loc": 1, "scale": 1}, **changes}},
                       design={"kind": "random", "members": 2}))  # fmt: skip


def test_a_number_of_members_is_a_whole_number(tmp_path):
    with raises(InputError):
        load_study(study(tmp_path / "e", design={"kind": "random", "members": True}))
