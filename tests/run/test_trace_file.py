"""Traces of runs: valid files whose spans are nested, agree with the manifest and cover the whole run."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import faultwave as fw
from faultwave.base.errors import InputError, Interrupted
from faultwave.base.spans import KERNELS, OUTPUT, STEPS, Recorder
from faultwave.run import trace_file
from faultwave.run.simulation import prepare_run
from faultwave.run.trace_file import ProcessSpans, Trace, check_trace_file, complete_until, traced, write_spans
from tests.messages import expect, raises
from tests.run.launch import launch

TRACKS = [STEPS, KERNELS, OUTPUT]
SECTIONS = {"dg": ("predict", "correct", "fault", "observe"), "fd": ("step", "observe")}


def case(folder: Path, engine: str, **more: Any) -> dict[str, Any]:
    """A small box with every kind of work: two time clusters on tetrahedra, snapshots, receivers, checkpoints."""
    source = {
        "kind": "force", "location": [0.4, 0.5, 0.6], "force": [1.0, 0.0, 0.5],
        "time_function": {"kind": "triangle", "duration": 0.1},
    }  # fmt: skip
    output = {
        "folder": str(folder), "receivers": {"points": [[0.3, 0.4, 0.5]], "interval": 0.02},
        "checkpoint": {"interval": 0.1}, **({"volume": {"interval": 0.1}} if engine == "dg" else {}),
    }  # fmt: skip
    box = {"lower": [0, 0, 0], "upper": [1, 1, 1]}
    domain: dict[str, Any] = {
        "dg": {
            "mesh": {"generate": {"shape": "box", "cells": [4, 3, 3], **box}},
            "numerics": {"order": 2, "threads": 1},
        },
        "fd": {"engine": "fd", "grid": {**box, "spacing": 0.04, "absorbing": {"width": 4}}, "numerics": {"threads": 1}},
    }[engine]
    rock = {"expression": {"lambda": "return 2.0 + 40.0 * x * x;"}} if engine == "dg" else {}
    material = {"constant": {"rho": 1.0, "mu": 1.0, **({} if rock else {"lambda": 2.0})}, **rock}
    return {"end_time": 0.3, "sources": [source], "material": material, "output": output, **domain, **more}


def events(path: Path) -> list[dict[str, Any]]:
    return [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]


def check_nested(found: list[dict[str, Any]]) -> None:
    """Spans of a track begin in the order of the file, and each lies within the one that encloses it."""
    for place in {(e["pid"], e["tid"]) for e in found}:
        stack: list[int] = []
        last = 0
        for e in found:
            if (e["pid"], e["tid"]) != place:
                continue
            start, spent = round(1000 * e["ts"]), round(1000 * e["dur"])
            assert start >= last and spent >= 0, e
            last = start
            while stack and stack[-1] <= start:
                stack.pop()
            assert not stack or start + spent <= stack[-1], e
            stack.append(start + spent)


def total(found: list[dict[str, Any]], track: str, process: int = 0) -> Counter[str]:
    """Seconds by category."""
    sums: Counter[str] = Counter()
    for e in found:
        if (e["pid"], e["tid"]) == (process, TRACKS.index(track)):
            sums[e["cat"]] += 1e-6 * e["dur"]
    return sums


def check_manifest(folder: Path, engine: str, found: list[dict[str, Any]]) -> dict[str, float]:
    """Sections, waiting and the rest add up to the time of the steps, which is that of the trace."""
    timings: dict[str, float] = json.loads((folder / "run-manifest.json").read_text())["timings_s"]
    parts = [timings[name] for name in (*SECTIONS[engine], "wait", "other")]
    assert sum(parts) == pytest.approx(timings["stepping"], rel=1e-9) and min(parts) >= 0
    assert total(found, STEPS)["time steps"] == pytest.approx(timings["stepping"], abs=0.05)
    return timings


@pytest.mark.parametrize("engine", ["dg", "fd"])
def test_the_trace_of_a_run(tmp_path: Path, engine: str) -> None:
    with traced(tmp_path / "run.json") as trace:
        fw.simulate(case(tmp_path / "out", engine)).run()
    found = events(tmp_path / "run.json")
    assert trace.spans == len(found) and not trace.warnings
    check_nested(found)
    timings = check_manifest(tmp_path / "out", engine, found)
    sums = total(found, STEPS)
    phases = {
        "read the case",
        "plan",
        "material",
        "set up the solver",
        "open the output",
        "checkpoint",
        "write results",
    }
    assert phases <= set(sums)
    assert total(found, OUTPUT)["write"] == pytest.approx(timings["write"], abs=1e-3)
    if engine == "fd":
        assert sums["step"] == pytest.approx(timings["step"], abs=1e-3)
        return
    kernels = total(found, KERNELS)
    assert 0 < kernels["predict"] <= timings["predict"] and 0 < kernels["correct"] <= timings["correct"]
    assert {e["args"]["cluster"] for e in found if e["name"].startswith("predict cluster")} == {0, 1}


@pytest.mark.mpi
@pytest.mark.parametrize("engine, ranks", [("dg", 2), ("fd", 4)])
def test_the_trace_of_several_processes(tmp_path: Path, engine: str, ranks: int) -> None:
    path, out = tmp_path / "run.json", tmp_path / "out"
    setup = f"from pathlib import Path; from faultwave.run.trace_file import traced; t = traced(Path({str(path)!r})); t.__enter__()"
    more = {} if engine == "dg" else {"grid": {"lower": [0, 0, 0], "upper": [1, 1, 0.7], "spacing": 0.02}}
    done = launch(ranks, case(out, engine, **more), setup=setup, after="t.__exit__(None, None, None)")
    assert done.returncode == 0, done.stderr
    found = events(path)
    assert {e["pid"] for e in found} == set(range(ranks))
    check_nested(found)
    timings = check_manifest(out, engine, found)
    for rank in range(ranks):
        sums = total(found, STEPS, rank)
        assert {"wait for messages", "wait for all processes", "time steps"} <= set(sums)
        assert sums["time steps"] == pytest.approx(total(found, STEPS)["time steps"], abs=0.2), "clocks agree"
    assert timings["wait"] > 0
    balance = json.loads((out / "run-manifest.json").read_text())["balance"]
    assert len(balance["busy_s"]) == len(balance["waiting_s"]) == ranks
    assert balance["busy_s"][0] + balance["waiting_s"][0] == pytest.approx(timings["stepping"], abs=2e-6)
    assert balance["waiting_s"][0] == pytest.approx(timings["wait"], abs=1e-6)
    if engine == "dg":  # no launch is queued beside messages: the spans are the kernels
        sums = total(found, STEPS)
        for name in ("predict", "correct"):
            assert timings[name] <= sums[name] + 1e-6 <= timings[name] + timings["wait"] + 1e-3


def test_an_interrupted_run_has_a_trace(tmp_path: Path) -> None:
    path, reports = tmp_path / "run.json", []

    def stop(progress: object) -> None:
        reports.append(progress)
        if len(reports) == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted), traced(path):
        fw.simulate(case(tmp_path / "out", "dg")).run(progress=stop)
    assert "checkpoint" in total(events(path), STEPS)


def test_a_run_that_never_began_has_none(tmp_path: Path) -> None:
    with pytest.raises(InputError), traced(tmp_path / "run.json"):
        fw.simulate({"end_time": 1.0})
    assert not list(tmp_path.iterdir())


def test_files_that_cannot_be_written_are_reported_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, inside = tmp_path / "there.json", tmp_path / "there.json" / "run.json"
    there.write_text("title: a case")
    expect(check_trace_file(there, force=True))
    there.write_text('{"displayTimeUnit":"ms"}')
    assert not check_trace_file(there, force=True) and not check_trace_file(tmp_path / "new" / "run.json")
    expect(check_trace_file(there))
    for path in (there, inside, tmp_path):
        expect(check_trace_file(path, force=False))
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=1_500_000))
    expect(check_trace_file(tmp_path / "run.json"))


def test_a_wrong_trace_is_reported_with_the_problems_of_the_case(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    wrong = case(tmp_path / "out", "dg", end_time=-1.0)
    with raises(InputError):
        prepare_run(wrong, trace=tmp_path / "run.json")


def test_traces_on_small_disks_and_of_many_processes_are_shorter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(free=10**12)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage)
    count = trace_file.spans_per_track
    assert [count(tmp_path / "a", n) for n in (1, 10, 1000)] == [500_000, 50_000, 10_000]
    usage.free = 20_000_000
    assert count(tmp_path / "not" / "there", 1) == 50_000


def recorded(machine: str, epoch: float, spans: list[tuple[str, float, float, int]], most: int = 10) -> ProcessSpans:
    recorder = Recorder(most)
    for name, start, end, cluster in spans:
        recorder.add(name, start, end, cluster)
    return ProcessSpans(machine, epoch, recorder)


def test_clocks_of_several_machines_are_aligned() -> None:
    """Seconds of one machine that began 5 s earlier."""
    processes = [
        recorded("a", 1000.0, [("inner", 7.5, 7.75, 2), ("outer", 7.0, 8.0, -1)]),
        recorded("b", 995.0, [("inner", 11.5, 12.5, -1)]),
    ]
    file = io.StringIO()
    assert write_spans(file, processes) == 3
    found = json.loads(file.getvalue())["traceEvents"]
    assert [(e["pid"], e["name"], e["ts"], e["dur"]) for e in found if e["ph"] == "X"] == [
        (0, "outer", 0.5e6, 1e6), (0, "inner cluster 2", 1e6, 0.25e6), (1, "inner", 0.0, 1e6),
    ]  # fmt: skip
    assert [e["args"]["name"] for e in found if e["name"] == "process_name"] == [
        "process 0 of 2 on a", "process 1 of 2 on b",
    ]  # fmt: skip


def test_a_result_of_the_run_is_not_replaced(tmp_path):
    path = tmp_path / "run-receivers.h5"
    with traced(path) as trace:
        path.write_text("a result")
    expect(trace.warnings)
    assert path.read_text() == "a result" and trace.spans == 0


def test_spans_that_are_missing_are_reported(tmp_path: Path) -> None:
    one = recorded("a", 0.0, [("predict", float(k), k + 0.5, 0) for k in range(1, 8)], most=3)
    assert complete_until([one]) == [3.0]
    trace = Trace(tmp_path / "run.json")
    trace_file.write_trace(trace, one.recorder, trace_file.world())
    assert trace.spans == 3
    expect(trace.warnings)
