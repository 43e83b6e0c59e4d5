"""Point sources spread over cells: their moments, where they may reach, and what that does to seismograms."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import faultwave as fw
from faultwave.dg import sources
from faultwave.dg.capabilities import point_sources
from faultwave.dg.method.basis import tet_basis, tet_quadrature
from faultwave.dg.sources import degree
from faultwave.verify.exact import Medium
from faultwave.verify.exact.full_space import FullSpace, tensor
from faultwave.verify.exact.time_functions import ricker

ROCK = Medium(rho=2700.0, lam=1.08e10, mu=1.08e10)
PULSE = {"kind": "ricker", "duration": 1.0}
TENSOR = {"kind": "moment-tensor", "tensor": {"xy": 1e15, "zz": -4e14, "yz": 2e14}, "time_function": PULSE}
FORCE = {"kind": "force", "force": [1e12, -2e12, 5e11], "time_function": {"kind": "triangle", "duration": 0.04}}


def made(source, place, order=4, numerics=(), mesh=(), **changes):
    """A box of 6 km in cubes of 1 km, cut and shaken."""
    case = {
        "end_time": 1.0,
        "mesh": {
            "generate": {
                "shape": "box", "cells": [6, 6, 6], "lower": [-3000.0] * 3, "upper": [3000.0] * 3, "perturb": 0.2, "seed": 5,
                "shuffle": True, "boundaries": {"x": "absorbing", "y": "absorbing", "z": "free-surface"}, **dict(mesh),
            }
        },
        "material": {"constant": ROCK.parameters()},
        "sources": [{**source, "location": list(place)}],
        "numerics": {"order": order, "threads": 1, **dict(numerics)},
    }  # fmt: skip
    return fw.simulate({**case, **changes})


def part_of(sim):
    return sim.plan.part("point_sources")


def moments(plan, spread, place, powers, order):
    """Integrals of the function times ((x - place)/radius)^powers."""
    points, weights = tet_quadrature(order + 1)
    shapes = tet_basis(points, order - 1)
    y = (plan.geometry.points(spread.cells, points) - place) / spread.radius[0]
    values = spread.rows @ shapes.T * weights * 6.0 * plan.geometry.volume[spread.cells, None]
    return np.array([(values * (y**p).prod(-1)).sum() for p in powers])


@pytest.mark.parametrize("order", [2, 3, 4, 6])
@pytest.mark.parametrize("place", [(130.0, -270.0, 90.0), (-400.0, 333.0, 2950.0), (2990.0, 2980.0, 2985.0)])
def test_moments_are_those_of_a_point(order, place):
    """In the midst, just below the free surface and in a corner of the mesh."""
    sim = made(TENSOR, place, order)
    over = part_of(sim).spread
    powers = [p for p in product(range(8), repeat=3) if sum(p) <= min(order - 1, degree(order))]
    found = moments(sim.plan, over, place, powers, order)
    np.testing.assert_allclose(found[0], 1.0, rtol=1e-13)
    np.testing.assert_allclose(found[1:], 0.0, atol=2e-9)
    assert len(over.cells) > 5 and len(np.unique(over.cells)) == len(over.cells)


def test_rounding_does_not_depend_on_threads():
    """Processes bound to one core have one thread for BLAS, a process alone has all: results must be the same bits."""
    text = (
        "import hashlib; from tests.dg.test_spread_sources import *\n"
        "sim = made(TENSOR, (130.0, -270.0, 90.0), 3)\n"
        "print(hashlib.sha256(part_of(sim).spread.rows.tobytes()).hexdigest())"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", text], env={**os.environ, "OPENBLAS_NUM_THREADS": n}, capture_output=True, text=True, check=True,
            cwd=Path(__file__).parents[2],
        ).stdout
        for n in ("1", "2")
    ]  # fmt: skip
    assert len(found[0]) > 60 and found[0] == found[1]


def test_a_source_stays_on_its_side():
    """Of a border of rock, of a fault, and of the sides of a periodic mesh, where it touches its image."""
    place = (130.0, -60.0, 90.0)
    layers = {
        "expression": {"vs": "if (z > 0) { return 2000; } return 2800;"},
        "constant": {"rho": 2700.0, "vp": 4900.0},
    }
    flat = {"perturb": 0.0}
    rock = made(TENSOR, place, mesh=flat, material=layers)
    cells = part_of(rock).spread.cells
    assert len(cells) > 5 and (rock.plan.geometry.centroids[cells, 2] > 0).all()
    assert (rock.plan.geometry.centroids[part_of(made(TENSOR, place, mesh=flat)).spread.cells, 2] < 0).any()

    fault = {"friction": "linear-slip-weakening", "reference": [0, -1000.0, 0], "parameters": {"constant": {
        "mu_s": 0.6, "mu_d": 0.5, "d_c": 0.4, "cohesion": 0.0, "T_n": -1e8, "T_s": 1e7, "T_d": 0.0,
    }}}  # fmt: skip
    broken = made(TENSOR, place, mesh={**flat, "fault": ["y", 0.0]}, fault=fault)
    cells = part_of(broken).spread.cells
    assert len(cells) > 5 and (broken.plan.geometry.centroids[cells, 1] < 0).all()

    sides = {"boundaries": dict.fromkeys("xyz", "periodic")}
    edge = made(TENSOR, (2900.0, 90.0, 130.0), mesh={**flat, **sides})
    assert (edge.plan.geometry.centroids[part_of(edge).spread.cells, 0] > 0).all()


def test_the_whole_force_and_no_other_acts():
    """Its impulse comes whole, whatever the clusters, in rock whose density changes; a moment tensor gives none."""
    slopes = {"rho": "return 2700 + 0.005 * z;", "vs": "return 2000 + 0.008 * z;"}
    material = {"expression": slopes, "constant": {"vp": 3464.0}}
    mesh = {"perturb": 0.25, "seed": 3, "boundaries": dict.fromkeys("xyz", "periodic")}
    for source in (FORCE, {**TENSOR, "time_function": FORCE["time_function"]}):
        sim = made(source, (130.0, -270.0, 90.0), 3, mesh=mesh, material=material, end_time=0.1)
        assert len(sim.plan.clustering.steps) > 1 and len(part_of(sim).spread.cells) > 20
        sim.run(write=False)
        now = sim.energy_now()
        found = np.array([now[f"momentum{x}"] for x in "XYZ"])
        np.testing.assert_allclose(found, source.get("force", [0.0] * 3), atol=1e-3, rtol=1e-11)


def subfaults(rows, cells=(6, 6, 6), order=2, numerics=(), **changes):
    """Sources on the plane y = 0 of a mesh of bricks, which is one of faces, half of them on edges of bricks."""
    every = [{**TENSOR, "location": [x, 0.0, z], "onset": 0.02 * k} for k, (x, z) in enumerate(rows)]
    return made(
        TENSOR, (0.0, 0.0, 0.0), order, numerics, {"perturb": 0.0, "cells": list(cells)}, sources=every, **changes
    )


def test_when_sources_are_spread(monkeypatch):
    """By default, unless there are very many places, which is a warning; those of a subfault's directions are one."""
    place = (130.0, -270.0, 90.0)
    assert part_of(made(TENSOR, place, 2)).spread is not None
    assert part_of(made(TENSOR, place, 2, {"integrator": "rk4"})).spread is not None
    assert part_of(made(TENSOR, place, 2, {"source_spread": "point"})).spread is None
    monkeypatch.setattr(point_sources, "MOST", 1)
    assert part_of(subfaults([(1.0, 2.0)] * 3)).spread is not None
    sim = subfaults([(1.0, 2.0), (600.0, 2.0)])
    assert part_of(sim).spread is None
    (told,) = [p for p in sim.plan.warnings if p.where == "sources" and "act in one cell each" in p.what]
    assert told.what.startswith("2 source locations, more than 1, act") and "source_spread: cells" in told.advice
    assert part_of(made(TENSOR, place, 2, {"source_spread": "cells"})).spread is not None


