"""Order 8 below a topography: the uppermost block, whose planes bend, has order 4, those below it 8."""

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends import missing
from faultwave.base.errors import RunError
from faultwave.run import simulate
from faultwave.verify.cases.grids.blocks import LeapfrogEnergy
from tests.run.launch import launch

from .reciprocity import OF_THREE, is_reciprocal, moments
from .results import datasets, fields, same
from .test_blocks import QUIET, ROCK
from .test_grids import case, problems
from .test_restart import Stopped

opencl = pytest.mark.skipif(bool(missing("opencl")), reason=missing("opencl"))
HILL = "60 + 55*sin(x*6.283185307179586/3200)*cos(y*6.283185307179586/3200)"
SIDES = {"x": "periodic", "y": "periodic", "z-": "rigid", "z+": "free-surface"}
NAMES = ("xx", "yy", "zz", "xy", "yz", "xz")


def settings(ratio=1, sides=SIDES, **changes):
    """A hill on 20 planes of 100 m above 16 as far apart, or twice or three times as far."""
    h, wide = 100.0 * ratio, 3200.0 if ratio < 3 else 4800.0
    grid = {"lower": [0, 0, -2000 - 17 * h], "upper": [wide, wide, 200], "spacing": 100.0, "order": 8, "absorbing": {"width": 5},
            "blocks": [{"below": 2000.0, "spacing": h}], "boundaries": sides, "time_dispersion": "keep",
            "topography": {"expression": HILL.replace("3200", f"{wide:g}"), "sources": "elevation", "receivers": "depth"}}  # fmt: skip
    made = {
        "grid": grid,
        "material": {"expression": QUIET},
        "sources": [],
        "output": {},
        "numerics": {"precision": "double", "threads": 1},
    }
    return case(**{**made, **changes})


@pytest.mark.parametrize("ratio", [1, 2, 3])
def test_energy_is_kept_to_rounding(ratio):
    """Across faces between blocks of different order, of the same spacing or not; no growth near the largest stable step."""
    sim = simulate(settings(ratio, numerics={"precision": "double", "cfl": 0.95}))
    assert [block.scheme.order for block in sim.plan.blocks] == [4, 8] and sim.plan.scheme.grid.relief is not None
    op, rng = sim.solver.operator, np.random.default_rng(0)
    sim.solver.set_initial(lambda x, t: rng.normal(size=(len(x), 9)) * ([0.0] * 6 + [1.0] * 3))
    energy = LeapfrogEnergy(op)
    first = energy.now()
    kept = [energy.now() for _ in range(20)]
    op.advance(500)
    kept += [energy.now()]
    assert first > 0 and np.abs(np.array(kept) / first - 1).max() < 1e-12


@pytest.mark.parametrize("ratio", [1, 2])
def test_reciprocity_from_the_hill_through_the_face(ratio):
    """A force on the ground, moments below the hill, beside the face and in the block of order 8, with attenuation."""
    places = [[1460.0, 1600.0, -500.0], [1905.0, 1510.0, -1860.0], [1305.0, 1210.0, -2950.0]]
    sources = moments(places, OF_THREE, 0.1)
    output = {"receivers": {"points": [[1520.0, 1730.0, 0.0]], "interval": 0.01}}
    made = settings(ratio, sources=sources, end_time=1.6, output=output, material=ROCK, attenuation={})
    is_reciprocal(made, OF_THREE, 0.1)


