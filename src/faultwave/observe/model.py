"""What a planned run is made of, as pictures and notebooks see it: places, surfaces with values, vertical cuts. No engine is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Label:
    """What a quantity is called in words, and its unit; ``log``: it spans decades."""

    text: str
    unit: str = ""
    log: bool = False


@dataclass(frozen=True)
class Marks:
    """Points (n, 3) [m] of one ``kind``: receivers, fault receivers, sources; ``names`` (n,) where they have some."""

    kind: str
    points: np.ndarray
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """Triangles: points (p, 3) [m], cells (n, 3), ``values`` (n,) by name with their ``labels``. ``kind``: fault or ground."""

    kind: str
    points: np.ndarray
    cells: np.ndarray
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    labels: Mapping[str, Label] = field(default_factory=dict)
    tags: np.ndarray | None = None
    """(n,): which fault each triangle belongs to."""


@dataclass(frozen=True)
class Section:
    """A vertical cut: points (p, 2) [m] along it and up, cells (n, 3 or 4), values (n,) by name."""

    points: np.ndarray
    cells: np.ndarray
    values: Mapping[str, np.ndarray]


Cut = Callable[[np.ndarray, np.ndarray], Section]
"""From the start (2,) and the end (2,) of a line on the map [m] to the cut below it."""


@dataclass(frozen=True)
class Coverage:
    """What velocity models have: ``kinds`` in words, the number (n,) of that at points (n, 3) [m] by ``at``."""

    kinds: tuple[str, ...]
    at: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Model:
    """A planned run. ``lower`` and ``upper`` (3,) [m] bound it; ``labels``: quantities of its cuts, ``speeds``: those of them that are wave
    speeds; ``frequency`` [Hz]: that for which points per wavelength are counted, in words ``reason``; ``steps`` [s] and ``counts``: of
    clusters of time steps, empty where all cells take one; ``coverage``: of its velocity models, None where it has none;
    ``axes``: what x, y and z are called; ``trouble``: places (n, 3) [m] of what is wrong with it, with words;
    ``region``: corners (2, 3) [m] between which waves are to be resolved, None: everywhere."""

    title: str
    lower: np.ndarray
    upper: np.ndarray
    labels: Mapping[str, Label]
    speeds: tuple[str, ...]
    cut: Cut | None
    marks: tuple[Marks, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    frequency: float = 0.0
    reason: str = ""
    steps: np.ndarray = field(default_factory=lambda: np.zeros(0))
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    coverage: Coverage | None = None
    axes: tuple[str, str, str] = ("x", "y", "z")
    trouble: Marks | None = None
    region: np.ndarray | None = None

    def of(self, kind: str) -> tuple[Sheet, ...]:
        """Its sheets of a kind."""
        return tuple(sheet for sheet in self.sheets if sheet.kind == kind)


POINTS = Label("points per wavelength")
RESOLUTION = "points_per_wavelength"
CLUSTER = "cluster"

__all__ = [
    "CLUSTER",
    "POINTS",
    "RESOLUTION",
    "Coverage",
    "Cut",
    "Label",
    "Marks",
    "Model",
    "Section",
    "Sheet",
]
