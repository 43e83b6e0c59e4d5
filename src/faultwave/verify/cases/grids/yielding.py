"""Plastic rock on both engines: a moment tensor below weak rock, recorded on the free surface and inside.

Both engines use the same rheology file, strength and initial stress. Yielding changes the surface motion above by two fifths;
reflections from the sides arrive after the end, as both engines absorb in different ways. Rock around the source is strong, because stress
grows there as spacings shrink. Spacing and elements are so small that 1.5 times either changes the result by less than the limit.
"""

from __future__ import annotations

import numpy as np

from faultwave.base.types import Settings
from faultwave.run import simulate
from faultwave.verify.case import Progress, Result, VerificationCase, at_least, at_most
from faultwave.verify.exact import Array

RECEIVERS = ((400.0, 300.0, 0.0), (-500.0, 400.0, -10.0), (300.0, -200.0, -310.0), (500.0, 100.0, -150.0))
LOWER, UPPER = (-1800.0, -1800.0, -1800.0), (1800.0, 1800.0, 0.0)
COHESION, DEPTH, PRESSURES = 3e4, 50.0, (6, 7, 8, 1, 0, 0)
"""Cohesion of rock at the surface [Pa], depth in which it grows by a factor e, initial stress [Pa/m] xx, yy, zz, xy, yz, xz."""
SPACING, EDGE, END = 36.0, 3600.0 / 22, 1.4
LIMIT, LINEAR_LIMIT, WORK_LIMIT, CHANGE = 0.05, 0.03, 0.1, 0.3


def case(engine: str, yields: bool, spacing: float = SPACING, edge: float = EDGE) -> Settings:
    """Return the case for one of the engines."""
    sides = np.array(UPPER) - LOWER
    made: Settings = {
        "engine": engine, "end_time": END, "material": {"constant": {"rho": 2700.0, "vp": 3464.1, "vs": 2000.0}},
        "mesh": {"generate": {"shape": "box", "cells": np.round(sides / edge).astype(int).tolist(),
                              "lower": LOWER, "upper": UPPER, "boundaries": {"z+": "free-surface"}}},
        "grid": {"lower": LOWER, "upper": UPPER, "spacing": spacing}, "numerics": {"order": 4, "precision": "single"},
        "sources": [{"kind": "moment-tensor", "location": [31.0, 17.0, -910.0],
                     "tensor": {"xy": 5e15, "xz": 2.5e15, "xx": 1.5e15, "zz": -1.5e15},
                     "time_function": {"kind": "ricker", "frequency": 1.5}}],
        "output": {"receivers": {"points": [list(r) for r in RECEIVERS], "interval": 0.02}},
    }  # fmt: skip
    made.pop("mesh" if engine == "fd" else "grid")
    if engine == "fd":
        made["numerics"].pop("order")
    if yields:
        names = ("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz")
        fields = {n: f"return {c} * z;" for n, c in zip(names, PRESSURES, strict=True)}
        fields["plastic_cohesion"] = f"return {COHESION} * exp(-z / {DEPTH});"
        made["plasticity"] = {
            "parameters": {"constant": {"bulk_friction": 0.4}, "expression": fields},
            "constants": {"relaxation_time": 0.03},
        }
    return made


def seen(engine: str, yields: bool, **sizes: float) -> tuple[Array, float]:
    """Run a case and return the velocity (receivers, times, 3) and the plastic work [J]."""
    sim = simulate(case(engine, yields, **sizes))
    data = sim.run(write=False).receivers
    assert data is not None
    velocity = np.stack([data.quantity(f"v{i}") for i in (1, 2, 3)], -1)
    number = next(axis for axis in (0, 1) if velocity.shape[axis] == len(RECEIVERS))
    return np.moveaxis(velocity, number, 0), float(sim.solver.energies().get("plastic_work", 0.0))


def misfit(a: Array, b: Array) -> Array:
    """Return the relative L2 difference at each receiver."""
    return np.asarray(np.sqrt(((a - b) ** 2).sum((1, 2)) / (b**2).sum((1, 2))))


def run(progress: Progress) -> Result:
    """Judge misfits of yielding runs, of linear ones, and the difference between the two."""
    found = {}
    for yields in (False, True):
        for engine in ("fd", "dg"):
            progress(f"{engine}, {'yielding' if yields else 'linear'}")
            found[engine, yields] = seen(engine, yields)
    linear, yielding = (misfit(found["fd", y][0], found["dg", y][0]) for y in (False, True))
    works = [found[engine, True][1] for engine in ("fd", "dg")]
    rows = [at_most("largest misfit of linear runs", linear.max(), LINEAR_LIMIT)]
    rows += [
        at_most(f"misfit at ({x:g}, {y:g}, {z:g}) m", m, LIMIT)
        for (x, y, z), m in zip(RECEIVERS, yielding, strict=True)
    ]
    changed = misfit(found["fd", True][0], found["fd", False][0])[0]
    rows.append(at_least("what yielding changes at the first", changed, CHANGE))
    rows.append(at_most("difference of the energy dissipated", abs(works[0] / works[1] - 1.0), WORK_LIMIT))
    return Result(tuple(rows))


FD_YIELD = VerificationCase("fd-yield", "grids and tetrahedra: waves in rock that yields", run, 1.0)
