"""What is read on the fault: positions, friction points against interpolation, times, peaks and rupture speed."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from faultwave.dg.fault.probe import FaultProbe
from faultwave.dg.fault.values import ReadingMode
from faultwave.dg.method.basis import tet_basis
from faultwave.engine.receivers import ReceiverRecorder
from faultwave.engine.snapshots import SnapshotBuffer
from faultwave.observe.snapshots.pieces import refine_triangle
from faultwave.output.formats.seissol_dat import read_dat
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.run import simulate

from .setup import ON_FAULT, ROCK, difference, run, settings, slip_weakening


@pytest.fixture(scope="module", params=["linear", "full"])
def still(tmp_path_factory, request):
    """A simulation that was not stepped; its fault can be given any record. With the full normal traction only those friction points are
    read that the nearest ones are."""
    path = tmp_path_factory.mktemp("still")
    return simulate(settings(path, slip_weakening(normal_traction=request.param), numerics={"order": 4}))


def give(fault, **values: np.ndarray) -> None:
    """Write record or state columns (faces, points)."""
    for buffer, names in (("record", fault.columns), ("state", fault.state_columns)):
        data = fault.buffers[buffer].get(fault.item)
        for name, value in values.items():
            if name in names:
                data[..., list(names).index(name)] = value
        fault.buffers[buffer].put(data, fault.item)


def probes(fault, points: np.ndarray) -> dict[bool, FaultProbe]:
    items = np.arange(len(fault.faces.area))
    return {exact: FaultProbe(fault, items, points, ReadingMode(exact)) for exact in (True, False)}


def test_exact_reads_polynomials_and_nearest_reads_points(still) -> None:
    fault, x = still.solver.parts["rupture"].fault, still.plan.part("rupture").positions

    def smooth(p: np.ndarray) -> np.ndarray:
        return 1.0 + (p[..., 0] / 3000.0) ** 3 - 0.5 * (p[..., 2] / 3000.0) ** 2

    give(fault, slip1=smooth(x), accumulated_slip=smooth(x), peak_slip_rate=smooth(x), ruptured=smooth(x) + 9.0)
    local = np.array([[0.21, 0.33], [0.05, 0.9]])
    wanted = smooth(fault.faces.positions(local))
    for exact, probe in probes(fault, local).items():
        found = probe.read(["ASl", "PSR", "RT", "Sls", "Sld"])
        nearest = np.take_along_axis(smooth(x), probe.nearest, 1)
        assert np.allclose(found["ASl"], wanted if exact else nearest, rtol=1e-10)
        # peaks and times jump from point to point: never interpolated
        assert np.allclose(found["PSR"], nearest, rtol=1e-12) and np.allclose(found["RT"], nearest + 9.0, rtol=1e-12)
    # the nearest point really is
    here = fault.faces.positions(local)
    distance = np.linalg.norm(here[:, :, None] - x[:, None], axis=-1)
    assert (probe.nearest == distance.argmin(-1)).all()


def test_sides_are_the_waves_and_velocities_of_their_cells(still) -> None:
    """w = T - Z v of the plus and T + Z v of the minus side, and v, from the law's own quantities at each point, in many readings at
    once and in each alone."""
    fault, op, rng = still.solver.parts["rupture"].fault, still.solver.operator, np.random.default_rng(3)
    f, local = fault.faces, np.array([[0.21, 0.33], [0.05, 0.9], [0.6, 0.1]])
    values = FaultProbe(fault, np.arange(len(f.area)), local, ReadingMode()).values
    frame = np.stack([f.normal, f.tangent1, f.tangent2], 1)
    for side, sign in enumerate((1.0, -1.0)):
        cells = f.cells[:, side]
        dofs = rng.normal(size=(4, len(cells), op.b3, 9)) * np.repeat([1e6, 1.0], [6, 3])
        found = values.side(side, np.stack([op.working(d, cells) for d in dofs]))
        want = np.empty((2, 3, len(local), 4, len(cells)))
        for i, (cell, face) in enumerate(zip(cells, f.faces[:, side], strict=True)):
            place = still.plan.geometry.inverse[cell] @ (f.positions(local)[i] - still.plan.geometry.origin(cell)).T
            q = tet_basis(place.T, op.order - 1) @ dofs[:, i]
            stress = q[..., [0, 3, 5, 3, 1, 4, 5, 4, 2]].reshape(4, -1, 3, 3)
            speed = q[..., 6:] @ frame[i].T
            impedance = ROCK["rho"] * np.array([ROCK["vp"], ROCK["vs"], ROCK["vs"]])
            wave = stress @ f.normal[i] @ frame[i].T - sign * impedance * speed
            want[0, ..., i], want[1, ..., i] = wave.transpose(2, 1, 0), speed.transpose(2, 1, 0)
            assert face == f.faces[i, side]
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-10 * np.abs(want[0]).max())
        alone = values.side(side, op.working(dofs[2], cells)[None])
        np.testing.assert_array_equal(alone[..., 0, :], found[..., 2, :])


def test_rupture_speed(still) -> None:
    """Vr is 1/|grad RT| on faces that broke wholly; a plane front gives its speed exactly."""
    fault, x = still.solver.parts["rupture"].fault, still.plan.part("rupture").positions
    speed = np.array([2500.0, 0.0, -1800.0])  # m/s along x and z: slowness adds
    times = 4.0 + x[..., 0] / speed[0] + x[..., 2] / speed[2]
    times[3, 2] = 0.0  # one point not broken
    give(fault, ruptured=times)
    expected = np.full(len(times), 1 / np.hypot(1 / 2500.0, 1 / 1800.0))
    expected[3] = 0.0
    both = probes(fault, np.full((1, 2), 1 / 3)).values()
    for probe in both:
        assert np.allclose(probe.read(["Vr"])["Vr"][:, 0], expected, rtol=1e-9)
    give(fault, ruptured=np.full_like(times, 0.7))
    assert not any(probe.read(["Vr"])["Vr"].any() for probe in both)


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    return {
        position: run(settings(tmp_path_factory.mktemp(position), slip_weakening(), position=position, end_time=0.7))
        for position in ("exact", "nearest")
    }


def test_times_and_peaks_are_those_of_the_histories(readings) -> None:
    """RT, DS, PSR, ASl and slip against the history itself, at friction points."""
    h = readings["nearest"]
    t = h.time
    rate = np.hypot(h["SRs"], h["SRd"])
    step = np.diff(t, axis=0)[0]
    for i in range(len(ON_FAULT)):
        ok = np.isfinite(t[:, i])
        slip = h["ASl"][ok, i]
        peak, rt, ds = h["PSR"][ok, i], h["RT"][ok, i], h["DS"][ok, i]
        assert (np.diff(peak) >= 0).all()
        if rt[-1] > 0:
            first = t[ok, i][np.argmax(rt > 0)]
            assert first - 1.01 * step[i] <= rt[-1] <= first and np.unique(rt[rt > 0]).size == 1
            assert peak[-1] >= 0.97 * rate[ok, i].max()
        if ds[-1] > 0:
            first = t[ok, i][np.argmax(slip >= 0.4)]
            assert first - 1.01 * step[i] <= ds[-1] <= first
        else:
            assert slip[-1] < 0.4
    assert (h.last("RT") > 0).sum() >= 2 and (h.last("DS") > 0).any() and (h.last("DS") == 0).any()
    moving = np.nan_to_num(rate) > 0.3
    strength = -h["Pn0"] * h["Mud"]
    assert np.allclose(np.hypot(h["Ts0"], h["Td0"])[moving], strength[moving], rtol=1e-9)
    assert np.allclose(h["Ts0"] - h["T_s"], h["Ts0"][0] - h["T_s"][0], rtol=1e-12, equal_nan=True)


def test_exact_and_nearest_are_close(readings) -> None:
    a, b = readings["exact"], readings["nearest"]
    assert np.array_equal(a.time, b.time, equal_nan=True)
    for name in ("Sls", "ASl"):
        assert 0 < difference(a[name], b[name]) < 0.25, name
    # peaks and times jump from point to point: never interpolated
    for name in ("RT", "PSR", "DS"):
        assert np.array_equal(a[name], b[name], equal_nan=True)
    assert difference(a["Ts0"], b["Ts0"]) < 0.25
    assert np.abs(a.sim.fault_receivers["location"] - ON_FAULT).max() < 1e-9


def test_points_off_the_fault_are_moved_to_it(tmp_path) -> None:
    asked = ON_FAULT[:2] + [0.0, 35.0, 0.0]
    h = run(settings(tmp_path, slip_weakening(), points=asked, end_time=0.02))
    data = h.sim.fault_receivers
    assert np.abs(data["location"] - ON_FAULT[:2]).max() < 1e-9 and np.array_equal(data["requested"], asked)
    assert np.allclose(data["initial_traction"], [[-120e6, 81.6e6, 0.0]] * 2)


@pytest.mark.parametrize("split", ["four", "three"])
def test_fault_file_holds_what_receivers_hold(tmp_path, split) -> None:
    """The snapshot at the end against a receiver at the centre of a sub-triangle of its file: the friction point nearest to it."""
    fields = ["Sls", "Sld", "RT", "PSR", "ASl", "Mud", "Ts0"]
    snapshots = {"interval": 0.1, "fields": fields, "refinement": 1, "split": split}
    case = settings(
        tmp_path, slip_weakening(), position="nearest", end_time=0.3, output={"fault": snapshots, "sync": True}
    )
    file = simulate(case)
    faces = file.plan.part("rupture").faces
    centres = faces.positions(refine_triangle(1, split)[1][-1:])[::5, 0]
    case["output"]["fault_receivers"]["points"] = centres.tolist()
    h = run(case, write=True)
    with h5py.File(next((tmp_path / "out").glob("*-fault.vtkhdf")), "r") as found:
        root = found["VTKHDF"]
        times = root["Steps/Values"][()]
        points, count = root["Points"][()], root["NumberOfCells"][0]
        assert count == len(faces.area) * {"four": 4, "three": 3}[split]
        middle = points[root["Connectivity"][()].reshape(-1, 3)[:count]].mean(1)
        columns = {name: root[f"CellData/{name}"][()].reshape(len(times), -1)[-1] for name in fields}
    assert np.allclose(times, [0.0, 0.1, 0.2, 0.3])
    distance = np.linalg.norm(middle[None] - centres[:, None], axis=-1)
    index = distance.argmin(1)
    assert distance.min(1).max() < 0.1
    for name in fields:
        assert np.allclose(columns[name][index], h.last(name), rtol=1e-6, atol=1e-9 * np.abs(columns[name]).max()), name


@pytest.mark.parametrize("normal", ["linear", "full"])  # what is read of whole faces, and of some friction points
def test_readings_that_are_too_large_to_wait_are_the_same(tmp_path, monkeypatch, normal: str) -> None:
    case = settings(tmp_path, slip_weakening(normal_traction=normal), position="nearest", end_time=0.1)
    waiting = run(case)
    monkeypatch.setattr("faultwave.dg.fault.probe.ROOM", 1)
    at_once = run(case)
    found = [h.sim.solver.parts["fault_receivers"].probes[0].sample_buffer for h in (waiting, at_once)]
    assert [buffer.worthwhile for buffer in found] == [True, False]
    for name, values in waiting.values.items():
        assert np.array_equal(values, at_once[name], equal_nan=True), name


def test_snapshots_that_are_worked_out_together_are_those_of_their_times(tmp_path) -> None:
    """A row of energies at the time of each has it worked out before the next."""
    files = []
    for energies in (None, {"interval": 0.02}):
        output = {"fault": {"interval": 0.02}, "energies": energies}
        case = settings(tmp_path, slip_weakening(), end_time=0.1, output=output)
        run(case, write=True)
        with VtkHdfReader(tmp_path / "out" / "run-fault.vtkhdf") as file:
            files.append((file.times, [file.field(n, i) for i in range(len(file.times)) for n in file.fields]))
    assert len(files[0][0]) == 6
    assert all(np.array_equal(a, b) for a, b in zip(files[0][1], files[1][1], strict=True))


def test_calls_that_rest_miss_nothing(tmp_path, monkeypatch) -> None:
    """Snapshots and samples at intervals that fit no step, in clusters of different steps: the same whether parts are called in every step
    or say when they need it next, and then they are called much less often."""
    output = {
        "fault": {"interval": 0.0171}, "volume": {"interval": 0.0293}, "receivers": {"points": [[0.0, 50.0, -2000.0]], "interval": 0.0137}
    }  # fmt: skip
    called, found = [], []
    for rests in (True, False):
        with monkeypatch.context() as patch:
            if not rests:
                patch.setattr(SnapshotBuffer, "next_due", lambda self, cluster: -np.inf)
                patch.setattr(ReceiverRecorder, "next_due", lambda self, cluster: -np.inf)
            asked = []
            due = SnapshotBuffer.due
            patch.setattr(
                SnapshotBuffer, "due", lambda self, *given, due=due, asked=asked: asked.append(1) or due(self, *given)
            )
            h = run(
                settings(tmp_path, slip_weakening(), end_time=0.3, output=output, numerics={"order": 2}), write=True
            )
        values = [h.sim.receivers["values"]]
        for kind in ("fault", "volume"):
            with VtkHdfReader(tmp_path / "out" / f"run-{kind}.vtkhdf") as file:
                assert len(file.times) == {"fault": 18, "volume": 11}[kind]
                values += [file.field(n, i) for i in range(len(file.times)) for n in file.fields]
        called.append(len(asked))
        found.append(values)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*found, strict=True))
    assert len(h.sim.plan.clustering.steps) > 1 and called[0] < 0.7 * called[1]


def test_receivers_of_decks_take_the_waves_where_a_step_begins(tmp_path, monkeypatch) -> None:
    """And friction where it ends, as SeisSol's; also where the run stops and goes on."""

    def case(name: str) -> dict:
        (tmp_path / name).mkdir()
        made = settings(tmp_path / name, slip_weakening(normal_traction="full"), position="nearest", end_time=0.6)
        made["numerics"]["clustering"] = {"rates": [1]}
        made["output"]["seissol_layout"] = True
        return made

    late = run(case("late"))
    with monkeypatch.context() as undelayed:
        undelayed.setattr(FaultProbe, "_delayed", lambda self, sides: sides)
        now = run(case("now"))
    stopped = simulate(case("stopped"), force=True)
    stopped.run(until=float(late.time[40, 0]), write=False)
    found = stopped.run(write=False).fault_receivers["values"][:, :, late.sim.fault_receivers.quantities.index("Ts0")]
    np.testing.assert_allclose(found, late["Ts0"], rtol=1e-9)
    start, end = slice(None, -2), slice(1, -1)
    for name in ("Mud", "ASl", "Sls", "RT"):
        np.testing.assert_array_equal(late[name], now[name])
    np.testing.assert_allclose(late["u_n"][end], now["u_n"][start], atol=1e-9 * np.abs(now["u_n"]).max())
    np.testing.assert_allclose(late["Pn0"][end], now["Pn0"][start], rtol=1e-9)
    shear, strength = np.hypot(late["Ts0"], late["Td0"])[end], -now["Mud"][end] * now["Pn0"][start]
    slipping, locked = now["SRs"][start] > 0.1, now["ASl"][2:] == 0.0
    assert slipping.sum() > 20 and locked.sum() > 20
    np.testing.assert_allclose(shear[slipping], strength[slipping], rtol=1e-9)
    np.testing.assert_allclose(late["Ts0"][end][locked], now["Ts0"][start][locked], rtol=1e-9)


def test_what_breaks_in_the_first_step_of_a_deck_has_broken_at_0(tmp_path) -> None:
    """Decks mark steps, not sub-steps: the first one's time is 0, as in SeisSol's files, and is not overwritten by the second's."""
    case = settings(
        tmp_path, slip_weakening(points="conical"), position="nearest", end_time=0.1, output={"seissol_layout": True}
    )
    h = run(case, write=True)
    assert (h.last("PSR")[0] > 0.01) and 0 < h.last("RT")[0] < 1e-20 and h.last("RT")[3] == 0
    files = sorted((tmp_path / "out").glob("*faultreceiver-00001.dat"))
    assert not np.any(read_dat(files[0]).columns["RT"])
