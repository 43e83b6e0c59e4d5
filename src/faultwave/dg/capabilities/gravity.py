"""Sea surface under gravity: boundary faces with a restoring force, and the height of the water on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.dg.boundaries.sea_surface import SeaSurface
from faultwave.dg.mesh.placement import Cut, Planning, check_moves
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.engine.capability import Callback, Capability, CapabilityPlan, Requirements, RestoredFrom, State

name = "gravity"

LEVEL = 1e-3
"""Largest allowed inclination of a sea surface."""


@dataclass(frozen=True)
class Gravity(CapabilityPlan):
    """Plan of the sea surface.

    Attributes
    ----------
    acceleration : float
        Gravity [m/s^2].
    cells, faces : (n,) int
        Cells and local faces.
    rows : (n,) int
        Four times the cell's number plus the face.
    area : (n,) float
        Areas [m^2].
    rho : (n,) float
        Density of the water [kg/m^3].
    """

    acceleration: float
    cells: np.ndarray
    faces: np.ndarray
    rows: np.ndarray
    area: np.ndarray
    rho: np.ndarray
    name: str = name

    @property
    def requirements(self) -> Requirements:
        return Requirements(solved=np.stack([self.cells, self.faces], 1))

    def partition(self, cut: Cut) -> Gravity:
        mine = cut.mine(self.cells)
        retained = {n: getattr(self, n)[mine] for n in ("faces", "rows", "area", "rho")}
        return replace(self, cells=cut.here[self.cells[mine]], **retained)

    def attach(self, solver: Solver) -> AttachedGravity:
        return AttachedGravity(self, solver)

    def report(self, plan: Any) -> Mapping[str, Any]:
        return {"size": [("sea surface", f"{len(self.cells):,} faces")]}


def plan(planning: Planning) -> Gravity | None:
    case, problems = planning.case, planning.problems
    cells, faces = np.nonzero(planning.topology.kinds == tets.BoundaryKind.GRAVITY)
    if not planning.whole.any(len(cells) > 0):
        if case.gravity is not None:
            what = "does nothing: the mesh has no face of kind gravity"
            problems.warn("gravity", what, advice="See mesh.boundaries; in decks such faces carry tag 2.")
        return None
    if case.numerics.integrator != "ader":
        problems.error("numerics.integrator", f"a sea surface needs ader, not {case.numerics.integrator}", "ader")
    if not check_moves(planning, name):
        return None
    geo, material = planning.geometry, planning.material
    _check_water(planning, cells, faces, problems)
    normals = geo.normals[cells, faces]
    lean = np.arctan2(np.linalg.norm(normals[:, :2], axis=1), normals[:, 2])  # 180 degrees: it faces down
    if (lean > LEVEL).any():
        x, degrees = _place(planning, cells, faces, int(np.argmax(lean))), np.degrees(lean.max())
        problems.warn("gravity", f"the sea surface leans by {degrees:.3g} degrees at {x}", "a level surface, z upwards")
    rows = 4 * planning.numbers[cells] + faces
    return Gravity(case.sea_gravity, cells, faces, rows, geo.areas[cells, faces], np.asarray(material["rho"])[cells])


def _place(planning: Planning, cells: np.ndarray, faces: np.ndarray, item: int) -> str:
    """Return the centroid of a face as text for messages."""
    corners = planning.topology.cells[cells[item]][tets.SORTED_FACES[faces[item]]]
    x = planning.mesh.vertices[corners].mean(0)
    return f"({x[0]:g}, {x[1]:g}, {x[2]:g})"


def _check_water(planning: Planning, cells: np.ndarray, faces: np.ndarray, problems: Problems) -> None:
    """Report faces on rock, since only water has a surface that gravity restores."""
    fluid = planning.fluid[cells]
    if not fluid.all():
        first, count = int(np.flatnonzero(~fluid)[0]), int((~fluid).sum())
        what = f"{count} of {len(cells)} faces of kind gravity lie on rock, the first at {_place(planning, cells, faces, first)}"
        advice = "Make the cells below the sea surface water, or these faces free-surface (tag 1)."
        problems.error("mesh.boundaries", what, "faces of water (mu = 0)", advice)


class AttachedGravity(Capability):
    """Sea surface of a run; ``surface`` is None if this process has none of its faces."""

    def __init__(self, part: Gravity, solver: Solver):
        self.part, self.solver = part, solver
        self.surface: SeaSurface | None = None
        if len(part.cells):
            where, cluster = (part.cells, part.faces), solver.plan.clustering.cluster
            self.surface = SeaSurface(solver.operator, where, part.rho, part.acceleration, cluster)
            # The launches of a step are the same for steps of the same length.
            self.callbacks = (Callback("friction", self.surface.advance, lambda until: False),)

    def energies(self) -> Mapping[str, float]:
        """Return the potential energy of the displaced water, the integral of rho g eta^2 / 2 [J]."""
        if self.surface is None:
            return {}
        square = (self.surface.now() ** 2).sum(1)  # the basis is orthonormal on a face of area one half
        total = self.part.acceleration * (self.part.rho * self.part.area * square).sum()
        return {"gravitational_energy": float(total)}

    def state(self) -> Mapping[str, State]:
        surface, rows = self.surface, self.part.rows

        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            """Restore the height from another order, which is possible because the basis is hierarchical."""
            if surface is None:
                return
            modes = np.zeros((len(rows), surface.operator.b2))
            retained = min(modes.shape[1], values.shape[1])
            modes[:, :retained] = values[:, :retained]
            surface.put(modes)

        none = np.zeros((0, self.solver.operator.b2))
        return {"height": State(rows, lambda: none if surface is None else surface.now(), write)}

    @property
    def nbytes(self) -> int:
        return 0 if self.surface is None else self.surface.nbytes


__all__ = ["AttachedGravity", "Gravity", "plan"]
