"""Agreement of every available backend with the CPU backend: noise through every law and order, decks with friction."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from faultwave import backends
from faultwave.run import simulate
from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most, cases_folder
from faultwave.verify.cases.energy import noise
from faultwave.verify.compare import compare

ORDERS = (2, 3, 4, 5, 6)
MATERIALS: dict[str, dict[str, float]] = {
    "elastic": {"rho": 1.0, "lambda": 1.0, "mu": 1.0},
    "acoustic": {"rho": 1.0, "lambda": 1.0},
    "maxwell": {"permittivity": 1.0, "permeability": 1.0},
}
SIDES = {
    "elastic": ("free-surface", "absorbing"),
    "acoustic": ("free-surface", "absorbing"),
    "maxwell": ("pec", "absorbing"),
}
LIMITS = {"double": 1e-11, "single": 1e-4}  # relative to the largest number, after some steps
DECKS: dict[str, tuple[float, dict[str, float]]] = {
    "tpv5": (1e-9, {}), "tpv5-nuc": (1e-9, {}), "tpvyoffe": (1e-9, {}), "tpv101": (1e-6, {"slip rate": 1e-2}),
}  # fmt: skip
"""Decks with their misfit limit, and other limits for some groups.

Iterations of rate-and-state friction may end a round earlier or later, and at points that creep at 1e-12 m/s the slip rate is a
difference of tractions of 75 MPa.
"""
END, DECK_ORDER = 0.5, 3


def evolved(backend: str, law: str, order: int, precision: str) -> np.ndarray:
    """Return the degrees of freedom after some steps from noise, in a small box of unequal cells.

    It uses local time stepping and has reflecting and absorbing sides.
    """
    wall, open_side = SIDES[law]
    mesh = setups.box((3, 2, 2), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), {"x": wall, "y": open_side, "z": wall}, perturb=0.25)
    numerics = {"backend": backend, "precision": precision, "clustering": {"rates": [2]}}
    case = setups.settings(law, mesh, {"constant": MATERIALS[law]}, 1e9, order, numerics=numerics)
    sim: Any = simulate(case)
    sim.set_initial(noise(len(sim.plan.law.quantities)))
    sim.run(until=3 * setups.largest_step(sim), write=False)
    return np.asarray(sim.solver.operator.dofs(), float)


def wave_rows(backend: str, progress: Progress, orders: tuple[int, ...]) -> list[Row]:
    """Return the differences from the CPU backend, by law and order."""
    rows = []
    for law in MATERIALS:
        for order in orders:
            for precision, limit in LIMITS.items():
                progress(f"{backend}: {law}, order {order}, {precision}")
                want = evolved("cpu", law, order, precision)
                error = np.abs(evolved(backend, law, order, precision) - want).max() / np.abs(want).max()
                rows.append(at_most(f"{backend} {law} O={order} {precision}", error, limit))
    return rows


def deck_rows(backend: str, progress: Progress, folder: Path, end: float = END) -> list[Row]:
    """Return the worst difference of every kind of result over the first moments of each deck."""
    rows = []
    for name, (limit, limits) in DECKS.items():
        deck = folder / name / "parameters.par"
        if not deck.is_file():
            continue
        with tempfile.TemporaryDirectory(prefix="faultwave-verify-") as scratch:
            for which in ("cpu", backend):
                progress(f"{which}: {deck}")
                simulate(deck, order=DECK_ORDER, backend=which, until=end, output=f"{scratch}/{which}").run()
            found = compare(f"{scratch}/{backend}", f"{scratch}/cpu", limit, limits=limits, rupture_time=limit)
            worst = max(m.value / m.limit for m in found.worst.values())
        rows.append(at_most(f"{backend} {name}, {end:g} s: worst misfit over its limit of {limit:g}", worst, 1.0))
    return rows


def run(progress: Progress, orders: tuple[int, ...] = ORDERS, end: float = END) -> Result:
    """Judge every backend; absent ones are listed in notes."""
    rows: list[Row] = []
    notes = []
    folder = cases_folder()
    for name in backends.names():
        if why := backends.missing(name):
            notes.append(why)
        elif name not in ("cpu", "numpy"):
            rows += wave_rows(name, progress, orders)
            rows += deck_rows(name, progress, folder, end) if folder else []
    if folder is None:
        notes.append("no decks with friction were found")
    skipped = "" if rows else "no backend but cpu and numpy can run here: " + "; ".join(notes)
    return Result(tuple(rows), tuple(notes), skipped)


BACKENDS = VerificationCase("backends", "devices give what the processor gives", run, 15.0)
