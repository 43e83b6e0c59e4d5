"""Friction state with vectors at every point: it evolves on every backend, is read by name, and comes back from checkpoints."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import RunError
from faultwave.run import simulate
from tests.physics.friction.plug_ins import TIMES, friction_plug_ins

from .setup import run, settings, slip_weakening


@pytest.fixture(autouse=True)
def plug_ins() -> Any:
    with friction_plug_ins():
        yield


def case(path: Path, backend: str = "cpu", **more: Any) -> dict[str, Any]:
    values = {"pore_pressure": 5e6}
    fault = slip_weakening(values=values) | {
        "friction": "fading-memory",
        "modifiers": ["heated-pores", "constant-pore-pressure"],
    }
    made = settings(path, fault, end_time=more.pop("end_time", 0.25), numerics={"backend": backend, "order": 2}, **more)
    made["output"]["fault_receivers"]["fields"] = ["SRs", "Mud", "P_f", "raised_pressure", "mean_memory"]
    return made


def test_vectors_evolve_and_are_read_by_name(tmp_path: Path) -> None:
    records, histories = [], []
    for backend in ("numpy", "cpu"):
        folder = tmp_path / backend
        folder.mkdir()
        h = run(case(folder, backend))
        records.append(h.sim.solver.parts["rupture"].fault.record())
        histories.append(h)
    reference, record = records
    assert record["memories"].shape == (*record["slip_rate"].shape, len(TIMES))
    for name, values in reference.items():
        assert np.abs(record[name] - values).max() <= 1e-9 * np.abs(values).max() + 1e-30, name
    data = histories[1].sim.fault_receivers
    assert dict(zip(data.quantities, data.attrs["units"], strict=True))["mean_memory"] == "m/s"
    moving = record["slip_rate"] > 0.1
    assert moving.sum() > 10 and (record["raised_pressure"][moving] > 0).all()
    # Where slip goes on, short memories have reached its rate and long ones have not.
    share = record["memories"][moving] / record["slip_rate"][moving][:, None]
    assert np.median(np.abs(share[:, 0] - 1.0)) < 0.1 and np.median(share[:, -1]) < 0.6
    assert histories[1]["mean_memory"][-1].max() > 0.01 and histories[1]["raised_pressure"][-1].max() > 1e3
    assert np.allclose(histories[1]["P_f"][-1], 5e6, rtol=1e-12)


def test_vectors_come_back_from_a_checkpoint(tmp_path: Path) -> None:
    """Stopped and resumed, the run has the same bits."""

    def asked(name: str) -> dict[str, Any]:
        output = {"folder": str(tmp_path / name), "checkpoint": {"interval": 0.05}}
        return case(tmp_path, output=output)

    whole = simulate(asked("whole"), force=True).run()
    stopped = simulate(asked("parts"), force=True)
    with pytest.raises(RunError, match="interrupted"):
        stopped.run(progress=lambda p: signal.raise_signal(signal.SIGTERM) if p.time > 0.1 else None)
    again = fw.resume(tmp_path / "parts")
    assert 0.1 < again.time < 0.25 and again.solver.parts["rupture"].fault.record()["memories"].max() > 0
    again.run()
    want, found = (sim.solver.parts["rupture"].fault.record() for sim in (whole, again))
    assert want["memories"].max() > 0.1
    for name, values in want.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
