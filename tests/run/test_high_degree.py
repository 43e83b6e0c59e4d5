"""Snapshots with cells of high degree hold all of the wave field: the polynomial of every cell, not one value."""

from __future__ import annotations

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.observe.snapshots.pieces import lagrange_nodes
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.run.planned import check
from tests.run.launch import launch
from tests.run.rupture.setup import settings, slip_weakening
from tests.run.test_unused_settings import told

ORDER = 4


def case(folder, **volume):
    box = {
        "shape": "box", "cells": [2, 2, 2], "lower": [-1, -1, -1], "upper": [1, 1, 1], "shuffle": True, "perturb": 0.2,
        "boundaries": {"z+": "free-surface"},
    }  # fmt: skip
    force = {"kind": "force", "location": [0.1, 0.2, 0.4], "force": [1, 2, 3.0]}
    snapshots = {"interval": 0.11, "degree": ORDER - 1}
    return {
        "end_time": 0.3, "mesh": {"generate": box}, "material": {"constant": {"rho": 1.0, "lambda": 2.0, "mu": 1.0}},
        "sources": [force | {"time_function": {"kind": "gaussian", "duration": 0.1}}],
        "numerics": {"order": ORDER, "clustering": {"rates": [2]}},
        "output": {
            "folder": str(folder), "precision": "double", "receivers": {"points": [[0.1, 0.2, 0.9]], "interval": 0.01},
            "volume": snapshots | {"fields": ["v1", "s_xy"], **volume}, "surface": snapshots,
        },
    }  # fmt: skip


