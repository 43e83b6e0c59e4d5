"""Points of a lattice in and around a box: where both engines record the wave field for others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.observe.box_records import Frame, Nodes, Recorder, as_dataset, shell
from faultwave.observe.dataset import Dataset

DEEP = 3
"""Points on either side of a face, so that cubic polynomials are between points wherever a grid as fine or finer needs them."""


@dataclass(frozen=True)
class Shell:
    """So many ``cells`` along x, y, z of an edge ``spacing`` [m] from ``lower`` (3,) on, and points up to ``deep`` of them around
    the faces."""

    lower: np.ndarray
    spacing: float
    cells: tuple[int, int, int]
    open_top: bool
    deep: int

    @cached_property
    def index(self) -> np.ndarray:
        """Numbers (n, 3) of the points along x, y, z."""
        return shell(self.cells, self.deep, self.deep, self.open_top)

    @cached_property
    def places(self) -> np.ndarray:
        """Where they are (n, 3) [m]."""
        return np.asarray(self.lower + self.spacing * self.index)

    @property
    def upper(self) -> np.ndarray:
        """Upper corner (3,) [m] of the box."""
        return np.asarray(self.lower + self.spacing * np.array(self.cells))

    @property
    def text(self) -> str:
        """Where the points are, for messages."""
        ends = zip(self.places.min(0), self.places.max(0), strict=True)
        return " x ".join(f"[{a:g}, {b:g}]" for a, b in ends) + " m"

    def dataset(
        self, values: Mapping[str, np.ndarray], material: Mapping[str, np.ndarray], interval: float, recorder: Recorder
    ) -> Dataset:
        """The record: ``values`` (samples, points) by quantity from time zero on, ``material`` (points,)."""
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
    """The points that ``output.box`` asks for; None, with a problem, where its spacing does not divide it. ``surface``: z [m] of the free
    surface above, if there is one."""
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
