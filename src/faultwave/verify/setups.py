"""Settings of the small boxes used by verifications, and helpers that run them in memory without writing files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import RunError
from faultwave.base.types import Record, Settings
from faultwave.fd.solver import FdSolver
from faultwave.physics.waves.plane_waves import Solution
from faultwave.run import simulate
from faultwave.verify.exact import Array, Medium

if TYPE_CHECKING:
    from faultwave.fd.solver import FdSolver
    from faultwave.run.session import Session

Vector = tuple[float, float, float]


def box(
    cells: Sequence[int],
    lower: Vector,
    upper: Vector,
    boundaries: Mapping[str, str],
    *,
    shuffle: bool = False,
    perturb: float = 0.0,
) -> Settings:
    """Return the mesh settings of a box of bricks, each split into six tetrahedra.

    Parameters
    ----------
    cells : sequence of int
        Number of bricks along x, y and z.
    lower, upper : tuple of float
        Corners of the box [m].
    boundaries : mapping
        Boundary conditions by axis ('x') or side ('z+').
    shuffle : bool
        True to number vertices and the corners of each tetrahedron at random.
    perturb : float
        Random displacement of vertices as a fraction of the edge of a brick.
    """
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
    """Return boundary settings with the named axes periodic (all three if none is named)."""
    return dict.fromkeys(axes or ("x", "y", "z"), "periodic")


def uniform(medium: Medium, law: str) -> Settings:
    """Return the material settings of a homogeneous box; mu is left out for the acoustic law."""
    values = medium.parameters()
    return {"constant": {k: v for k, v in values.items() if law == "elastic" or k != "mu"}}


def two_layers(above: Medium, below: Medium) -> Settings:
    """Return the material settings of two half-spaces that meet at z = 0."""
    upper, lower = above.parameters(), below.parameters()
    return {
        "expression": {
            name: f"if (z > 0.0) {{ return {_literal(upper[name])}; }} return {_literal(lower[name])};"
            for name in ("rho", "lambda", "mu")
        }
    }


def _literal(value: float) -> str:
    """Return a number as a literal of the function language, which has no exponents."""
    return np.format_float_positional(value, trim="0")


def settings(law: str, mesh: Record, material: Record, end_time: float, order: int, **more: Any) -> Settings:
    """Return a case as a dictionary.

    Parameters
    ----------
    law : str
        Name of the wave equation.
    mesh, material : mapping
        Groups ``mesh`` and ``material``.
    end_time : float
        End of the simulation [s].
    order : int
        Order of accuracy.
    **more
        Further groups; ``numerics`` is merged with the order and global time stepping.
    """
    numerics = {"order": order, "clustering": {"rates": [1]}, **more.pop("numerics", {})}
    return {
        "law": law,
        "mesh": dict(mesh),
        "material": dict(material),
        "end_time": end_time,
        "numerics": numerics,
        **more,
    }


def grid_solver(case: Settings) -> FdSolver:
    """Return the solver of a case on a grid, without running it."""
    from faultwave.fd.solver import FdSolver

    solver = simulate(case).solver
    assert isinstance(solver, FdSolver)
    return solver


def started(case: Record, initial: Solution | None = None) -> Any:
    """Return a simulation whose initial state is ``initial(points, 0.0)``, if given."""
    sim: Session = simulate(dict(case))
    if initial is not None:
        sim.set_initial(initial)
    return sim


def errors(case: Record, solution: Solution, inside: Callable[[Array], NDArray[np.bool_]] | None = None) -> Array:
    """Return the relative L2 error of every quantity at the end of a run that starts from the exact solution.

    Parameters
    ----------
    case : mapping
        Case to run.
    solution : Solution
        Exact solution, which sets the initial state at t = 0.
    inside : callable, optional
        ``inside(points) -> (n,) bool`` restricts the integrals to a part of the domain.

    Returns
    -------
    array (nq,)
    """
    sim = started(case, solution).run(write=False)
    return np.asarray(sim.error(solution, inside))


def total_energy(sim: Session) -> float:
    """Return the present total energy of the wave field [J]."""
    return float(sum(v for k, v in sim.energy_now().items() if k.endswith("energy")))


def energies_every(sim: Session, interval: float, count: int) -> Array:
    """Return the total energy [J] at the start and after each of ``count`` intervals [s].

    The series ends early, with inf, if the run becomes unstable.
    """
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
    """Return the time step [s] of the slowest cluster; under global stepping there is only one."""
    return float(sim.solver.march.longest)
