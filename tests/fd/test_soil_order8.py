"""Soft soil with finite differences of order 8."""

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends import missing
from faultwave.base.errors import RunError
from faultwave.fd.capabilities import soil
from faultwave.fd.method.stencils import FIELDS
from faultwave.verify.cases.grids.soil import END, column, independent
from tests.run.launch import launch

from .test_plasticity import energies, numbers
from .test_restart import Stopped
from .test_soil import basin, check_records, ended, locked, same, same_records

EIGHTH = {"order": 8, "time_dispersion": "keep"}


def eighth(*args, **changes):
    """The basin of soil with order 8, without attenuation (with it, see ``test_combinations``)."""
    made = basin(*args, **{"end_time": 0.3, **changes})
    made.pop("attenuation")
    made["grid"] |= EIGHTH
    return made


def test_soil_that_hardly_moves_is_linear_to_the_last_bit():
    soft = eighth("1e3", end_time=0.2)
    a, b = ended(soft), ended({key: value for key, value in soft.items() if key != "soil"})
    for name in FIELDS:
        assert a.solver.operator.values(name).tobytes() == b.solver.operator.values(name).tobytes(), name
        assert a.solver.operator.values(name).any()
    assert a.solver.energies()["soil_work"] == 0


def test_a_column_follows_an_independent_integration():
    """At eight cells from the surface to the rock."""
    times = np.arange(0.01, END - 0.01, 0.002)
    exact, h = independent(times), 2.5
    made = column(1)
    made["grid"] |= EIGHTH | {"spacing": h, "upper": [16 * h, 16 * h, 0]}
    made["grid"]["absorbing"]["width"] = 8
    sim = ended(made)
    check_records(sim.result("soil_receivers"), sim.result("soil_maps"), 3.75, (-18.75, -8.75))
    data = sim.receivers
    found = np.interp(times, data.variables["time"].data, data.variables["values"].data[:, 0, 7])
    assert np.linalg.norm(found - exact) < 0.01 * np.linalg.norm(exact)


def test_energy_falls_while_soil_dissipates():
    """A closed box, once the source is silent."""
    made = eighth("1e-5", grid__boundaries={"x": "periodic", "y": "periodic", "z-": "rigid"}, end_time=0.6)
    made["material"]["expression"]["vs"] = "if (z > -600) { return 1700.; } return 2000.;"
    made["numerics"]["precision"] = "double"
    made["sources"][0] |= {"time_function": {"kind": "triangle", "duration": 0.2}, "location": [750, 730, -420]}
    sim, found = fw.simulate(made), []
    sim.solver.operator.advance(sim.plan.steps // 2)
    for _ in range(4):
        sim.solver.operator.advance(sim.plan.steps // 8)
        e = sim.solver.energies()
        found.append((e["elastic_energy"] + e["elastic_kinetic_energy"] + locked(sim), e["soil_work"]))
    waves, work = np.array(found).T
    assert (np.diff(waves) < 0).all() and (np.diff(work) > 0).all()
    assert 0.9 < (waves[0] - waves[-1]) / (work[-1] - work[0]) < 2.0


@pytest.mark.parametrize(
    "backend",
    ["cpu", pytest.param("opencl", marks=pytest.mark.skipif(bool(missing("opencl")), reason="no OpenCL"))],
)
def test_backends_agree(backend):
    """Also in what tiles of soil hold, next to a free surface and below it."""
    found = []
    for name in ("numpy", backend):
        made = eighth(end_time=0.25)
        made["numerics"] |= {"backend": name, "precision": "double"}
        sim = ended(made)
        view = sim.solver.operator.runner.values
        names = [t.named(n) for t in sim.plan.parts["soil"].blocks[0].tiles for n in (soil.WORK, soil.PEAK)]
        found.append({n: view(n).copy() for n in (*FIELDS, *names)})
    assert any(values.any() for n, values in found[0].items() if n.startswith(soil.WORK))
    for n, values in found[0].items():
        assert np.abs(values - found[1][n]).max() <= 1e-10 * np.abs(values).max(), n


def test_resumed_is_undisturbed(tmp_path, monkeypatch):
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    fw.simulate(eighth(folder=tmp_path / "whole", end_time=0.32)).run()
    sim = fw.simulate(eighth(folder=tmp_path / "parts", end_time=0.32))
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.27))
    fw.resume(tmp_path / "parts").run()
    whole, parts = numbers(tmp_path / "whole"), numbers(tmp_path / "parts")
    assert whole.keys() == parts.keys() and len(whole)
    for name, values in whole.items():
        assert same(values, parts[name]), name
    same_records(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.mpi
def test_processes_give_the_same(tmp_path):
    fw.simulate(eighth(folder=tmp_path / "one", grid__spacing=50.0, end_time=0.35)).run()
    done = launch(2, eighth(folder=tmp_path / "more", grid__spacing=50.0, end_time=0.35))
    assert done.returncode == 0, done.stderr
    one, more = numbers(tmp_path / "one"), numbers(tmp_path / "more")
    assert one.keys() == more.keys() and len(one)
    for name, values in one.items():
        assert same(values, more[name]), name
    same_records(tmp_path / "one", tmp_path / "more")
    a, b = energies(tmp_path / "one"), energies(tmp_path / "more")
    assert np.abs(a - b).max() <= 1e-12 * np.abs(a).max()
