"""Waves that come into a box of one block of a grid: exact as in a grid of one spacing, wherever the box lies."""

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends import missing
from faultwave.base.errors import RunError
from faultwave.observe.boxes import VELOCITIES, read_box_record
from tests.messages import expect
from tests.run.launch import launch

from .test_injection import largest, motion, told
from .test_injection_ranks import values
from .test_restart import Stopped

opencl = pytest.mark.skipif(bool(missing("opencl")), reason=missing("opencl"))
BOXES = {"above": ([400, 400, -600], [1200, 1200, 0]), "below": ([400, 400, -2900], [1200, 1200, -1900])}
POINTS = [
    [800, 790, -200],
    [810, 720, -2400],
    [1390, 800, -310],
    [170, 1380, -2450],
    [1390, 1310, 0],
    [1390, 1200, -1450],
]
INSIDE = {"above": [0], "below": [1]}
OUTSIDE = [2, 3, 4, 5]
ROCK = {"rho": 2700.0, "vp": 3464.0, "Qp": 60, "Qs": 30}
SOFT = {
    "above": "if (abs(x-800)<170 && abs(y-760)<170 && z > -300) {return 1500;} return 2000;",
    "below": "if (abs(x-800)<170 && abs(y-760)<170 && z > -2650 && z < -2250) {return 1500;} return 2000;",
}


def settings(folder, box, soft=False, record=None, **changes):
    """20 planes of 50 m above 24 of 100 m, a source between the two boxes; or, of a ``record``, its waves instead of the source."""
    lower, upper = BOXES[box]
    made = {
        "engine": "fd", "end_time": 0.9, "attenuation": {},
        "grid": {"lower": [0, 0, -3400], "upper": [1600, 1600, 0], "spacing": 50.0, "blocks": [{"below": 1000.0, "spacing": 100.0}],
                 "frequency": 3.0, "points_per_wavelength": 4, "step": 0.006, "absorbing": {"width": 5, "frequency": 2.0}},
        "material": {"constant": ROCK, "expression": {"vs": SOFT[box] if soft else "return 2000;"}},
        "sources": [{"kind": "moment-tensor", "location": [200, 300, -1320], "tensor": {"xy": 1e15, "xx": 4e14, "zz": -4e14},
                     "time_function": {"kind": "ricker", "duration": 0.3}}],
        "numerics": {"precision": "double", "threads": 1},
        "output": {"folder": str(folder), "receivers": {"points": POINTS, "interval": 0.02}, "box": {"lower": lower, "upper": upper}},
    }  # fmt: skip
    if record is not None:
        made |= {"sources": [], "injection": {"file": str(record)}}
        del made["output"]["box"]
    return made | changes


@pytest.mark.parametrize("box", BOXES)
def test_scattered_field_is_the_difference_of_two_runs(tmp_path, box):
    """Inside, the box holds what a run with source and soft rock holds, and outside, in both blocks, what the soft rock has changed."""
    plain, soft = (motion(settings(tmp_path / f"soft {kind}", box, kind)) for kind in (False, True))
    record = tmp_path / "soft False/run-box.h5"
    again = motion(settings(tmp_path / "again", box, False, record))
    scattered = motion(settings(tmp_path / "scattered", box, True, record))
    inside = INSIDE[box]
    scale = largest(plain, [*inside, *OUTSIDE])
    assert (largest(plain, inside) > 1e-3 * scale).all() and (largest(scattered, OUTSIDE) > 1e-5 * scale).all()
    assert (largest(again - plain, inside) < 1e-13 * scale).all()
    assert (largest(again, OUTSIDE) < 1e-13 * scale).all()
    assert (largest(scattered - soft, inside) < 1e-13 * scale).all()
    assert (largest(scattered - (soft - plain), OUTSIDE) < 1e-13 * scale).all()


@pytest.mark.parametrize("backend", ["numpy", pytest.param("opencl", marks=opencl)])
def test_backends_record_and_let_in_alike(tmp_path, backend):
    sides = {"x": "rigid", "y": "rigid", "z-": "rigid", "z+": "free-surface"}
    found = {}
    for name in ("cpu", backend):
        made = settings(tmp_path / name, "below", end_time=0.6)
        made["grid"] |= {"boundaries": sides}
        made["numerics"]["backend"] = name
        found[name] = motion(made)
        made = settings(tmp_path / f"{name} in", "below", True, tmp_path / f"{name}/run-box.h5", end_time=0.6)
        made["grid"] |= {"boundaries": sides}
        made["numerics"]["backend"] = name
        found[f"{name} in"] = motion(made)
    for kind in ("", " in"):
        one, other = found["cpu" + kind], found[backend + kind]
        assert np.abs(one).max() > 0 and np.abs(other - one).max() < 1e-12 * np.abs(one).max()


