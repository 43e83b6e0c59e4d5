"""Balance of processes and time clusters: its numbers, and what a run reports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import faultwave as fw
from faultwave.comm import World
from faultwave.engine.balance import Balance, ProcessWork, gather_balance, imbalance
from tests.messages import expect
from tests.run.test_trace_file import case


def test_imbalance_is_the_largest_over_the_mean() -> None:
    assert imbalance(np.array([1.0, 2.0, 6.0])) == 2.0
    assert imbalance(np.array([3.0])) == imbalance(np.zeros(2)) == 1.0


def several() -> Balance:
    return Balance(
        np.array([6.0, 2.0]),
        np.array([0.5, 4.5]),
        np.array([[4e-3, 1e-3], [0.0, 1e-3]]),
        np.array([[2000, 100], [0, 400]]),
    )


def test_the_numbers_of_several_processes() -> None:
    assert several().manifest() == {
        "imbalance": 1.5, "busy_s": [6.0, 2.0], "waiting_s": [0.5, 4.5],
        "clusters": {"busy_s": [4e-3, 2e-3], "imbalance": [2.0, 1.0], "updates": [2000, 500], "seconds_per_update": [2e-6, 4e-6]},
    }  # fmt: skip
    expect("\n".join(several().lines()))


def test_one_process_has_no_balance_but_costs_of_clusters() -> None:
    one = gather_balance(ProcessWork(3.0, 0.0, (2e-3, 1e-3), (1000, 0)), World())
    assert one is not None
    expect("\n".join(one.lines()))
    plain = gather_balance(ProcessWork(3.0, 0.0), World())
    assert plain is not None and not plain.lines()
    assert plain.manifest() == {"imbalance": 1.0, "busy_s": [3.0], "waiting_s": [0.0]}


def test_a_run_states_its_balance(tmp_path: Path) -> None:
    sim = fw.simulate(case(tmp_path / "out", "dg")).run()
    found = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    balance, timings = found["balance"], found["timings_s"]
    assert balance["busy_s"] == [pytest.approx(timings["stepping"], abs=1e-6)] and balance["waiting_s"] == [0.0]
    clusters = balance["clusters"]
    assert sum(clusters["updates"]) == pytest.approx(found["rates"]["element_updates"]) and min(clusters["updates"]) > 0
    assert 0 < sum(clusters["busy_s"]) <= sum(timings[n] for n in ("predict", "correct", "fault", "observe"))
    assert sim.balance is not None and len(sim.balance.lines()) == 1
