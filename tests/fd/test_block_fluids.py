"""Fluids beside rock in grids of blocks: a sea over hills in the upper one, molten rock in the lower one."""

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends import missing
from faultwave.base.errors import RunError
from faultwave.run import simulate
from faultwave.verify.cases.grids.blocks import LeapfrogEnergy
from tests.run.launch import launch

from .reciprocity import OF_THREE, is_reciprocal, moments
from .results import same
from .test_grids import case, problems
from .test_restart import Stopped

opencl = pytest.mark.skipif(bool(missing("opencl")), reason=missing("opencl"))
FLOOR = "z > -600 + 40*sin(0.004*x)*cos(0.005*y)"
CHAMBER = "(x-500)*(x-500) + (y-400)*(y-400) + (z+2550)*(z+2550) < 100000"
SEA = {name: f"if ({FLOOR}) {{ return {sea}; }} if ({CHAMBER}) {{ return {molten}; }} return {rock};"
       for name, sea, molten, rock in (("rho", 1000, 2400, 2600), ("vp", 1500, 2500, 3464), ("vs", 0, 0, 2000), ("Qp", 500, 200, 80),
                                       ("Qs", 500, 200, 40))}  # fmt: skip
SIDES = {"x": "rigid", "y": "rigid", "z-": "rigid", "z+": "free-surface"}
BOX = {
    "lower": [0, 0, -3400],
    "upper": [1000, 800, 0],
    "spacing": 50.0,
    "blocks": [{"below": 1200.0, "spacing": 100.0}],
}


def settings(sides=SIDES, **changes):
    """24 planes of 50 m, in which the sea floor is, above 22 of 100 m."""
    explosion = {"kind": "moment-tensor", "location": [500, 400, -300], "tensor": {"xx": 1e12, "yy": 1e12, "zz": 1e12},
                 "time_function": {"kind": "gaussian", "duration": 0.03}}  # fmt: skip
    made = {"end_time": 0.4, "sources": [explosion], "output": {}, "numerics": {"precision": "double", "threads": 1}}
    grid = BOX | {"boundaries": sides, "absorbing": {"width": 4}}
    return case(**{**made, "grid": grid, "material": {"expression": SEA}, **changes})


def test_energy_neither_grows_nor_falls():
    """At a step near the stable one, over a floor of stairs."""
    sim = simulate(settings(numerics={"precision": "double", "cfl": 0.95}))
    assert all(block.scheme.border is not None for block in sim.plan.blocks)
    assert not any("fluid" in str(w) for w in sim.plan.warnings)
    op = sim.solver.operator
    op.advance(sim.plan.steps)
    energy = LeapfrogEnergy(op)
    first = energy.now()
    kept = [energy.now() for _ in range(20)]
    op.advance(1000)
    assert first > 0 and np.abs(np.array([*kept, energy.now()]) / first - 1).max() < 1e-12


def test_what_stays_in_rock_leaves_the_fluids_alone():
    """Slip in both blocks: waves leave, and both fluids come to rest."""
    slip = {"kind": "moment-tensor", "tensor": {"xz": 1e12}, "time_function": {"kind": "gaussian", "duration": 0.05}}
    sources = [slip | {"location": [500, 400, z]} for z in (-830, -1950)]
    points = [[400, 400, -475], [650, 300, -440], [500, 400, -2450], [400, 300, -2550]]
    made = settings({"z+": "free-surface"}, sources=sources, output={"receivers": {"points": points, "interval": 0.02}})
    made["end_time"], made["numerics"] = 5.0, {"precision": "single", "threads": 1}
    sim = simulate(made)
    sim.run(write=False)
    v, late = np.stack([sim.receivers.quantity(f"v{k}") for k in (1, 2, 3)]), sim.receivers["time"] > 2.5
    assert np.abs(v[:, late].mean(1)).max() < 2e-3 * np.abs(v).max()


def test_reciprocity_through_the_face_and_both_borders():
    """A force in the sea, moments in rock above and below the face."""
    places = [[460.0, 310.0, -900.0], [405.0, 510.0, -1560.0], [505.0, 410.0, -1790.0]]
    sources = moments(places, OF_THREE, 0.1)
    output = {"receivers": {"points": [[520.0, 430.0, -230.0]], "interval": 0.01}}
    made = settings(sources=sources, end_time=1.2, attenuation={}, output=output)
    is_reciprocal(made, OF_THREE, 0.1)


