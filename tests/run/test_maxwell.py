"""Electromagnetic cases from settings to results: SI units, defaults, regions by name, walls, bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.dg import report
from faultwave.verify.exact.cavity import Cavity

C0 = 1 / np.sqrt(8.8541878128e-12 * 1.25663706212e-6)
Z0 = np.sqrt(1.25663706212e-6 / 8.8541878128e-12)


def box(cells: tuple[int, int, int], upper: tuple[float, float, float], boundaries: dict[str, str]) -> dict[str, Any]:
    return {
        "generate": {"shape": "box", "cells": cells, "lower": (0.0, 0.0, 0.0), "upper": upper, "boundaries": boundaries}
    }


def case(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "law": "maxwell", "end_time": 1e-10, "mesh": box((2, 2, 2), (0.03,) * 3, dict.fromkeys("xyz", "pec")),
        "material": {"constant": {"relative_permittivity": 1.0}}, "numerics": {"order": 4},
    }  # fmt: skip
    return base | changes


@pytest.mark.parametrize("precision, tolerance", [("double", 1e-9), ("single", 3e-5)])
@pytest.mark.parametrize("order", (3, 7))
def test_si_units_at_any_precision(precision: str, tolerance: float, order: int) -> None:
    """A vacuum cavity of 3 cm is the unit cavity in units of its own, also where powers of 1/dt pass those of single precision."""
    side, end = 0.03, 0.4
    unit = Cavity()

    def si(x: np.ndarray, t: float) -> np.ndarray:
        q = unit(x / side, t * C0 / side)
        return np.concatenate([q[:, :3], q[:, 3:] / Z0], 1)

    numerics = {"order": order, "precision": precision, "clustering": {"rates": [1]}}
    mine = fw.simulate(case(end_time=end * side / C0, numerics=numerics))
    mine.set_initial(si)
    mine.run(write=False)
    plain = fw.simulate(
        case(
            end_time=end, numerics=numerics | {"precision": "double"}, mesh=box((2, 2, 2), (1.0,) * 3, dict.fromkeys("xyz", "pec")),
            material={"constant": {"permittivity": 1.0, "permeability": 1.0}},
        )
    )  # fmt: skip
    plain.set_initial(unit)
    plain.run(write=False)
    where = np.random.default_rng(0).uniform(0.05, 0.95, (20, 3))
    want = plain.sample(where)
    got = mine.sample(where * side) * np.array([1, 1, 1, Z0, Z0, Z0])
    np.testing.assert_allclose(got, want, atol=tolerance)
    energy = mine.energy_now()
    assert set(energy) == {"electric_energy", "magnetic_energy"}


@pytest.mark.parametrize("ratio", (0.0, 0.25, 1.0, 3.0, 20.0))
def test_impedance_wall_reflects_as_it_should(ratio: float) -> None:
    """A pulse at normal incidence comes back with (Zb - Z)/(Zb + Z)."""
    length, width = 2.0, 0.08
    mesh = box((20, 1, 1), (length, 0.1, 0.1), {"x-": "absorbing", "x+": "impedance", "y": "pec", "z": "pmc"})
    sim = fw.simulate(
        case(
            end_time=1.3, mesh=mesh, material={"constant": {"permittivity": 1.0, "permeability": 1.0}}, impedances={10: ratio},
            numerics={"order": 5},
        )
    )  # fmt: skip

    def pulse(x: np.ndarray, sign: float) -> np.ndarray:
        q = np.zeros((len(x), 6))
        q[:, 1] = np.exp(-(((x[:, 0] - (1.3 if sign > 0 else 1.4)) / width) ** 2))
        q[:, 5] = sign * q[:, 1]
        return q

    sim.set_initial(lambda x, t: pulse(x, 1.0))
    sim.run(write=False)
    x = np.stack([np.linspace(0.9, 1.9, 101), np.full(101, 0.04), np.full(101, 0.06)], 1)
    coefficient = (ratio - 1) / (ratio + 1)
    np.testing.assert_allclose(sim.sample(x)[:, 1], coefficient * pulse(x, -1.0)[:, 1], atol=0.01)


def two_regions(folder: Path) -> Path:
    """A bar of two volumes, 'left' and 'right', closed by the surface 'walls'; Gmsh numbers them all by itself."""
    gmsh = pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    gmsh.initialize(argv=[], readConfigFiles=False, interruptible=False)
    try:
        gmsh.option.setNumber("General.Verbosity", 1)
        occ = gmsh.model.occ
        a, b = occ.addBox(0, 0, 0, 0.5, 1, 1), occ.addBox(0.5, 0, 0, 0.5, 1, 1)
        occ.fragment([(3, a)], [(3, b)])
        occ.synchronize()
        for dimension, tag in gmsh.model.getEntities(3):
            left = gmsh.model.occ.getCenterOfMass(dimension, tag)[0] < 0.5
            gmsh.model.addPhysicalGroup(3, [tag], name="left" if left else "right")
        outer = [t for _, t in gmsh.model.getBoundary(gmsh.model.getEntities(3), oriented=False)]
        gmsh.model.addPhysicalGroup(2, outer, name="walls")
        gmsh.model.mesh.setSize(gmsh.model.getEntities(0), 0.5)
        gmsh.model.mesh.generate(3)
        path = folder / "bar.msh"
        gmsh.write(str(path))
    finally:
        gmsh.finalize()
    return path


def test_materials_and_walls_by_physical_name(tmp_path: Path) -> None:
    mesh = {"file": str(two_regions(tmp_path)), "boundaries": {"pec": ["walls"]}}
    regions = {"left": {"relative_permittivity": 4.0}, "right": {"permittivity": "20 pF/m", "conductivity": "0.1 S/m"}}
    sim = fw.simulate(case(mesh=mesh, material={"regions": regions}))
    left = sim.plan.geometry.centroids[:, 0] < 0.5
    material = sim.plan.material
    np.testing.assert_allclose(material["permittivity"], np.where(left, 4 * 8.8541878128e-12, 20e-12))
    np.testing.assert_allclose(material["conductivity"], np.where(left, 0.0, 0.1))
    np.testing.assert_allclose(material["permeability"], 1.25663706212e-6)


@pytest.mark.parametrize(
    "material, boundaries, said",
    [
        ({"left": {"relative_permittivity": 1.0}}, ["walls"], "no parameters are defined for volume 'right'"),
        ({"left": {"permittivity": 1.0}, "rihgt": {"permittivity": 1.0}}, ["walls"], "did you mean 'right'"),
        ({"left": {"permittivity": 1.0}, "right": {"permittivity": 0.0}}, ["walls"], "permittivity: 0 is not above 0"),
        ({"left": {"permittivity": 1.0}, "right": {"conductivity": -1.0}}, ["walls"], "conductivity: -1 is negative"),
        ({"left": {}, "right": {}}, ["wals"], "did you mean 'walls'"),
        ({"left": {"relative_permitivity": 4}, "right": {}}, ["walls"], "did you mean 'relative_permittivity'"),
        ({"left": {"vp": 4.0}, "right": {}}, ["walls"], "'vp' is not a parameter of the maxwell law"),
        (
            {"left": {"permittivity": 1, "relative_permittivity": 4}, "right": {}},
            ["walls"],
            "permittivity is defined twice",
        ),
        ({"left": {}, "right": {}}, [], "with tag [0-9]+ 'walls'"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, material: dict, boundaries: list[str], said: str) -> None:
    mesh = {"file": str(two_regions(tmp_path)), "boundaries": {"pec": boundaries}}
    with pytest.raises(InputError, match=said):
        fw.simulate(case(mesh=mesh, material={"regions": material}))


@pytest.mark.parametrize(
    "side, said", [(0.03, "3 wavelengths"), (30.0, "Is the geometry in metres"), (3e-5, "Is the geometry in metres")]
)
def test_a_slip_of_units_shows_in_the_plan(side: float, said: str) -> None:
    """A box of 30 mm at 30 GHz; of 30 m where millimetres were read as metres, and the other way round."""
    burst = {"kind": "burst", "frequency": "28 GHz", "duration": 0.25e-9}
    current = {"kind": "point", "location": [side / 3] * 3, "moment": [0, 0, 1], "time_function": burst}
    sim = fw.simulate(case(mesh=box((6, 6, 6), (side,) * 3, dict.fromkeys("xyz", "pec")), currents=[current]))
    rows = dict(report._resolution(sim.plan))
    text = rows["at 3e+10 Hz, the highest requested"]
    assert said in text and ("in metres" in text) == (side != 0.03)


@pytest.mark.parametrize("side, slipped", [(0.03, False), (30.0, True)])
def test_a_slip_of_units_shows_where_no_frequency_is_named(side: float, slipped: bool) -> None:
    sim = fw.simulate(case(mesh=box((2, 2, 2), (side,) * 3, dict.fromkeys("xyz", "pec"))))
    assert ("in metres" in dict(report._resolution(sim.plan))["waves cross the mesh"]) == slipped


def test_one_factor_scales_a_mesh_of_millimetres() -> None:
    mesh = box((2, 2, 2), (30.0,) * 3, dict.fromkeys("xyz", "pec"))
    for scaling in (0.001, (0.001, 0.001, 0.001), ((0.001, 0, 0), (0, 0.001, 0), (0, 0, 0.001))):
        sim = fw.simulate(case(mesh=mesh | {"scaling": scaling}))
        np.testing.assert_allclose(sim.plan.mesh.vertices.max(0), 0.03)
    with pytest.raises(InputError, match="scaling"):
        fw.simulate(case(mesh=mesh | {"scaling": "small"}))


def test_snapshots_of_the_volume_are_the_field(tmp_path: Path) -> None:
    """Against the exact cavity, at the centroids of cells of several shapes."""
    unit = Cavity()
    mesh = box((4, 4, 4), (1.0,) * 3, dict.fromkeys("xyz", "pec"))
    mesh["generate"] |= {"shuffle": True, "perturb": 0.1}
    output = {"folder": str(tmp_path / "out"), "volume": {"interval": 0.2}, "precision": "double"}
    constant = {"constant": {"permittivity": 1.0, "permeability": 1.0}}
    sim = fw.simulate(case(mesh=mesh, end_time=0.4, material=constant, output=output, numerics={"order": 5}))
    sim.set_initial(unit)
    sim.run()
    with h5py.File(next((tmp_path / "out").glob("*volume*.vtkhdf"))) as file:
        group = file["VTKHDF"]
        found = np.stack([group["CellData"][name][-len(sim.plan.mesh.cells) :] for name in sim.plan.law.quantities], 1)
        points, cells = group["Points"][:], group["Connectivity"][:].reshape(-1, 4)
    want = unit(points[cells[: len(found)]].mean(1), 0.4)
    assert np.abs(want).max() > 0.3
    assert np.abs(found - want).max() < 5e-3


def test_a_wall_without_impedance_is_told() -> None:
    mesh = box((2, 2, 2), (1.0,) * 3, {"x": "impedance", "y": "pec", "z": "pmc"})
    with pytest.raises(InputError, match="no impedance is defined for the faces"):
        fw.simulate(case(mesh=mesh))
    with pytest.raises(InputError, match="cannot add energy"):
        fw.simulate(case(mesh=mesh, impedances={10: -50.0}))
    for value in (float("inf"), float("nan")):
        with pytest.raises(InputError, match="finite.*pmc"):
            fw.simulate(case(mesh=mesh, impedances={10: value}))
