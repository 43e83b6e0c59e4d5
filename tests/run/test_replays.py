"""Largest steps that are recorded and replayed: the same launches, the same numbers, and none where the host has a part in them."""

from __future__ import annotations

import re
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends.device import backend
from faultwave.backends.device.backend import concurrent_groups
from faultwave.base.errors import BackendError
from faultwave.dg.operators.operator import Operator
from faultwave.dg.report import plan_report
from faultwave.dg.stepping.replays import MOST, SOON, Replays
from faultwave.engine.capability import Callback
from tests.backends.here import DEVICE, needs_device
from tests.run.rupture.setup import settings, slip_weakening
from tests.run.watching import watch

RECEIVERS = {"points": [[100.0, 900.0, -300.0]], "interval": 0.2}


def made(tmp_path: Any, backend: str = DEVICE, every: int = 0, **output: Any) -> Any:
    """A rupture with nucleation, in clusters of several steps; ``every``: of how many steps fault receivers take one, 0: there are
    none."""
    tmp_path.mkdir(exist_ok=True)
    load = {"duration": 0.15, "stress": {"constant": {"Tnuc_n": 0.0, "Tnuc_s": 5e6, "Tnuc_d": 0.0}}}
    case = settings(
        tmp_path,
        slip_weakening(nucleation=[load]),
        numerics={"order": 2, "threads": 1, "backend": backend},
        output=output,
    )
    if every:
        case["output"]["fault_receivers"]["every"] = every
    else:
        del case["output"]["fault_receivers"]
    return fw.simulate(case)


def quiet(sim: Any) -> Any:
    """Its solver without parts that observe."""
    solver = sim.solver
    for name in solver.parts.keys() - {"rupture", "point_sources"}:
        del solver.parts[name]
    solver.refresh_callbacks()
    return solver


def replays_of(solver: Any, most: int) -> Replays:
    """Replays of a solver in recordings of at most ``most`` largest steps."""
    replays = Replays(solver.actions, solver.operator, solver.callbacks, has_messages=False)
    replays.most = most
    return replays


def fault_of(solver: Any) -> Any:
    return solver.parts["rupture"].fault


def sampled(sim: Any, key: Any, part: str = "receivers") -> bool:
    """Whether a part acts in the recording of ``key``."""
    calls = [call for call, _ in sim.solver.replays.device_calls()]
    return bool(key[1][calls.index(sim.solver.parts[part].callbacks[0])])


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


@needs_device
def test_replayed_steps_are_the_direct_ones(tmp_path: Any) -> None:
    direct, other = (quiet(made(tmp_path / n)) for n in "ab")
    replays = replays_of(other, 2)
    assert len(direct.march.clocks) > 1 and fault_of(direct).episodes
    for _ in range(8):
        replays.advance(2)
    assert replays.replayed > 0 and all(r is not None for r in replays.made.values())
    while direct.march.time < other.march.time:  # one by one: moments are added up as those of several at once are
        direct.advance(direct.march.time + direct.march.longest)
    assert other.march.time == direct.march.time and other.updates == direct.updates
    assert np.abs(other.operator.state()).max() > 0
    np.testing.assert_array_equal(other.operator.state(), direct.operator.state())
    for name, values in fault_of(direct).state().items():
        np.testing.assert_array_equal(fault_of(other).state()[name], values, err_msg=name)


