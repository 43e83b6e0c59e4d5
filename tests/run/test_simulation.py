"""A run as a whole: results, files, blow-up, interrupt, full disk."""

from __future__ import annotations

import contextlib
import json
import signal

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, Interrupted, RunError
from faultwave.dg.planning import plan as planning
from faultwave.output.formats.vtkhdf import VtkHdfReader

PULSE = {"kind": "triangle", "duration": 0.5}
WAVE = {"mode": "P", "k": [np.pi, np.pi, np.pi], "amplitude": 1.0}


def case(folder, **changes):
    """Plane wave in a periodic box whose cells differ in size, so that there are several clusters."""
    base = {
        "end_time": 0.2,
        "mesh": {
            "generate": {
                "shape": "box", "cells": [3, 3, 3], "lower": [-1, -1, -1], "upper": [1, 1, 1],
                "boundaries": {"x": "periodic", "y": "periodic", "z": "periodic"}, "perturb": 0.3, "seed": 3, "shuffle": True,
            }
        },
        "material": {"constant": {"rho": 1.0, "mu": 1.0, "lambda": 2.0}},
        "initial": {"kind": "plane-wave", "wave": [WAVE]},
        "numerics": {"order": 3},
        "output": {
            "folder": str(folder), "receivers": {"points": [[0.1, 0.2, 0.3], [-0.7, 0.4, 0.9]], "interval": 0.01},
            "energies": {"interval": 0.1},
        },
    }  # fmt: skip
    for key, value in changes.items():
        base[key] = {**base[key], **value} if isinstance(base.get(key), dict) else value
    return base


def test_results_as_arrays(tmp_path):
    sim = fw.simulate(case(tmp_path / "out")).run()
    assert sim.time == pytest.approx(0.2, rel=1e-14)
    assert sim.receivers["values"].shape == (21, 2, 9)
    assert len(sim.plan.clustering.steps) > 1
    last = sim.sample(sim.receivers["location"])
    assert np.allclose(sim.receivers["values"][-1], last, rtol=1e-10, atol=1e-12)
    assert np.isnan(sim.sample([[5.0, 0.0, 0.0]])).all()
    assert sim.energies["elastic_energy"][0] > 0
    manifest = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    assert manifest["status"] == "finished"


@pytest.mark.parametrize("region", [None, [-1.0, 1.0, -1.0, 1.0, 0.4, 1.0]])
def test_snapshots_are_what_receivers_see(tmp_path, region):
    """In cells of every cluster, at times within steps; of the whole volume and of a part of it."""
    asked = case(tmp_path / "out")
    plan = fw.simulate(asked).plan
    cells = np.arange(plan.cells) if region is None else np.flatnonzero(plan.geometry.centroids[:, 2] > 0.4)
    seen = np.array([cells[plan.clustering.cluster[cells] == c][0] for c in range(len(plan.clustering.steps))])
    asked["output"] |= {
        "receivers": {"points": plan.geometry.centroids[seen].tolist(), "interval": 0.035}, "precision": "double",
        "volume": {"interval": 0.035, "fields": ["v3", "s_xy"]} | ({} if region is None else {"region": region}),
    }  # fmt: skip
    sim = fw.simulate(asked).run()
    columns = [list(sim.plan.law.quantities).index(name) for name in ("v3", "s_xy")]
    with VtkHdfReader(tmp_path / "out" / "run-volume.vtkhdf") as file:
        at = [int(np.flatnonzero(file.field("global-id") == c)[0]) for c in seen]
        assert len(file.field("global-id")) == len(cells) and len(file.times) == 6
        found = np.array([[file.field(n, i)[at] for n in ("v3", "s_xy")] for i in range(len(file.times))])
    known = sim.receivers["values"][..., columns].transpose(0, 2, 1)
    np.testing.assert_allclose(found, known, rtol=1e-9, atol=1e-12)
    assert np.abs(np.diff(known, axis=0)).min() > 1e-4


def test_backends_agree(tmp_path):
    runs = [fw.simulate(case(tmp_path / b), backend=b).run(write=False).receivers["values"] for b in ("cpu", "numpy")]
    assert np.allclose(*runs, rtol=1e-9, atol=1e-11)


