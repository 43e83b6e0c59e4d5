"""The rectangle of a port: alike at both ends of a guide, however it is turned and numbered; what a case must say; its walls."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.dg.capabilities.ports import check_walls, rectangle, turned
from faultwave.domain import tets
from faultwave.domain.tets.generators.box import Box, box_mesh


def end(angle: float, sizes: tuple[float, float], z: float, rng: np.random.Generator) -> np.ndarray:
    """Points on the rim and inside of a guide's end, its first side ``angle`` degrees from x, in random order."""
    s, t = rng.uniform(0, 1, (2, 30))
    s, t = np.concatenate([s, [0, 1, 1, 0], s[:6]]), np.concatenate([t, [0, 0, 1, 1], [0.0] * 3 + [1.0] * 3])
    turn = np.deg2rad(angle)
    u, v = np.array([np.cos(turn), np.sin(turn), 0]), np.array([-np.sin(turn), np.cos(turn), 0])
    points = sizes[0] * s[:, None] * u + sizes[1] * t[:, None] * v + [0.3, -0.2, z]
    return np.asarray(points[rng.permutation(len(points))])


@pytest.mark.parametrize("angle", [0, 22.5, 30, 45, 60, 90, 135, 180, 225, 315])
@pytest.mark.parametrize("sizes", [(0.02, 0.01), (0.01, 0.02), (0.02, 0.02)])
def test_both_ends_of_a_guide_have_the_same_sides(angle: float, sizes: tuple[float, float]) -> None:
    """Also where two components of a side are equal but for rounding, in either sense of the normal."""
    rng, up = np.random.default_rng(int(10 * angle)), np.array([0.0, 0.0, 1.0])
    along = [np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle)), 0.0]
    setting = SimpleNamespace(surface="in", mode="TE10", along=along if sizes[0] == sizes[1] else None)
    found = []
    for _ in range(5):
        for normal, z in ((-up, 0.0), (up, 0.06)):
            found.append(turned(*rectangle(end(angle, sizes, z, rng), normal), setting, "ports"))
    origin, sides, lengths = found[0]
    np.testing.assert_allclose(lengths, sorted(sizes, reverse=True), rtol=1e-9)
    for other, turn, _ in found[1:]:
        np.testing.assert_allclose(turn, sides, atol=1e-9)
        np.testing.assert_allclose(other[:2], origin[:2], atol=1e-9)
    if sizes[0] == sizes[1]:
        np.testing.assert_allclose(sides[0], along, atol=1e-9)


def test_a_direction_may_turn_the_first_side_round() -> None:
    corners = end(0.0, (0.02, 0.01), 0.0, np.random.default_rng(0))
    made = rectangle(corners, np.array([0.0, 0.0, 1.0]))
    for along, first, start in (([-3.0, 0.1, 0], [-1, 0, 0], [0.32, -0.2]), ([0, 1, 0], [0, 1, 0], [0.3, -0.2])):
        setting = SimpleNamespace(surface="in", mode="TE10", along=along)
        origin, sides, _ = turned(*made, setting, "ports")
        np.testing.assert_allclose(sides[0], first, atol=1e-9)
        np.testing.assert_allclose(origin[:2], start, atol=1e-9)
    with pytest.raises(InputError, match=r"\[1, 1, 0\] is not a side of 'in' \(allowed: \[1, 0, 0\] or \[0, 1, 0\]\)"):
        turned(*made, SimpleNamespace(surface="in", mode="TE10", along=[1, 1, 0]), "ports")
    square = rectangle(end(0.0, (0.02, 0.020001), 0.0, np.random.default_rng(0)), np.array([0.0, 0.0, 1.0]))
    with pytest.raises(InputError, match="the sides of 'in' have equal lengths"):
        turned(*square, SimpleNamespace(surface="in", mode="TE10", along=None), "ports")


@pytest.mark.parametrize(
    "side, told", [("pec", ""), ("impedance", ""), ("pmc", "pmc"), ("absorbing", "absorbing"), ("periodic", "periodic")]
)
def test_ports_end_at_metal(side: str, told: str) -> None:
    mesh = box_mesh(Box((2, 3, 3), (0, 0, 0), (1, 1, 1), {"x": "absorbing", "y": "pec", "z": side}, shuffle=True))
    x = mesh.vertices[mesh.cells[:, tets.FILE_FACES]][..., 0]
    mesh = replace(mesh, tags=np.where((x < 1e-9).all(2), 21, mesh.tags).astype(np.int32))
    kinds = {"absorbing": [5, 21], "pec": [11], "pmc": [12], "impedance": [10], "periodic": [6]}
    topology = tets.build_topology(mesh, kinds)
    cells, faces = np.nonzero(topology.tags == 21)
    if not told:
        check_walls("ports", "in", cells, faces, mesh, topology)
        return
    with pytest.raises(InputError, match=f"edges along walls of kind {told}"):
        check_walls("ports", "in", cells, faces, mesh, topology)
