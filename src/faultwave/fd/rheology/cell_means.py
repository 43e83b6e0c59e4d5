"""Means between cell centres and the places of shear stresses, for formulas that need all stresses in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from faultwave.fd.method.differences import LOWS, PlanePosition
from faultwave.fd.method.scheme import PlaneKind, Scheme
from faultwave.fd.operators.points import norm_weights
from faultwave.kernels.expr import Number
from faultwave.kernels.stencil import Axis, Box, Layout, Point

IN_PLANE: dict[str, tuple[Axis, Axis]] = {"s_xy": ("x", "y"), "s_xz": ("x", "z"), "s_yz": ("y", "z")}
OFFSETS = {PlanePosition.HALF: (-2, -1, 0), PlanePosition.WHOLE: (0, 1, 2)}
"""Offsets in planes read by means on half and whole planes next to a free surface or the face to a grid above."""
LOW_OFFSETS = {PlanePosition.HALF: (-1, 0, 1), PlanePosition.WHOLE: (-1, 0, 1)}
"""Offsets in planes read by means next to the face to a grid below."""


def mean_line(to: PlanePosition, offset: int) -> str:
    """Return the name of the profile along z of a mean's weights.

    Parameters
    ----------
    to : PlanePosition
        Planes of the mean.
    offset : int
        Planes upwards to the plane that is read.
    """
    return f"mean_{to}{offset}"


def mean_arrays(scheme: Scheme) -> dict[str, Layout]:
    """Return the layouts of the profiles of all means."""
    line = Layout(scheme.filled(scheme.grid.box), "line", "z")
    return {mean_line(to, o): line for to, far in _offsets(scheme).items() for o in far}


def _offsets(scheme: Scheme) -> dict[PlanePosition, tuple[int, ...]]:
    """Return the offsets in planes that the means of a scheme read."""
    low = LOW_OFFSETS if scheme.joined_below else dict.fromkeys(OFFSETS, ())
    return {to: tuple(sorted({*far, *low[to]})) for to, far in OFFSETS.items()}


def mean_lines(scheme: Scheme) -> dict[str, np.ndarray]:
    """Return the values of the profiles of all means."""
    top, first, end = scheme.grid.shape[0], scheme.ends.first, scheme.grid.shape[0] + scheme.ends.upper
    found = {mean_line(to, o): np.zeros(end - first) for to, far in _offsets(scheme).items() for o in far}
    listed = list[tuple[dict[PlanePosition, np.ndarray], int]]()
    if scheme.ends.upper:
        planes = {PlanePosition.HALF: np.arange(top, -1, -1), PlanePosition.WHOLE: np.arange(top - 1, -1, -1)}
        listed.append((planes, min(top - LOWS[scheme.order] * scheme.joined_below, 2 * scheme.differences.deep)))
    if scheme.joined_below:
        listed.append((dict.fromkeys(OFFSETS, np.arange(-1, top)), LOWS[scheme.order]))
    for planes, count in listed:
        weight = {
            kind: norm_weights(scheme, name, planes[kind])
            for kind, name in ((PlanePosition.HALF, "szz"), (PlanePosition.WHOLE, "sxz"))
        }
        for to, other in ((PlanePosition.HALF, PlanePosition.WHOLE), (PlanePosition.WHOLE, PlanePosition.HALF)):
            for n, m_, share in _overlaps(weight[to], weight[other], count):
                plane, seen = planes[to][n], planes[other][m_]
                found[mean_line(to, seen - plane)][plane - first] = share
    return found


def _overlaps(weights: np.ndarray, others: np.ndarray, count: int) -> Iterator[tuple[int, int, float]]:
    """Yield (cell, other cell, fraction of the first in both) of the first ``count`` cells below a face.

    Cells are as thick as their ``weights``; the others as ``others``.
    """
    a, b = (np.r_[0.0, np.cumsum(thick)] for thick in (weights, others))
    for n in range(count):
        for m_ in range(max(0, n - 3), min(n + 4, len(others))):
            shared = min(a[n + 1], b[m_ + 1]) - max(a[n], b[m_])
            if shared > 1e-12:
                yield n, m_, shared / weights[n]


def mean(p: Point, of: str | Callable[..., Number], axes: tuple[Axis, Axis], ahead: int, kind: PlaneKind) -> Number:
    """Return the mean over the surrounding points, half an edge away along two axes.

    Parameters
    ----------
    p : Point
    of : str or callable
        Array, or a function that reads at the offsets given by axis name.
    axes : tuple of str
    ahead : {1, -1}
        Direction of the neighbours.
    kind : PlaneKind
        Kind of the planes (``planes_of``).
    """

    def at(*far: int) -> Number:
        where = dict(zip(axes, far, strict=True))
        return p.at(of, **where) if isinstance(of, str) else of(**where)

    if kind == PlaneKind.INSIDE or "z" not in axes:
        return 0.25 * ((at(0, 0) + at(ahead, 0)) + (at(0, ahead) + at(ahead, ahead)))
    to = PlanePosition.HALF if ahead < 0 else PlanePosition.WHOLE
    far = (LOW_OFFSETS if kind == PlaneKind.LOW else OFFSETS)[to]
    return sum(p.line(mean_line(to, o), "z") * (0.5 * (at(0, o) + at(ahead, o))) for o in far)


def planes_of(scheme: Scheme, box: Box) -> list[tuple[int, int, PlaneKind]]:
    """Return (first, end, kind) of the ranges of planes that one launch handles.

    The kinds are 'low' at the face to a grid below, 'inside', 'inside_upper' near the upper end, 'last' for the plane
    below it, whose upper shear stresses lie on it, and 'surface'. Planes at a free surface or a face have launches of
    their own.
    """
    low, top, found = box.lo[0], scheme.grid.shape[0], list[tuple[int, int, PlaneKind]]()
    if scheme.joined_below and low == 0:
        low = LOWS[scheme.order] - 1
        found.append((-1, low, PlaneKind.LOW))
    if not scheme.surfaced(box):
        return [*found, (low, box.hi[0], PlaneKind.INSIDE)]
    first = max(low, top + 1 - scheme.differences.deep)
    found += [
        (low, first, PlaneKind.INSIDE),
        (first, top - 1, PlaneKind.INSIDE_UPPER),
        (top - 1, top, PlaneKind.LAST),
        (top, top + 1, PlaneKind.SURFACE),
    ]
    return [(a, b, kind) for a, b, kind in found if a < b]