@pytest.mark.parametrize("backend", ["cpu", pytest.param("opencl", marks=opencl)])
def test_backends_agree(backend):
    points = {"points": [[520.0, 430.0, -230.0], [300.0, 500.0, -900.0], [500.0, 400.0, -2550.0]], "interval": 0.02}
    found = []
    for name in ("numpy", backend):
        numerics = {"precision": "double", "backend": name, "threads": 1}
        made = settings(attenuation={}, output={"receivers": points}, numerics=numerics)
        sim = simulate(made)
        sim.run(write=False)
        found.append(sim.receivers["values"])
    assert (np.abs(found[0]).max((0, 2)) > 0).all()
    assert np.abs(found[1] - found[0]).max() <= 1e-12 * np.abs(found[0]).max()


@pytest.mark.parametrize("floor", [-600, -2400])
def test_waves_are_those_of_one_spacing(floor):
    """The blocks add no more than the larger spacing does, also where the face is in the sea."""
    points = {"points": [[520.0, 430.0, -230.0], [300.0, 500.0, -800.0], [700.0, 300.0, -1700.0]], "interval": 0.01}
    sources = [{"kind": "moment-tensor", "location": [500, 400, -400], "tensor": {"xx": 1e12, "yy": 1e12, "zz": 1e12},
                "time_function": {"kind": "gaussian", "duration": 0.12}}]  # fmt: skip
    flat = {name: f"if (z > {floor}) {{ return {sea}; }} return {rock};"
            for name, sea, rock in (("rho", 1000, 2600), ("vp", 1500, 3464), ("vs", 0, 2000))}  # fmt: skip
    made = settings(sources=sources, end_time=1.5, output={"receivers": points}, material={"expression": flat})
    found = []
    for blocks in (BOX["blocks"], []):
        made["grid"]["blocks"] = blocks
        sim = simulate(made)
        sim.run(write=False)
        found.append(sim.receivers["values"][..., 6:])
    error = np.linalg.norm(found[0] - found[1], axis=(0, 2)) / np.linalg.norm(found[1], axis=(0, 2))
    assert error.max() < 0.05, error


def recorded(folder, **changes):
    points = {"points": [[520.0, 430.0, -230.0], [300.0, 500.0, -900.0], [500.0, 400.0, -2550.0]], "interval": 0.02}
    output = {"folder": str(folder), "receivers": points, "surface": {"interval": 0.1}, "energies": {"interval": 0.1},
              "checkpoint": {"interval": 0.1}}  # fmt: skip
    return settings({"z+": "free-surface"}, attenuation={}, output=output, end_time=0.4, **changes)


def test_resumed_is_undisturbed(tmp_path, monkeypatch):
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    fw.simulate(recorded(tmp_path / "whole")).run()
    sim = fw.simulate(recorded(tmp_path / "parts"))
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.17))
    fw.resume(tmp_path / "parts").run()
    same(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize(
    ("below", "told"),
    [(900.0, "the face at z = -900 m lies within 400 m below or 900 m above a border of fluid and rock"), (1200.0, "")],
)
def test_faces_near_a_floor_are_told(below, told):
    grid = settings()["grid"] | {"blocks": [{"below": below, "spacing": 100.0}]}
    words = problems(grid=grid, material={"expression": SEA}, sources=[], output={})
    assert (told in words) if told else ("border" not in words and "fluid" not in words), words


def test_a_floor_on_a_face_is_told():
    """Each block is of one kind then; together they are not."""
    flat = {name: f"if (z > -1200) {{ return {sea}; }} return {rock};"
            for name, sea, rock in (("rho", 1000, 2600), ("vp", 1500, 3464), ("vs", 0, 2000))}  # fmt: skip
    words = problems(grid=settings()["grid"], material={"expression": flat}, sources=[], output={})
    assert "the face at z = -1200 m lies within" in words


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_any_number_of_processes_gives_the_same_bits(tmp_path, ranks):
    """Cuts go through the floor, the molten rock and the face."""
    fw.simulate(recorded(tmp_path / "one")).run()
    done = launch(ranks, recorded(tmp_path / "parts"))
    assert done.returncode == 0, done.stderr
    same(tmp_path / "one", tmp_path / "parts")
