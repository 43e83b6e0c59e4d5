"""What Gmsh is given and what it gives back: plain arrays that travel between two processes in files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from faultwave.domain.build.relief import Relief
from faultwave.domain.build.sizes import Sizes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Stored:
    """Arrays and numbers that go into a file and come back."""

    def save(self, path: Path) -> None:
        np.savez(path, **{f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def load(cls, path: Path | BinaryIO) -> Self:
        with np.load(path, allow_pickle=False) as file:
            found: dict[str, Any] = {name: file[name] for name in file.files}
        return cls(**{name: value[()] if value.ndim == 0 else value for name, value in found.items()})


@dataclass(frozen=True)
class FlatBox(Stored):
    """The flat box: ``lower``, ``upper`` (3,); ``facets`` (m, 4, 3) with the ``fault`` (m,) of each and the ``variant`` (m,) of
    cutting faults into facets that it belongs to, of which one is taken; ``stops`` (k, 2): a fault and the one it ends at; the relief
    (``x``, ``y``, ``heights``, ``levels``, ``real``); element sizes by ``origin``, ``spacing``, ``values``; whether there is a
    ``sea``, and how steeply its floor falls at least (``slope``)."""

    lower: Floats
    upper: Floats
    facets: Floats
    fault: Integers
    variant: Integers
    stops: Integers
    x: Floats
    y: Floats
    heights: Floats
    levels: Floats
    real: int
    origin: Floats
    spacing: Floats
    values: Floats
    sea: bool
    slope: float

    @property
    def relief(self) -> Relief:
        return Relief(self.x, self.y, self.heights, self.levels, float(self.lower[2]), int(self.real))

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.origin, self.spacing, self.values)


@dataclass(frozen=True)
class Meshed(Stored):
    """What Gmsh made: ``vertices`` (nv, 3) in truth, ``cells`` (nc, 4), their ``layer`` (nc,) from the top down; ``triangles`` (nt, 3)
    with what they are part of (``of``: below, 0 and up a fault's number). ``wet`` (nv,): vertices of the ground below the sea.
    ``cut`` (k,): whether each of the stops was found; ``moved``: how far the ground was moved along the coast [m]."""

    vertices: Floats
    cells: Integers
    layer: Integers
    triangles: Integers
    of: Integers
    wet: NDArray[np.bool_]
    cut: NDArray[np.bool_]
    moved: float


GROUND, SIDES = -1, -2
"""What triangles are part of, besides faults."""


__all__ = ["GROUND", "SIDES", "FlatBox", "Meshed"]
