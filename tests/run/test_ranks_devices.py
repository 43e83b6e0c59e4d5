"""Processes with a device each: what they exchange goes through the host, and changes no number."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.case.load import load_case
from faultwave.run.planned import check as check_case
from tests.backends.here import DEVICE, needs_device
from tests.run.launch import launch
from tests.run.test_ranks import contents, same
from tests.run.test_ranks_halo import momentum
from tests.run.test_restart import asked

pytestmark = [
    pytest.mark.mpi,
    needs_device,
]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: Any) -> Any:
    """The rupture with every output, on the processor by one process."""
    return ran(tmp_path_factory.mktemp("alone"), 1, "cpu")


def ran(path: Any, ranks: int, backend: str, **numerics: Any) -> Any:
    path.mkdir(exist_ok=True)
    case = asked(path, "out", numerics={"order": 2, "backend": backend, **numerics}, end_time=0.25)
    done = launch(ranks, case)
    assert done.returncode == 0, done.stderr[-3000:]
    return contents(path / "out")


def check(found: Any, want: Any, tolerance: float) -> None:
    (fields, energies), (want_fields, want_energies) = found, want
    assert fields.keys() == want_fields.keys()
    for key, columns in want_fields.items():
        for got, column in zip(fields[key], columns, strict=True):
            size = np.nanmax(np.abs(column), initial=0.0)
            np.testing.assert_allclose(got, column, rtol=0, atol=tolerance * size + 1e-300, err_msg=str(key))
    largest = np.abs(want_energies["momentumX"]).max()
    for name, column in want_energies.items():
        size = largest if name.startswith("momentum") else np.abs(column).max()
        np.testing.assert_allclose(energies[name], column, rtol=0, atol=tolerance * size + 1e-300, err_msg=name)


def said(folder: Any) -> str:
    return str(json.loads((folder / "out" / "run-manifest.json").read_text())["halo"])


def test_two_processes_on_devices_give_what_one_processor_gives(tmp_path: Any, alone: Any) -> None:
    """Whether messages are the device's own memory or pass through the host's; auto finds out."""
    found = ran(tmp_path / "two", 2, DEVICE)
    check(found, alone, 1e-9)
    same(tmp_path / "two" / "out", ran(tmp_path / "one", 1, DEVICE))  # to the last bit those of one device
    same(tmp_path / "two" / "out", ran(tmp_path / "host", 2, DEVICE, halo="host"))
    assert said(tmp_path / "host") == "host (as requested)"
    if DEVICE == "opencl":  # where PoCL has it: elsewhere it is the MPI's to say
        assert said(tmp_path / "two").startswith("direct (a test message between devices arrived")


@pytest.mark.slow
def test_four_processes_give_their_memory_to_mpi(tmp_path: Any) -> None:
    found = {way: ran(tmp_path / way, 4, DEVICE, halo=way) for way in ("host", "direct")}
    assert said(tmp_path / "direct").startswith("direct")
    same(tmp_path / "direct" / "out", found["host"])


def test_direct_is_for_devices(tmp_path: Any) -> None:
    """Which a check finds, and a run of one process."""
    case = asked(tmp_path, "out", numerics={"halo": "direct", "order": 2, "backend": "cpu"}, end_time=0.01)
    found, _ = load_case(case)
    assert found is not None
    (problem,) = check_case(found).errors
    assert problem.where == "numerics.halo" and "the host's memory" in problem.what
    done = launch(2, case)
    assert done.returncode != 0 and "numerics.halo" in done.stderr and "the host's memory" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "name, other, where",
    [("backend", "cpu", "numerics.backend"), ("halo", "host", "numerics.halo")],
)
def test_processes_that_were_given_different_options_are_told_so(
    tmp_path: Any, name: str, other: str, where: str
) -> None:
    """They would wait for each other, or round differently."""
    case = asked(tmp_path, "out", numerics={"order": 2, "backend": DEVICE}, end_time=0.01)
    setup = f"if fw.comm.world().rank == 1: case['numerics'][{name!r}] = {other!r}"
    done = launch(2, case, setup="import faultwave.comm\n" + setup, timeout=600)
    given = (DEVICE, "cpu") if name == "backend" else ("auto", "host")
    assert done.returncode != 0 and where in done.stderr, done.stderr
    assert f"{given[0]} on 0; {given[1]} on 1" in done.stderr


@pytest.mark.skipif(DEVICE != "opencl", reason="of OpenCL")
def test_direct_where_the_device_does_not_lend_is_an_error_before_the_run(tmp_path: Any) -> None:
    without = "import faultwave.backends.opencl.runtime as r; r.OpenClDevice.why_not_gpu_aware = lambda self: 'it keeps its memory'"
    case = asked(tmp_path, "out", numerics={"halo": "direct", "order": 2, "backend": DEVICE}, end_time=0.01)
    done = launch(2, case, setup=without)
    assert done.returncode != 0 and "direct is not possible: it keeps its memory" in done.stderr
    assert "auto, host" in done.stderr and not (tmp_path / "out").exists()


@pytest.mark.parametrize("rounding", ["single", pytest.param("zfp-32", marks=pytest.mark.slow)])
def test_rounded_messages_lose_what_they_say(tmp_path: Any, alone: Any, rounding: str) -> None:
    """Rounded on the device, whichever way they go."""
    found = ran(tmp_path / "direct", 2, DEVICE, halo_compression=rounding, halo="direct")
    check(found, alone, 1e-5)
    with pytest.raises(AssertionError):
        check(found, alone, 1e-12)
    same(tmp_path / "direct" / "out", ran(tmp_path / "host", 2, DEVICE, halo_compression=rounding, halo="host"))
    told = json.loads((tmp_path / "host" / "out" / "run-manifest.json").read_text())["rates"]
    assert 0 < told["halo_error_rms"] < told["halo_error_largest"] < 1e-7


def test_momentum_stays_to_rounding(tmp_path: Any) -> None:
    """The sender's correction for rounding is computed and added on the device."""
    assert momentum(tmp_path, "single", backend=DEVICE, order=2) < 1e-12


def test_the_interior_does_not_fill_the_queue(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pieces at most that are not done: what a message brings waits for no more."""
    case = asked(tmp_path, "out", numerics={"order": 2, "backend": DEVICE}, end_time=0.25)
    solver: Any = fw.simulate(case).solver
    pieces: list[int] = []
    marks: list[Any] = []

    def piece(cluster: int, cells: int) -> bool:
        pieces.append(cells)
        return True

    def mark() -> Any:
        marks.append(SimpleNamespace(done=False))
        return marks[-1]

    monkeypatch.setattr(solver.stepper, "finish", piece)
    monkeypatch.setattr(solver.backend, "mark", mark)
    assert all(solver.actions.finish(0) for _ in range(5)) and len(pieces) == 2
    marks[0].done = True
    assert solver.actions.finish(0) and solver.actions.finish(0) and len(pieces) == 3
