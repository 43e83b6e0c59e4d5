"""Energy of a run, from counters in a folder that stands for ``/sys/class/powercap``."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import faultwave as fw
from faultwave.comm import World
from faultwave.run import energy
from faultwave.run.energy import EnergyMeter, EnergyUse, Unreadable, find_counters, read_number
from tests.messages import expect
from tests.run.test_trace_file import case

REACH = 65_000_000
"""Readings at which the counters wrap around [uJ]."""


def zone(root: Path, number: str, name: str, reading: int, reach: int = REACH) -> Path:
    folder = root / number
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "energy_uj").write_text(f"{reading}\n")
    (folder / "max_energy_range_uj").write_text(f"{reach}\n")
    return folder / "energy_uj"


def machine(root: Path) -> dict[str, Path]:
    """A machine with two processors, parts of them, and counters that contain others."""
    return {
        "package-0": zone(root, "intel-rapl:0", "package-0", 60_000_000),
        "core": zone(root, "intel-rapl:0:0", "core", 1),
        "dram": zone(root, "intel-rapl:0:1", "dram", 1_000_000, 2 * REACH),
        "package-1": zone(root, "intel-rapl:1", "package-1-die-0", 500),
        "psys": zone(root, "intel-rapl:2", "psys", 1),
        "again": zone(root, "intel-rapl-mmio:0", "package-0", 60_000_000),
    }


def test_packages_and_memory_are_counted_once(tmp_path: Path) -> None:
    files = machine(tmp_path)
    found = find_counters(tmp_path)
    assert [(c.domain, c.path, c.reach) for c in found] == [
        ("package", files["package-0"], REACH), ("dram", files["dram"], 2 * REACH), ("package", files["package-1"], REACH),
    ]  # fmt: skip
    assert find_counters(tmp_path / "absent") == []


def test_counters_that_wrap_around(tmp_path: Path) -> None:
    files = machine(tmp_path)
    meter = EnergyMeter(World(), tmp_path, interval=1e9)
    with meter.measuring():
        files["package-0"].write_text("4000000")  # 9 J later, past 65 J
        for counter in meter.counters:
            counter.update()
        files["package-0"].write_text("3000000")  # 64 J later, past 65 J again
        files["dram"].write_text("3500000")
        files["package-1"].write_text("1000500")
        for name in ("core", "psys", "again"):
            files[name].write_text("50000000")
    meter.collect(updates=15300.0)
    assert meter.used is not None
    assert meter.used.joules == pytest.approx({"package": 74.0, "dram": 2.5}) and meter.used.total == pytest.approx(
        76.5
    )
    assert meter.used.manifest() == {
        "joules": pytest.approx(76.5), "domains": pytest.approx({"package": 74.0, "dram": 2.5}), "machines": 1,
        "updates_per_joule": pytest.approx(200.0),
    }  # fmt: skip
    expect(meter.used.line())
    with meter.measuring():
        files["dram"].write_text("4500000")
    meter.collect(updates=1.0)
    assert meter.used.joules == pytest.approx({"package": 0.0, "dram": 1.0}), "a measurement starts anew"


def test_counters_are_read_while_the_run_goes_on(tmp_path: Path) -> None:
    """A counter that wraps around completely between two readings would lose energy."""
    files = machine(tmp_path)
    meter = EnergyMeter(World(), tmp_path, interval=1e-3)
    with meter.measuring():
        for reading in (20_000_000, 40_000_000, 60_000_000, 15_000_000):
            (tmp_path / "next").write_text(str(reading))
            (tmp_path / "next").replace(files["package-0"])  # at once, as the thread may read at any time
            end = time.monotonic() + 10.0
            while meter.counters[0].last != reading and time.monotonic() < end:
                time.sleep(1e-3)
    meter.collect(1.0)
    assert meter.used is not None and meter.used.joules["package"] == pytest.approx(85.0)
    assert not [t for t in threading.enumerate() if t.name == "faultwave-energy"]


def test_counters_that_cannot_be_read_are_stated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = machine(tmp_path)
    files["dram"].unlink()
    meter = EnergyMeter(World(), tmp_path)
    with meter.measuring():
        pass
    meter.collect(1.0)
    assert meter.used is not None and not meter.used.joules
    expect(meter.used.line())
    assert meter.used.manifest() == {"not_measured": meter.used.reason}

    def denied(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", denied)
    with pytest.raises(Unreadable) as caught:
        read_number(files["package-0"])
    expect(str(caught.value))


def test_a_counter_that_fails_during_a_run_ends_the_measurement(tmp_path: Path) -> None:
    files = machine(tmp_path)
    meter = EnergyMeter(World(), tmp_path)
    with meter.measuring():
        files["package-1"].write_text("nothing")
    meter.collect(1.0)
    assert meter.used is not None and not meter.used.joules
    expect(meter.used.line())


def test_a_machine_without_counters_says_nothing(tmp_path: Path) -> None:
    meter = EnergyMeter(World(), tmp_path)
    with meter.measuring():
        pass
    meter.collect(1.0)
    assert meter.used is None


def node(rank: int, gathered: list[Any]) -> Any:
    """Process of a machine with two; ``gathered`` is what process 0 receives."""
    return SimpleNamespace(local_rank=rank, gather=lambda one: [one, *gathered])


def test_a_machine_counts_once_and_machines_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy.platform, "node", lambda: "a")
    files = machine(tmp_path)

    def used(gathered: list[Any], rank: int = 0) -> EnergyUse | None:
        files["package-0"].write_text("1000000")
        meter = EnergyMeter(node(rank, gathered), tmp_path)
        with meter.measuring():
            assert len(meter.counters) == (3 if rank == 0 else 0)
            files["package-0"].write_text("8000000")
        meter.collect(100.0)
        return meter.used

    both = used([None, ("b", "", [("package", 3_000_000), ("dram", 1_000_000)]), None])
    assert both is not None and both.machines == 2 and both.joules == {"package": 10.0, "dram": 1.0}
    expect(both.line())
    assert used([None], rank=1) is None, "the other process of the machine reads nothing"
    for other in (("b", "energy_uj is closed", []), ("b", "", [])):
        partial = used([None, other])
        assert partial is not None and not partial.joules, "a part of the energy would mislead"
        expect(partial.line())


def test_a_run_states_its_energy(tmp_path: Path) -> None:
    files = machine(tmp_path / "powercap")
    sim = fw.simulate(case(tmp_path / "out", "fd"))
    sim.energy_meter = EnergyMeter(sim.world, tmp_path / "powercap")
    sim.run(progress=lambda state: files["dram"].write_text("3000000") and None)
    found = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    assert found["energy"]["joules"] == pytest.approx(2.0)
    assert found["energy"]["updates_per_joule"] == pytest.approx(found["rates"]["point_updates"] / 2.0)
