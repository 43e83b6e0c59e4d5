"""Cases whose mesh is built from a place: they are planned and run, and what is wrong with the place is told before."""

import numpy as np
import pytest

pytest.importorskip("gmsh", exc_type=ImportError)

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.dg.checks.accuracy import within_region
from faultwave.dg.planning.plan import make_plan
from faultwave.dg.report import _resolution as resolution
from faultwave.domain import tets
from faultwave.domain.tets.mesh import FILE_FACES
from faultwave.run.engines import engine_of
from faultwave.run.inputs import load_valid_case

ROCK = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}


def write_dem(path, hole=False):
    """A coast along x = 0, the sea in the west."""
    x = np.linspace(-9e3, 9e3, 61)
    X, Y = np.meshgrid(x, x)
    z = 0.1 * X + 200.0 * np.sin(X / 2e3) * np.cos(Y / 2e3)
    if hole:
        z[30, 40] = -9999
    header = "ncols 61\nnrows 61\nxllcenter -9000\nyllcenter -9000\ncellsize 300\nNODATA_value -9999"
    np.savetxt(path, z[::-1], fmt="%.3f", header=header, comments="")
    return str(path)


def case(tmp_path, rows="-3,-1\n3,1\n", header="x[km],y[km]", **build):
    trace = tmp_path / "trace.csv"
    trace.write_text(f"{header}\n{rows}")
    return {
        "end_time": 0.2,
        "mesh": {
            "build": {
                "lower": ["-8 km", "-8 km"], "upper": ["8 km", "8 km"], "depth": "9 km", "fault_size": "1.2 km",
                "faults": [{"name": "main", "trace": str(trace), "dip": "70 deg", "depth": "5 km"}], **build,
            }
        },
        "material": {"constant": dict(ROCK)},
        "fault": {
            "friction": "linear-slip-weakening", "reference": [0.0, 1.0, 0.0], "reference_method": "direction",
            "parameters": {"constant": {"mu_s": 0.6, "mu_d": 0.3, "d_c": 0.4, "T_n": -60e6, "T_s": 40e6, "T_d": 0.0, "cohesion": 0.0}},
        },
        "numerics": {"order": 2, "backend": "numpy"},
        "output": {"folder": str(tmp_path / "out"), "energies": {"interval": 0.1}},
    }  # fmt: skip


def told(asked):
    with pytest.raises(InputError) as caught:
        make_plan(load_valid_case(asked)[0])
    return str(caught.value)


def test_a_rupture_below_a_coast_runs(tmp_path):
    asked = case(tmp_path, topography={"file": write_dem(tmp_path / "dem.asc"), "crs": "local"}, sea=True)
    asked["material"]["regions"] = {"sea": {"rho": 1030.0, "vp": 1500.0, "vs": 0.0}}
    sim = fw.simulate(asked)
    water = sim.plan.mesh.groups == 2
    assert water.any() and (sim.plan.material["mu"][water] == 0).all() and (sim.plan.material["mu"][~water] > 0).all()
    sim.run()
    energies = sim.energies
    assert energies["total_frictional_work"][-1] > 0
    assert np.isfinite(energies["elastic_kinetic_energy"]).all() and energies["elastic_kinetic_energy"][-1] > 0


def test_a_sea_surface_may_be_under_gravity(tmp_path):
    """That of the sea alone, which is level; on land the ground stays free."""
    dem = {"file": write_dem(tmp_path / "dem.asc"), "crs": "local"}
    found = {}
    for kind in ("free-surface", "gravity"):
        asked = case(tmp_path, topography=dem, sea=True, sea_surface=kind)
        asked["material"]["regions"] = {"sea": {"rho": 1030.0, "vp": 1500.0, "vs": 0.0}}
        found[kind] = make_plan(load_valid_case(asked)[0])
    free, pulled = found["free-surface"], found["gravity"]
    assert not (free.topology.kinds == tets.BoundaryKind.GRAVITY).any() and "gravity" not in free.parts
    cells, faces = np.nonzero(pulled.topology.kinds == tets.BoundaryKind.GRAVITY)
    assert (pulled.material["mu"][cells] == 0).all()
    np.testing.assert_allclose(pulled.geometry.normals[cells, faces, 2], 1.0, atol=1e-9)
    land = pulled.topology.kinds == tets.BoundaryKind.FREE_SURFACE
    assert land.any() and (pulled.material["mu"][np.nonzero(land)[0]] > 0).all()
    assert len(cells) + land.sum() == (free.topology.kinds == tets.BoundaryKind.FREE_SURFACE).sum()


def test_a_sea_surface_needs_a_sea(tmp_path):
    with pytest.raises(InputError, match="sea_surface needs sea: true"):
        load_valid_case(case(tmp_path, sea_surface="gravity"))


def test_elements_follow_the_frequency_that_is_asked_for(tmp_path):
    asked = case(tmp_path, frequency="0.35 Hz")
    asked["material"] = {
        "constant": {"rho": 2700.0},
        "expression": {"vp": "6000", "vs": "if (z > -2000.0) { return 2000; } return 3464;"},
    }
    plan = make_plan(load_valid_case(asked)[0])
    text = dict(resolution(plan))["frequency with 10 points per S wavelength"]
    assert float(text.split(" Hz")[0]) > 0.95 * 0.35
    edge = np.cbrt(6 * np.sqrt(2) * plan.geometry.volume)
    deep = plan.geometry.centroids[:, 2] < -5e3
    assert np.median(edge[deep]) > 1.2 * np.median(edge[~deep])


