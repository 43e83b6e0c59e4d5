"""Surface heights given on a lattice of x and y."""

from __future__ import annotations

import numpy as np

from faultwave.media.models.lattice import position
from faultwave.media.models.model import Surface
from faultwave.media.points import Floats


def on_nodes(x: Floats, y: Floats, heights: Floats) -> Surface:
    """Return the bilinear interpolant of ``heights`` (nx, ny) [m], constant beyond the edges."""

    def surface(at_x: Floats, at_y: Floats) -> Floats:
        # outside a projection's domain there is no position; the model itself reports points outside
        i = np.nan_to_num(np.clip(position(at_x, x), 0.0, len(x) - 1.0))
        j = np.nan_to_num(np.clip(position(at_y, y), 0.0, len(y) - 1.0))
        i0 = np.minimum(i.astype(int), max(len(x) - 2, 0))
        j0 = np.minimum(j.astype(int), max(len(y) - 2, 0))
        a, b = i - i0, j - j0
        i1, j1 = np.minimum(i0 + 1, len(x) - 1), np.minimum(j0 + 1, len(y) - 1)
        near = heights[i0, j0] * (1 - b) + heights[i0, j1] * b
        far = heights[i1, j0] * (1 - b) + heights[i1, j1] * b
        return np.asarray(near * (1 - a) + far * a)

    return surface
