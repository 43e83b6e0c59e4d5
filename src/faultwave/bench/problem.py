"""The problem a proxy runs: a synthetic unstructured mesh in a periodic box, a wave, and faults where asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave import backends
from faultwave.base.errors import Problems, suggest
from faultwave.base.quantities import Parameter
from faultwave.bench.book import Book
from faultwave.dg.basis import tet_size
from faultwave.dg.plan import make_plan
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.domain.tets.box import FAULT_TAG, Box, box_mesh
from faultwave.domain.tets.mesh import FACE_OPPOSITE
from faultwave.physics.waves import laws
from faultwave.physics.waves.anisotropic import isotropic

EDGE = 100.0
"""Edge of a brick [m]; six tetrahedra each."""
LEAST, MOST = 100_000, 1_000_000
"""Cells of a proxy out of cache, unless the caches are larger than those; so many at most, for the time it takes to set up."""
SMALLEST = 162  # three bricks a side: fewer would make a cell its own neighbour through the periodic sides
MATERIAL = {"rho": 2670.0, "mu": 3.2038e10, "lambda": 3.2044e10, "Qp": 120.0, "Qs": 60.0}
PORES = {"bulk_solid": 8.0e10, "bulk_fluid": 2.5e9, "porosity": 0.2, "rho_fluid": 1040.0, "tortuosity": 2.0, "permeability": 6e-13,
         "viscosity": 1e-3}  # fmt: skip
"""Water in the rock, whose drag is far too stiff for explicit steps."""
FRICTION = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_s": 85e6, "T_d": 0.0}
"""Linear slip weakening loaded above its strength, so that every point slips from the start."""


@dataclass(frozen=True)
class Setting:
    """What a proxy runs. ``cells``: wanted, the box rounds; None: more memory than the caches have (``enough_cells``); ``steps`` a
    repeat, None: half a second, ten at least; ``faults``:
    share of the faces between cells with friction; ``plasticity``: share of the cells that yield in every step, of rock that could
    everywhere, None: elastic; ``threads`` None: all cores."""

    law: str = "elastic"
    order: int = 4
    precision: str = "double"
    cells: int | None = None
    steps: int | None = None
    threads: int | None = None
    faults: float = 0.0
    plasticity: float | None = None
    backend: str = "cpu"
    repeats: int = 5


def check(s: Setting) -> None:
    """Raises InputError with everything wrong."""
    problems = Problems()
    for name, value, allowed in (
        ("law", s.law, list(laws())),
        ("precision", s.precision, ["double", "single"]),
        ("backend", s.backend, backends.names()),
    ):
        if value not in allowed:
            problems.error(f"--{name}", f"'{value}' does not exist", ", ".join(allowed), suggest(value, allowed))
    if not 2 <= s.order <= 8:
        problems.error("--order", f"is {s.order}", "2 to 8")
    if s.cells is not None and s.cells < SMALLEST:
        problems.error("--cells", f"is {s.cells}", f"at least {SMALLEST}, three bricks a side")
    for name, number in (("steps", s.steps), ("threads", s.threads), ("repeats", s.repeats)):
        if number is not None and number < 1:
            problems.error(f"--{name}", f"is {number}", "at least 1")
    if not 0.0 <= s.faults <= 1.0:
        problems.error("--faults", f"is {s.faults}", "0 to 1: a share of the faces between cells")
    elif s.faults and s.law in laws() and "stress" not in laws()[s.law].roles:
        problems.error("--faults", f"the {s.law} law has no friction", "--law elastic")
    if s.plasticity is not None and not 0.0 <= s.plasticity <= 1.0:
        problems.error("--plasticity", f"is {s.plasticity}", "0 to 1: a share of the cells")
    elif s.plasticity is not None and s.law in laws() and "stress" not in laws()[s.law].roles:
        problems.error("--plasticity", f"the {s.law} law does not yield", "--law elastic")
    problems.raise_errors()


def plain(s: Setting) -> Setting | None:
    """The elastic solid that another solid's rate is set beside; None for elastic rock itself and for what is no solid."""
    if (s.law, s.plasticity) == ("elastic", None) or "stress" not in laws()[s.law].roles:
        return None
    return replace(s, law="elastic", plasticity=None)


def enough_cells(bytes_per_cell: float, cache: int) -> int:
    """Cells that need twice the memory of the last cache: a virtual machine reports that of a whole processor, and has a part."""
    return max(LEAST, min(MOST, math.ceil(2.0 * cache / bytes_per_cell)))


def bricks(cells: int) -> tuple[int, int, int]:
    """Bricks along x, y, z of a nearly cubic box of about ``cells`` tetrahedra, three at least."""
    wanted = cells / 6.0
    x = max(3, round(wanted ** (1 / 3)))
    y = max(3, round((wanted / x) ** 0.5))
    return x, y, max(3, round(wanted / (x * y)))