@pytest.mark.parametrize(
    ("place", "told"), [((0.0, 0.0, 0.0), True), ((500.0, 0.2, -250.0), True), ((130.0, -270.0, 90.0), False)]
)
def test_points_on_faces_are_told(place, told):
    """At a vertex and beside a face, where a source in one cell errs by 5 to 16 %; not where it is spread."""
    for source, spread in product((TENSOR, FORCE), ("point", "cells")):
        sim = made(source, place, 2, {"source_spread": spread}, {"perturb": 0.0})
        found = [p for p in sim.plan.warnings if "1 of 1 are on faces of cells" in p.what]
        assert len(found) == (told and spread == "point")


@pytest.mark.parametrize("order", [2, 3, 4, 6])
def test_moments_of_each_of_many_sources(order, monkeypatch):
    """Of more than a hundred each reaches less far, by a function whose moments are those of a point, too."""
    monkeypatch.setattr(sources, "MANY", 0)
    sim = made(TENSOR, (130.0, -270.0, 90.0), order)
    over = part_of(sim).spread
    powers = [p for p in product(range(8), repeat=3) if sum(p) <= min(order - 1, degree(order, True))]
    found = moments(sim.plan, over, np.array([130.0, -270.0, 90.0]), powers, order)
    np.testing.assert_allclose(found, [float(sum(p) == 0) for p in powers], atol=1e-5)
    monkeypatch.undo()
    assert over.radius[0] < 0.75 * part_of(made(TENSOR, (130.0, -270.0, 90.0), order)).spread.radius[0]


