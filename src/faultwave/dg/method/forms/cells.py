"""Cells that forms are evaluated in: geometry, topology and material, and faces with penalised jumps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.dg.method.basis import FACES


@dataclass(frozen=True)
class PenalisedFaces:
    """Faces at which jumps are penalised.

    Attributes
    ----------
    name : str
        Name of the penalty.
    faces : ndarray of bool (nc, 4)
        Penalised faces, marked on both sides.
    across : dict of str to ndarray (nc, 4)
        Material parameters of the neighbour across each face.
    """

    name: str
    faces: np.ndarray
    across: dict[str, np.ndarray]

    def of(self, cells: np.ndarray) -> PenalisedFaces:
        """Return the penalised faces of the listed cells."""
        return PenalisedFaces(self.name, self.faces[cells], {k: v[cells] for k, v in self.across.items()})


BY_CELL = (
    "inverse",
    "volume",
    "areas",
    "normals",
    "neighbours",
    "kinds",
    "fault",
    "wall",
    "driven",
    "opposite",
    "beyond",
    "reflection_coefficients",
)
"""Names of the arrays of ``Cells`` with one row per cell."""


@dataclass(frozen=True)
class Cells:
    """Geometry, topology and material of the cells, in the mesh's cell order (nc, ...)."""

    inverse: np.ndarray  # (nc, 3, 3) d xi / d x
    volume: np.ndarray
    areas: np.ndarray  # (nc, 4)
    normals: np.ndarray  # (nc, 4, 3) outward
    neighbours: np.ndarray  # (nc, 4)
    kinds: np.ndarray  # (nc, 4)
    fault: np.ndarray  # (nc, 4) faces with friction
    material: dict[str, np.ndarray]  # parameter -> (nc,)
    wall: np.ndarray | None = None  # (nc, 4) impedance of faces of kind 'impedance'
    driven: np.ndarray | None = None  # (nc, 4) faces whose arriving wave is prescribed
    opposite: np.ndarray | None = None  # (nc, 4) the neighbour's number of the face; required for prescribed faces
    beyond: np.ndarray | None = None  # (nc, 4, k) impedance of neighbours on other processes, NaN elsewhere
    penalised: PenalisedFaces | None = None
    reflection_coefficients: np.ndarray | None = (
        None  # (nc, 4, 2) reflection coefficients a and b from capabilities, NaN elsewhere
    )
    numbers: np.ndarray | None = None  # (nc,) cell numbers in the whole mesh, if they are not 0, 1, ...
    whole: dict[str, np.ndarray] | None = None
    """Material indexed by the numbers in ``neighbours``, if these objects are only some of the cells."""

    def of(self, cells: np.ndarray) -> Cells:
        """Return the listed cells (n,); the numbers of their neighbours do not change."""
        taken = {n: getattr(self, n) for n in BY_CELL}
        rows: dict[str, Any] = {n: None if values is None else values[cells] for n, values in taken.items()}
        return Cells(
            **rows,
            material={name: values[cells] for name, values in self.material.items()},
            penalised=None if self.penalised is None else self.penalised.of(cells),
            numbers=cells if self.numbers is None else self.numbers[cells],
            whole=self.everywhere,
        )

    @property
    def everywhere(self) -> dict[str, np.ndarray]:
        """Material indexed by the numbers in ``neighbours``."""
        return self.material if self.whole is None else self.whole

    @property
    def remote(self) -> np.ndarray:
        """Faces (nc, 4) whose neighbour belongs to another process."""
        return np.zeros(self.kinds.shape, bool) if self.beyond is None else ~np.isnan(self.beyond[..., 0])

    def neighbour_faces(self, cells: np.ndarray, faces: np.ndarray) -> np.ndarray:
        """Return the neighbours' numbers (n,) of the local ``faces`` of ``cells``. Raises ValueError if ``opposite`` is missing."""
        if self.opposite is None:
            raise ValueError("driven faces need the neighbours' face numbers")
        return np.asarray(self.opposite[cells, faces])

    @property
    def tangents(self) -> np.ndarray:
        """Unit tangents of every face (nc, 4, 2, 3), equal from both sides: along its first edge and perpendicular to it."""
        corners = np.concatenate(
            [np.zeros((len(self.inverse), 1, 3)), np.linalg.inv(self.inverse).transpose(0, 2, 1)], 1
        )
        a, b, c = (corners[:, [face[i] for face in FACES]] for i in range(3))
        first, second = b - a, c - a
        first /= np.linalg.norm(first, axis=2, keepdims=True)
        second -= (first * second).sum(2, keepdims=True) * first
        return np.stack([first, second / np.linalg.norm(second, axis=2, keepdims=True)], 2)
