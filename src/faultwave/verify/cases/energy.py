"""Energy of closed boxes: standing waves conserve it, white noise may only lose it.

Modes and limits: docs/theory/exact-solutions.md, "Energy in closed boxes".
"""

from __future__ import annotations

import numpy as np

from faultwave.base.types import Settings
from faultwave.physics.waves.plane_waves import Solution
from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact import Medium
from faultwave.verify.exact.cavity import LameMode, PressureRelease

ORDERS = tuple(range(2, 9))
WATER, ROCK = Medium(1.0, 1.0), Medium(1.0, 1.0, 1.0)
FREE = dict.fromkeys(("x", "y", "z"), "free-surface")
STEPS = 10_000


def closed_box(law: str, order: int, n: int, end_time: float) -> Settings:
    """Return the case of the unit cube with free sides, n bricks a side."""
    mesh = setups.box((n, n, n), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), FREE, shuffle=True)
    medium = WATER if law == "acoustic" else ROCK
    return setups.settings(law, mesh, setups.uniform(medium, law), end_time, order)


def standing(law: str) -> tuple[Solution, float]:
    """Return a mode of the free cube and its period: the sound mode (1, 1, 1), or Lame's mode."""
    mode = PressureRelease(WATER) if law == "acoustic" else LameMode(ROCK, np.pi)
    return mode, 2 * np.pi / mode.frequency


def _standing_rows(law: str, order: int) -> list[Row]:
    mode, period = standing(law)
    sim = setups.started(closed_box(law, order, 4 if order <= 4 else 2, 10 * period), mode)
    total = setups.energies_every(sim, period / 8, 80)
    return [at_most(f"{law} O={order} largest E(t)/E(0), 10 periods", float((total / total[0]).max()), 1.001)]


def noise(quantities: int, seed: int = 1) -> Solution:
    """Return a field of independent standard normal numbers at every point."""
    generator = np.random.default_rng(seed)
    return lambda points, t: generator.standard_normal((len(points), quantities))


def _noise_rows(law: str, order: int) -> list[Row]:
    sim = setups.started(closed_box(law, order, 2, 1e9), noise(4 if law == "acoustic" else 9))
    total = setups.energies_every(sim, 100 * setups.largest_step(sim), STEPS // 100)
    growth = float(np.log(total[1:] / total[:-1]).max()) / 100
    limit = 1e-12 if order <= 4 else 1e-4
    return [at_most(f"{law} O={order} white noise, largest growth of E a step", growth, limit)]


def run(progress: Progress, orders: tuple[int, ...] = ORDERS) -> Result:
    """Judge standing waves and noise for both laws at every order."""
    rows = []
    for law in ("acoustic", "elastic"):
        for order in orders:
            progress(f"{law}, order {order}")
            rows += _standing_rows(law, order) + _noise_rows(law, order)
    return Result(tuple(rows))


ENERGY = VerificationCase("energy", "closed boxes keep or lose energy, never gain it", run, 10.0)
