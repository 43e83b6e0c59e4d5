"""Local against global time stepping: the same error within 10 %, and momentum conserved to rounding.

See docs/theory/exact-solutions.md, "Local against global steps".
"""

from __future__ import annotations

import numpy as np

from faultwave.verify import meshes, setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_least, at_most
from faultwave.verify.exact import Array
from faultwave.verify.exact.plane_waves import elastic_convergence

ORDERS = (3, 4, 5)
LADDERS: tuple[tuple[int, ...], ...] = ((2,), (3,), (2, 3))
DRIFT = np.array([0.5, -0.3, 0.2])
"""Uniform velocity added to the waves, so that there is momentum to conserve."""


class DriftingWaves:
    """Convergence waves plus a uniform drift; exact because a translation carries no stress."""

    def __init__(self) -> None:
        self.waves = elastic_convergence()

    def __call__(self, points: Array, t: float) -> Array:
        state = self.waves(points, t)
        state[:, 6:] += DRIFT
        return state


def measure(order: int, rates: tuple[int, ...], bricks: int = 6) -> tuple[Array, Array, int]:
    """Return the errors (9,), the change of momentum (3,) over its initial value, and the number of clusters."""
    solution = DriftingWaves()
    with meshes.as_setting(meshes.graded_cube(bricks, 0.8)) as mesh:
        case = setups.settings(
            "elastic",
            mesh,
            setups.uniform(solution.waves.medium, "elastic"),
            0.5,
            order,
            numerics={"clustering": {"rates": list(rates)}},
            output={"energies": {"interval": 0.5}},
        )
        sim = setups.started(case, solution).run(write=False)
    momentum = np.stack([sim.energies.variables[f"momentum{axis}"].data for axis in "XYZ"])
    drift = (momentum[:, -1] - momentum[:, 0]) / np.abs(momentum[:, 0]).max()
    return np.asarray(sim.error(solution)), drift, len(sim.plan.clustering.steps)


def run(progress: Progress, orders: tuple[int, ...] = ORDERS) -> Result:
    """Judge every set of rates against global stepping on the same graded mesh."""
    rows: list[Row] = []
    for order in orders:
        progress(f"order {order}, global")
        reference, drift, _ = measure(order, (1,))
        rows.append(at_most(f"O={order} global: momentum change", float(np.abs(drift).max()), 1e-12))
        for rates in LADDERS:
            progress(f"order {order}, rates {rates}")
            error, drift, clusters = measure(order, rates)
            rows.append(at_least(f"O={order} rates {rates}: clusters", clusters, 3 if rates == (2,) else 2))
            ratio = float(np.abs(error / reference - 1).max())
            rows.append(at_most(f"O={order} rates {rates}: error against global", ratio, 0.1))
            rows.append(at_most(f"O={order} rates {rates}: momentum change", float(np.abs(drift).max()), 1e-12))
    return Result(tuple(rows))


LOCAL = VerificationCase("local-time-stepping", "clusters keep error and momentum of global stepping", run, 3.0)