def test_elements_on_a_fault_follow_its_cohesive_zone(tmp_path):
    """Three points in it, order of them an edge."""
    plan = make_plan(load_valid_case(case(tmp_path, fault_size=None, cohesive_zone="1.8 km"))[0])
    cells, faces = np.nonzero(plan.mesh.tags == 3)
    corners = plan.mesh.vertices[plan.mesh.cells[:, FILE_FACES][cells, faces]]
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    assert 0.7 * 1200.0 < np.median(edges) < 1.3 * 1200.0


def test_reflections_come_back_late_enough(tmp_path):
    plan = make_plan(load_valid_case(case(tmp_path, reflections_after="1 s"))[0])
    low, high = plan.mesh.vertices.min(0), plan.mesh.vertices.max(0)
    np.testing.assert_allclose(low, [-11e3, -11e3, -12e3])
    np.testing.assert_allclose(high, [11e3, 11e3, 0.0], atol=1e-6)


def test_elements_grow_around_the_region_and_the_raster_need_not_reach_there(tmp_path):
    dem = {"file": write_dem(tmp_path / "dem.asc"), "crs": "local"}
    plan = make_plan(load_valid_case(case(tmp_path, reflections_after="3 s", frequency="0.3 Hz", topography=dem))[0])
    edge, x = np.cbrt(6 * np.sqrt(2) * plan.geometry.volume), plan.geometry.centroids
    inner = within_region(plan.case, x)
    assert 0.1 < inner.mean() < 0.9
    far = (np.abs(x[:, :2]) > 14e3).any(1)
    assert np.median(edge[far]) > 1.5 * np.median(edge[inner])
    text = dict(resolution(plan))["frequency with 10 points per S wavelength"]
    assert float(text.split(" Hz")[0]) > 0.9 * 0.3 and "of the region" in text
    top = plan.mesh.vertices[np.abs(plan.mesh.vertices[:, 0] - plan.mesh.vertices[:, 0].max()) < 1.0]
    inside = plan.mesh.vertices[np.abs(plan.mesh.vertices[:, 0] - 8e3) < 1e3]
    assert abs(top[:, 2].max() - inside[:, 2].max()) < 300.0  # the ground goes on as at the side
    (shown,) = [engine_of(plan.case).model(plan).region]
    assert (shown[0, :2] > -11e3).all() and (shown[1, :2] < 11e3).all()


@pytest.mark.parametrize(
    "rows, build, words",
    [
        ("-3,-1\n9,1\n", {}, ["trace.csv:1", "1 of 2 points lie outside", "x 9000, y 1000"]),
        ("-3,-1\n7.9,1\n", {}, ["fault main leaves the region", "7900"]),
        ("-3,-1\n9,1\n", {"reflections_after": "3 s"}, ["1 of 2 points lie outside", "x 9000, y 1000"]),
        ("-3,-1\n7.9,1\n", {"reflections_after": "3 s"}, ["fault main leaves the region", "7900"]),
        ("-3,0\n3,0\n3,2\n0,-2\n", {}, ["crosses itself at", "x 1500, y 0"]),
        ("-0.003,0\n0.003,0\n", {}, ["shorter than an element", "kilometres"]),
    ],
)
def test_a_trace_that_does_not_fit_is_told(tmp_path, rows, build, words):
    text = told(case(tmp_path, rows, **build))
    assert all(word in text for word in words), text


def test_rasters_that_do_not_serve_the_region_are_told(tmp_path):
    hole = told(case(tmp_path, topography={"file": write_dem(tmp_path / "hole.asc", True), "crs": "local"}))
    assert "NoData" in hole and "hole.asc" in hole
    wide = case(tmp_path, topography={"file": write_dem(tmp_path / "dem.asc"), "crs": "local"})
    wide["mesh"]["build"]["upper"] = ["12 km", "8 km"]
    assert "does not cover" in told(wide)


def test_two_coordinate_systems_are_told(tmp_path):
    assert "no projection" in told(case(tmp_path, "-117,34\n-116.9,34\n", "lon,lat"))
    asked = case(tmp_path, "34,-117\n34.1,-117\n", "lon,lat")
    asked["projection"] = {"crs": "EPSG:32611", "origin": [-117.0, 34.0]}
    assert "exchanged" in told(asked)


def test_a_mesh_comes_from_one_place(tmp_path):
    asked = case(tmp_path)
    asked["mesh"]["generate"] = {"shape": "tpv5"}
    with pytest.raises(InputError, match="one of file, generate and build"):
        load_valid_case(asked)


@pytest.mark.parametrize(
    "dip, reference, warned",
    [(5e6, [-1.0, 0.0, -0.5], True), (5e6, [0.0, 0.0, -1.0], False), (0.0, [-1.0, 0.0, -0.5], False)],
)
def test_a_reference_that_means_other_walls_of_two_faults_is_told(tmp_path, dip, reference, warned):
    asked = case(tmp_path, "-4.5,-3\n-4.5,3\n> second\n4.5,3\n4.5,-3\n", fault_size="2.5 km")  # dip towards each other
    asked["mesh"]["build"]["faults"][0].update(dip="60 deg", depth="4 km")
    asked["fault"]["reference"] = reference
    asked["fault"]["parameters"]["constant"]["T_d"] = dip
    plan = make_plan(load_valid_case(asked)[0])
    told = [str(p) for p in plan.warnings if p.where == "fault.reference"]
    assert ["hanging wall of faults [3] and the foot wall of [65]" in t for t in told] == [True] * warned
