"""Write the places at which the centroid is searched: a grid around the hypocentre of a catalogue.

python points.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

CENTRE, STEP, COUNT = (0.0, 0.0, -5000.0), 1000.0, 5
"""Hypocentre of the catalogue, 1.5 km from the true place, and distance of places [m]; number of places in each direction."""


def write_points(folder: Path) -> None:
    """Write x, y, z of all places."""
    steps = STEP * (np.arange(COUNT) - COUNT // 2)
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), -1).reshape(-1, 3)
    np.savetxt(folder / "points.txt", np.array(CENTRE) + grid, fmt="%.1f")


if __name__ == "__main__":
    write_points(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
