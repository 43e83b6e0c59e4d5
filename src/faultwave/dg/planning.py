"""What a part is planned with, and how a plan is cut among processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.model import Case
from faultwave.comm import World
from faultwave.dg.mesh_part import WholeMesh
from faultwave.domain import tets
from faultwave.engine.part import Part
from faultwave.physics.waves import Law, laws


@dataclass(frozen=True)
class Planning:
    """All that is known before the parts are planned.

    material: (nc,) of every parameter; frictional (nc, 4): faces with friction; whole: knows the rest of the mesh where this is a
    piece of it; problems: takes everything that is wrong; parts: those planned so far, by name.
    """

    case: Case
    law: Law
    mesh: tets.Mesh
    topology: tets.Topology
    geometry: tets.Geometry
    material: dict[str, np.ndarray]
    frictional: np.ndarray
    whole: WholeMesh
    problems: Problems
    parts: dict[str, Part] = field(default_factory=dict)

    @property
    def across(self) -> np.ndarray:
        """Faces (nc, 4) with a cell beyond, wherever it is."""
        return self.whole.across(self.topology.neighbours)

    @property
    def numbers(self) -> np.ndarray:
        """Numbers (nc,) of the cells in the whole mesh."""
        return np.asarray(getattr(self.whole, "numbers", np.arange(len(self.mesh.cells))))

    @property
    def fluid(self) -> np.ndarray:
        """Cells (nc,) that carry no shear."""
        mu = self.law.moduli(self.material).get("mu")
        if mu is None:
            return np.full(len(self.mesh.cells), "mean_stress" in self.law.roles)
        return np.asarray(mu) <= 0.0

    def refuse(self, where: str, what: str, allowed: str = "", advice: str = "") -> None:
        """An error; of cases that follow SeisSol, which runs them, a warning."""
        tell = self.problems.warn if self.case.output.seissol_layout else self.problems.error
        tell(where, what, allowed, advice)


@dataclass(frozen=True)
class Cut:
    """How the whole plan is cut for the process of ``world``.

    part (nc,): process of every cell; cells (n,): numbers of those here; here (nc + 1,): their places by number, -1 elsewhere (the last
    entry serves missing neighbours, number -1).
    """

    world: World
    part: np.ndarray
    cells: np.ndarray
    here: np.ndarray

    @classmethod
    def of(cls, world: World, part: np.ndarray) -> Cut:
        """The cut ``part`` (nc,) as this process sees it."""
        cells = np.flatnonzero(part == world.rank)
        here = np.full(len(part) + 1, -1)
        here[cells] = np.arange(len(cells))
        return cls(world, part, cells, here)

    def mine(self, cells: np.ndarray) -> np.ndarray:
        """Which (k,) of the items in ``cells`` (n,) are here; those in no cell, -1, are nowhere."""
        return np.flatnonzero((self.part[cells] == self.world.rank) & (cells >= 0))

    def fault_rows(self, sides: np.ndarray) -> tuple[np.ndarray, int]:
        """Fault faces (k,) that are solved here, of those between the cells ``sides`` (n, 2), and how many of them are this process's
        own: those with the plus cell, which come first."""
        part, rank = self.part[sides], self.world.rank
        own = np.flatnonzero(part[:, 0] == rank)
        guests = np.flatnonzero((part[:, 0] != rank) & (part[:, 1] == rank))
        return np.concatenate([own, guests]), len(own)


def moves(law: Law) -> bool:
    """Whether what crosses a face is a velocity and a traction, or their normal parts, and nothing else."""
    return "velocity" in law.roles and law.channels in (1, 3)


def check_moves(planning: Planning, kind: str) -> bool:
    """Whether the law can have faces of a ``kind`` that give motion; an error where it cannot."""
    if moves(planning.law):
        return True
    allowed = ", ".join(name for name, law in laws().items() if moves(law))
    planning.problems.error(
        "mesh", f"has faces of kind {kind}, which the {planning.law.name} law does not have", allowed
    )
    return False


def chosen(record: Any, rows: np.ndarray) -> Any:
    """A frozen record of arrays with only its ``rows``."""
    from dataclasses import fields, replace

    return replace(record, **{f.name: getattr(record, f.name)[rows] for f in fields(record)})


__all__ = ["Cut", "Planning", "check_moves", "chosen", "moves"]
