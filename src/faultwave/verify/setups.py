"""Settings of the small boxes that verifications run in, and how they are run: in memory, nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import RunError
from faultwave.run import simulate
from faultwave.verify.exact.medium import Array, Medium, Solution

Vector = tuple[float, float, float]


def box(
    cells: Sequence[int],
    lower: Vector,
    upper: Vector,
    boundaries: Mapping[str, str],
    *,
    shuffle: bool = False,
    perturb: float = 0.0,
) -> dict[str, Any]:
    """Mesh settings of a box of bricks, six tetrahedra each."""
    return {
        "generate": {
            "shape": "box",
            "cells": list(cells),
            "lower": lower,
            "upper": upper,
            "boundaries": dict(boundaries),
            "shuffle": shuffle,
            "perturb": perturb,
        }
    }


def periodic(*axes: str) -> dict[str, str]:
    """Boundary settings: these axes periodic."""
    return dict.fromkeys(axes or ("x", "y", "z"), "periodic")


def uniform(medium: Medium, law: str) -> dict[str, Any]:
    """Material settings of a homogeneous box; the acoustic law knows no mu."""
    values = medium.parameters()
    return {"constant": {k: v for k, v in values.items() if law == "elastic" or k != "mu"}}


def two_layers(above: Medium, below: Medium) -> dict[str, Any]:
    """Material settings of two half-spaces that meet at z = 0."""
    upper, lower = above.parameters(), below.parameters()
    return {
        "expression": {
            name: f"if (z > 0.0) {{ return {_literal(upper[name])}; }} return {_literal(lower[name])};"
            for name in ("rho", "lambda", "mu")
        }
    }


def _literal(value: float) -> str:
    """A number as the function language reads it: it has no exponents."""
    return np.format_float_positional(value, trim="0")


def settings(
    law: str, mesh: Mapping[str, Any], material: Mapping[str, Any], end_time: float, order: int, **more: Any
) -> dict[str, Any]:
    """A case as a dictionary; ``numerics`` and other groups in ``more`` are merged in."""
    numerics = {"order": order, "clustering": {"rates": [1]}, **more.pop("numerics", {})}
    return {
        "law": law,
        "mesh": dict(mesh),
        "material": dict(material),
        "end_time": end_time,
        "numerics": numerics,
        **more,
    }


def started(case: Mapping[str, Any], initial: Solution | None = None) -> Any:
    """A simulation with its initial state set from ``initial(points, 0.0)``."""
    sim: Any = simulate(dict(case))
    if initial is not None:
        sim.set_initial(initial)
    return sim


def errors(
    case: Mapping[str, Any], solution: Solution, inside: Callable[[Array], NDArray[np.bool_]] | None = None
) -> Array:
    """Relative L2 error of every quantity (nq,) at the end of a run that starts from ``solution`` at t = 0.

    ``inside(points) -> (n,) bool`` restricts the integrals to a part of the domain.
    """
    sim = started(case, solution).run(write=False)
    return np.asarray(sim.error(solution, inside))


def total_energy(sim: Any) -> float:
    """All energy of the field [J], now."""
    return float(sum(v for k, v in sim.energy_now().items() if k.endswith("energy")))


def energies_every(sim: Any, interval: float, count: int) -> Array:
    """All energy of the field [J] at the start and after each of ``count`` intervals [s]; stops early where it explodes."""
    found = [total_energy(sim)]
    for _ in range(count):
        try:
            sim.run(until=sim.time + interval, write=False)
        except RunError:
            found.append(float("inf"))
            break
        found.append(total_energy(sim))
    return np.array(found)


def largest_step(sim: Any) -> float:
    """Step [s] of the slowest cluster; the only one under global stepping."""
    return float(sim.solver.march.longest)
