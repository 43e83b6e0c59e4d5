"""Moments and forces that exchange their places: waves of a run forwards beside those that its strain Green tensors give."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from faultwave.green_tensors import green_tensors, seismograms
from faultwave.run import simulate

TENSORS = np.array([[4e14, -1e14, 2e14, 1e15, -3e14, 5e14], [0.0, 0.0, 0.0, 1e14, 0.0, -2e14]])
OF_THREE = np.array([*TENSORS, TENSORS[0]])
NAMES = ("xx", "yy", "zz", "xy", "yz", "xz")


def moments(places: Sequence[Any], tensors: np.ndarray, sigma: float) -> list[dict[str, Any]]:
    """Sources at places (n, 3) with moment tensors (n, 6), in time a Gaussian of ``sigma`` [s]."""
    return [
        {"kind": "moment-tensor", "location": place, "tensor": dict(zip(NAMES, tensor, strict=True)),
         "time_function": {"kind": "gaussian", "duration": sigma}}
        for place, tensor in zip(places, tensors.tolist(), strict=True)
    ]  # fmt: skip


def both(made: dict[str, Any], tensors: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Velocities (3, steps) of a run with ``moments`` and of the tensors, at the same instants, every step."""
    dt = simulate(made).plan.scheme.step
    made["output"]["receivers"]["interval"] = dt
    sim = simulate(made)
    forward = np.array([sim.solver.operator.advance(1)[0][0, 0, 0, 6:] for _ in range(sim.plan.steps)]).T
    green = green_tensors(made, duration=sigma, delay=0.5 * dt)
    return forward, seismograms(green, tensors)[0][:, 1:]


def is_reciprocal(made: dict[str, Any], tensors: np.ndarray, sigma: float) -> None:
    """Every component moves, and is that of the tensors to rounding."""
    forward, found = both(made, tensors, sigma)
    assert (np.abs(forward).max(1) > 0).all()
    assert (np.abs(forward - found).max(1) <= 1e-10 * np.abs(forward).max(1)).all()
