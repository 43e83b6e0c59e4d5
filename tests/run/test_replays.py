"""Largest steps that are recorded and replayed: the same launches, the same numbers, and none where the host has a part in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave import backends
from faultwave.engines.dg.operator import Operator
from faultwave.run.replays import Replays
from tests.run.rupture.setup import settings, slip_weakening

needs_opencl = pytest.mark.skipif(bool(backends.missing("opencl")), reason=backends.missing("opencl"))


RECEIVERS = {"points": [[100.0, 900.0, -300.0]], "interval": 0.2}


def made(tmp_path: Any, backend: str = "opencl", **output: Any) -> Any:
    """A rupture with nucleation, in clusters of several steps, without fault receivers: they take every step."""
    tmp_path.mkdir(exist_ok=True)
    load = {"duration": 0.15, "stress": {"constant": {"Tnuc_n": 0.0, "Tnuc_s": 5e6, "Tnuc_d": 0.0}}}
    case = settings(
        tmp_path,
        slip_weakening(nucleation=[load]),
        numerics={"order": 2, "threads": 1, "backend": backend},
        output=output,
    )
    del case["output"]["fault_receivers"]
    return fw.simulate(case)


def quiet(sim: Any) -> Any:
    """Its engine without observers."""
    engine = sim.engine
    for hooks in (engine.before, engine.predicted, engine.corrected, engine.watched):
        hooks.clear()
    return engine


class Written:
    """Every launch of a device, as (kernel, groups, arguments that are no memory)."""

    def __init__(self, device: Any, monkeypatch: pytest.MonkeyPatch):
        self.lines: list[Any] = []
        plain = device.launch

        def launch(function: Any, groups: int, threads: int, arguments: Any) -> None:
            text = [a if isinstance(a, bytes) else int(a) for a in arguments if isinstance(a, bytes | np.integer)]
            self.lines.append((function[0].function_name, groups, text))
            plain(function, groups, threads, arguments)

        monkeypatch.setattr(device, "launch", launch)


@needs_opencl
def test_replayed_steps_are_the_direct_ones(tmp_path: Any) -> None:
    direct, other = (quiet(made(tmp_path / n)) for n in "ab")
    replays = Replays(other)
    replays.most = 2
    assert len(direct.march.clocks) > 1 and direct.fault is not None and direct.fault.episodes
    for _ in range(8):
        replays.advance(2)
    assert replays.replayed > 0 and all(r is not None for r in replays.made.values())
    while direct.march.time < other.march.time * (1 - 1e-12):
        direct.march.advance(direct.march.time + 2 * direct.march.longest)
    assert other.march.time == direct.march.time and other.updates == direct.updates
    assert np.abs(other.operator.state()).max() > 0
    np.testing.assert_array_equal(other.operator.state(), direct.operator.state())
    for name, values in direct.fault.state().items():
        np.testing.assert_array_equal(other.fault.state()[name], values, err_msg=name)


@needs_opencl
def test_what_is_recorded_is_what_was_launched(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = quiet(made(tmp_path))
    written = Written(engine.backend.device, monkeypatch)
    replays = Replays(engine)
    replays.most = 1
    replays.advance()
    (recorded,) = replays.made.values()
    calls = [(c.function[0].function_name, c.groups) for c in recorded.recording.calls]  # type: ignore[union-attr]
    assert calls == [(name, groups) for name, groups, _ in written.lines]
    assert {"rupture", "turn_keep", "accumulate", "integrate"} <= {name for name, _ in calls}
    tables = [c for c in recorded.recording.calls if c.table is not None]  # type: ignore[union-attr]
    assert len(tables) == len(recorded.moments) > 1  # type: ignore[union-attr]
    assert len({c.at for c in tables}) == len(tables), "every launch has scalars of its own"


@needs_opencl
def test_what_the_host_does_breaks_a_recording(tmp_path: Any) -> None:
    engine = quiet(made(tmp_path))
    cells = np.arange(3)
    for touch in (
        lambda: engine.operator.dofs(cells),
        lambda: engine.operator.dofs(),
        lambda: engine.operator.add_dofs(np.zeros((3, engine.operator.b3, 9)), cells),
        engine.operator.finite,
        lambda: engine.operator.q.fetch(cells),
    ):
        assert engine.backend.record(touch) is None
    assert engine.backend.record(lambda: None) is not None


@needs_opencl
def test_observers_are_heeded(tmp_path: Any) -> None:
    """Steps in which a sample or a snapshot falls due go one by one; so do all where a hook does not say when."""
    sim = made(tmp_path, receivers=RECEIVERS)
    engine = sim.engine
    longest = engine.march.longest
    assert [h for h in (*engine.predicted, *engine.corrected) if h not in engine.idle] == []
    engine.replays.most = 1
    sim.run(until=0.19, write=False)
    assert engine.quiet(0.199) and not engine.quiet(0.201)
    before = engine.replays.replayed
    assert before > 0
    sim.run(until=0.41, write=False)
    time, values = sim.recorder.arrays()
    np.testing.assert_allclose(time, [0.0, 0.2, 0.4])
    engine.corrected.append(lambda cluster, time, step: None)
    replayed = engine.replays.replayed
    sim.run(until=0.41 + 4 * longest, write=False)
    assert engine.replays.replayed == replayed
    again = made(tmp_path / "cpu", "cpu", receivers=RECEIVERS)
    for until in (0.19, 0.41, 0.41 + 4 * longest):  # the same meetings: each shortens a step
        again.run(until=until, write=False)
    want = again.recorder.arrays()[1]
    np.testing.assert_allclose(values, want[: len(values)], rtol=0, atol=1e-9 * np.abs(want).max())


def test_a_processor_takes_them_step_by_step(tmp_path: Any) -> None:
    sim = made(tmp_path, "cpu")
    sim.run(until=0.1, write=False)
    assert isinstance(sim.engine.operator, Operator) and not sim.engine.replays.made