def test_what_has_no_source_to_spread_is_told():
    case = made(TENSOR, (130.0, -270.0, 90.0), 2).case.model_dump(exclude_unset=True)
    for kind, told in (("cells", True), ("point", False)):
        problems = fw.check({**case, "sources": [], "numerics": {"order": 2, "source_spread": kind}})
        assert any(p.where == "numerics.source_spread" for p in problems.warnings) == told


def test_an_order_for_sources_that_are_not_spread_is_told():
    case = made(TENSOR, (130.0, -270.0, 90.0), 2).case.model_dump(exclude_unset=True)
    changes = ({"sources": []}, {"numerics": {"source_spread": "point"}}, {})
    for change, told in zip(changes, (True, True, False), strict=True):
        numerics = {"order": 2, "source_spread_order": 3, **change.get("numerics", {})}
        problems = fw.check({**case, **change, "numerics": numerics})
        assert any(p.where == "numerics.source_spread_order" for p in problems.warnings) == told


def test_seismograms_are_those_of_a_point():
    """Nearer to the exact ones than those of a source in one cell, at any place in the cell, until waves come back from the sides."""
    place, end = np.array([130.0, -270.0, 90.0]), 2.6
    points = place + np.array([[1900.0, 900.0, 500.0], [-1300.0, 1500.0, -1100.0]])
    exact = FullSpace(ROCK, ricker(0.7, 1.5 / 0.7), moment=tensor(**TENSOR["tensor"]), location=(130.0, -270.0, 90.0))
    source = {**TENSOR, "time_function": {"kind": "ricker", "duration": 1 / 0.7}}
    mesh = {"cells": [8] * 3, "lower": [-4000.0] * 3, "upper": [4000.0] * 3}
    output = {"receivers": {"points": points.tolist(), "interval": 0.02}}
    errors = {}
    for kind in ("cells", "point"):
        sim = made(source, place, 5, {"source_spread": kind}, mesh, end_time=end, output=output).run(write=False)
        v = np.stack([sim.receivers.quantity(f"v{i}") for i in (1, 2, 3)], -1)
        expected = exact.velocity(points, sim.receivers["time"]).transpose(1, 0, 2)
        errors[kind] = np.linalg.norm(v - expected) / np.linalg.norm(expected)
    assert errors["cells"] < 0.5 * errors["point"]
    assert errors["cells"] < 0.012


