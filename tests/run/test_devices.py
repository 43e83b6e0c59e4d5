"""A whole run on a device: what it gives is what the processor gives, and it goes on from a checkpoint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave import backends
from faultwave.backends.device.backend import readable_bytes
from faultwave.backends.device.target import TARGETS
from faultwave.base.errors import BackendError, InputError, RunError
from faultwave.dg.report import _needed, _size, absent_device_memory
from faultwave.dg.solver import Solver
from faultwave.run.planned import check
from tests.backends.here import DEVICE, needs_device
from tests.run.test_restart import asked, contents, stop_at


def on(backend: str, folder: Any, name: str, **more: Any) -> dict[str, Any]:
    return asked(folder, name, numerics={"order": 2, "backend": backend}, end_time=0.4, **more)


def close(a: dict[Any, Any], b: dict[Any, Any], tolerance: float) -> None:
    assert a.keys() == b.keys()
    for key in a:
        for x, y in zip(a[key], b[key], strict=True):
            size = np.nanmax(np.abs(y), initial=0.0)
            np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * size + 1e-300, err_msg=str(key))


@needs_device
def test_a_rupture_with_every_output_is_that_of_the_processor(tmp_path: Any) -> None:
    fw.simulate(on("cpu", tmp_path, "cpu")).run()
    sim: Any = fw.simulate(on(DEVICE, tmp_path, "device")).run()
    assert len(sim.plan.clustering.steps) > 1 and sim.solver.backend.name == DEVICE
    whole, want = contents(tmp_path / "device"), contents(tmp_path / "cpu")
    close(whole, want, 1e-9)
    assert sum(np.abs(x).max(initial=0.0) > 0 for x in want["fault"][1:]) > 5
    # Stopped and resumed, it is the same to the last bit.
    with pytest.raises(RunError, match="interrupted"):
        fw.simulate(on(DEVICE, tmp_path, "again")).run(progress=stop_at(0.17))
    fw.resume(tmp_path / "again").run()
    close(contents(tmp_path / "again"), whole, 0.0)


@needs_device
def test_a_device_that_fails_ends_the_run_with_its_words(tmp_path: Any, monkeypatch: Any) -> None:
    sim: Any = fw.simulate(on(DEVICE, tmp_path, "lost"))
    device, count = sim.solver.backend.device, [0]
    launch = device.launch

    def failing(*given: Any) -> None:
        count[0] += 1
        if count[0] == 400:
            raise device.failures[0]("the device is lost")
        launch(*given)

    monkeypatch.setattr(device, "launch", failing)
    with pytest.raises(RunError, match=rf"{DEVICE} on .* failed at t = 0\.\d+ s: \w+: .*the device is lost"):
        sim.run()
    assert '"failed"' in (tmp_path / "lost" / "run-manifest.json").read_text()


@needs_device
@pytest.mark.parametrize("first, then", [(DEVICE, "cpu"), ("cpu", DEVICE)])
def test_a_run_goes_on_on_another_backend(tmp_path: Any, first: str, then: str) -> None:
    fw.simulate(on("cpu", tmp_path, "whole")).run()
    with pytest.raises(RunError, match="interrupted"):
        fw.simulate(on(first, tmp_path, "stopped")).run(progress=stop_at(0.17))
    sim: Any = fw.resume(tmp_path / "stopped", backend=then)
    assert sim.solver.backend.name == then
    sim.run()
    close(contents(tmp_path / "stopped"), contents(tmp_path / "whole"), 1e-9)


@needs_device
def test_a_case_that_does_not_fit_is_told_before_the_run(tmp_path: Any, monkeypatch: Any) -> None:
    """With the numbers: while it is prepared, so that nothing has been stepped or written."""
    whole: Any = fw.simulate(on(DEVICE, tmp_path, "fits"))
    held = whole.solver.backend.held
    kind = type(whole.solver.backend.device)
    monkeypatch.setattr(kind, "free_memory", lambda device: int(0.9 * held))
    with pytest.raises(
        BackendError,
        match=r"has \d+.\d+ MiB free \(.*3 %.*\); \d+.\d+ MiB are in use and \d+.\d+ MiB more are needed\. Use",
    ):
        fw.simulate(on(DEVICE, tmp_path, "too large"))
    monkeypatch.setattr(kind, "free_memory", lambda device: int(1.05 * held))
    fw.simulate(on(DEVICE, tmp_path, "just fits"))
    assert not list(tmp_path.glob("too large"))


@needs_device
def test_a_plan_tells_what_a_case_takes_of_a_device(tmp_path: Any) -> None:
    sim: Any = fw.simulate(on(DEVICE, tmp_path, "plan"))
    rows = dict(_size(sim.plan, sim.solver))
    held = sim.solver.backend.held
    assert held >= sim.solver.operator.nbytes() and rows["memory of the device"].startswith(f"{held / 2**30:,.2f} of ")
    other: Any = fw.simulate(on("cpu", tmp_path, "cpu"))
    assert "% of 1 H200" in dict(_size(other.plan, other.solver))["graphics processors it would fill"]
    assert _needed(int(300e9)).split(", ")[:3] == ["4 A100 80 GB", "3 H200", "2 B200"]


@needs_device
def test_memory_is_counted_for_a_processor_that_is_not_here(tmp_path: Any) -> None:
    """As much as an engine on a device takes; as many cells fit as memory is there for."""
    sim: Any = fw.simulate(on("cpu", tmp_path, "absent"))
    other: Any = fw.simulate(on(DEVICE, tmp_path, "present"))
    held = Solver(other.plan).backend.held  # type: ignore[attr-defined]
    title, rows = absent_device_memory(sim.plan, TARGETS["sm_90"])
    assert title == "memory of one H200, sm_90" and dict(rows)["taken"].startswith(
        f"{readable_bytes(held)} of 124.75 GiB"
    )
    small = replace(TARGETS["gfx90a"], memory=held / 1.5)
    assert dict(absent_device_memory(sim.plan, small)[1])["taken"].endswith("does not fit: 2 of them")


def test_a_backend_that_cannot_run_here_is_an_error_before_the_run(tmp_path: Any, monkeypatch: Any) -> None:
    case = on("opencl", tmp_path, "absent")
    monkeypatch.setattr(backends, "missing", lambda name: f"the backend '{name}' needs pip install")
    with pytest.raises(InputError, match="numerics.backend: the backend 'opencl' needs pip install"):
        fw.simulate(case)
    case["numerics"]["backend"] = "opncl"
    with pytest.raises(InputError, match=r"'opncl' does not exist .*auto.*did you mean 'opencl'"):
        fw.simulate(case)
    assert not (tmp_path / "absent").exists()


def test_auto_takes_the_best_present(tmp_path: Any, monkeypatch: Any) -> None:
    case = on("auto", tmp_path, "auto")
    sim: Any = fw.simulate(case)
    assert sim.solver.backend.name == backends.best() and sim.solver.runs_on.startswith(backends.best())
    from faultwave.backends import cpu

    monkeypatch.setattr(cpu, "rank", lambda: 0)
    if backends.best() != "opencl":  # no GPU here
        assert backends.best() == "numpy"
    assert not check(sim.case).errors
