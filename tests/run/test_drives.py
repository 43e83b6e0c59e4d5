"""Currents and incident waves: what they radiate is known exactly; mistakes are told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.domain.tets import Mesh
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.physics.sources.time_functions import Ricker, gaussian
from faultwave.verify import meshes
from faultwave.verify.exact.electromagnetic import CurrentDipole

UNIT = {"constant": {"permittivity": 1.0, "permeability": 1.0}}
PULSE = {"kind": "gaussian", "duration": 0.1}
BELL = gaussian(0.1)


def simulate(mesh: Mesh, end: float, **more: Any) -> Any:
    with meshes.as_setting(mesh) as setting:
        numerics = {"order": 4, **more.pop("numerics", {})}
        case = {"law": "maxwell", "mesh": setting, "material": UNIT, "end_time": end, "numerics": numerics, **more}
        return fw.simulate(case).run(write=False)


def bar(n: int = 16, length: float = 2.0) -> Mesh:
    """Along x, open at both ends, walls that let a wave with E along y pass; a sheet of tag 20 across the middle."""
    sides = {"x": "absorbing", "y": "pec", "z": "pmc"}
    mesh = box_mesh(Box((n, 1, 1), (0, 0, 0), (length, 0.125, 0.125), sides, shuffle=True, fault=("x", length / 2)))
    return replace(mesh, tags=np.where(mesh.tags == 3, 20, mesh.tags).astype(np.int32))


TABLE = {"regular": [0, 20], "absorbing": [5], "pec": [11], "pmc": [12]}


def line(x: np.ndarray) -> np.ndarray:
    return np.stack([x, np.full_like(x, 0.05), np.full_like(x, 0.07)], 1)


@pytest.mark.parametrize("integrator", ("ader", "rk4", "leapfrog"))
def test_a_sheet_of_current_radiates_to_both_sides(integrator: str) -> None:
    """E = -Z J/2 S(t - |x - x0|/c)."""
    mesh = bar()
    with meshes.as_setting(mesh) as setting:
        case = {
            "law": "maxwell", "mesh": setting | {"boundaries": TABLE}, "material": UNIT, "end_time": 1.2,
            "numerics": {"order": 4, "integrator": integrator},
            "currents": [{"kind": "sheet", "surface": 20, "density": [0.0, 2.0, 0.0], "time_function": PULSE}],
        }  # fmt: skip
        sim = fw.simulate(case).run(write=False)
    x = line(np.linspace(0.05, 1.95, 77))
    got, want = sim.sample(x), -BELL.value(1.2 - np.abs(x[:, 0] - 1.0))
    np.testing.assert_allclose(got[:, 1], want, atol=0.02 * np.abs(want).max())
    np.testing.assert_allclose(got[:, 5], np.sign(x[:, 0] - 1.0) * want, atol=0.02 * np.abs(want).max())


@pytest.mark.parametrize("integrator, flux", [("ader", None), ("rk4", "centred"), ("leapfrog", None)])
def test_a_wave_enters_through_an_absorbing_side(integrator: str, flux: str | None) -> None:
    mesh = bar()
    with meshes.as_setting(mesh) as setting:
        case = {
            "law": "maxwell", "mesh": setting | {"boundaries": TABLE}, "material": UNIT, "end_time": 1.6,
            "numerics": {"order": 4, "integrator": integrator, "flux": flux},
            "incident": [{"direction": [1, 0, 0], "amplitude": [0, 3, 0], "surface": 5, "time_function": PULSE}],
        }  # fmt: skip
        sim = fw.simulate(case).run(write=False)
    x = line(np.linspace(0.05, 1.95, 77))
    want = 3 * BELL.value(1.6 - x[:, 0])
    np.testing.assert_allclose(sim.sample(x)[:, 1], want, atol=0.02 * want.max())
    np.testing.assert_allclose(sim.sample(x)[:, 5], want, atol=0.02 * want.max())


@pytest.mark.parametrize("integrator, rates", [("ader", (2,)), ("leapfrog", (1,))])
def test_total_field_inside_nothing_outside(integrator: str, rates: tuple[int, ...]) -> None:
    mesh = box_mesh(Box((6,) * 3, (0,) * 3, (1.0,) * 3, dict.fromkeys("xyz", "absorbing"), shuffle=True, perturb=0.2))
    inside = (np.abs(mesh.vertices[mesh.cells].mean(1) - 0.5) < 1 / 6).all(1)
    mesh = replace(mesh, groups=np.where(inside, 2, 1).astype(np.int32))
    d, e = np.array([1.0, 2.0, 2.0]) / 3, np.array([2.0, -1.0, 0.0])
    wave = {
        "direction": list(d),
        "amplitude": list(e),
        "volumes": [2],
        "reference": [0.5, 0.5, 0.5],
        "time_function": PULSE,
    }
    numerics = {"integrator": integrator, "clustering": {"rates": rates}, "order": 5}
    sim = simulate(mesh, 0.6, incident=[wave], numerics=numerics)
    rng = np.random.default_rng(0)
    x = 0.5 + rng.uniform(-0.1, 0.1, (100, 3))
    bell = BELL.value(0.6 - (x - 0.5) @ d)[:, None]
    want = np.concatenate([bell * e, bell * np.cross(d, e)], 1)
    np.testing.assert_allclose(sim.sample(x), want, atol=0.03 * np.abs(want).max())
    far = rng.uniform(0, 1, (400, 3))
    far = far[(np.abs(far - 0.5) > 0.25).any(1)]
    assert np.abs(sim.sample(far)).max() < 0.01 * np.abs(want).max()


def test_a_current_throughout_drives_a_uniform_field() -> None:
    """E = -int J dt / eps where nothing varies in space."""
    mesh = box_mesh(Box((2,) * 3, (0,) * 3, (1.0,) * 3, dict.fromkeys("xyz", "periodic"), shuffle=True))
    j = [1.0, -2.0, 0.5]
    sim = simulate(
        mesh, 1.5, currents=[{"kind": "volume", "volumes": [1], "density": j, "time_function": PULSE}],
    )  # fmt: skip
    got = sim.sample(np.random.default_rng(0).uniform(0, 1, (20, 3)))
    np.testing.assert_allclose(got[:, :3], np.broadcast_to(-np.array(j), (20, 3)), atol=1e-6)
    np.testing.assert_allclose(got[:, 3:], 0.0, atol=1e-9)


def test_a_current_at_a_point_is_a_dipole() -> None:
    """Its integral vanishes: a charge left behind would be a point charge, whose field no mesh resolves nearby."""
    mesh = box_mesh(Box((7,) * 3, (-0.7,) * 3, (0.7,) * 3, dict.fromkeys("xyz", "absorbing"), shuffle=True))
    moment, at = (0.3, -0.5, 1.0), (0.013, 0.021, -0.017)
    sim = simulate(
        mesh, 1.3, numerics={"order": 5},
        currents=[{"kind": "point", "moment": moment, "location": at, "time_function": {"kind": "ricker", "duration": 0.6}}],
    )  # fmt: skip
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, 3))
    x = np.array(at) + 0.4 * x / np.linalg.norm(x, axis=1, keepdims=True)
    want = CurrentDipole(at, moment, Ricker(0.6))(x, 1.3)
    got = sim.sample(x)
    for part in (slice(0, 3), slice(3, 6)):
        assert np.linalg.norm(got[:, part] - want[:, part]) < 0.07 * np.linalg.norm(want[:, part])


@pytest.mark.parametrize(
    "change, said",
    [
        ({"currents": [{"kind": "sheet", "surface": "lid", "density": [1, 0, 0], "time_function": PULSE}]}, "no surface 'lid'"),
        ({"currents": [{"kind": "sheet", "surface": 5, "density": [1, 0, 0], "time_function": PULSE}]}, "outer wall"),
        ({"currents": [{"kind": "volume", "volumes": [9], "density": [1, 0, 0], "time_function": PULSE}]}, "no volume '9'"),
        ({"currents": [{"kind": "point", "time_function": PULSE}]}, "moment that is not zero"),
        ({"incident": [{"direction": [1, 0, 0], "amplitude": [1, 0, 0], "surface": 5, "time_function": PULSE}]}, "orthogonal"),
        ({"incident": [{"direction": [1, 0, 0], "amplitude": [0, 1, 0], "time_function": PULSE}]}, "either surface or volumes"),
        ({"incident": [{"direction": [1, 0, 0], "amplitude": [0, 1, 0], "surface": 11, "time_function": PULSE}]}, "does not absorb"),
        ({"incident": [{"direction": [1, 0, 0], "amplitude": [0, 1, 0], "volumes": [1], "time_function": PULSE}]}, "no face"),
        ({"sources": [{"kind": "force", "location": [0, 0, 0], "force": [1, 0, 0], "time_function": PULSE}]},
         "does not act on the maxwell law"),
    ],
)  # fmt: skip
def test_mistakes_are_told(change: dict[str, Any], said: str) -> None:
    with meshes.as_setting(bar(4)) as setting, pytest.raises(InputError, match=said):
        fw.simulate(
            {"law": "maxwell", "mesh": setting | {"boundaries": TABLE}, "material": UNIT, "end_time": 1.0, **change}
        )


def test_other_laws_know_no_currents() -> None:
    mesh = {"generate": {"shape": "box", "cells": (1, 1, 1), "lower": (0.0,) * 3, "upper": (1.0,) * 3}}
    case = {"mesh": mesh, "material": {"constant": {"rho": 1.0, "mu": 1.0, "lambda": 1.0}}, "end_time": 1.0}
    with pytest.raises(InputError, match="do not exist in the elastic law"):
        fw.simulate(case | {"currents": [{"kind": "point", "moment": [1, 0, 0], "time_function": PULSE}]})
