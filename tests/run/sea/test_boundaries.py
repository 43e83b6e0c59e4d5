"""Given velocity, traction, ghost states and exact solutions on boundary faces."""

from __future__ import annotations

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from tests.run.sea.setup import GRAVITY, SPEED, ocean, sea

COLUMN = {"shape": "box", "cells": [1, 1, 8], "lower": [0, 0, 0], "upper": [1, 1, 8]}
ROCK = {"rho": 1.0, "lambda": 2.0, "mu": 1.0}
WATER = {"rho": 1.0, "lambda": 4.0, "mu": 0.0}
BELL = {"kind": "gaussian", "duration": 0.5}


def column(end, top="free-surface", bottom="dirichlet", medium=ROCK, order=5, **more):
    box = COLUMN | {"boundaries": {"x": "periodic", "y": "periodic", "z-": bottom, "z+": top}}
    numerics = {"order": order, "clustering": {"rates": [1]}, "threads": 1} | more.pop("numerics", {})
    return {
        "law": "elastic",
        "end_time": end,
        "mesh": {"generate": box},
        "material": {"constant": medium},
        "numerics": numerics,
    } | more


def velocity(sim, z):
    return sim.sample([[0.4, 0.3, z]])[0, 6:]


def bell(t):
    return np.exp(-0.5 * ((t - 3.0) / 0.5) ** 2) / (0.5 * np.sqrt(2 * np.pi))


@pytest.mark.parametrize("integrator", ["ader", "rk4"])
@pytest.mark.parametrize("axis, speed", [("v1", 1.0), ("v3", 2.0)])
def test_a_given_velocity_sends_a_plane_wave(axis, speed, integrator):
    given = [{"velocity": {"constant": {axis: 0.3}}, "time_function": BELL}]
    end = 3.0 + 2.0 / speed
    sim = fw.simulate(column(end, "absorbing", dirichlet=given, numerics={"integrator": integrator})).run(write=False)
    want = np.zeros(3)
    for z in (1.7, 2.0):
        want[int(axis[1]) - 1] = 0.3 * bell(end - z / speed)
        np.testing.assert_allclose(velocity(sim, z), want, atol=1e-3)


def test_a_given_velocity_moves_rock_that_attenuates():
    """The wall moves as it is told; inside the wave has lost some."""
    given = [{"velocity": {"constant": {"v1": 0.3}}, "time_function": BELL}]
    medium = ROCK | {"Qp": 20.0, "Qs": 10.0}
    case = column(3.0, "absorbing", medium=medium, dirichlet=given, attenuation={"high": 10.0})
    sim = fw.simulate(case | {"law": "viscoelastic"}).run(write=False)
    assert velocity(sim, 1e-9)[0] == pytest.approx(0.3 * bell(3.0), abs=1e-3)
    sim.run(until=5.0, write=False)
    assert 0.3 * 0.3 * bell(3.0) < max(velocity(sim, z)[0] for z in np.linspace(1.5, 2.5, 21)) < 0.9 * 0.3 * bell(3.0)


def test_a_wall_at_rest_has_no_time():
    for value, told in ((0.0, True), (0.3, False)):
        given = [{"velocity": {"constant": {"v1": value}}, "time_function": BELL}]
        sim = fw.simulate(column(1.0, "absorbing", dirichlet=given))
        assert any("has no effect: the velocity is zero" in w.what for w in sim.warnings) == told


def test_a_given_traction_sends_a_plane_wave():
    """A pressure p outside moves rock by p/Z away."""
    for field in ({"pressure": 0.3}, {"T3": 0.3}):  # the outward normal is -z: the traction of a pressure is +p along z
        given = [{"traction": {"constant": field}, "time_function": BELL}]
        sim = fw.simulate(column(4.0, "absorbing", dirichlet=given)).run(write=False)
        np.testing.assert_allclose(velocity(sim, 2.0), [0, 0, 0.3 / 2.0 * bell(3.0)], atol=5e-4)


@pytest.mark.parametrize("integrator", ["ader", "rk4"])
@pytest.mark.parametrize("medium", [ROCK, WATER])
@pytest.mark.parametrize("ghost", ["ghost", "velocity"])
def test_a_wall_at_rest_is_the_rigid_wall(tmp_path, ghost, medium, integrator):
    """Reflection of +1 at normal incidence."""
    wave = {"kind": "plane-wave", "wave": [{"mode": "P", "k": [0, 0, -np.pi / 4], "window": [-8.1, -1.4]}]}
    (tmp_path / "wall.yaml").write_text("!ConstantMap\nmap:\n  map_u_u: -1\n  map_v_v: -1\n  map_w_w: -1\n")
    given = (
        {"easi": str(tmp_path / "wall.yaml")} if ghost == "ghost" else {"constant": {"v1": 0.0, "v2": 0.0, "v3": 0.0}}
    )
    found = []
    for bottom, more in (("rigid", {}), ("dirichlet", {"dirichlet": [{ghost: given}]})):
        numerics = {"integrator": integrator}
        case = column(3.0, "absorbing", bottom, medium, order=4, initial=wave, numerics=numerics, **more)
        sim = fw.simulate(case).run(write=False)
        assert sim.solver.prescribed is None  # nothing is asked of the host
        found.append(sim.solver.operator.dofs())
    assert np.abs(found[0]).max() > 0.1
    np.testing.assert_allclose(found[1], found[0], atol=1e-10 * np.abs(found[0]).max())


