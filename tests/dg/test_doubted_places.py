"""What ``check`` warns of without stepping: receivers within the reach of sources, and meshes that no wave crosses."""

import numpy as np
import pytest

import faultwave as fw
from faultwave.dg.capabilities.outputs.receivers import _on_the_ground
from faultwave.domain.tets import build_topology
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.observe.stations.points import AS_CASE, GROUND, SEA_LEVEL
from tests.dg.test_spread_sources import TENSOR, made


@pytest.mark.parametrize(
    ("spread", "seen"), [("cells", "smooth function"), ("point", "discretisation error of its cell")]
)
def test_receivers_within_the_reach_of_a_source(spread, seen):
    """Those nearer than an edge, by number; the nearest with its distance."""
    case = made(TENSOR, (130.0, -270.0, 90.0), 2).case.model_dump(exclude_unset=True)
    points = [[2500.0, 2500.0, 0.0], [130.0, -70.0, 90.0], [130.0, -270.0, 390.0], [-2500.0, 0.0, -2000.0]]
    numerics = {"order": 2, "source_spread": spread}
    for listed, told in ((points, True), ([points[0], points[3]], False)):
        problems = fw.check({**case, "numerics": numerics, "output": {"receivers": {"points": listed}}})
        found = [p.what for p in problems.warnings if p.where == "output.receivers"]
        assert len(found) == told
        if told:
            assert seen in found[0] and ": 2, 3; receiver 2 is 200 m from sources[0], whose extent is" in found[0]


def test_waves_that_get_nowhere():
    """In a mesh of 6 km a wave of 3.46 km/s goes 5 % of it in 0.087 s."""
    case = made(TENSOR, (130.0, -270.0, 90.0), 2).case.model_dump(exclude_unset=True)
    for end, told in ((0.08, True), (0.1, False)):
        problems = fw.check({**case, "end_time": end})
        assert any(p.where == "mesh" and "the fastest wave crosses" in p.what for p in problems.warnings) == told


def test_places_below_the_ground_of_a_mesh():
    """Stations of files count from the ground, at 1000 m here, heights of SW4 do not; other points do as the case says."""
    references = np.array([AS_CASE, SEA_LEVEL, GROUND], np.int8)
    points = np.array([[0.0, 0.0, -20.0]] * 3)
    mesh = box_mesh(Box((2, 2, 2), (-2000.0, -2000.0, -3000.0), (2000.0, 2000.0, 1000.0), {"z+": "free-surface"}))
    for means, z in (("elevation", [-20.0, -20.0, 980.0]), ("depth", [980.0, -20.0, 980.0])):
        found = _on_the_ground(points, references, means, mesh, build_topology(mesh))
        assert found[:, 2].tolist() == pytest.approx(z) and (found[:, :2] == points[:, :2]).all()