def test_killed_and_resumed_it_is_the_same(tmp_path, monkeypatch):
    """To the last bit, both the record and the run that lets it in."""
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    for kind, record in (("record", None), ("let in", tmp_path / "record/run-box.h5")):
        whole = motion(settings(tmp_path / kind, "below", record=record, end_time=0.6))
        made = settings(tmp_path / f"{kind} in parts", "below", record=record, end_time=0.6)
        made["output"]["checkpoint"] = {"interval": 0.1}
        sim = fw.simulate(made)
        with pytest.raises(RunError, match=r"faultwave\.resume"):
            sim.run(progress=Stopped(sim, 0.27))
        resumed = fw.resume(tmp_path / f"{kind} in parts")
        resumed.run()
        assert np.array_equal(resumed.receivers["values"], whole)
    one, other = (read_box_record(tmp_path / name / "run-box.h5") for name in ("record", "record in parts"))
    for name, of in one.read(VELOCITIES, 0, one.samples).items():
        assert one.samples == other.samples and np.array_equal(of, other.read([name], 0, one.samples)[name])


@pytest.mark.mpi
def test_processes_record_and_let_in_the_same_bits(tmp_path):
    changes = {"end_time": 0.4}
    fw.simulate(settings(tmp_path / "one", "below", **changes)).run()
    fw.simulate(settings(tmp_path / "one in", "below", True, tmp_path / "one/run-box.h5", **changes)).run()
    done = launch(2, settings(tmp_path / "two", "below", **changes))
    assert done.returncode == 0, done.stderr
    done = launch(2, settings(tmp_path / "two in", "below", True, tmp_path / "one/run-box.h5", **changes))
    assert done.returncode == 0, done.stderr
    for name in ("run-box.h5", "run-receivers.h5"):
        alone, shared = values(tmp_path / "one" / name), values(tmp_path / "two" / name)
        assert alone.keys() == shared.keys() and all(np.array_equal(v, shared[n]) for n, v in alone.items())
    alone, shared = (values(tmp_path / f"{name} in/run-receivers.h5") for name in ("one", "two"))
    assert np.abs(alone["receivers/values"]).max() > 0
    assert alone.keys() == shared.keys() and all(np.array_equal(v, shared[n]) for n, v in alone.items())


def test_a_lattice_may_cross_the_face(tmp_path):
    """Its points are read in the block that each lies in, and let into a grid of one spacing."""
    made = settings(tmp_path / "blocks", "above", end_time=1.2)
    made["output"]["box"] = {
        "lower": [400, 400, -1500],
        "upper": [1200, 1200, -500],
        "spacing": 100.0,
        "interval": 0.006,
    }
    made["output"]["receivers"]["points"] = points = [
        [800, 790, -900],
        [750, 800, -1100],
        [1390, 800, -310],
        [1390, 1310, 0],
    ]
    made["sources"][0]["time_function"]["duration"] = 0.8
    blocks = made["grid"].pop("blocks")
    one = motion(made | {"output": made["output"] | {"folder": str(tmp_path / "one")}})
    made["grid"]["blocks"] = blocks
    motion(made)
    again = settings(tmp_path / "again", "above", record=tmp_path / "blocks/run-box.h5", end_time=1.19)
    again["grid"]["blocks"], again["output"]["receivers"]["points"] = [], points
    found = motion(again)
    one = one[: len(found)]
    scale = largest(one, [0, 1])
    assert (largest(found - one, [0, 1]) < 0.08 * scale).all() and (largest(found, [2, 3]) < 0.04 * scale).all()


@pytest.mark.parametrize(
    ('lower', 'upper'),
    [
        ([400, 400, -2900], [1200, 1200, -1700]),
        ([400, 400, -700], [1200, 1200, 0]),
        ([400, 400, -1600], [1200, 1200, -200]),
        ([400, 400, -3200], [1200, 1200, -1900]),
    ],
)  # fmt: skip
def test_boxes_near_faces_are_told_before_the_run(tmp_path, lower, upper):
    made = settings(tmp_path, "below")
    made["output"]["box"] = {"lower": lower, "upper": upper}
    expect(told(made))