def mesh(cells: int, faults: float = 0.0) -> tets.Mesh:
    """Perturbed bricks with vertices in random order, periodic; ``faults`` of its faces tagged as fault.

    Faces of planes across y come first, from the middle outwards, so that a small share is a plane or a part of one.
    """
    count = bricks(cells)
    upper = (count[0] * EDGE, count[1] * EDGE, count[2] * EDGE)
    periodic = dict.fromkeys("xyz", "periodic")
    made = box_mesh(Box(count, (0.0,) * 3, upper, periodic, perturb=0.15, shuffle=True), "proxy")
    return _with_faults(made, count, faults) if faults > 0 else made


def _with_faults(made: tets.Mesh, count: tuple[int, int, int], share: float) -> tets.Mesh:
    topology = tets.build_topology(made)
    inner = topology.neighbours >= 0
    cell, face = np.nonzero(inner)
    other, other_face = topology.neighbours[cell, face], topology.neighbour_faces[cell, face]
    first = (cell < other) | ((cell == other) & (face < other_face))
    cell, face, other, other_face = cell[first], face[first], other[first], other_face[first]
    corners = made.vertices[np.take_along_axis(topology.cells[cell], tets.SORTED_FACES[face], 1)] / EDGE
    y = corners[..., 1]  # in bricks; a plane's vertices have moved by less than 0.15 of one
    plane = np.round(y.mean(1))
    across = (np.abs(y - plane[:, None]) < 0.25).all(1)
    order = np.lexsort((np.abs(plane - count[1] // 2), ~across))[: round(share * len(cell))]
    tags = np.zeros_like(made.tags)
    for c, f in ((cell, face), (other, other_face)):
        tags[c[order], _file_face(topology, c[order], f[order])] = FAULT_TAG
    return replace(made, tags=tags)


def _file_face(topology: tets.Topology, cell: np.ndarray, face: np.ndarray) -> np.ndarray:
    """Number in the mesh's own order of a sorted cell's face: it is opposite the same vertex."""
    return FACE_OPPOSITE[topology.order[cell, face]]


def solver(s: Setting) -> Solver:
    """The solver of a run of ``s``, in motion, on a backend that keeps a book; no output, one global time step."""
    from faultwave.case.load import load_case

    cells = LEAST if s.cells is None else s.cells
    made = mesh(cells, s.faults)
    count = bricks(cells)
    parameters, known = laws()[s.law].parameters, MATERIAL | PORES | isotropic(MATERIAL)
    settings: dict[str, Any] = {
        "law": s.law,
        "mesh": {
            "generate": {"shape": "box", "cells": list(count), "lower": [0, 0, 0], "upper": [n * EDGE for n in count]}
        },
        "material": {"constant": {p.name: known.get(p.name, _default(p)) for p in parameters}},
        "end_time": 1.0,
        "numerics": {
            "order": s.order, "precision": s.precision, "backend": s.backend, "threads": s.threads,
            "clustering": {"rates": [1]}, "homogenise": False,
        },
    }  # fmt: skip
    if {"Qp", "Qs"} <= {p.name for p in parameters}:
        settings["attenuation"] = {"high": 5.0}
    if s.faults > 0:
        settings["fault"] = {
            "friction": "linear-slip-weakening",
            "parameters": {"constant": FRICTION},
            "reference": [0.31, 1.0, 0.17],  # no face of the mesh is along it
            "reference_method": "direction",
        }
    if s.plasticity is not None:
        settings["plasticity"] = _plasticity(s.plasticity, count)
    case, problems = load_case(settings)
    problems.raise_errors()
    assert case is not None
    plan = make_plan(case, made)
    numerics = case.numerics
    book = Book(backends.make(numerics.backend, numerics.precision, numerics.threads))
    book.occasion = s.plasticity or 0.0
    result = Solver(plan, book)
    _set_wave(result, np.array(count) * EDGE)
    return result


def _plasticity(share: float, count: tuple[int, int, int]) -> dict[str, Any]:
    """Rock that yields at any stress in a share of the cells, on one side, and nowhere else; slowly, so that stress stays."""
    strength = f"if (x < {share * count[0] * EDGE}) {{ return 1; }} else {{ return 1000000000000000; }}"
    at_rest = dict.fromkeys(("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz"), 0.0)
    return {
        "parameters": {"constant": {"bulk_friction": 0.0, **at_rest}, "expression": {"plastic_cohesion": strength}},
        "constants": {"relaxation_time": 1e9},
        "sampled": "centre",
    }


def _default(parameter: Parameter) -> float:
    return 1.0 if parameter.default is None else parameter.default


def _set_wave(solver: Solver, size: np.ndarray) -> None:
    """Cell averages of a wave through the box; numbers of the sizes of a run, never denormal."""
    plan, quantities = solver.plan, len(solver.plan.law.quantities)
    phase = np.arange(quantities)
    scale = np.where(phase < max(1, quantities - 3), 1e6, 0.1)
    for part in np.array_split(np.arange(plan.cells), max(1, plan.cells // 16384)):
        dofs = np.zeros((len(part), tet_size(plan.case.numerics.order - 1), quantities))
        along = 2 * np.pi * (plan.geometry.centroids[part] / size).sum(1)
        dofs[:, 0] = scale * np.sin(along[:, None] + phase)
        solver.operator.set_dofs(dofs, part)


__all__ = ["LEAST", "SMALLEST", "Setting", "bricks", "check", "enough_cells", "mesh", "plain", "solver"]