def inside(nodes: np.ndarray, values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places (nc, n, 3) with these barycentric ``weights`` (n, d + 1), and the polynomials of nodes (nc, k, 3) there."""
    dimension = weights.shape[1] - 1
    powers = [p for p in np.ndindex(*[ORDER] * dimension) if sum(p) < ORDER]

    def terms(x: np.ndarray) -> np.ndarray:
        return np.stack([np.prod(x[:, 1:] ** np.array(p), axis=1) for p in powers], -1)

    table = terms(weights) @ np.linalg.inv(terms(lagrange_nodes(dimension, ORDER - 1)))
    return weights @ nodes[:, : dimension + 1], values @ table.T


@pytest.mark.parametrize("refinement", [0, 1])
def test_volumes_are_the_polynomials_of_cells(tmp_path, refinement):
    """At the end of the run, at points inside of the cells, some of which are left-handed in the solver."""
    sim = fw.simulate(case(tmp_path, refinement=refinement, interval=0.1)).run()
    weights = np.random.default_rng(2).dirichlet(np.ones(4), 3)
    with VtkHdfReader(tmp_path / "run-volume.vtkhdf") as file:
        corners = file.points[file.cells]
        assert (np.linalg.det(corners[:, 1:] - corners[:, :1]) > 0).all() and file.times[-1] == pytest.approx(sim.time)
        for name in ("v1", "s_xy"):
            places, found = inside(file.points[file.nodes], file.at_nodes(name, -1), weights)
            exact = sim.sample(places.reshape(-1, 3))[:, sim.solver.plan.law.quantities.index(name)]
            assert np.abs(exact).max() > 0
            np.testing.assert_allclose(found.reshape(-1), exact, atol=1e-12 * np.abs(exact).max())


def test_surfaces_are_the_polynomials_of_faces(tmp_path):
    """Velocity is that of the wave field; displacement is its integral, so it is no polynomial of less than the whole degree."""
    sim = fw.simulate(case(tmp_path) | {"end_time": 0.22}).run()
    weights = np.random.default_rng(2).dirichlet(np.ones(3), 3)
    with VtkHdfReader(tmp_path / "run-surface.vtkhdf") as file:
        assert (file.points[:, 2] == 1.0).all() and set(file.field("locationFlag")) == {2}
        places, found = inside(file.points[file.nodes], file.at_nodes("v3", -1), weights)
        exact = sim.sample(places.reshape(-1, 3) - [0, 0, 1e-12])[:, 8]
        np.testing.assert_allclose(found.reshape(-1), exact, atol=1e-9 * np.abs(exact).max())


def test_runs_go_on_at_a_checkpoint(tmp_path):
    """The file, the sums at its points, and the points between: as without the interruption."""
    whole, parted = case(tmp_path / "whole"), case(tmp_path / "parted")
    for made in (whole, parted):
        made["output"]["checkpoint"] = {"interval": 0.1}
    fw.simulate(whole).run()
    fw.simulate(parted).run(until=0.2)
    fw.resume(tmp_path / "parted", until=0.3).run()
    for kind, name in (("volume", "s_xy"), ("surface", "u3")):
        files = [VtkHdfReader(tmp_path / folder / f"run-{kind}.vtkhdf") for folder in ("whole", "parted")]
        assert len(files[0].times) == 3
        np.testing.assert_array_equal(files[0].times, files[1].times)
        a, b = (np.stack([file.at_nodes(name, i) for i in range(3)]) for file in files)
        np.testing.assert_allclose(b, a, atol=1e-12 * np.abs(a).max())


def test_what_is_told_before_the_run(tmp_path):
    with pytest.raises(InputError, match="output.volume.degree"):
        fw.simulate(case(tmp_path, degree=9))
    with pytest.raises(InputError, match="tetrahedra only"):
        fw.simulate(case(tmp_path) | {"engine": "fd", "grid": {"spacing": 0.1}})
    made = case(tmp_path)
    made["output"]["xdmf"] = True
    told(check(made), "output.volume.degree", "VTKHDF only", severity="warning")


def test_nodes_on_a_fault(tmp_path):
    """Nodes of any degree lie on one polynomial of the face: its middle is a node of degree 3, and follows from those of degree 2."""
    found = {}
    for degree in (2, 3):
        snapshots = {"interval": 0.2, "fields": ["ASl", "Pn0"], "degree": degree}
        folder = tmp_path / str(degree)
        folder.mkdir()
        fw.simulate(settings(folder, slip_weakening(), end_time=0.2, output={"fault": snapshots})).run()
        found[degree] = VtkHdfReader(folder / "out" / "run-fault.vtkhdf")
    quadratic = np.array([-1, -1, -1, 4, 4, 4]) / 9.0  # at the middle, of values at corners and middles of edges
    places, nodes = (found[3].points[index] for index in (found[3].cells, found[3].nodes))
    np.testing.assert_array_equal(found[2].points[found[2].cells], places)
    middle = np.linalg.norm(nodes - places.mean(1, keepdims=True), axis=2).argmin(1)
    np.testing.assert_allclose(nodes[np.arange(len(nodes)), middle], places.mean(1), atol=1e-12)
    for name in ("ASl", "Pn0"):
        a, b = found[2].at_nodes(name) @ quadratic, found[3].at_nodes(name)[np.arange(len(nodes)), middle]
        assert np.ptp(b) > 0
        np.testing.assert_allclose(a, b, atol=2e-7 * np.abs(b).max())


@pytest.mark.mpi
def test_several_processes_write_the_same(tmp_path):
    made, found = case(tmp_path / "one"), []
    fw.simulate(made).run()
    done = launch(2, made | {"output": made["output"] | {"folder": str(tmp_path / "two")}})
    assert done.returncode == 0, done.stderr
    for folder in ("one", "two"):
        for kind, name in (("volume", "s_xy"), ("surface", "u3")):
            with VtkHdfReader(tmp_path / folder / f"run-{kind}.vtkhdf") as file:
                centres = file.points[file.cells].mean(1)
                order = np.lexsort((*centres.T, file.field("global-id")))
                found.append((file.points[file.nodes][order], file.at_nodes(name, -1)[order]))
    for a, b in zip(found[:2], found[2:], strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])
