"""Problem of a proxy run: a synthetic unstructured mesh in a periodic box, a wave, and optional faults."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from faultwave import backends
from faultwave.base.errors import InputError, Problems, suggest
from faultwave.base.quantities import Parameter
from faultwave.base.types import Settings
from faultwave.bench.launch_recorder import Book
from faultwave.bench.results import check_counts
from faultwave.dg.checks.memory import check_fits_memory
from faultwave.dg.method.basis import tet_size
from faultwave.dg.planning.plan import make_plan
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.domain.tets.generators.box import FAULT_TAG, Box, box_mesh
from faultwave.domain.tets.mesh import FACE_OPPOSITE
from faultwave.physics.friction import FrictionLaw
from faultwave.physics.friction.modifiers import composed
from faultwave.physics.waves import laws
from faultwave.physics.waves.anisotropic import isotropic

EDGE = 100.0
"""Edge length [m] of a brick of six tetrahedra."""
LEAST, MOST = 100_000, 1_000_000
"""Smallest number of cells of a proxy out of cache unless caches are larger, and largest number, which limits the set-up time."""
SMALLEST = 162  # three bricks a side: fewer would make a cell its own neighbour through the periodic sides
MATERIAL = {"rho": 2670.0, "mu": 3.2038e10, "lambda": 3.2044e10, "Qp": 120.0, "Qs": 60.0}
PORES = {"bulk_solid": 8.0e10, "bulk_fluid": 2.5e9, "porosity": 0.2, "rho_fluid": 1040.0, "tortuosity": 2.0, "permeability": 6e-13,
         "viscosity": 1e-3}  # fmt: skip
"""Water-filled pores, whose drag is far too stiff for explicit time steps."""
FRICTION = {
    "T_n": -120e6, "T_s": 85e6, "T_d": 0.0, "mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0,
    "rs_a": 0.01, "rs_b": 0.014, "rs_sl0": 0.4, "rs_f0": 0.75, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1.0, "rs_srW": 0.1, "rs_muw": 0.2,
    "strike_slip": 1.0, "dip_slip": 0.0, "rupture_onset": 0.0, "rupture_rise_time": 1.0, "tau_S": 0.2, "tau_R": 1.0,
    "tp_half_width": 0.02, "tp_hydraulic_diffusivity": 4e-4, "tp_thermal_diffusivity": 1e-6, "tp_heat_capacity": 2.7e6,
    "tp_undrained_response": 1e5, "tp_initial_temperature": 483.0, "tp_initial_pressure": 0.0,
    "pc_reference_rate": 1.0, "pc_length": 0.1,
}  # fmt: skip
"""Friction parameters for which every point slips from the start.

