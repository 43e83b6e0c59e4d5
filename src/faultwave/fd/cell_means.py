"""Means between the centres of cells and the places of shear stresses, of formulas that need all stresses in one place.

Inside the grid a mean is that of the four points around. Means to centres and means from centres are then adjoints of each other in the
norm of the grid: what a shear stress loses is what the centres around it have counted. Beside a free surface, where planes have weights of
their own, means along z are those of the overlap of cells as thick as these weights: no weight is negative, and the adjoint of a mean is a
mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from faultwave.fd.points import held
from faultwave.fd.program import Scheme
from faultwave.kernels.stencil import Axis, Box, Layout, Point

IN_PLANE: dict[str, tuple[Axis, Axis]] = {"s_xy": ("x", "y"), "s_xz": ("x", "z"), "s_yz": ("y", "z")}
OFFSETS = {"half": (-2, -1, 0), "whole": (0, 1, 2)}
"""Planes further up in the arrays that means on half and whole planes read beside a free surface."""


def mean_line(to: str, offset: int) -> str:
    """The profile along z of what means on planes ``to`` (half or whole) take of the plane so many further up in the arrays."""
    return f"mean_{to}{offset}"


def mean_arrays(scheme: Scheme) -> dict[str, Layout]:
    """These profiles, as arrays."""
    line = Layout(scheme.filled(scheme.grid.box), "line", "z")
    return {mean_line(to, o): line for to, far in OFFSETS.items() for o in far}


def mean_lines(scheme: Scheme) -> dict[str, np.ndarray]:
    """Values of these profiles."""
    top, count = scheme.grid.shape[0], scheme.grid.shape[0] + scheme.ends.upper
    found = {mean_line(to, o): np.zeros(count) for to, far in OFFSETS.items() for o in far}
    if not scheme.free_surface:
        return found
    weight = {
        "half": held(scheme, "szz", np.arange(top, -1, -1)),
        "whole": held(scheme, "sxz", np.arange(top - 1, -1, -1)),
    }
    ends = {kind: np.r_[0.0, np.cumsum(w)] for kind, w in weight.items()}
    for to, other in (("half", "whole"), ("whole", "half")):
        for n in range(min(top, 2 * scheme.differences.deep)):
            for m_ in range(max(0, n - 3), min(n + 4, len(ends[other]) - 1)):
                a, b = ends[to][n : n + 2], ends[other][m_ : m_ + 2]
                shared = min(a[1], b[1]) - max(a[0], b[0])
                plane, seen = (top - (k == "whole") - i for k, i in ((to, n), (other, m_)))
                if shared > 1e-12 and plane < count:
                    found[mean_line(to, seen - plane)][plane] = shared / weight[to][n]
    return found


def mean(p: Point, of: str | Callable[..., Any], axes: tuple[Axis, Axis], ahead: int, kind: str) -> Any:
    """Mean over the points around, half an edge off along two axes: ``ahead`` 1, or behind, -1; ``of``: an array, or what is read so far
    away along axes by name; ``kind`` of the planes (``planes_of``)."""

    def at(*far: int) -> Any:
        where = dict(zip(axes, far, strict=True))
        return p.at(of, **where) if isinstance(of, str) else of(**where)

    if kind == "inside" or "z" not in axes:
        return 0.25 * ((at(0, 0) + at(ahead, 0)) + (at(0, ahead) + at(ahead, ahead)))
    to = "half" if ahead < 0 else "whole"
    return sum(p.line(mean_line(to, o), "z") * (0.5 * (at(0, o) + at(ahead, o))) for o in OFFSETS[to])


def planes_of(scheme: Scheme, box: Box) -> list[tuple[int, int, str]]:
    """(first, end, kind) of planes: those that are worked on at once beside a free surface apart from others. ``kind``: 'inside',
    'inside_upper' where the surface is near, 'last' below it, where shear stresses across it are on it, or 'surface'."""
    low, top = box.lo[0], scheme.grid.shape[0]
    if not scheme.surfaced(box):
        return [(low, box.hi[0], "inside")]
    first = max(low, top + 1 - scheme.differences.deep)
    found = [
        (low, first, "inside"),
        (first, top - 1, "inside_upper"),
        (top - 1, top, "last"),
        (top, top + 1, "surface"),
    ]
    return [(a, b, kind) for a, b, kind in found if a < b]


__all__ = ["IN_PLANE", "mean", "mean_arrays", "mean_line", "mean_lines", "planes_of"]