@needs_device
@pytest.mark.skipif(DEVICE != "opencl", reason="launches of other devices do not tell their names")
def test_what_is_recorded_is_what_was_launched(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = quiet(made(tmp_path))
    written = Written(engine.backend.device, monkeypatch)
    replays = replays_of(engine, 1)
    replays.advance()
    (recorded,) = replays.made.values()
    calls = [(c.function[0].function_name, c.groups) for c in recorded.recording.calls]  # type: ignore[union-attr]
    assert calls == [(name, groups) for name, groups, _ in written.lines]
    names = {name for name, _ in calls}
    assert "rupture" in names and names & {"correct_and_predict_keep", "correct_and_predict_keep_split"}
    tables = [c for c in recorded.recording.calls if c.table is not None]  # type: ignore[union-attr]
    slipped = [fault_of(engine).acts(c) for call, c, *_ in recorded.events if call.when == "friction"]  # type: ignore[union-attr]
    assert len(tables) == sum(slipped) > 1
    assert len({c.at for c in tables}) == len(tables), "every launch has scalars of its own"


@needs_device
@pytest.mark.skipif(DEVICE != "opencl", reason="launches of other devices do not tell their names")
def test_a_largest_step_has_few_launches_and_stages(tmp_path: Any) -> None:
    """A step of a cluster: friction at once, cells at once, samples and readings at once."""
    engine = made(tmp_path, every=1, receivers=RECEIVERS | {"interval": 0.0031}).solver
    engine.replays.most = 1
    engine.replays.advance()
    (recorded,) = engine.replays.made.values()
    calls = recorded.recording.calls
    found = Counter(c.function[0].function_name for c in calls)
    events = Counter(call.when for call, *_ in recorded.events)
    steps, clusters = sum(engine.replays.each), len(engine.march.clocks)
    sampled = [
        n
        for n, items in zip(engine.replays.each, engine.parts["receivers"].recorder.clusters, strict=True)
        if len(items)
    ]
    assert clusters > 1 and events["after step"] == steps and events["after predict"] == sum(sampled) > 0
    acts = [fault_of(engine).acts(c) for c in range(clusters)]
    faulted = sum(n for n, a in zip(engine.replays.each, acts, strict=True) if a)
    assert found["rupture"] == faulted
    cells = [
        n + kind for n in ("correct_and_predict", "predict") for kind in ("", "_keep", "_split", "_keep_split")
    ] + ["correct"]
    assert sum(found[n] for n in cells) <= 2 * (steps + clusters)
    assert set(found) <= {"rupture", "samples", "readings", *cells}
    assert len(concurrent_groups(calls)) <= 3 * steps + clusters


@needs_device
@pytest.mark.skipif(DEVICE != "opencl", reason="launches of other devices do not tell their names")
def test_a_plan_tells_the_launches_of_a_largest_step(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With those of its receivers: as many as a run's first one makes. On a processor there is nothing to tell."""
    line = "launches of a largest step"
    sim = made(tmp_path / "device", every=1, receivers=RECEIVERS | {"interval": 0.0031})
    rows = dict(dict(plan_report(sim.plan, sim.case, 1e-3))["time stepping"])
    engine = sim.solver
    engine.replays.most = 1
    written = Written(engine.backend.device, monkeypatch)
    engine.replays.advance()
    ((launches, stages, updates),) = re.findall(
        r"^(\d+) in (\d+) stages, for ([\d,]+) updates; replayed as one$", rows[line]
    )
    launched = [
        name for name, *_ in written.lines if name != "pack"
    ]  # which brings what an empty sample buffer holds to the host
    assert int(launches) == len(launched) and int(updates.replace(",", "")) == engine.updates
    assert {"samples", "readings"} <= set(launched)
    steps = sum(engine.replays.each)
    assert steps < int(stages) <= 3 * steps + len(engine.march.clocks) and int(stages) < int(launches)
    host = made(tmp_path / "host", "cpu")
    assert line not in dict(dict(plan_report(host.plan, host.case, 1e-3))["time stepping"])


@needs_device
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


@needs_device
@pytest.mark.parametrize("interval", [0.2, 0.021, 0.0031])
def test_samples_are_taken_by_replayed_steps(tmp_path: Any, interval: float) -> None:
    """Seldom, or several a step: the same seismograms as step by step, to the last bit, and those of the processor."""
    found: dict[str, Any] = {}
    for name in ("replayed", "direct", "cpu"):
        sim = made(tmp_path / name, "cpu" if name == "cpu" else DEVICE, receivers=RECEIVERS | {"interval": interval})
        engine = sim.solver
        engine.replays.most = 1
        if name != "replayed":
            engine.replays.advance = lambda n, pause, engine=engine: engine.advance(
                engine.march.time + engine.march.longest
            )
        sim.run(until=20.2 * engine.march.longest, write=False)
        kinds = {sampled(sim, key) for key, made in engine.replays.made.items() if made}
        assert kinds == (set() if name != "replayed" else {True, False} if interval == 0.2 else {True})
        assert (engine.replays.replayed > 12) == (name == "replayed")
        found[name] = sim.solver.parts["receivers"].recorder.arrays()
    time, values = found["replayed"]
    assert len(time) == int(20.2 * engine.march.longest / interval) + 1 and np.abs(values).max() > 0
    np.testing.assert_array_equal(values, found["direct"][1])
    np.testing.assert_allclose(values, found["cpu"][1], rtol=0, atol=1e-9 * np.abs(values).max())


def with_sources(tmp_path: Any, backend: str, single: bool = False, shakes: bool = False) -> Any:
    """The rupture beside sources in two clusters, some in one cell, that act for a while; or, where it only ``shakes``, nothing but
    a force that pushes and then pulls as much."""
    tmp_path.mkdir()
    far, near = [-4889.0, -1868.0, -6684.0], [900.0, 200.0, -2000.0]
    pulse = {"kind": "triangle", "duration": 0.15}
    sources = [
        {
            "kind": "moment-tensor",
            "location": far,
            "tensor": {"xx": 1e17, "yy": 2e17, "xz": -1e17},
            "time_function": pulse,
        },
        {"kind": "force", "location": near, "force": [1e12, 0.0, -2e12], "time_function": pulse, "onset": 0.05},
        {"kind": "force", "location": [x + 1.0 for x in near], "force": [0.0, 3e12, 0.0], "time_function": pulse},
    ]
    numerics = {"order": 2, "threads": 1, "backend": backend, "precision": "single" if single else "double"}
    if shakes:
        numerics["source_spread"] = "point"  # one number a step, for small tables
        back = {"kind": "samples", "samples": [0.0, 1.0, 0.0, -1.0, 0.0], "interval": 0.04}
        sources = [{"kind": "force", "location": near, "force": [1e12, 0, -2e12], "onset": 0.76, "time_function": back}]
    case = settings(tmp_path, slip_weakening(), numerics=numerics, sources=sources)
    del case["output"]["fault_receivers"]
    if shakes:
        del case["fault"]
    return fw.simulate(case)


@needs_device
@pytest.mark.parametrize("single", (False, pytest.param(True, marks=pytest.mark.slow)))
def test_sources_act_in_replayed_steps(tmp_path: Any, single: bool) -> None:
    """How much is told before each replay: the same numbers as step by step, to the last bit, and those of the processor; no launch of
    sources once they are over."""
    found: dict[str, Any] = {}
    for name in ("replayed", "direct", "cpu"):
        sim = with_sources(tmp_path / name, "cpu" if name == "cpu" else DEVICE, single)
        engine = sim.solver
        engine.replays.most = 1
        if name != "replayed":
            engine.replays.advance = lambda n, pause, engine=engine: engine.advance(
                engine.march.time + engine.march.longest
            )
        acting = [c for c, m in enumerate(engine.parts["point_sources"].terms.members) if len(m)]
        assert len(acting) == 2
        end = 24.2 * engine.march.longest
        assert 0.2 < end - 4 * engine.march.longest
        sim.run(until=end, write=False)
        found[name] = engine.operator.dofs()
        if name == "replayed":
            assert engine.replays.replayed > 12
            made = {
                sampled(sim, key, "point_sources"): m.recording.launches for key, m in engine.replays.made.items() if m
            }
            assert made[True] - made[False] == sum(engine.replays.each[c] for c in acting)
    size = np.abs(found["cpu"]).max((0, 1))
    np.testing.assert_array_equal(found["replayed"], found["direct"])
    np.testing.assert_allclose(found["replayed"] / size, found["cpu"] / size, rtol=0, atol=1e-4 if single else 1e-10)


@needs_device
@pytest.mark.parametrize("table", (1 << 24, 200))
def test_a_source_that_takes_back_what_it_gave_acts(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, table: int) -> None:
    """Within one replay, too; where tables are small fewer steps are replayed at once, but they are."""
    monkeypatch.setattr("faultwave.dg.stepping.replays.TABLE", table)
    found = {}
    for name in ("replayed", "direct"):
        sim = with_sources(tmp_path / name, DEVICE, shakes=True)
        engine = sim.solver
        if name == "direct":
            engine.replays.advance = lambda n, pause, engine=engine: engine.advance(
                engine.march.time + engine.march.longest
            )
        sim.run(until=60.2 * engine.march.longest, write=False)
        found[name] = engine.operator.dofs()
        if name == "replayed":
            assert engine.replays.replayed > 10
            acting = [key[0] for key, m in engine.replays.made.items() if m and sampled(sim, key, "point_sources")]
            assert max(acting) == (8 if table == 200 else 16)
            assert engine.parts["point_sources"].terms.over.all()
    assert np.abs(found["direct"]).max() > 0
    np.testing.assert_array_equal(found["replayed"], found["direct"])


@needs_device
def test_steps_without_room_for_their_table_go_one_by_one(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sim = with_sources(tmp_path / "run", DEVICE)

    def refused(size: int) -> Any:
        raise BackendError("no room")

    made = backend.Recording
    monkeypatch.setattr(backend, "Recording", lambda device, host, allocate: made(device, host, refused))
    sim.run(until=20.2 * sim.solver.march.longest, write=False)
    assert sim.solver.replays.replayed == 0 and None in sim.solver.replays.made.values()


@needs_device
def test_observers_are_heeded(tmp_path: Any) -> None:
    """Steps go one by one where a hook does not say when it needs the host."""
    sim = made(tmp_path, receivers=RECEIVERS)
    engine = sim.solver
    longest = engine.march.longest
    engine.replays.most = 1
    sim.run(until=0.19, write=False)
    due = sim.solver.parts["receivers"].callbacks[0].due
    assert not due(0.199) and due(0.201) and engine.replays.on_device(0.201)
    assert engine.replays.replayed > 0
    watch(sim, Callback("after correct", lambda cluster, time, step: None))
    replayed = engine.replays.replayed
    sim.run(until=0.19 + 4 * longest, write=False)
    assert engine.replays.replayed == replayed


@needs_device
@pytest.mark.parametrize("every, layout", [(1, False), (3, False), (1, True)])
def test_fault_receivers_are_read_by_replayed_steps(tmp_path: Any, every: int, layout: bool) -> None:
    """They are in sample buffers on the device: the same histories as step by step, to the last bit, and those of the processor."""
    histories: dict[str, Any] = {}
    for name, most in (("replayed", 1), ("direct", 0), ("cpu", 0)):
        sim = made(tmp_path / name, "cpu" if name == "cpu" else DEVICE, every, seissol_layout=layout)
        engine = sim.solver
        engine.replays.most = most
        if not most:
            engine.replays.advance = lambda n, pause, engine=engine: engine.advance(
                engine.march.time + engine.march.longest
            )
        end = 24.2 * engine.march.longest
        sim.run(until=end, write=False)
        assert (engine.replays.replayed > 4) == (name == "replayed")
        data = sim.fault_receivers
        histories[name] = data["time"], data["values"]
        assert len(engine.callbacks.by_position["after step"]) == 1 and not fault_of(engine).reading, (
            "nothing is left to be read"
        )
    time, values = histories["replayed"]
    assert np.isfinite(time).sum() > 100 / every and np.nanmax(np.abs(values)) > 0
    np.testing.assert_array_equal(time, histories["direct"][0])
    np.testing.assert_array_equal(values, histories["direct"][1])
    np.testing.assert_allclose(time, histories["cpu"][0], rtol=1e-12)
    size = np.nanmax(np.abs(histories["cpu"][1]), (0, 1))
    np.testing.assert_allclose(values / (size + 1e-300), histories["cpu"][1] / (size + 1e-300), rtol=0, atol=1e-9)


@needs_device
def test_a_tape_that_is_full_is_brought_and_breaks_the_recording(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultwave.dg.fault import probe

    want = made(tmp_path / "long", every=1)
    monkeypatch.setattr(probe, "MOST", 3)
    monkeypatch.setattr(probe, "LEAST", 3)
    short = made(tmp_path / "short", every=1)
    short.solver.replays.most = 4
    for sim in (want, short):
        sim.run(until=16.2 * sim.solver.march.longest, write=False)
    assert short.solver.replays.replayed == 0 and None in short.solver.replays.made.values()
    found, values = (sim.fault_receivers["values"] for sim in (short, want))
    np.testing.assert_array_equal(found, values)


def test_a_processor_takes_them_step_by_step(tmp_path: Any) -> None:
    sim = made(tmp_path, "cpu")
    sim.run(until=0.1, write=False)
    assert isinstance(sim.solver.operator, Operator) and not sim.solver.replays.made


@needs_device
def test_receivers_that_are_seldom_read_do_not_keep_steps_from_replays(tmp_path: Any) -> None:
    """Most stretches of steps read nothing and are alike, wherever the counters of steps stand."""
    sim = made(tmp_path, DEVICE, 50)
    replays = sim.solver.replays
    replays.most = 1
    sim.run(until=20.2 * sim.solver.march.longest, write=False)
    assert replays.replayed >= 10 and len(replays.made) <= 8


def test_recordings_are_as_many_as_are_worth_it() -> None:
    """Record the first calls at once, others at their second request, and never more than the limit."""
    replays: Any = SimpleNamespace(made={}, requested=set())
    for n in range(SOON):
        assert Replays._wanted(replays, ("first", n))
        replays.made["first", n] = None
    assert [Replays._wanted(replays, ("more",)) for _ in range(2)] == [False, True]
    replays.made |= {("others", n): None for n in range(MOST - SOON)}
    assert [Replays._wanted(replays, ("last",)) for _ in range(2)] == [False, False]