PORES = {
    "rho": 2500.0, "mu": 9e9, "lambda": 6e9, "bulk_solid": 4e10, "bulk_fluid": 2.5e9, "rho_fluid": 1040.0, "porosity": 0.2,
    "permeability": 6e-13, "tortuosity": 3.0, "viscosity": 1e-3,
}  # fmt: skip
ROCKS = {
    "elastic": ROCK.parameters(), "anisotropic": ROCK.parameters(), "acoustic": {"rho": 1000.0, "lambda": 2.25e9}, "poroelastic": PORES,
    "viscoelastic": {**ROCK.parameters(), "Qp": 100.0, "Qs": 50.0},
}  # fmt: skip


@pytest.mark.parametrize("law", ROCKS)
def test_every_law_gets_the_whole_moment(law):
    """Integrals of stress over a periodic mesh change by sources alone."""
    pulse = {"kind": "triangle", "duration": 0.02}
    source = {"kind": "moment-tensor", "tensor": {"xx": 1e15, "yy": 1e15, "zz": 1e15}, "time_function": pulse}
    if law != "acoustic":
        source["tensor"] |= {"xy": 2e15, "zz": -3e14}
    mesh = {"boundaries": dict.fromkeys("xyz", "periodic")}
    more = {"attenuation": {"high": 5.0}} if law == "viscoelastic" else {"law": law}
    sim = made(source, (130.0, -270.0, 90.0), 3, mesh=mesh, material={"constant": ROCKS[law]}, end_time=0.05, **more)
    assert len(part_of(sim).spread.cells) > 20
    sim.run(write=False)
    op, plan = sim.solver.operator, sim.plan
    means = op.physical(op.state(), np.arange(plan.cells))[:, 0] * np.sqrt(6.0) * plan.geometry.volume[:, None]
    values = {k: float(v[0]) for k, v in plan.material.items()}
    expected = plan.law.source(part_of(sim).spread.moment[0], np.zeros(3), values)
    stress = slice(0, 1 if law == "acoustic" else 6)
    near = 1e12 if law == "viscoelastic" else 1.0  # relaxation takes a little
    np.testing.assert_allclose(means.sum(0)[stress], expected[stress], rtol=1e-9, atol=near)


def test_a_current_moment_gives_its_whole_charge():
    """In vacuum: the integral of E changes by -p/eps times the time that a unit current flows."""
    source = {"kind": "point", "location": [0.1, -0.2, 0.1], "moment": [1.0, -2.0, 0.5]}
    pulse = {"kind": "triangle", "duration": 1e-10}
    mesh = {
        "shape": "box",
        "cells": [5, 5, 5],
        "lower": [-1.0] * 3,
        "upper": [1.0] * 3,
        "boundaries": dict.fromkeys("xyz", "periodic"),
    }
    sim = fw.simulate({
        "law": "maxwell", "end_time": 2e-10, "mesh": {"generate": mesh}, "numerics": {"order": 3, "threads": 1},
        "material": {"constant": {"relative_permittivity": 1.0, "relative_permeability": 1.0, "conductivity": 0.0}},
        "currents": [{**source, "time_function": pulse}],
    }).run(write=False)  # fmt: skip
    op, plan = sim.solver.operator, sim.plan
    assert len(part_of(sim).spread.cells) > 20
    means = op.physical(op.state(), np.arange(plan.cells))[:, 0] * np.sqrt(6.0) * plan.geometry.volume[:, None]
    np.testing.assert_allclose(
        means.sum(0)[:3], -np.array(source["moment"]) / plan.material["permittivity"][0], rtol=1e-9
    )
