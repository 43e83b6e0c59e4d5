"""Random places mesh without a hand: every one gives a sound mesh whose faults, ground and sea are where they belong."""

import numpy as np
import pytest

pytest.importorskip("gmsh", exc_type=ImportError)

from faultwave.domain import tets
from faultwave.domain.build import build
from faultwave.domain.tets.mesh import FILE_FACES, signed_volumes
from tests.domain.build.places import random_place


@pytest.mark.parametrize("seed", [pytest.param(k, marks=() if k in (1, 7) else pytest.mark.slow) for k in range(20)])
def test_random_place_meshes_without_a_hand(seed, tmp_path):
    asked, place = random_place(seed, tmp_path)
    mesh = build(asked, place)
    assert not tets.check_mesh(mesh).errors
    corners = mesh.vertices[mesh.cells[:, FILE_FACES]]  # (nc, 4, 3, 3)

    # On the ground every vertex is at its height, but for the coast and the sea.
    top = corners[mesh.tags == 1].reshape(-1, 3)
    ground = place.ground(top[:, :2])
    error = np.abs(top[:, 2] - ground)
    inside = (np.abs(top[:, 2]) > 1e-6) & (ground > 0)
    assert not inside.any() or np.median(error[inside]) < 0.02 * np.ptp(ground)
    if not asked.sea:
        assert error.max() < 0.1 * (np.ptp(ground) + 300.0)

    # Faults reach the ground and their depth, and nothing of them is cut off.
    for number, fault in enumerate(asked.faults):
        tag = 3 if number == 0 else 64 + number
        x = corners[mesh.tags == tag].reshape(-1, 3)
        assert x[:, 2].min() == pytest.approx(-fault.depth, abs=0.1 * fault.depth)
        assert np.abs(x[:, 2] - place.ground(x[:, :2])).min() < 1e3

    # The volume is that of rock and water between the bottom and the ground or z = 0.
    volume = signed_volumes(mesh).sum()
    x, y = (a.ravel() for a in np.meshgrid(*[np.linspace(-15e3, 15e3, 300)] * 2))
    height = place.ground(np.stack([x, y], 1))
    height = np.maximum(height, 0.0) if asked.sea else height
    assert volume == pytest.approx(900e6 * (15e3 + height.mean()), rel=0.02)

    # No cell is so flat that it would rule the time step of the whole run.
    topology = tets.build_topology(mesh)
    inradius = tets.geometry(mesh, topology).inradius
    assert inradius.min() > 0.03 * np.median(inradius)
