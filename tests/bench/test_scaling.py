"""Scaling, traffic and tuning: what is measured is what happens; tables and files."""

from __future__ import annotations

import json

import pytest

from faultwave.bench import scaling
from faultwave.cli.launch import _without_ranks, read_tuned
from tests.messages import raises

CASE = {
    "end_time": 1.0,
    "mesh": {"generate": {"shape": "box", "cells": [4, 4, 4], "lower": [0, 0, 0], "upper": [1, 1, 1]}},
    "material": {"constant": {"rho": 1.0, "mu": 1.0, "lambda": 2.0}},
    "numerics": {"order": 3, "clustering": {"rates": [1]}},
}


def result(processes, threads, rate, setup=1.0):
    return {
        "processes": processes, "threads": threads, "progress": "polling", "rate": rate,
        "deviation": 0.01, "setup_s": setup, "exposed_share": 0.02,
        "stepping_s": 1e9 / rate, "cases_per_day": 5.0, "cells": 100,
    }  # fmt: skip


def test_efficiency_is_against_the_first_and_the_cores():
    rows, header = scaling.scaling([result(1, 2, 100e6), result(4, 2, 300e6)])
    assert header[4:6] == ("stepping", "whole run")
    assert rows[0][4:6] == ("100 %", "100 %")
    assert rows[1][4] == "75 %"
    assert rows[1][5] == f"{100 * (1 + 10) / (1 + 10 / 3) / 4:.0f} %"


def test_every_way_to_fill_the_cores():
    whole = [(1, 6, "polling"), (2, 3, "polling"), (3, 2, "polling"), (6, 1, "polling")]
    assert scaling.candidates(6) == [*whole, (2, 2, "thread"), (3, 1, "thread")]


@pytest.mark.mpi
def test_traffic_counts_messages_and_bytes_each_way(tmp_path):
    """One cluster: a message a step to the neighbour, of 18 numbers (order 3) for each face between the two."""
    import faultwave as fw
    from faultwave.cli.launch import mpiexec
    from faultwave.dg.planning.process_partition import cut

    found = scaling.run(mpiexec(), CASE, 2, 1, {}, 0.05, 2)
    plan = fw.simulate(CASE).plan
    part = cut(plan, 2)
    near = plan.topology.neighbours
    faces = int(((near >= 0) & (part[near] != part[:, None])).sum()) // 2
    for here, there in ((0, "1"), (1, "0")):
        messages, size = found["sent"][here][there]
        assert messages == found["steps"] and size == messages * faces * 18 * 8
    assert found["halo"] == ""  # messages of the host need no way
    rows, _ = scaling.traffic(found)
    assert rows[0][2].startswith("1 messages") and rows[0][1] == ""
    assert found["rate"] > 0 and found["cells"] == 384
    assert found["flops_per_update"] >= found["useful_flops_per_update"] > 1000
    assert scaling.scaling([found])[0][0][6] == scaling._gigaflops(found) != ""
    rows, header = scaling.profile(found)
    assert header[1] == "sends" and all(row[1].startswith("1.0 in") and row[3].startswith("1.0 in") for row in rows)
    late = scaling.run(mpiexec(), CASE, 2, 1, {"progress": "thread"}, 0.02, 4, 5e-3)
    at_once, times = scaling.slowed(late)
    assert late["progress"] == "thread" and at_once * times > max(at_once, 4e-3)  # far too little work to hide it
    picture = scaling.draw([found], tmp_path / "a.png")
    assert picture.stat().st_size > 5000


def test_a_case_that_grows_with_the_processes():
    from faultwave.base.errors import InputError
    from faultwave.case.load import load_case

    wide = scaling.widened(CASE, 3)
    assert wide["mesh"]["generate"]["cells"] == [12, 4, 4] and wide["mesh"]["generate"]["upper"][0] == 3.0
    assert load_case(wide)[0] is not None
    rows, header = scaling.weak_scaling([result(1, 1, 1e6), result(4, 1, 3e6) | {"cells": 400}])
    assert header[0] == "cells" and rows[1][0] == "400" and rows[1][5] == "75 %"
    ideal = [result(n, 1, n * 1e6) | {"stepping_s": 50.0} for n in (1, 4)]  # as long a run on each
    assert [row[header.index("whole run")] for row in scaling.weak_scaling(ideal)[0]] == ["100 %", "100 %"]
    with raises(InputError):
        scaling.widened("tpv5", 2)


