"""Inputs of the planning of capabilities, and the partition of a plan among processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.dg.mesh.distributed_mesh import WholeMesh
from faultwave.domain import tets
from faultwave.engine.capability import CapabilityPlan
from faultwave.physics.waves import Law, laws

if TYPE_CHECKING:
    from dataclasses import Field

    class Dataclass(Protocol):
        """Instance of a dataclass."""

        __dataclass_fields__: ClassVar[dict[str, Field]]

    Record = TypeVar("Record", bound=Dataclass)


@dataclass(frozen=True)
class Planning:
    """Data that are known before the capabilities are planned.

    Attributes
    ----------
    case, law, mesh, topology, geometry
        Case, wave law and mesh.
    material : dict of str to ndarray (nc,)
        Parameters of the wave law.
    frictional : ndarray of bool (nc, 4)
        Faces with friction.
    whole : WholeMesh
        The rest of the mesh, if this is a piece of it.
    problems : Problems
        Collector of errors and warnings.
    parts : dict of str to capability
        Capabilities planned so far.
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
    parts: dict[str, CapabilityPlan] = field(default_factory=dict)

    @property
    def across(self) -> np.ndarray:
        """Faces (nc, 4) with a neighbour on any process."""
        return self.whole.across(self.topology.neighbours)

    @property
    def numbers(self) -> np.ndarray:
        """Numbers (nc,) of the cells in the whole mesh."""
        return np.asarray(getattr(self.whole, "numbers", np.arange(len(self.mesh.cells))))

    @property
    def fluid(self) -> np.ndarray:
        """Cells (nc,) without shear stiffness."""
        mu = self.law.moduli(self.material).get("mu")
        if mu is None:
            return np.full(len(self.mesh.cells), "mean_stress" in self.law.roles)
        return np.asarray(mu) <= 0.0

    def refuse(self, where: str, what: str, allowed: str = "", advice: str = "") -> None:
        """Add an error, or a warning for cases that follow SeisSol, which runs them."""
        tell = self.problems.warn if self.case.output.seissol_layout else self.problems.error
        tell(where, what, allowed, advice)


@dataclass(frozen=True)
class Cut:
    """Partition of the whole plan as seen by the process of ``world``.

    Attributes
    ----------
    world : World
        Processes of the run.
    part : ndarray (nc,)
        Process of every cell.
    cells : ndarray (n,)
        Numbers of the cells of this process.
    here : ndarray (nc + 1,)
        Local index of each cell by its number, -1 elsewhere; the last entry serves missing neighbours, number -1.
    """

    world: World
    part: np.ndarray
    cells: np.ndarray
    here: np.ndarray

    @classmethod
    def of(cls, world: World, part: np.ndarray) -> Cut:
        """Return the partition ``part`` (nc,) as seen by this process."""
        cells = np.flatnonzero(part == world.rank)
        here = np.full(len(part) + 1, -1)
        here[cells] = np.arange(len(cells))
        return cls(world, part, cells, here)

    def mine(self, cells: np.ndarray) -> np.ndarray:
        """Return which items (k,) of ``cells`` (n,) belong to this process; items in no cell (-1) belong to none."""
        return np.flatnonzero((self.part[cells] == self.world.rank) & (cells >= 0))

    def fault_rows(self, sides: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the fault faces that this process solves.

        Parameters
        ----------
        sides : ndarray (n, 2)
            Cells on the plus and the minus side of each face.

        Returns
        -------
        rows : ndarray (k,)
            Faces with a side on this process, its own first.
        own : int
            Number of own faces, whose plus cell is on this process.
        """
        part, rank = self.part[sides], self.world.rank
        own = np.flatnonzero(part[:, 0] == rank)
        guests = np.flatnonzero((part[:, 0] != rank) & (part[:, 1] == rank))
        return np.concatenate([own, guests]), len(own)


def moves(law: Law) -> bool:
    """Return True if exactly velocity and traction, or their normal components, cross a face."""
    return "velocity" in law.roles and law.channels in (1, 3)


def check_moves(planning: Planning, kind: str) -> bool:
    """Return True if the law can have faces of a ``kind`` that prescribe motion, else add an error."""
    if moves(planning.law):
        return True
    allowed = ", ".join(name for name, law in laws().items() if moves(law))
    planning.problems.error(
        "mesh", f"has faces of kind {kind}, which the {planning.law.name} law does not have", allowed
    )
    return False


def chosen(record: Record, rows: np.ndarray) -> Record:
    """Return a copy of a frozen record of arrays with only its ``rows``."""
    from dataclasses import fields, replace

    return replace(record, **{f.name: getattr(record, f.name)[rows] for f in fields(record)})
