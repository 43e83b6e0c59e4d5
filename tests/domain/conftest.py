from pathlib import Path

import numpy as np
import pytest

from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.mesh import make_mesh

CASES = Path(__file__).parents[3] / "shared" / "cases"


@pytest.fixture
def tpv5_file():
    path = CASES / "tpv5" / "tpv5-20k.h5"
    if not path.is_file():
        pytest.skip("no reference cases next to the project")
    return path


@pytest.fixture
def cases():
    if not CASES.is_dir():
        pytest.skip("no reference cases next to the project")
    return CASES


@pytest.fixture
def box():
    """A perturbed, shuffled box of 3 x 4 x 5 bricks with a fault plane y = 0 and all sides absorbing but the top."""
    return box_mesh(Box((3, 4, 5), (-300, -400, -500), (300, 400, 0), {"z+": "free-surface"}, 0.2, 7, True, ("y", 0.0)))


@pytest.fixture
def two_cells():
    """Two tetrahedra on one fault face, free surface elsewhere."""
    vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    cells = [[0, 1, 2, 3], [1, 2, 3, 4]]
    tags = [[1, 1, 3, 1], [3, 1, 1, 1]]
    return make_mesh(np.array(vertices, float), cells, [1, 2], tags, name="two")
