"""Ocean waves under gravity: modes of a box of water, and their energy (docs/theory/sea.md, "Known solutions")."""

from __future__ import annotations

import numpy as np

from faultwave.physics.initial.ocean import Ocean
from faultwave.physics.waves.plane_waves import Solution
from faultwave.verify import convergence, setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_least, at_most, near, rate
from faultwave.verify.exact import Array, Medium

WATER, GRAVITY, WIDTH = Medium(1.0, 2.25), 9.81e-3, 10.0
NAMES = ("sigma", "v3")
COLUMNS = [0, 3]
ENDS = {0: 5.0, 1: 1.0}
ORDERS = (2, 3, 4, 5)


def mode(number: int) -> Ocean:
    """Return a mode of water of unit depth and ten units wide."""
    return Ocean(WATER, GRAVITY, number, (np.pi / WIDTH, np.pi / WIDTH), 1.0)


def solution(number: int) -> Solution:
    """Return the mode's field in the quantities of the acoustic law."""
    ocean = mode(number)

    def field(points: Array, t: float) -> Array:
        stress, velocity = ocean.field(points, t)
        return np.column_stack([stress, velocity])

    return field


def water(order: int, n: int, end_time: float, **more: object) -> dict[str, object]:
    """Return the case of a box of n x n bricks and n/4 in depth: pressure-free sides, a rigid floor, gravity on top."""
    sides = {"x": "free-surface", "y": "free-surface", "z-": "rigid", "z+": "gravity"}
    mesh = setups.box((n, n, n // 4), (0.0, 0.0, -1.0), (WIDTH, WIDTH, 0.0), sides)
    return setups.settings(
        "acoustic", mesh, setups.uniform(WATER, "acoustic"), end_time, order, gravity=GRAVITY, **more
    )


def errors(number: int, order: int, n: int) -> Array:
    """Return the relative errors (4,)."""
    return setups.errors(water(order, n, ENDS[number]), solution(number))


def _rates(found: dict[int, dict[int, Array]], number: int) -> list[Row]:
    rows = []
    for order, by_grid in found.items():
        coarse, fine = sorted(by_grid)
        for i, name in enumerate(NAMES):
            observed = rate(by_grid[coarse][i], by_grid[fine][i], fine / coarse)
            rows.append(
                at_least(f"mode {number} O={order} rate of {name}, n={coarse} to {fine}", observed, order - 0.3, order)
            )
    return rows


def _standing(order: int) -> list[Row]:
    """Judge mode 0 over one period: energy is conserved, and no gravitational energy remains at the end."""
    period = 2 * np.pi / mode(0).frequency
    sim = setups.started(water(order, 4, period), solution(0))
    total = setups.energies_every(sim, period / 8, 8)
    left = sim.energy_now()["gravitational_energy"] / total[0]
    drift = float(np.abs(total / total[0] - 1.0).max())
    return [
        at_most(f"mode 0 O={order} change of energy in a period", drift, 1e-3),
        near(f"mode 0 O={order} phase after a period [rad]", float(np.arcsin(np.sqrt(min(left, 1.0)))), 0.0, 1e-3),
    ]


def run(progress: Progress, orders: tuple[int, ...] = ORDERS, grids: tuple[int, int] = (4, 8)) -> Result:
    """Judge rates and energy of the modes; order O is expected because the sea surface is solved exactly."""
    rows, notes = [], []
    for number in ENDS:
        found: dict[int, dict[int, Array]] = {}
        for order in orders:
            progress(f"mode {number}, order {order}")
            found[order] = {n: errors(number, order, n)[COLUMNS] for n in grids}
        rows += _rates(found, number)
        notes += [f"mode {number}:", *convergence.table_text(found, NAMES)]
    for order in (o for o in orders if o > 3):
        progress(f"a standing wave, order {order}")
        rows += _standing(order)
    return Result(tuple(rows), tuple(notes))


OCEAN = VerificationCase("ocean", "modes of an ocean under gravity, rates, energy and period", run, 1.0)