def test_traction_of_nothing_is_the_free_surface():
    wave = {"kind": "plane-wave", "wave": [{"mode": "S", "k": [0, 0, -np.pi / 4], "polarisation": [1, 0.5, 0]}]}
    found = []
    for bottom, more in (("free-surface", {}), ("dirichlet", {"dirichlet": [{"traction": {"constant": {"T1": 0.0}}}]})):
        found.append(fw.simulate(column(1.0, "absorbing", bottom, initial=wave, order=3, **more)).run(write=False))
    a, b = (sim.solver.operator.dofs() for sim in found)
    np.testing.assert_allclose(b, a, atol=1e-12 * np.abs(a).max())


def test_part_of_a_wave_comes_back(tmp_path):
    """Ghosts that say both: a/b of traction and velocity, reflection (a - b)/(2 - a - b)."""
    (tmp_path / "wall.yaml").write_text(
        "!ConstantMap\nmap:\n  map_Tn_Tn: 0.8\n  map_u_u: 0.2\n  map_v_v: -1\n  map_w_w: -1\n"
    )
    wave = {
        "kind": "plane-wave",
        "wave": [{"mode": "P", "k": [0, 0, -np.pi], "window": [-1.5 * np.pi, 0.5 * np.pi], "origin": [0, 0, 3]}],
    }
    case = column(
        2.5, "absorbing", medium=WATER, initial=wave, dirichlet=[{"ghost": {"easi": str(tmp_path / "wall.yaml")}}]
    )
    sim = fw.simulate(case)
    z = np.linspace(0.1, 7.9, 200)
    points = np.column_stack([0.4 + 0 * z, 0.3 + 0 * z, z])
    before = np.abs(sim.sample(points)[:, 8]).max()
    after = np.abs(sim.run(write=False).sample(points)[:, 8]).max()
    # w_R = r w with w = T - Z v, r = (0.8 - 0.2)/(2 - 1): 0.6
    assert after / before == pytest.approx(0.6, abs=0.02)


@pytest.mark.parametrize(
    "text, told",
    [
        ("map_u_u: 1", "does not constrain motion along the normal"),
        ("map_u_u: -1", "does not constrain motion along the faces"),
        ("map_Ts_Ts: -1", "map_Ts_Ts acts on s_ss, which does not act"),
        ("const_Td: 1e6", "const_Td acts on s_tt, which does not act"),
        ("map_u_v: 0.5", "maps one quantity to another"),
        ("const_v: 0.5", "const_v acts along a tangent"),
        ("map_v_v: -1", "two tangents of a face differently"),
        ("map_Tn_Tn: 1.5\n  map_u_u: -1\n  map_v_v: -1\n  map_w_w: -1", "the reflection exceeds the outgoing wave"),
    ],
)
def test_ghosts_that_have_no_effect_or_no_meaning_are_told(tmp_path, text, told):
    (tmp_path / "wall.yaml").write_text(f"!ConstantMap\nmap:\n  {text}\n")
    with pytest.raises(InputError, match=told):
        fw.simulate(column(1.0, dirichlet=[{"ghost": {"easi": str(tmp_path / "wall.yaml")}}]))


def test_a_rigid_wall_of_water_needs_its_normal_only(tmp_path):
    (tmp_path / "wall.yaml").write_text("!ConstantMap\nmap:\n  map_u_u: -1\n")
    fw.simulate(column(1.0, medium=WATER, dirichlet=[{"ghost": {"easi": str(tmp_path / "wall.yaml")}}]))


def test_faces_of_which_nothing_is_said_are_told():
    with pytest.raises(InputError, match="no values are set for 2 faces of kind dirichlet with tag 4"):
        fw.simulate(column(1.0))
    twice = [{"velocity": {"constant": {"v1": 1.0}}}, {"surfaces": [4], "velocity": {"constant": {"v1": 1.0}}}]
    with pytest.raises(InputError, match="a face is listed twice"):
        fw.simulate(column(1.0, dirichlet=twice))
    with pytest.raises(InputError, match="set one of velocity, traction, ghost"):
        fw.simulate(column(1.0, dirichlet=[{}]))
    assert any(
        w.where == "dirichlet"
        for w in fw.simulate(column(1.0, bottom="rigid", dirichlet=[{"velocity": {"constant": {"v1": 1.0}}}])).warnings
    )