def test_single_follows_double(tmp_path):
    double, single = (
        fw.simulate(case(tmp_path / p), precision=p).run(write=False).receivers["values"] for p in ("double", "single")
    )
    assert 0 < np.abs(double - single).max() < 1e-4 * np.abs(double).max()


def test_results_do_not_depend_on_what_is_written(tmp_path):
    plain = fw.simulate(case(tmp_path / "a")).run(write=False)
    rich = case(tmp_path / "b")
    rich["output"] |= {"volume": {"interval": 0.013, "refinement": 1}, "energies": {"interval": 0.003}}
    assert np.array_equal(plain.receivers["values"], fw.simulate(rich).run().receivers["values"])


def test_snapshots_between_steps_are_the_field_at_that_time(tmp_path):
    asked = case(tmp_path / "out", numerics={"order": 4})
    asked["output"] |= {"volume": {"interval": 0.037, "fields": ["v1", "s_xy"]}, "precision": "double"}
    sim = fw.simulate(asked).run()
    reader = VtkHdfReader(tmp_path / "out" / "run-volume.vtkhdf")
    assert np.allclose(reader.times, np.arange(6) * 0.037)
    centres = reader.points[reader.cells].mean(1)
    k = np.array(WAVE["k"])
    length = np.linalg.norm(k)
    exact = np.cos(centres @ k - 2.0 * length * reader.times[-1]) * k[0] / length
    assert np.sqrt(np.mean((reader.field("v1", 5) - exact) ** 2)) < 0.05
    assert sim.error(lambda x, t: np.zeros((len(x), 9))).shape == (9,)


def test_blow_up_explains_itself(tmp_path, monkeypatch):
    monkeypatch.setitem(planning.LARGEST_CFL, 3, 9.0)
    with pytest.raises(RunError) as caught:
        fw.simulate(case(tmp_path / "out", end_time=60.0, numerics={"order": 3, "cfl": 2.5})).run()
    text = str(caught.value)
    for word in ("blew up", "cell", "inradius", "time step", "rho = 1", "likely causes"):
        assert word in text
    reader = VtkHdfReader(tmp_path / "out" / "run-blowup.vtkhdf")
    assert np.isfinite(reader.field("v1")).all() and len(reader.cells) > 10
    assert json.loads((tmp_path / "out" / "run-manifest.json").read_text())["status"] == "failed"
    assert not list((tmp_path / "out").glob("*.tmp*"))


def test_interrupt_finishes_the_step_and_keeps_outputs(tmp_path):
    sim = fw.simulate(case(tmp_path / "out", end_time=50.0))
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RunError, match="interrupted at t ="):
        sim.run(progress=lambda p: signal.raise_signal(signal.SIGINT) if p.time > 0.1 else None)
    assert 0.1 < sim.time < 1.0
    assert (tmp_path / "out" / "run-receivers.h5").exists()
    assert json.loads((tmp_path / "out" / "run-manifest.json").read_text())["status"] == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_before_the_first_step_and_one_after_the_last(tmp_path, monkeypatch):
    """The first leaves a checkpoint to go on from, the second a finished run."""
    for name, status in (("_step", "interrupted"), ("_write", "finished")):
        sim = fw.simulate(case(tmp_path / name))
        does = getattr(sim, name)
        monkeypatch.setattr(sim, name, lambda *given, does=does: (signal.raise_signal(signal.SIGTERM), does(*given))[1])
        with pytest.raises(Interrupted) if status == "interrupted" else contextlib.nullcontext():
            sim.run()
        assert json.loads((tmp_path / name / "run-manifest.json").read_text())["status"] == status
    assert fw.resume(tmp_path / "_step").run().time == pytest.approx(0.2)


