"""Decks with a sea, exact solutions and the cube generator, as the field's convergence tests have them."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from faultwave.run import simulate
from tests.run.sea.setup import ocean

DECK = """\
&equations
MaterialFileName = 'material.yaml'
BoundaryFileName = 'boundary.yaml'
GravitationalAcceleration = 9.81e-3
/
&IniCondition
cICType = 'Ocean_0'
/
&MeshNml
MeshFile = 'cubes'
meshgenerator = 'cubegenerator'
/
&CubeGenerator
cubex = 8
cubey = 8
cubez = 2
cubeminx = 1
cubemaxx = 1
cubeminy = 1
cubemaxy = 1
cubeminz = 4
cubemaxz = 2
cubes = 10
cubesz = 1
cubetx = 5
cubety = 5
cubetz = -0.5
/
&Discretization
CFL = 0.5
ClusteredLTS = 2
/
&Output
OutputFile = 'output/ocean'
iOutputMask = 1 1 1 1 1 1 1 1 1
ReceiverOutput = 0
EnergyOutput = 1
EnergyOutputInterval = 1
/
&AbortCriteria
EndTime = 5.0
/
"""


def write(folder, text=DECK):
    (folder / "material.yaml").write_text("!ConstantMap\nmap:\n  rho: 1.0\n  mu: 0.0\n  lambda: 2.25\n")
    (folder / "boundary.yaml").write_text("!ConstantMap\nmap:\n  map_u_u: -1.0\n")
    (folder / "parameters.par").write_text(text)
    return folder / "parameters.par"


def errors(folder, norm):
    with open(folder / "ocean-analysis.csv", newline="") as file:
        return np.array([float(r["error"]) for r in csv.DictReader(file) if r["norm"] == norm])


@pytest.mark.parametrize("order, limit", [(2, 3e-2), (3, 3e-3)])
def test_a_mode_of_the_ocean(tmp_path, order, limit):
    sim = simulate(write(tmp_path), order=order, output=tmp_path / "out").run()
    found = errors(tmp_path / "out", "L2_rel")
    assert found.shape == (9,) and found[[0, 6, 7, 8]].max() < limit
    np.testing.assert_allclose(found[:3], found[0])
    assert max(sim.error(ocean(0, True))[6:]) < limit
    energies = sim.energies
    whole = sum(energies[n] for n in ("gravitational_energy", "acoustic_energy", "acoustic_kinetic_energy"))
    assert energies["gravitational_energy"][-1] > 0.04 * whole[0]
    np.testing.assert_allclose(whole, whole[0], rtol=2e-3 if order == 2 else 2e-5)


PLANE = (
    DECK.replace("'Ocean_0'", "'planarwave'")
    .replace("BoundaryFileName = 'boundary.yaml'\n", "")
    .replace("cubes = 10", "cubes = 2")
    .replace("cubesz = 1\n", "")
)
PLANE = PLANE.replace("GravitationalAcceleration = 9.81e-3\n", "").replace("EndTime = 5.0", "EndTime = 0.1")


@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_plane_waves_of_a_periodic_box(tmp_path, mu):
    """In water there is no S wave."""
    lines = [x for x in PLANE.splitlines() if not x.startswith(("cubemin", "cubemax", "cubet"))]
    deck = write(tmp_path, "\n".join(lines).replace("cubez = 2", "cubez = 8"))
    (tmp_path / "material.yaml").write_text(f"!ConstantMap\nmap:\n  rho: 1.0\n  mu: {mu}\n  lambda: 2.0\n")
    simulate(deck, order=3, output=tmp_path / "out").run()
    found = errors(tmp_path / "out", "L2_rel")
    assert found[[0, 6]].max() < 2e-2, found
