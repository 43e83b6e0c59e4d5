"""The table of a graphics processor: what is wanted stands beside what was measured, and nothing is measured in vain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faultwave import backends
from faultwave.base.errors import InputError
from faultwave.bench import device_table as room
from faultwave.bench import results
from tests.messages import raises


def proxy(order: int, precision: str, cells: int, rate: float) -> dict[str, Any]:
    return {
        "updates_per_second": rate, "updates_per_joule": 5e5, "cells": cells, "copy_fraction": 0.3, "peak_fraction": 0.1,
        "bytes_per_update": 7080.0, "updates_per_second_spread": 0.02, "copy_bandwidth": 4e12, "peak_flops": 3e13,
        "runs_on": "cuda on NVIDIA H200", "setting": {"order": order, "precision": precision, "repeats": 5},
    }  # fmt: skip


def measured(monkeypatch: pytest.MonkeyPatch, **plan: Any) -> dict[str, Any]:
    """With proxies and run that are not run."""
    run = {
        "cells": 5,
        "clusters": 3,
        "updates_per_second": 9e7,
        "launches": 7,
        "stages": 5,
        "updates_a_replay": 8,
        "seconds": 1.0,
        "steps_replayed": 4,
    }
    rates = {(4, "double"): 1e8, (4, "single"): 1.9e8}
    monkeypatch.setattr(room, "tpv5", lambda backend, size: run)
    monkeypatch.setattr(
        room, "apart", lambda s: proxy(s.order, s.precision, s.cells, rates.get((s.order, s.precision), 1e6))
    )
    return room.measure(room.Plan("cuda", **plan), lambda text: None)


def test_every_order_is_measured_and_set_beside_what_is_wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = measured(monkeypatch)
    assert {(p["aim"]["order"], p["aim"]["precision"]) for p in found["proxies"]} == {
        (o, p) for o in range(2, 7) for p in ("double", "single")
    }
    text = room.markdown(found)
    rows = {
        line.split("|")[1].strip(): [c.strip() for c in line.split("|")[2:-1]]
        for line in text.splitlines()
        if line[:1] == "|"
    }
    assert rows["order 4, double, 524,288 cells"] == ["100.00", "150", "30 %", "10 %", "7,080", "500,000", "2 %"]
    assert rows["order 4, single, 524,288 cells"][:2] == ["190.00", "180.00"]
    assert rows["order 4, double, 4,096 cells"][:2] == ["100.00", "40.00"]
    assert rows["order 6, double, 524,288 cells"][:2] == ["1.00", "45"]
    assert rows["TPV5, order 4, 5 cells, 3 clusters, outputs on"][:2] == ["90.00", "70.00"]
    assert "Copy 4,000 GB/s, multiply-add 30,000 GFLOP/s" in text and "7 launches in 5 stages, 8 updates" in text
    page = tmp_path / "page.md"
    begin, end = results.markers("device")
    page.write_text(f"before\n{begin}\n{end}\nafter\n")
    results.insert(page, text, "device")
    assert page.read_text() == f"before\n{begin}\n{text}\n{end}\nafter\n"


def test_only_some_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {p["aim"]["order"] for p in measured(monkeypatch, orders=(4, 6))["proxies"]} == {4, 6}


def test_the_page_has_a_place_for_the_table() -> None:
    results.around(Path(__file__).parents[2] / "docs" / "performance.md", "device")


def test_everything_wrong_is_told_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "missing", lambda name: "")
    with raises(InputError):
        room.check(room.Plan("cpu", orders=(3,)), results.Files(tmp_path / "none.md"))
    room.check(room.Plan("cuda"), results.Files())


def test_numbers_that_cannot_be_measured_are_told_before(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = room.Plan("cdua", cells=3, few=-1, size=float("nan"), steps=0, repeats=0, orders=(4, 9))
    with raises(InputError):
        room.check(wrong, results.Files())
    monkeypatch.setattr(backends, "missing", lambda name: f"{name} needs a driver")
    with raises(InputError):
        room.check(room.Plan("hip"), results.Files())