def test_a_checkpoint_of_another_case(tmp_path):
    """Put into a folder, it is not taken for that of the run there; numerics may differ."""
    stop = lambda p: signal.raise_signal(signal.SIGTERM)  # noqa: E731
    for name, rho in (("a", 1.0), ("b", 1.5)):
        asked = case(tmp_path / name, material={"constant": {"rho": rho, "mu": 1.0, "lambda": 2.0}})
        asked["sources"] = [{"kind": "force", "location": [0.1, 0.2, 0.3], "force": [1, 0, 0], "time_function": PULSE}]
        with pytest.raises(Interrupted):
            fw.simulate(asked).run(progress=stop)
    assert fw.resume(tmp_path / "b", order=2, until=0.1).time > 0
    (tmp_path / "b" / "run-checkpoints" / "000001").rename(tmp_path / "a" / "run-checkpoints" / "000002")
    with pytest.raises(
        InputError, match="000002: belongs to a different case than run-manifest.json: material.constant.rho differs"
    ):
        fw.resume(tmp_path / "a")
    (tmp_path / "a" / "run-manifest.json").unlink()
    assert fw.resume(tmp_path / "a").case.material != case("")["material"]


def test_full_disk_leaves_no_half_written_file(tmp_path, monkeypatch):
    from faultwave.output.formats import vtkhdf

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(vtkhdf.VtkHdfWriter, "_write_step", full)
    asked = case(tmp_path / "out")
    asked["output"] |= {"volume": {"interval": 0.05}}
    with pytest.raises(RunError, match="(?i)space"):
        fw.simulate(asked).run()
    there = {p.name for p in (tmp_path / "out").iterdir()}  # what was recorded is small, and fits
    assert "run-manifest.json" in there and not [name for name in there if "volume" in name or name.startswith(".")]
    assert json.loads((tmp_path / "out" / "run-manifest.json").read_text())["status"] == "failed"


def test_continuing_a_simulation(tmp_path):
    """The meeting half-way shortens steps there, which changes the discretisation error only."""
    asked = case(tmp_path / "a", numerics={"order": 5})
    whole = fw.simulate(asked).run(write=False)
    parts = fw.simulate(asked)
    parts.run(until=0.1, write=False)
    parts.run(until=0.2, write=False)
    ours, theirs = parts.receivers["values"], whole.receivers["values"]
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() < 0.02 * np.abs(theirs).max()


def test_snapshots_of_a_simulation_run_on(tmp_path):
    """The second part goes on with the files of the first, whose calls went with its files."""
    volume = {"volume": {"interval": 0.05, "fields": ["v1"]}}
    sim = fw.simulate(case(tmp_path / "a", output={**case(tmp_path / "a")["output"], **volume}), force=True)
    sim.run(until=0.1)
    sim.run()
    with VtkHdfReader(tmp_path / "a" / "run-volume.vtkhdf") as file:
        assert np.allclose(file.times, [0.0, 0.05, 0.1, 0.15, 0.2])
    assert len(set(sim.files)) == len(sim.files)


def test_a_force_gives_its_whole_impulse(tmp_path):
    """Windows of the source integral meet wherever steps are shortened."""
    pulse = {"kind": "triangle", "duration": 0.1}
    source = {"kind": "force", "location": [0.1, 0.2, 0.3], "force": [1.0, 0.0, 0.0], "time_function": pulse}
    sim = fw.simulate(case(tmp_path / "a", initial={"kind": "zero", "wave": []}, sources=[source]))
    for until in (0.013, 0.047, 0.0711, 0.2):
        sim.run(until=until, write=False)
    assert sim.energy_now()["momentumX"] == pytest.approx(
        sim.plan.part("point_sources").sources[0].integral(0.0, 1.0), rel=1e-12
    )


def test_manifest_names_every_input(tmp_path):
    (tmp_path / "points.txt").write_text("0.1 0.2 0.3\n")
    (tmp_path / "material.yaml").write_text("!ConstantMap\nmap: {rho: 1.0, mu: 1.0, lambda: 2.0}\n")
    asked = case(tmp_path / "out", material={"easi": str(tmp_path / "material.yaml"), "constant": {}})
    asked["output"]["receivers"] = {"file": str(tmp_path / "points.txt")}
    fw.simulate(asked, until=0.01).run()
    manifest = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    assert {"points.txt", "material.yaml"} == {name.rsplit("/", 1)[-1] for name in manifest["inputs"]}
