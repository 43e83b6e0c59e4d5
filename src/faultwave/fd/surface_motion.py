"""Motion of the free surface of a grid: the launches that compute it in every step, and its values within the requested box."""

from __future__ import annotations

import numpy as np

from faultwave.engine.snapshots import assemble_blocks
from faultwave.fd.capability import Running
from faultwave.fd.method.program import Observer
from faultwave.fd.method.scheme import Level, above
from faultwave.kernels import math
from faultwave.kernels.expr import Number
from faultwave.kernels.stencil import Axis, Box, Launch, Layout, Point, Stencil

COMPONENTS = ("1", "2", "3")
CENTRE_WEIGHTS = {4: (9.0 / 16, -1.0 / 16), 8: (1225.0 / 2048, -245.0 / 2048, 49.0 / 2048, -5.0 / 2048)}
"""Interpolation weights of the points around a cell's centre, at half an edge, one and a half and so on, by order."""
SURFACE_LAG = 2
"""Lag of surface launches in rows, the number of rows read ahead; ``program`` replaces it by the reach of the order."""


def observe_surface(points: Box, step: float, order: int = 4) -> Observer:
    """Return the observer of the motion of the surface above a box.

    Its arrays are the velocity v1 v2 v3, displacement u1 u2 u3, acceleration a1 a2 a3 and largest horizontal speed PGV.

    Parameters
    ----------
    points : Box
    step : float
        Time step [s].
    order : int
        Order of the differences.
    """
    box, shares = above(points), CENTRE_WEIGHTS[order]
    around = [*zip(range(-len(shares), 0), reversed(shares), strict=True), *enumerate(shares)]

    def function(p: Point) -> dict[str, Number]:
        def between(name: str, axis: Axis) -> Number:
            return sum(share * p.at(name, **{axis: n}) for n, share in around)

        now = (between("u", "x"), between("v", "y"), p.at("w", z=-1))
        result: dict[str, Number] = {}
        for c, v in zip(COMPONENTS, now, strict=True):
            result[f"surface_a{c}"] = p.scalar("per_step") * (v - p.at(f"surface_v{c}"))
            result[f"surface_v{c}"] = v
            result[f"surface_u{c}"] = p.at(f"surface_u{c}") + p.scalar("step") * v
        result["surface_peak"] = math.maximum(p.at("surface_peak"), math.sqrt(now[0] * now[0] + now[1] * now[1]))
        return result

    names = [f"surface_{q}{c}" for q in "vua" for c in COMPONENTS] + ["surface_peak"]
    layout = Layout(box, group="surface", halo=0)
    launch = Launch(Stencil("surface_motion", function), box, lag=SURFACE_LAG)
    return Observer(dict.fromkeys(names, layout), [(Level.VELOCITY, launch)], {"step": step, "per_step": 1.0 / step})


class SurfaceView:
    """View of the surface arrays within the requested box, without layers.

    Attributes
    ----------
    x, y : ndarray
        Coordinates of the cell centres [m].
    elevation : ndarray (ny, nx) or None
        Elevation of the ground [m]; None if it is flat.
    top : float
        Height of the flat surface [m].
    spacing : float
        Grid spacing [m].
    """

    def __init__(self, solver: Running):
        plan, operator = solver.plan, solver.operator
        grid, self.world = plan.scheme.grid, plan.world
        first = np.round((plan.lower - np.array(grid.lower)) / grid.spacing).astype(int)
        count = np.round((plan.upper - plan.lower) / grid.spacing).astype(int)
        owned, box = operator.subdomain.owned.box, operator.subdomain.box
        self.here = owned.hi[0] == grid.shape[0]
        lo = [max(owned.lo[2 - k], int(first[k])) for k in (1, 0)]
        hi = [max(low, min(owned.hi[2 - k], int(first[k] + count[k]))) for low, k in zip(lo, (1, 0), strict=True)]
        y, x = (slice(a - box.lo[k], b - box.lo[k]) for a, b, k in zip(lo, hi, (1, 2), strict=True))
        self.inner = (y, x)
        y, x = (slice(a - first[k], b - first[k]) for a, b, k in zip(lo, hi, (1, 0), strict=True))
        self.place = (y, x)
        self.x = plan.lower[0] + grid.spacing * (np.arange(count[0]) + 0.5)
        self.y = plan.lower[1] + grid.spacing * (np.arange(count[1]) + 0.5)
        relief = grid.relief
        self.elevation = None if relief is None else relief.top + relief.height(*np.meshgrid(self.x, self.y))
        self.top, self.spacing, self.operator = float(plan.upper[2]), grid.spacing, operator

    def __call__(self, name: str, of_rock: bool = False) -> np.ndarray:
        """Return the present values (ny, nx) of an array of the surface, or of the rock below it.

        They are assembled on the first process; all processes must call it.
        """
        values = self.operator.filled_around if of_rock else self.operator.runner.values
        block = np.array(values(name)[-1][self.inner], float) if self.here else np.zeros((0, 0))
        place = self.place if block.size else (slice(0, 0), slice(0, 0))
        return assemble_blocks(self.world, (len(self.y), len(self.x)), place, block)
