"""Engine-independent description of a planned run for pictures and notebooks: places, surfaces with values, vertical cuts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Label:
    """Description of a quantity in words, and its unit; ``log`` is True if it spans decades."""

    text: str
    unit: str = ""
    log: bool = False


@dataclass(frozen=True)
class Marks:
    """Points (n, 3) [m] of one ``kind``, such as receivers, fault receivers or sources, with their ``names`` (n,), if any."""

    kind: str
    points: np.ndarray
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """Triangulated surface with values.

    Attributes
    ----------
    kind : str
        fault or ground.
    points : ndarray of shape (p, 3)
        Points [m].
    cells : ndarray of shape (n, 3)
        Indices of the corners of each triangle.
    values : mapping of str to ndarray of shape (n,)
        Values of each triangle, by name.
    labels : mapping of str to Label
        Descriptions of the values.
    """

    kind: str
    points: np.ndarray
    cells: np.ndarray
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    labels: Mapping[str, Label] = field(default_factory=dict)
    tags: np.ndarray | None = None
    """Fault tag (n,) of each triangle."""


@dataclass(frozen=True)
class Section:
    """Vertical cut: points (p, 2) [m] along it and upwards, cells (n, 3) or (n, 4), values (n,) by name."""

    points: np.ndarray
    cells: np.ndarray
    values: Mapping[str, np.ndarray]


Cut = Callable[[np.ndarray, np.ndarray], Section]
"""Function from the start (2,) and end (2,) of a line on the map [m] to the vertical cut below it."""


@dataclass(frozen=True)
class Coverage:
    """Coverage of velocity models: ``kinds`` in words, and the index (n,) of the kind at points (n, 3) [m] by ``at``."""

    kinds: tuple[str, ...]
    at: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Model:
    """Description of a planned run.

    Attributes
    ----------
    lower, upper : ndarray of shape (3,)
        Bounds of the domain [m].
    labels : mapping of str to Label
        Quantities of the cuts.
    speeds : tuple of str
        Quantities of the cuts that are wave speeds.
    frequency : float
        Frequency at which points per wavelength are counted [Hz]; ``reason`` explains its choice.
    steps, counts : ndarray
        Time step [s] and number of cells of each cluster, empty if all cells have the same time step.
    coverage : Coverage, optional
        Coverage of the velocity models, None without any.
    axes : tuple of str
        Labels of x, y and z.
    trouble : Marks, optional
        Places (n, 3) [m] of errors, with descriptions.
    region : ndarray of shape (2, 3), optional
        Corners of the region in which waves are to be resolved [m], None for the whole domain.
    """

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
        """Return the sheets of a kind."""
        return tuple(sheet for sheet in self.sheets if sheet.kind == kind)


POINTS = Label("points per wavelength")
RESOLUTION = "points_per_wavelength"
CLUSTER = "cluster"
