"""A rupture does not depend on how space is turned, which side is called plus, or how cells and vertices are numbered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from faultwave.dg.fault.probe import FaultProbe
from faultwave.dg.fault.values import ReadingMode
from faultwave.domain.tets import Mesh
from faultwave.domain.tets.mesh import make_mesh, reorder_cells, shuffle_vertices

from .setup import ON_FAULT, SLIP_WEAKENING, Histories, difference, run, settings, small_mesh

TENSORS = {  # inside the square, outside it; on the vertical fault with n = +y the load is (s_xy, s_yz)
    True: np.array([[-110e6, 82e6, 3e6], [82e6, -120e6, 12e6], [3e6, 12e6, -100e6]]),
    False: np.array([[-110e6, 66e6, 3e6], [66e6, -120e6, 22e6], [3e6, 22e6, -100e6]]),
}
SCALARS = ("u_n", "Mud", "Pn0", "ASl", "PSR", "RT", "DS", "Vr")
VECTORS = (("SRs", "SRd"), ("T_s", "T_d"), ("Ts0", "Td0"), ("Sls", "Sld"))
FIELDS = [*SCALARS, *(name for pair in VECTORS for name in pair)]
LIMIT = 1e-9


def fault_settings(turn: np.ndarray, side: float) -> dict:
    """TPV5's load turned with the body: stress tensors R S R^T, the square found from R^T x."""
    along, up = turn[:, 0], turn[:, 2]

    def linear(v: np.ndarray) -> str:
        return " + ".join(f"({c:.17f})*{name}" for c, name in zip(v, "xyz", strict=True))

    body = f"u = {linear(along)}; w = {linear(up)};"
    stress = {inside: turn @ s @ turn.T for inside, s in TENSORS.items()}
    expression = {}
    for name, (i, j) in zip(
        ("xx", "yy", "zz", "xy", "yz", "xz"), ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)), strict=True
    ):
        within, without = (f"{stress[k][i, j]:.9f}" for k in (True, False))
        expression[f"s_{name}"] = (
            f"{body} if (max(abs(u), abs(w + 2250.0)) <= 1437.0) {{ return {within}; }} return {without};"
        )
    reference = tuple(map(float, turn @ [0.0, side * 1e4, 0.0]))
    return {
        "friction": "linear-slip-weakening", "reference": reference, "slip_rate_output": "friction",
        "parameters": {"constant": SLIP_WEAKENING, "expression": expression},
    }  # fmt: skip


def ruptured(path, mesh: Mesh, turn: np.ndarray, side: float, **more: Any) -> Histories:
    case = settings(
        path,
        fault_settings(turn, side),
        replace(mesh, vertices=mesh.vertices @ turn.T),
        points=ON_FAULT @ turn.T,
        **more,
    )
    case["output"]["energies"] = {"interval": 1.0, "slip_from_velocity": True}  # remembers the velocity jump, too
    return run(case)


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Histories:
    return ruptured(tmp_path_factory.mktemp("original"), small_mesh(), np.eye(3), -1.0)


def compare(found: Histories, original: Histories, turn: np.ndarray, flip: float) -> None:
    """``flip`` -1: sides are swapped, so n, slip and traction change sign."""
    assert found.time.shape == original.time.shape and difference(found.time, original.time) < 1e-12
    a, b = found.sim.fault_receivers, original.sim.fault_receivers
    for mine, theirs in VECTORS:
        vectors = [
            h[mine][..., None] * d["strike"] + h[theirs][..., None] * d["dip"] for h, d in ((found, a), (original, b))
        ]
        assert difference(flip * vectors[0] @ turn, vectors[1]) < LIMIT, mine
    for name in SCALARS:
        sign = flip if name == "u_n" else 1.0
        assert difference(sign * found[name], original[name]) < LIMIT, name
    assert difference(flip * a["normal"] @ turn, b["normal"]) < 1e-12
    compare_points(found, original, turn, flip)
    compare_fields(found, original, turn, flip)


def nearest(x: np.ndarray, turn: np.ndarray, others: np.ndarray) -> np.ndarray:
    distance, index = cKDTree(x @ turn).query(others)
    assert distance.max() < 1e-6
    return index


