"""Electromagnetic drives, surfaces and other integrators on several processes, stopped on some and resumed on others."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import faultwave as fw
from faultwave.domain.tets import write_puml
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.mesh import make_mesh
from faultwave.output.formats.csv_tables import read_energies
from faultwave.output.formats.receivers_hdf5 import read_receivers
from tests.run.launch import launch
from tests.run.test_ranks import STOP

pytestmark = pytest.mark.mpi

PULSE = {"kind": "gaussian", "duration": 0.3}


def scatterer(path):
    """A cube of group 2 in a box of cells of different sizes; a sheet of tag 20 beside it."""
    sides = dict.fromkeys("xyz", "absorbing")
    mesh = box_mesh(Box((6,) * 3, (0,) * 3, (1.0,) * 3, sides, shuffle=True, perturb=0.2, fault=("x", 5 / 6)))
    centres = mesh.vertices[mesh.cells].mean(1)
    groups = np.where((np.abs(centres - 0.5) < 1 / 6).all(1), 2, 1)
    x = mesh.vertices * np.where(mesh.vertices < 0.34, 0.5, 1.0) + np.where(mesh.vertices < 0.34, 0.17, 0.0)
    write_puml(path, make_mesh(x, mesh.cells, groups, np.where(mesh.tags == 3, 20, mesh.tags)))


def electric(tmp_path, name, integrator):
    file = tmp_path / "mesh.h5"
    if not file.exists():
        scatterer(file)
    rock = {"permittivity": 1.0, "permeability": 1.0}
    return {
        "law": "maxwell", "end_time": 1.2, "mesh": {"file": str(file), "boundaries": {"absorbing": [5], "regular": [0, 20]}},
        "material": {"regions": {1: rock, 2: rock}},
        "numerics": {"order": 3, "integrator": integrator, "threads": 1},
        "incident": [{"direction": [1, 0, 0], "amplitude": [0, 3, 0], "volumes": [2], "time_function": PULSE}],
        "currents": [
            {"kind": "sheet", "surface": 20, "density": [0.0, 2.0, 0.0], "time_function": PULSE},
            {"kind": "volume", "volumes": [2], "density": [0.0, 0.0, 1.0], "time_function": PULSE},
            {"kind": "point", "location": [0.31, 0.42, 0.6], "moment": [0.1, 0.0, 0.0], "time_function": PULSE},
        ],
        "output": {
            "folder": str(tmp_path / name), "precision": "double", "flux": [{"surface": 5, "interval": 0.02}],
            "receivers": {"points": [[0.21, 0.5, 0.52], [0.9, 0.8, 0.7], [0.51, 0.47, 0.55]], "interval": 0.02},
            "far_field": {"volumes": [2], "frequencies": [0.5, 1.0], "theta": [90.0], "phi": [0.0, 90.0, 180.0]},
            "spectrum": {"band": [0.2, 5.0]}, "checkpoint": {"interval": 0.3},
        },
    }  # fmt: skip


def compare(folder, reference):
    ours, theirs = (read_receivers(f / "run-receivers.h5")["receivers"]["values"] for f in (folder, reference))
    np.testing.assert_array_equal(ours, theirs)
    assert np.abs(theirs[..., :3]).max((0, 2)).min() > 0
    flux = [read_energies(f / "run-flux-5.csv")["flux through 5"] for f in (folder, reference)]
    np.testing.assert_allclose(*flux, rtol=0, atol=1e-9 * np.abs(flux[1]).max())
    tables = [np.loadtxt(f / "run-far-field.csv", delimiter=",", skiprows=1) for f in (folder, reference)]
    np.testing.assert_allclose(*tables, rtol=1e-7)
    assert (folder / "run-resonances.csv").read_text() == (reference / "run-resonances.csv").read_text()


@pytest.mark.parametrize("integrator", ["ader", "rk4", pytest.param("leapfrog", marks=pytest.mark.slow)])
def test_drives_and_surfaces(tmp_path, integrator):
    """The same on one process, on two that are stopped and resumed on three, and resumed on one."""
    reference = fw.simulate(electric(tmp_path, "one", integrator)).run()
    assert integrator != "ader" or len(reference.plan.clustering.steps) > 1
    stop = STOP.replace("0.2", "0.7")
    done = launch(2, electric(tmp_path, "two", integrator), run=stop)
    assert "faultwave.resume" in done.stderr, done.stderr
    shutil.copytree(tmp_path / "two", tmp_path / "three")
    done = launch(3, str(tmp_path / "two"))
    assert done.returncode == 0, done.stderr
    compare(tmp_path / "two", tmp_path / "one")
    fw.resume(tmp_path / "three").run()
    compare(tmp_path / "three", tmp_path / "one")


def test_scattering_parameters(tmp_path):
    """Ports on two processes, each run by all of them."""
    from faultwave.run.scattering import scattering
    from tests.run.test_ports import guide

    with guide(cells=(4, 2, 2), end_time=6.0) as case:
        case["ports"]["band"] = [0.6, 1.8]  # of a burst that is over by then
        alone = scattering(case)
        after = (
            "from faultwave.run.scattering import scattering\n"
            "found = scattering(case)\n"
            f"np.save('{tmp_path}/s.npy', found.s) if sim.world.first else None"
        )
        done = launch(2, case | {"output": {"folder": str(tmp_path / "out")}}, after=after)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "s.npy"), alone.s, rtol=0, atol=1e-9)
