"""Motion of the free surface of a grid: the launches that compute it in every step."""

from __future__ import annotations

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