Slip weakening is loaded above its strength, rate and state slips at 1 m/s.
"""
_FRICTION_OF = {
    "rate-and-state-ageing": {"rs_sl0": 0.02},
    "rate-and-state-slip": {"rs_sl0": 0.02},
    "severe-velocity-weakening": {"rs_b": 0.35, "rs_sl0": 0.2, "rs_sr0": 0.1},
}
"""Parameters that differ for some friction laws."""
USUAL_FRICTION = "linear-slip-weakening"


@dataclass(frozen=True)
class Setting:
    """Settings of a proxy.

    Attributes
    ----------
    law : str
        Wave law.
    order : int
    precision : {'double', 'single'}
    cells : int, optional
        Approximate number of cells; None for more memory than the caches have (``enough_cells``).
    steps : int, optional
        Steps per repeat; None for half a second, at least ten.
    threads : int, optional
        None for all cores.
    faults : float
        Fraction of the faces between cells with friction.
    friction : str
        Friction law, with modifiers after plus signs.
    plasticity : float, optional
        Fraction of the cells that yield in every step, of rock that may yield everywhere; None for elastic rock.
    stored_waves : str, optional
        Value of ``numerics.stored_waves``.
    backend : str
    repeats : int
    """

    law: str = "elastic"
    order: int = 4
    precision: str = "double"
    cells: int | None = None
    steps: int | None = None
    threads: int | None = None
    faults: float = 0.0
    friction: str = USUAL_FRICTION
    plasticity: float | None = None
    stored_waves: str | None = None
    backend: str = "cpu"
    repeats: int = 5


def check(s: Setting) -> None:
    """Raise InputError with all problems of a setting."""
    problems = Problems()
    for name, value, allowed in (
        ("law", s.law, list(laws())),
        ("precision", s.precision, ["double", "single"]),
        ("stored-waves", s.stored_waves or "single", ["single"]),
        ("backend", s.backend, backends.names()),
    ):
        if value not in allowed:
            problems.error(f"--{name}", f"'{value}' does not exist", ", ".join(allowed), suggest(value, allowed))
    if not 2 <= s.order <= 8:
        problems.error("--order", f"is {s.order}", "2 to 8")
    if s.cells is not None and s.cells < SMALLEST:
        problems.error("--cells", f"is {s.cells}", f"at least {SMALLEST}, three bricks a side")
    check_counts(problems, steps=s.steps, threads=s.threads, repeats=s.repeats)
    if not 0.0 <= s.faults <= 1.0:
        problems.error("--faults", f"is {s.faults}", "0 to 1: a fraction of the faces between cells")
    elif s.faults and s.law in laws() and "stress" not in laws()[s.law].roles:
        problems.error("--faults", f"the {s.law} law has no friction", "--law elastic")
    if s.friction != USUAL_FRICTION and not s.faults:
        problems.error("--friction", "has no effect without faults", "--faults FRACTION as well")
    _check_friction(s.friction, problems)
    if s.plasticity is not None and not 0.0 <= s.plasticity <= 1.0:
        problems.error("--plasticity", f"is {s.plasticity}", "0 to 1: a fraction of the cells")
    elif s.plasticity is not None and s.law in laws() and "stress" not in laws()[s.law].roles:
        problems.error("--plasticity", f"the {s.law} law does not yield", "--law elastic")
    if s.stored_waves is not None and s.precision != "double":
        problems.error("--stored-waves", "is for waves in double precision", "--precision double")
    problems.raise_errors()


def plain(s: Setting) -> Setting | None:
    """Return the setting of the elastic solid that another solid is compared with; None for elastic rock and for laws without stress."""
    if (s.law, s.plasticity) == ("elastic", None) or "stress" not in laws()[s.law].roles:
        return None
    return replace(s, law="elastic", plasticity=None)


def enough_cells(bytes_per_cell: float, cache: int) -> int:
    """Return the number of cells that need twice the memory of the last-level cache, within ``LEAST`` and ``MOST``.

    Twice, because a virtual machine reports the cache of the whole processor but owns only a part of it.
    """
    return max(LEAST, min(MOST, math.ceil(2.0 * cache / bytes_per_cell)))


def bricks(cells: int) -> tuple[int, int, int]:
    """Return the bricks along x, y, z of a nearly cubic box of about ``cells`` tetrahedra, at least three each."""
    wanted = cells / 6.0
    x = max(3, round(wanted ** (1 / 3)))
    y = max(3, round((wanted / x) ** 0.5))
    return x, y, max(3, round(wanted / (x * y)))


def mesh(cells: int, faults: float = 0.0) -> tets.Mesh:
    """Return a periodic mesh of perturbed bricks with vertices in random order, and a fraction ``faults`` of its faces tagged as fault.

    Faces of planes across y come first, from the middle outwards, so that a small fraction is a plane or a part of one.
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
    """Return the number of a sorted cell's face in the mesh's own order: the face opposite the same vertex."""
    return FACE_OPPOSITE[topology.order[cell, face]]


