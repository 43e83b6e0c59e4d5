"""Local against global time stepping: same error within 10 %, momentum conserved to rounding (NUMERICS 7.4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact.medium import Array
from faultwave.verify.exact.plane_wave import elastic_convergence

ORDERS = (3, 4, 5)
LADDERS: tuple[tuple[int, ...], ...] = ((2,), (3,), (2, 3))
DRIFT = np.array([0.5, -0.3, 0.2])
"""A uniform velocity on top of the waves, so that there is momentum to conserve."""


class DriftingWaves:
    """The convergence waves plus a uniform drift; exact because a translation carries no stress."""

    def __init__(self) -> None:
        self.waves = elastic_convergence()

    def __call__(self, points: Array, t: float) -> Array:
        state = self.waves(points, t)
        state[:, 6:] += DRIFT
        return state


def case_settings(order: int, rates: tuple[int, ...], n: int = 4) -> dict[str, Any]:
    """A strongly distorted periodic cube, so that cells differ in their stable step."""
    mesh = setups.box((n,) * 3, (-1.0,) * 3, (1.0,) * 3, setups.periodic(), shuffle=True, perturb=0.35)
    material = setups.uniform(elastic_convergence().medium, "elastic")
    numerics = {"clustering": {"rates": list(rates)}}
    return setups.settings(
        "elastic", mesh, material, 0.5, order, numerics=numerics, output={"energies": {"interval": 0.5}}
    )


def measure(order: int, rates: tuple[int, ...]) -> tuple[Array, Array]:
    """Errors (9,) at the end and the change of total momentum (3,) relative to the momentum at the start."""
    solution = DriftingWaves()
    sim = setups.started(case_settings(order, rates), solution).run(write=False)
    error = np.asarray(sim.error(solution))
    momentum = np.stack([sim.energies.variables[f"momentum{axis}"].data for axis in "XYZ"])
    return error, (momentum[:, -1] - momentum[:, 0]) / np.abs(momentum[:, 0]).max()


def run(progress: Progress, orders: tuple[int, ...] = ORDERS) -> Result:
    """Every ladder against global stepping on the same mesh."""
    rows: list[Row] = []
    for order in orders:
        progress(f"order {order}, global")
        reference, drift = measure(order, (1,))
        rows.append(at_most(f"O={order} global: momentum change", float(np.abs(drift).max()), 1e-12))
        for rates in LADDERS:
            progress(f"order {order}, rates {rates}")
            error, drift = measure(order, rates)
            ratio = float(np.abs(error / reference - 1).max())
            rows.append(at_most(f"O={order} rates {rates}: error against global", ratio, 0.1))
            rows.append(at_most(f"O={order} rates {rates}: momentum change", float(np.abs(drift).max()), 1e-12))
    return Result(tuple(rows))


LOCAL = VerificationCase("local-time-stepping", "clusters keep error and momentum of global stepping", run, 3.0)