@pytest.mark.parametrize("law", ["acoustic", "elastic"])
def test_an_exact_solution_enters_through_analytic_faces(law):
    """A mode of the ocean in a part of it; errors of the order of those in the whole."""
    initial = {"kind": "ocean", "mode": 1, "wavenumbers": [np.pi / 10] * 2, "depth": 1.0}
    box = {
        "upper": [4, 3, 0],
        "cells": [4, 4, 2],
        "boundaries": {"x": "analytic", "y": "analytic", "z-": "rigid", "z+": "gravity"},
    }
    errors = []
    for order in (3, 4):
        sim = fw.simulate(sea(order=order, end_time=1.0, law=law, box=box, initial=initial)).run(write=False)
        errors.append(max(e for e in sim.error(ocean(1, law == "elastic")) if e > 1e-9))
    assert errors[0] < 1e-2 and errors[1] < 1e-3


def test_a_solution_may_enter_a_medium_at_rest():
    wave = {"mode": "P", "k": [0, 0, -np.pi], "window": [-8.5 * np.pi, -0.5 * np.pi]}
    initial = {"kind": "plane-wave", "wave": [wave], "boundaries_only": True}
    sim = fw.simulate(column(3.0, "analytic", "absorbing", initial=initial))
    assert not sim.solver.operator.dofs().any()
    sim.run(write=False)
    exact = sim.plan.part("initial").solution
    points = np.array([[0.3, 0.4, z] for z in np.linspace(4.0, 7.9, 20)])
    np.testing.assert_allclose(sim.sample(points)[:, 8], exact(points, 3.0)[:, 8], atol=0.02)


def test_analytic_faces_need_a_solution():
    with pytest.raises(InputError, match="2 faces of kind analytic impose the exact solution of the initial state"):
        fw.simulate(column(1.0, bottom="analytic"))
    wave = {"kind": "plane-wave", "wave": [{"mode": "P", "k": [0, 0, 1.0]}], "boundaries_only": True}
    with pytest.raises(InputError, match="no face of kind analytic"):
        fw.simulate(column(1.0, bottom="rigid", initial=wave))


def test_an_uplift_of_the_floor_lifts_the_sea():
    """Slow against sound: after it all water stands higher by what the floor has risen (a long way from the sides)."""
    box = {"boundaries": {"x": "periodic", "y": "periodic", "z-": "dirichlet", "z+": "gravity"}}
    rise = [{"velocity": {"constant": {"v3": 0.02}}, "time_function": {"kind": "gaussian", "duration": 2.0}}]
    sim = fw.simulate(sea(2, 3, 40.0, "elastic", box=box, dirichlet=rise)).run(write=False)
    heights = sim.solver.parts["gravity"].surface.now()[:, 0] * 2**0.5
    np.testing.assert_allclose(heights, 0.02 / (1.0 + GRAVITY / SPEED**2), rtol=1e-4)  # its weight squeezes the water


def told(case, where):
    return [w.what for w in fw.simulate(case).warnings if w.where.endswith(where)]


def test_motion_after_the_end_of_the_run_is_told():
    given = {"velocity": {"constant": {"v3": 1.0}}, "time_function": BELL}
    (what,) = told(column(5.0, order=2, dirichlet=[given | {"onset": 100.0}]), "dirichlet[0]")
    assert "act partly outside of the run, 0 to 5 s" in what and "onset 100 s: 100 %" in what
    assert not told(column(8.0, order=2, dirichlet=[given]), "dirichlet[0]")


@pytest.mark.parametrize("medium, axis, count", [(WATER, "v1", 1), (WATER, "v3", 0), (ROCK, "v1", 0)])
def test_a_velocity_along_water_is_told(medium, axis, count):
    given = [{"velocity": {"constant": {axis: 1.0}}}]
    assert len(told(column(1.0, medium=medium, order=2, dirichlet=given), "dirichlet[0].velocity")) == count


def test_laws_that_can_be_moved_are_named():
    porous = {
        "rho": 2080, "mu": 6.4e9, "lambda": 5.28e9, "bulk_solid": 2e10, "bulk_fluid": 2.5e9, "rho_fluid": 1040,
        "porosity": 0.4, "permeability": 6e-13, "tortuosity": 2, "viscosity": 1e-3,
    }  # fmt: skip
    given = [{"velocity": {"constant": {"v3": 1.0}}}]
    for bottom in ("dirichlet", "gravity"):
        with pytest.raises(
            InputError, match=f"of kind {bottom}, .* poroelastic .*acoustic, anisotropic, elastic, viscoel"
        ):
            fw.simulate(column(0.1, bottom=bottom, medium=porous, order=2, dirichlet=given, law="poroelastic"))
