"""Input and output of the Gmsh process: plain arrays exchanged in files."""

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
    """Base of dataclasses of arrays and numbers that are saved to a file and loaded from it."""

    def save(self, path: Path) -> None:
        np.savez(path, **{f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def load(cls, path: Path | BinaryIO) -> Self:
        with np.load(path, allow_pickle=False) as file:
            found: dict[str, Any] = {name: file[name] for name in file.files}
        return cls(**{name: value[()] if value.ndim == 0 else value for name, value in found.items()})


@dataclass(frozen=True)
class FlatBox(Stored):
    """Flat box to be meshed, with faults, relief and element sizes.

    Attributes
    ----------
    lower, upper : (3,) array
        Corners [m].
    facets : (m, 4, 3) array
        Corners of the facets of faults.
    fault, variant : (m,) array
        Fault of each facet, and the way of cutting faults into facets that it belongs to, of which one is chosen.
    stops : (k, 2) array
        Pairs of a fault and the fault at which it ends.
    x, y, heights, levels, real
        Relief, see ``relief.Relief``.
    origin, spacing, values
        Element sizes, see ``sizes.Sizes``.
    sea : bool
        True if there is a sea.
    slope : float
        Smallest slope of the sea floor.
    """

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
    """Result of Gmsh.

    Attributes
    ----------
    vertices : (nv, 3) array
        Vertices at their true positions [m].
    cells : (nc, 4) array
        Vertices of each cell.
    layer : (nc,) array
        Layer of each cell, counted from the top.
    triangles : (nt, 3) array
        Triangles of faults and boundaries.
    of : (nt,) array
        Fault number from 0, or GROUND or SIDES, of each triangle.
    wet : (nv,) array of bool
        Vertices of the ground below the sea.
    cut : (k,) array of bool
        True for each of the stops that was found.
    moved : float
        Largest vertical shift of the ground along the coast [m].
    """

    vertices: Floats
    cells: Integers
    layer: Integers
    triangles: Integers
    of: Integers
    wet: NDArray[np.bool_]
    cut: NDArray[np.bool_]
    moved: float


GROUND, SIDES = -1, -2
"""Kinds of triangles other than faults."""


__all__ = ["GROUND", "SIDES", "FlatBox", "Meshed"]
