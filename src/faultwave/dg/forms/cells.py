"""What a form is told of the cells of a mesh: their shapes, neighbours, materials and kinds of faces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.dg.basis import FACES


@dataclass(frozen=True)
class PenalisedFaces:
    """``faces`` (nc, 4) at which jumps are penalised, from both sides, and the materials (nc, 4) ``across`` them; ``name`` of the
    penalty."""

    name: str
    faces: np.ndarray
    across: dict[str, np.ndarray]

    def of(self, cells: np.ndarray) -> PenalisedFaces:
        """In the listed cells only."""
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
    "echoes",
)
"""Arrays of ``Cells`` with a row for each."""


@dataclass(frozen=True)
class Cells:
    """What the operator needs of the cells, in the mesh's cell order (nc, ...)."""

    inverse: np.ndarray  # (nc, 3, 3) d xi / d x
    volume: np.ndarray
    areas: np.ndarray  # (nc, 4)
    normals: np.ndarray  # (nc, 4, 3) outward
    neighbours: np.ndarray  # (nc, 4)
    kinds: np.ndarray  # (nc, 4)
    fault: np.ndarray  # (nc, 4) faces with friction
    material: dict[str, np.ndarray]  # parameter -> (nc,)
    wall: np.ndarray | None = None  # (nc, 4) impedance of faces of kind 'impedance'
    driven: np.ndarray | None = None  # (nc, 4) faces whose arriving wave somebody fills in
    opposite: np.ndarray | None = None  # (nc, 4) the neighbour's number of the face; needed for driven ones
    beyond: np.ndarray | None = None  # (nc, 4, k) impedance of neighbours on other processes, NaN elsewhere
    penalised: PenalisedFaces | None = None
    echoes: np.ndarray | None = None  # (nc, 4, 2) a and b of boundary faces that parts say, NaN elsewhere
    numbers: np.ndarray | None = None  # (nc,) in the whole mesh, where they are not 0, 1, ...
    whole: dict[str, np.ndarray] | None = None
    """Material by the numbers in ``neighbours``, where these are some of the cells."""

    def of(self, cells: np.ndarray) -> Cells:
        """The listed cells (n,); their neighbours keep their numbers."""
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
        """Material by the numbers in ``neighbours``."""
        return self.material if self.whole is None else self.whole

    @property
    def remote(self) -> np.ndarray:
        """(nc, 4) faces whose neighbour another process has."""
        return np.zeros(self.kinds.shape, bool) if self.beyond is None else ~np.isnan(self.beyond[..., 0])

    def neighbour_faces(self, cells: np.ndarray, faces: np.ndarray) -> np.ndarray:
        if self.opposite is None:
            raise ValueError("driven faces need the neighbours' face numbers")
        return np.asarray(self.opposite[cells, faces])

    @property
    def tangents(self) -> np.ndarray:
        """(nc, 4, 2, 3) unit tangents of every face, the same from both sides: along its first edge and across it."""
        corners = np.concatenate(
            [np.zeros((len(self.inverse), 1, 3)), np.linalg.inv(self.inverse).transpose(0, 2, 1)], 1
        )
        a, b, c = (corners[:, [face[i] for face in FACES]] for i in range(3))
        first, second = b - a, c - a
        first /= np.linalg.norm(first, axis=2, keepdims=True)
        second -= (first * second).sum(2, keepdims=True) * first
        return np.stack([first, second / np.linalg.norm(second, axis=2, keepdims=True)], 2)


__all__ = ["Cells", "PenalisedFaces"]