def test_waves_are_those_of_order_4_with_half_the_spacing():
    """At six points a wavelength and more, on the hill, in the upper block and in the lower one."""
    source = {"kind": "moment-tensor", "location": [1450.0, 1350.0, -3050.0], "tensor": {"xy": 1e15, "xz": 5e14, "zz": 2e14},
              "time_function": {"kind": "ricker", "duration": 1.2}}  # fmt: skip
    points = [[1000.0, 900.0, 0.0], [2000.0, 2100.0, -900.0], [900.0, 1700.0, -2700.0]]
    output = {"receivers": {"points": points, "interval": 0.02}}
    made, found = settings(sources=[source], end_time=2.6, output=output), []
    for order, spacing in ((8, 100.0), (4, 50.0)):
        made["grid"] |= {"order": order, "spacing": spacing, "time_dispersion": "remove"}
        made["grid"] |= {"blocks": made["grid"]["blocks"] if order == 8 else []}
        made["numerics"] = {"precision": "single", "threads": 1}
        sim = simulate(made)
        sim.run(write=False)
        found.append(sim.receivers["values"][..., 6:])
    error = np.linalg.norm(found[0] - found[1], axis=(0, 2)) / np.linalg.norm(found[1], axis=(0, 2))
    assert error.max() < 0.03, error


@pytest.mark.parametrize("backend", ["cpu", pytest.param("opencl", marks=opencl)])
def test_backends_agree(backend):
    points = {"points": [[900.0, 800.0, 0.0], [1500.0, 1300.0, -2800.0]], "interval": 0.02}
    source = {"kind": "moment-tensor", "location": [1450.0, 1350.0, -1850.0], "tensor": {"xy": 1e15, "zz": 2e14},
              "time_function": {"kind": "gaussian", "duration": 0.2}}  # fmt: skip
    found = []
    for name in ("numpy", backend):
        numerics = {"precision": "double", "backend": name, "threads": 1}
        made = settings(sources=[source], end_time=0.4, output={"receivers": points}, numerics=numerics)
        sim = simulate(made)
        sim.run(write=False)
        found.append(sim.receivers["values"])
    assert (np.abs(found[0]).max((0, 2)) > 0).all()
    assert np.abs(found[1] - found[0]).max() <= 1e-12 * np.abs(found[0]).max()


def recorded(folder):
    points = {"points": [[900.0, 800.0, 0.0], [1500.0, 1300.0, -2800.0]], "interval": 0.02}
    source = {"kind": "moment-tensor", "location": [1450.0, 1350.0, -1850.0], "tensor": {"xy": 1e15, "zz": 2e14},
              "time_function": {"kind": "gaussian", "duration": 0.2}}  # fmt: skip
    output = {"folder": str(folder), "receivers": points, "surface": {"interval": 0.2}, "energies": {"interval": 0.1},
              "checkpoint": {"interval": 0.1}}  # fmt: skip
    sides = {"x": "absorbing", "y": "periodic", "z-": "absorbing", "z+": "free-surface"}
    return settings(2, sides, sources=[source], end_time=0.5, output=output)


def test_resumed_is_undisturbed(tmp_path, monkeypatch):
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    fw.simulate(recorded(tmp_path / "whole")).run()
    sim = fw.simulate(recorded(tmp_path / "parts"))
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.25))
    fw.resume(tmp_path / "parts").run()
    same(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.mpi
def test_processes_compute_the_same_bits(tmp_path):
    """Of maps and energies; sums over the points around a receiver are the same to rounding."""
    made = recorded(tmp_path / "one") | {"end_time": 0.3}
    fw.simulate(made).run()
    done = launch(2, recorded(tmp_path / "two") | {"end_time": 0.3})
    assert done.returncode == 0, done.stderr
    expected, found = (datasets(tmp_path / name) | fields(tmp_path / name, ["surface"]) for name in ("one", "two"))
    assert expected.keys() == found.keys() and len(found) > 3
    for name, values in expected.items():
        if name == "run-receivers.h5/receivers/values":
            assert 0 < np.abs(values).max() and np.abs(values - found[name]).max() < 1e-15 * np.abs(values).max()
        else:
            assert np.array_equal(values, found[name]), name


def test_what_it_needs_is_told():
    grid = settings()["grid"]
    words = problems(grid=grid | {"blocks": []}, sources=[], output={})
    assert (
        "grid.order: 8 needs flat planes, but those below a topography are curved" in words and "grid.blocks" in words
    )
    flat = {name: value for name, value in grid.items() if name != "topography"}
    assert "100 m is 1 times the 100 m of the block above" in problems(grid=flat, sources=[], output={})