def compare_points(found: Histories, original: Histories, turn: np.ndarray, flip: float) -> None:
    """Everything remembered at every friction point."""
    places, vectors, numbers = [], [], []
    for h in (found, original):
        plan, record = h.sim.plan.part("rupture"), h.sim.solver.parts["rupture"].fault.record()
        f = plan.faces
        places.append(plan.positions.reshape(-1, 3))
        pairs = (("slip1", "slip2"), ("traction1", "traction2"), ("moved1", "moved2"), ("stress1", "stress2"))
        frame = (f.tangent1[:, None], f.tangent2[:, None])
        vectors.append(
            [sum(record[n][..., None] * t for n, t in zip(p, frame, strict=True)).reshape(-1, 3) for p in pairs]
        )
        names = (
            "accumulated_slip",
            "peak_slip_rate",
            "ruptured",
            "weakened",
            "friction",
            "strength",
            "work",
            "moved",
            "traction_n",
        )
        numbers.append([record[n].reshape(-1) for n in names])
    index = nearest(places[0], turn, places[1])
    for a, b in zip(*vectors, strict=True):
        assert difference(flip * a[index] @ turn, b) < LIMIT
    for a, b in zip(*numbers, strict=True):
        assert difference(a[index], b) < LIMIT


def compare_fields(found: Histories, original: Histories, turn: np.ndarray, flip: float) -> None:
    """What is read at the centre of every face."""
    values, centres = [], []
    for h in (found, original):
        fault = h.sim.solver.parts["rupture"].fault
        probe = FaultProbe(fault, np.arange(len(fault.faces.area)), np.full((1, 2), 1 / 3), ReadingMode(True, True))
        read = {name: column[:, 0] for name, column in probe.read(FIELDS).items()}
        f = fault.faces
        vector = {a: read[a][:, None] * f.strike + read[b][:, None] * f.dip for a, b in VECTORS}
        values.append({name: read[name] for name in ("ASl", "Pn0", "Mud", "u_n")} | vector)
        centres.append(f.corners.mean(1))
    index = nearest(centres[0], turn, centres[1])
    for name, b in values[1].items():
        a = values[0][name][index]
        a = a @ turn * flip if a.ndim == 2 else a * (flip if name == "u_n" else 1.0)
        assert difference(a, b) < LIMIT, name


def test_the_rupture_is_worth_comparing(original: Histories) -> None:
    assert original.sim.plan.clustering.histogram[1] > 0
    record = original.sim.solver.parts["rupture"].fault.record()
    broken = record["ruptured"] > 0
    assert 0.4 < broken.mean() < 1
    assert np.abs(original["Sld"][-1]).max() > 0.02 * np.abs(original["Sls"][-1]).max()


@pytest.mark.parametrize("seed", [1])
def test_turned_space(tmp_path, original: Histories, seed: int) -> None:
    turn = Rotation.random(random_state=seed).as_matrix()
    compare(ruptured(tmp_path, small_mesh(), turn, -1.0), original, turn, 1.0)


def test_swapped_sides(tmp_path, original: Histories) -> None:
    found = ruptured(tmp_path, small_mesh(), np.eye(3), 1.0)
    compare(found, original, np.eye(3), -1.0)
    for name in ("SRs", "Ts0", "Sls", "T_s"):  # lateral sense is the same seen from either side
        assert difference(found[name], original[name]) < LIMIT
    for name in ("SRd", "Td0", "Sld", "T_d"):
        assert difference(-found[name], original[name]) < LIMIT


def test_permuted_vertices_of_cells(tmp_path, original: Histories) -> None:
    mesh = shuffle_vertices(small_mesh(), np.random.default_rng(3))
    assert (mesh.cells != small_mesh().cells).any(1).mean() > 0.8
    compare(ruptured(tmp_path, mesh, np.eye(3), -1.0), original, np.eye(3), 1.0)


def test_renumbered_vertices_and_cells(tmp_path, original: Histories) -> None:
    """Faces get other first vertices, hence other tangents and other orders of their points."""
    rng, mesh = np.random.default_rng(4), small_mesh()
    order = rng.permutation(len(mesh.vertices))
    mesh = make_mesh(mesh.vertices[order], np.argsort(order)[mesh.cells], mesh.groups, mesh.tags)
    mesh = reorder_cells(mesh, rng.permutation(len(mesh.cells)))
    compare(ruptured(tmp_path, mesh, np.eye(3), -1.0), original, np.eye(3), 1.0)
