"""Lattice points in and around a box, at which both engines record the wave field for injection into other runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.observe.boxes.records import Frame, Nodes, Recorder, as_dataset, shell
from faultwave.observe.dataset import Dataset

DEEP = 3
"""Number of points on either side of a face, enough for cubic interpolation to any grid at least as fine."""


@dataclass(frozen=True)
class Shell:
    """Lattice points near the faces of a box.

    Attributes
    ----------
    lower : ndarray of shape (3,)
        Lower corner of the box [m].
    spacing : float
        Spacing [m].
    cells : tuple of int
        Number of cells along x, y, z.
    open_top : bool
        True if the upper side is a free surface.
    deep : int
        Maximum distance of points from the faces, in spacings.
    """

    lower: np.ndarray
    spacing: float
    cells: tuple[int, int, int]
    open_top: bool
    deep: int

    @cached_property
    def index(self) -> np.ndarray:
        """Indices (n, 3) of the points along x, y, z."""
        return shell(self.cells, self.deep, self.deep, self.open_top)

    @cached_property
    def places(self) -> np.ndarray:
        """Positions (n, 3) of the points [m]."""
        return np.asarray(self.lower + self.spacing * self.index)

    @property
    def upper(self) -> np.ndarray:
        """Upper corner (3,) of the box [m]."""
        return np.asarray(self.lower + self.spacing * np.array(self.cells))

    @property
    def text(self) -> str:
        """Extent of the points, for messages."""
        ends = zip(self.places.min(0), self.places.max(0), strict=True)
        return " x ".join(f"[{a:g}, {b:g}]" for a, b in ends) + " m"

    def dataset(
        self, values: Mapping[str, np.ndarray], material: Mapping[str, np.ndarray], interval: float, recorder: Recorder
    ) -> Dataset:
        """Return the record: ``values`` (samples, points) by quantity from time zero on, ``material`` (points,)."""
        frame = Frame(self.lower, self.upper, self.open_top, self.spacing, interval, recorder)
        nodes = Nodes(self.lower, self.spacing, self.index, frame.top)
        return as_dataset(
            frame,
            dict.fromkeys(values, nodes),
            dict.fromkeys(values, 0.0),
            values,
            {name: (nodes, of) for name, of in material.items()},
        )


def shell_of(setting: Any, surface: float | None, problems: Problems) -> Shell | None:
    """Return the points requested by ``output.box``, or None with an error if its spacing does not divide the box.

    ``surface`` is the elevation z [m] of the free surface above, if any.
    """
    lower, upper = np.array(setting.lower, float), np.array(setting.upper, float)
    cells = np.rint((upper - lower) / setting.spacing).astype(int)
    if (np.abs(lower + cells * setting.spacing - upper) > 1e-6 * setting.spacing).any() or (cells < 1).any():
        size = " x ".join(f"{v:g}" for v in upper - lower)
        what = f"{setting.spacing:g} m does not divide the box of {size} m"
        problems.error("output.box.spacing", what, "a whole number of cells along each axis")
        return None
    open_top = surface is not None and abs(upper[2] - surface) < 1e-6 * setting.spacing
    deep = max(DEEP, setting.layers)
    return Shell(lower, float(setting.spacing), (int(cells[0]), int(cells[1]), int(cells[2])), open_top, deep)


__all__ = ["Shell", "shell_of"]
