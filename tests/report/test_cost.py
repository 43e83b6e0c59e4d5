"""Section on the cost of a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from faultwave.report.blocks import Table
from faultwave.report.loaded import Run
from faultwave.report.sections import cost

CLUSTERS = {"busy_s": [4.0, 2.0], "imbalance": [2.0, 1.0], "updates": [20000, 500], "seconds_per_update": [2e-4, 4e-3]}


def tables(balance: dict[str, Any], **more: Any) -> list[Table]:
    manifest = {"timings_s": {"setup": 1.0}, "rates": {"processes": 2.0}, "balance": balance, **more}
    run = cast(Run, SimpleNamespace(manifest=manifest, name="run"))
    (section,) = cost.sections(run, None)
    return [block for block in section.blocks if isinstance(block, Table)]


def test_balance_of_processes_and_clusters() -> None:
    _, processes, clusters = tables(
        {"imbalance": 1.5, "busy_s": [2.0, 6.0], "waiting_s": [4.5, 0.5], "clusters": CLUSTERS}
    )
    assert "imbalance 1.50" in processes.title
    assert processes.rows == [("1", "6", "0.5"), ("0", "2", "4.5")]
    assert clusters.rows == [("0", "4", "20,000", "2e+05", "2.00"), ("1", "2", "500", "4e+06", "1.00")]


def test_many_processes_are_shortened() -> None:
    _, processes = tables({"imbalance": 2.0, "busy_s": [float(k) for k in range(40)], "waiting_s": [0.0] * 40})
    assert [int(row[0]) for row in processes.rows] == [*range(39, 31, -1), *range(7, -1, -1)]


def test_a_single_process_has_no_table() -> None:
    assert len(tables({"imbalance": 1.0, "busy_s": [2.0], "waiting_s": [0.0]})) == 1


def test_energy_is_shown_if_it_was_measured() -> None:
    measured = {"joules": 76.5, "domains": {"package": 74.0, "dram": 2.5}, "machines": 1, "updates_per_joule": 2e5}
    _, found = tables({}, energy=measured)
    assert found.rows == [("package [J]", "74"), ("dram [J]", "2.5"), ("sum [J]", "76.5"), ("updates/J", "200,000")]
    assert len(tables({}, energy={"not_measured": "no permission"})) == 1
