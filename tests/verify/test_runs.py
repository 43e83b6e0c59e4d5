"""Small runs of the verification cases: the whole way from settings to a judged number."""

import numpy as np
import pytest

from faultwave.dg.planning import plan
from faultwave.physics.waves import law as find_law
from faultwave.verify import meshes, setups
from faultwave.verify.cases import (
    energy,
    full_space,
    interfaces,
    local_time_stepping,
    maxwell,
    maxwell_spheres,
    maxwell_walls,
    ocean,
    plane_wave,
    time_steps,
)
from faultwave.verify.exact.plane_waves import acoustic_convergence, elastic_convergence


def silent(line):
    del line


@pytest.mark.parametrize("order", [2, 3, 4])
def test_plane_wave_errors_are_those_of_the_table(order):
    result = plane_wave.run_elastic(silent, {order: (2, 4)})
    rows = [row for row in result.rows if "error" in row.quantity]
    assert len(rows) == 4
    for row in rows:
        assert row.measured == pytest.approx(row.expected, rel=0.1)


def test_acoustic_plane_wave_converges():
    waves = acoustic_convergence()
    errors = [setups.errors(plane_wave.case_settings("acoustic", waves, 5, n), waves) for n in (2, 4)]
    assert np.all(np.log2(errors[0] / errors[1]) > 4.3)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_cavity_errors_are_those_of_the_table(order):
    for n in (2, 4):
        assert maxwell.error(order, n) == pytest.approx(maxwell.TABLE[order][n], rel=0.05)


def test_cavity_rings_at_its_frequencies():
    rows = maxwell.frequencies(order=4, n=3, time=15.0)
    assert [row.measured < 2e-4 for row in rows] == [True] * 3, rows


def test_skin_depth_of_a_conductor():
    rows = maxwell_walls.skin_rows()
    assert len(rows) == 3 and all(row.ok for row in rows), rows


@pytest.mark.slow
def test_walls_and_layer():
    rows = [*maxwell_walls.impedance_rows(), maxwell_walls.layer_row(4)]
    assert all(row.ok for row in rows), rows


def test_spherical_cavity_on_a_coarse_mesh():
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    assert maxwell_spheres.cavity_error(0.3, 3, 22.0) < 2e-3


@pytest.mark.slow
def test_a_ball_scatters_as_mie_says():
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    measured, exact = maxwell_spheres.scattered((0.5, 1.6), 4, np.arange(0.0, 181.0, 15.0))
    assert np.abs(10 * np.log10(measured / exact))[exact > 0.1 * exact.max()].max() < 0.5


def test_a_wrong_solution_is_not_accepted():
    """The error of a run against a wave that travels the other way is of the order of the wave itself."""
    right = elastic_convergence()
    sim = setups.started(plane_wave.case_settings("elastic", right, 4, 4), right).run(write=False)
    assert sim.error(lambda x, t: right(x, -t)).max() > 0.5
    assert sim.error(right).max() < 0.1


def test_an_ocean_converges():
    result = ocean.run(silent, orders=(3,))
    assert result.status == "passed" and len(result.rows) == 4, result.rows


def test_scholte_on_a_coarse_grid():
    errors = interfaces.scholte_errors(4, 4)[interfaces.COLUMNS]
    assert np.all(errors < [8e-3, 3e-3])


def test_local_stepping_conserves_momentum():
    reference, drift, clusters = local_time_stepping.measure(3, (1,))
    assert clusters == 1 and np.abs(drift).max() < 1e-12
    error, drift, clusters = local_time_stepping.measure(3, (2,))
    assert clusters >= 3 and np.abs(drift).max() < 1e-12
    assert np.abs(error / reference - 1).max() < 0.1


def test_graded_cube_is_periodic_and_graded():
    mesh = meshes.graded_cube(4, 0.8)
    assert mesh.identify is not None
    difference = mesh.vertices - mesh.vertices[mesh.identify]
    np.testing.assert_allclose(difference / 2, np.round(difference / 2), atol=1e-12)
    x = np.unique(np.round(mesh.vertices[:, 0], 12))
    assert np.diff(x).max() / np.diff(x).min() > 3


@pytest.mark.parametrize("law", ["acoustic", "elastic"])
def test_standing_waves_in_free_boxes(law):
    mode, period = energy.standing(law)
    sim = setups.started(energy.closed_box(law, 5, 2, 1.3 * period), mode).run(write=False)
    assert sim.error(mode)[[0, 1]].max() < 1e-2
    start = setups.total_energy(setups.started(energy.closed_box(law, 5, 2, period), mode))
    assert setups.total_energy(sim) == pytest.approx(start, rel=5e-3)


def test_a_step_beyond_the_limit_is_seen_to_grow(monkeypatch):
    assert time_steps.growth("elastic", 3, "periodic", steps=200) < 1e-4
    monkeypatch.setitem(plan.LARGEST_CFL, 3, 5.0)
    assert time_steps.growth("elastic", 3, "periodic", cfl=1.2, steps=60) > 1e-2


@pytest.mark.parametrize("law, order", [("acoustic", 2), ("elastic", 3), ("acoustic", 3)])
def test_the_largest_step_allowed_is_stable_in_free_boxes(law, order):
    limit = plan.LARGEST_CFL[order] * find_law(law).stability
    assert time_steps.growth(law, order, "free-surface", limit, 400) < 1e-4


@pytest.mark.parametrize("kind", ["moment-tensor", "force"])
def test_sources_beside_symmetry_planes(monkeypatch, kind):
    """A small octant, two receivers a wavelength away, before anything returns from the absorbing sides."""
    monkeypatch.setattr(full_space, "FAR_SIDE", 2.5)
    case, exact = full_space.case_settings(4, 10, kind)
    points = (full_space.SOURCE + [[0.7, 0.5, 0.6], [0.2, 0.9, 0.6]]) * full_space.WAVELENGTH
    case["output"]["receivers"]["points"] = points.tolist()
    case["end_time"] = full_space.DELAY + 1.4
    assert full_space.compare_receivers(case, exact).max() < 0.12


def test_images_make_planes_of_symmetry():
    """On x = 0 the exact solution moves in the plane only, and its images matter at the receivers."""
    exact = full_space.Mirrored("moment-tensor", tuple(full_space.SOURCE * full_space.WAVELENGTH))
    times = np.linspace(1.0, 4.0, 16)
    plane = exact.velocity(np.array([[0.0, 900.0, 1500.0]]), times)
    assert np.abs(plane[..., 0]).max() < 1e-12 * np.abs(plane).max()
    single = full_space.FullSpace(
        full_space.ROCK,
        full_space.ricker(full_space.FREQUENCY, full_space.DELAY),
        moment=full_space.tensor(**full_space.MOMENT),
        location=exact.location,
    )
    where = full_space.RECEIVERS * full_space.WAVELENGTH
    both = exact.velocity(where, times)
    assert np.linalg.norm(both - single.velocity(where, times)) > 0.1 * np.linalg.norm(both)