def test_what_fails_is_told():
    from faultwave.base.errors import RunError

    with raises(RunError):
        scaling.run("", "nowhere", 1, 1, {}, 0.1, 1)


def check_problems(case, *arguments, **more):
    from faultwave.base.errors import InputError

    with raises(InputError):
        scaling.check(case, *arguments, **more)


def test_what_cannot_be_measured_is_told_before_anything_is(tmp_path):
    """Case, options, times and files, all at once."""
    from faultwave.bench.results import Files

    asked = [{"progress": "polling", "order": 99}, {"progress": "threads", "order": 99}]
    check_problems(CASE, asked, float("nan"), Files(json=tmp_path / "none" / "a.json"), -1.0)
    check_problems("nowhere", [{}], 2.0)
    check_problems("tpv5", [{}], 2.0, weak=True)
    check_problems(CASE, [{"backend": "cdua"}], 2.0)
    on_grids = {
        "engine": "fd", "end_time": 1.0, "grid": {"lower": [0, 0, 0], "upper": [1, 1, 1], "spacing": 0.02},
        "material": {"constant": {"rho": 1.0, "mu": 1.0, "lambda": 2.0}},
    }  # fmt: skip
    check_problems(on_grids, [{}], 2.0)
    for seconds in (0.0, -1.0, float("inf")):
        check_problems(CASE, [{}], seconds)
    scaling.check(CASE, [{"progress": "thread"}], 0.1, Files(json=tmp_path / "a.json"), 1e-3, weak=True)


@pytest.mark.parametrize("command", [("scaling", "--ranks", "1"), ("scaling", "--weak", "--ranks", "1"), ("comm",)])
def test_commands_start_no_process_for_what_is_wrong(command, monkeypatch):
    from typer.testing import CliRunner

    from faultwave.base.errors import InputError
    from faultwave.cli.main import app

    monkeypatch.setattr(scaling, "run", lambda *given: pytest.fail("a process was started"))
    name, *options = command
    done = CliRunner().invoke(app, ["bench", name, "nowhere", *options, "--seconds", "nan"])
    told = str(done.exception) if isinstance(done.exception, InputError) else done.stderr
    assert done.exit_code and "no such file or example" in told and "--seconds" in told


def test_a_failed_measurement_is_told_without_a_traceback():
    from faultwave.base.errors import RunError

    with raises(RunError):
        scaling.run("", "nowhere", 1, 1, {}, 0.1, 1)


def test_the_tuned_file(tmp_path, monkeypatch):
    from faultwave.base.errors import InputError
    from faultwave.cli import launch

    monkeypatch.setattr(launch, "launched", lambda: False)
    file = tmp_path / "tuned.json"
    file.write_text(json.dumps({"ranks": 4, "threads": 2, "progress": "thread"}))
    assert read_tuned(file, None, None) == (4, 2, "thread")
    assert read_tuned(file, 1, 3, "polling") == (1, 3, "polling")
    assert read_tuned(None, None, 3) == (None, 3, None)
    file.write_text("{}")
    with raises(InputError):
        read_tuned(file, None, None)
    assert _without_ranks(["run", "a", "--ranks", "3", "--force", "--ranks=2"]) == ["run", "a", "--force"]


def test_the_batch_script_is_bash_and_asks_for_what_was_said(tmp_path):
    import subprocess

    from faultwave.cli.slurm import SlurmJob, script

    text = script(SlurmJob(tmp_path / "my case.yaml", tmp_path / "out put", 16, 8, 12, "2:00:00", account="geo"))
    for line in ("--nodes=16", "--ntasks-per-node=8", "--cpus-per-task=12", "--account=geo", "--signal=USR1@300"):
        assert f"#SBATCH {line}\n" in text
    assert "#SBATCH --partition" not in text
    file = tmp_path / "a.sbatch"
    file.write_text(text)
    assert subprocess.run(["bash", "-n", str(file)]).returncode == 0