def solver(s: Setting) -> Solver:
    """Return the solver of a proxy with nonzero waves, one global time step and no output, on a recording backend.

    Raises
    ------
    InputError
        If the memory of this machine is too small.
    """
    from faultwave.case.load import load_case

    cells = LEAST if s.cells is None else s.cells
    count = bricks(cells)
    parameters, known = laws()[s.law].parameters, MATERIAL | PORES | isotropic(MATERIAL)
    settings: Settings = {
        "law": s.law,
        "mesh": {
            "generate": {"shape": "box", "cells": list(count), "lower": [0, 0, 0], "upper": [n * EDGE for n in count]}
        },
        "material": {"constant": {p.name: known.get(p.name, _default(p)) for p in parameters}},
        "end_time": 1.0,
        "numerics": {
            "order": s.order, "precision": s.precision, "backend": s.backend, "threads": s.threads,
            "clustering": {"rates": [1]}, "homogenise": False, "stored_waves": s.stored_waves,
        },
    }  # fmt: skip
    if {"Qp", "Qs"} <= {p.name for p in parameters}:
        settings["attenuation"] = {"high": 5.0}
    if s.faults > 0:
        settings["fault"] = _fault(s.friction)
    if s.plasticity is not None:
        settings["plasticity"] = _plasticity(s.plasticity, count)
    case, problems = load_case(settings)
    problems.raise_errors()
    assert case is not None
    check_fits_memory(case)
    plan = make_plan(case, mesh(cells, s.faults))
    numerics = case.numerics
    book = Book(backends.make(numerics.backend, numerics.precision, numerics.threads))
    book.occasion = s.plasticity or 0.0
    result = Solver(plan, book)
    _set_wave(result, np.array(count) * EDGE)
    return result


def _composed(friction: str) -> FrictionLaw:
    """Return the friction law with its modifiers, from names joined by plus signs."""
    name, *modified_by = friction.split("+")
    return composed(name, modified_by)


def _needed(law: FrictionLaw) -> tuple[list[str], list[str]]:
    """Return the names of the pointwise parameters and of the constants that have no default."""
    constants = [q.name for q in law.constants if q.default is None or math.isnan(q.default)]
    return [q.name for q in law.parameters if q.default is None], constants


def _check_friction(friction: str, problems: Problems) -> None:
    try:
        points, constants = _needed(_composed(friction))
    except InputError as error:
        problems.extend(error.problems)
        return
    if unknown := [name for name in (*points, *constants) if name not in FRICTION]:
        problems.error("--friction", f"the proxy knows no value of {', '.join(unknown)} for '{friction}'")


def _fault(friction: str) -> Settings:
    """Return the settings of faults with a friction law: every parameter and constant without a default."""
    name, *modified_by = friction.split("+")
    law, known = _composed(friction), FRICTION | _FRICTION_OF.get(name, {})
    points, constants = _needed(law)
    stress = ("T_n", "T_s", "T_d") if law.needs_stress else ()
    return {
        "friction": name,
        "modifiers": modified_by,
        "parameters": {"constant": {key: known[key] for key in (*points, *stress)}},
        "constants": {key: known[key] for key in constants},
        "reference": [0.31, 1.0, 0.17],  # no face of the mesh is along it
        "reference_method": "direction",
    }


def _plasticity(share: float, count: tuple[int, int, int]) -> Settings:
    """Return settings of rock that yields at any stress in a fraction of the cells on one side, and nowhere else.

    The relaxation is slow, so that stress persists.
    """
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
    """Set the cell averages to a wave through the box, with values as in a real run and never denormal."""
    plan, quantities = solver.plan, len(solver.plan.law.quantities)
    phase = np.arange(quantities)
    scale = np.where(phase < max(1, quantities - 3), 1e6, 0.1)
    for part in np.array_split(np.arange(plan.cells), max(1, plan.cells // 16384)):
        dofs = np.zeros((len(part), tet_size(plan.case.numerics.order - 1), quantities))
        along = 2 * np.pi * (plan.geometry.centroids[part] / size).sum(1)
        dofs[:, 0] = scale * np.sin(along[:, None] + phase)
        solver.operator.set_dofs(dofs, part)
