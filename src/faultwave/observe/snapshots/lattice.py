"""Regular lattices of the snapshots and maps of a grid, and the formats that write them.

Other packages register theirs by the entry point group ``faultwave.output.formats``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from faultwave.base.errors import Problems, suggest
from faultwave.base.projection import Projection
from faultwave.base.registry import scan


@dataclass(frozen=True)
class Lattice:
    """Regular lattice of points.

    Attributes
    ----------
    origin : tuple of float
        First point x, y, z [m].
    spacing : float
        Spacing [m].
    shape : tuple of int
        (nz, ny, nx), or (ny, nx) for a plane.
    degrees : mapping of str to ndarray of shape (ny, nx)
        Longitude and latitude [deg], if there is a projection.
    elevation : ndarray of shape (ny, nx), optional
        Elevation of a plane that follows uneven ground [m].
    """

    origin: tuple[float, float, float]
    spacing: float
    shape: tuple[int, ...]
    degrees: Mapping[str, np.ndarray] = field(default_factory=dict)
    elevation: np.ndarray | None = None

    def nodes(self, axis: str) -> np.ndarray:
        """Return the coordinates of the points along x, y or z [m]."""
        k = "xyz".index(axis)
        count = (1, *self.shape)[-3:][2 - k]
        return np.asarray(self.origin[k] + self.spacing * np.arange(count))

    def located(self, projection: Projection | None) -> Lattice:
        """Return the lattice with longitudes and latitudes, if there is a projection."""
        if projection is None:
            return self
        x, y = self.nodes("x"), self.nodes("y")
        found = projection.to_continuous(np.stack(np.meshgrid(x, y), -1).reshape(-1, 2))
        degrees = {n: found[:, k].reshape(len(y), len(x)) for k, n in enumerate(("longitude", "latitude"))}
        return replace(self, degrees=degrees)


@dataclass(frozen=True)
class SeriesFormat:
    """Format of snapshots on a lattice.

    Attributes
    ----------
    name : str
        Name in the case.
    open : callable
        ``open(series, opening)`` returns a writer with ``fields``, ``times``, ``path``, ``append``, ``settle`` and a context: see
        ``engine.capability.LatticeSeries`` and ``run.files.Opening``.
    fields : tuple of str
        Fields that it always writes, regardless of the requested ones, if any.
    number_bytes : int, optional
        Size of a stored value [bytes], None for the precision of the case's field files.
    """

    name: str
    open: Callable[[Any, Any], Any]
    fields: tuple[str, ...] = ()
    number_bytes: int | None = None


def series_formats() -> dict[str, SeriesFormat]:
    """Return every format of snapshots by name."""
    return scan("faultwave.output.formats", SeriesFormat)


@dataclass(frozen=True)
class MapFormat:
    """Format of maps that a case may choose; a ``Writer`` of the same module writes them.

    Attributes
    ----------
    name : str
        Name in the case.
    projected : bool
        True if longitude and latitude are required.
    refused : callable
        ``refused(projection)`` returns why a projection is unsuitable and what is allowed, both empty if it is suitable.
    """

    name: str
    projected: bool = False
    refused: Callable[[Projection], tuple[str, str]] = lambda projection: ("", "")


def map_formats() -> dict[str, MapFormat]:
    """Return every format of maps by name."""
    return scan("faultwave.output.formats", MapFormat)


def check_formats(where: str, names: Sequence[str], known: Mapping[str, object], problems: Problems) -> None:
    """Report one error for each name without a format."""
    for number, name in enumerate(names):
        if name not in known:
            what, allowed = f"unknown format '{name}'", ", ".join(sorted(known))
            problems.error(f"{where}.formats[{number}]", what, allowed, suggest(name, known))
