"""Plane of a fault in a grid: its position and the points that are split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.case.settings.grid import PlaneOfFault
from faultwave.fd.method.grid import Grid
from faultwave.fd.method.stencils import SHEAR, VELOCITY
from faultwave.kernels.stencil import Axis, Box, Layout

MARGIN = 3
"""Points around the fault that are split without slipping; beyond them both sides move alike."""
EVEN = 1e-6
"""Tolerance relative to a spacing within which places coincide with points of the grid."""


@dataclass(frozen=True)
class FaultPlane:
    """Vertical plane of split points in a grid.

    Attributes
    ----------
    axis : {"x", "y"}
        Axis normal to the plane.
    index : int
        Number of the cells along that axis whose centres lie in the plane.
    first, end : tuple of int
        Range (z, along) of the split points.
    """

    axis: Axis
    index: int
    first: tuple[int, int]
    end: tuple[int, int]

    @property
    def along(self) -> Axis:
        """Horizontal axis in the plane."""
        return "y" if self.axis == "x" else "x"

    @property
    def normal(self) -> str:
        """Normal stress on the plane."""
        return f"s{self.axis}{self.axis}"

    @property
    def sliding(self) -> dict[Axis, str]:
        """Velocities that jump across the plane, by axis."""
        return {axis: name for name, axis in VELOCITY.items() if axis != self.axis}

    @property
    def doubled(self) -> tuple[str, ...]:
        """Quantities in the plane that differ between its sides; the arrays of the grid hold the lower side."""
        shear = next(name for name, axes in SHEAR.items() if self.axis not in axes)
        return (*self.sliding.values(), f"s{self.along}{self.along}", "szz", shear)

    def sheet(self, box: Box) -> Box:
        """Return the part of a box within the plane."""
        k = "zyx".index(self.axis)
        lo, hi = list(box.lo), list(box.hi)
        lo[k], hi[k] = self.index, self.index + 1
        return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))

    def of_sheet(self, plane: np.ndarray) -> np.ndarray:
        """Return the part of a horizontal plane (ny, nx) of the grid within the fault plane."""
        at = slice(self.index, self.index + 1)
        return plane[at] if self.axis == "y" else plane[:, at]

    @property
    def box(self) -> Box:
        """Box of the split points."""
        k, a = "zyx".index(self.axis), "zyx".index(self.along)
        lo, hi = [self.first[0], 0, 0], [self.end[0], 0, 0]
        lo[a], hi[a], lo[k], hi[k] = self.first[1], self.end[1], self.index, self.index + 1
        return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))

    def layouts(self, box: Box, halo: int) -> dict[str, Layout]:
        """Return the layouts of the arrays of the upper side and of the locking tractions."""
        names = (*(high(n) for n in self.doubled), *(locked(a) for a in self.sliding))
        return dict.fromkeys(names, Layout(self.sheet(box), group="split", halo=halo))


def high(name: str) -> str:
    """Return the name of the array of the upper side, the one of larger x or y."""
    return f"{name}_high"


def locked(axis: Axis) -> str:
    """Return the name of the array of the traction along an axis that would lock the fault."""
    return f"locked_{axis}"


def across(setting: PlaneOfFault) -> Axis:
    """Return the axis normal to a fault plane.

    Raises
    ------
    InputError
        If the plane is not vertical along x or y.
    """
    lower: np.ndarray = np.array(setting.lower)
    upper: np.ndarray = np.array(setting.upper)
    flat = np.flatnonzero(lower == upper).tolist()
    if len(flat) != 1 or flat[0] == 2 or (lower > upper).any():
        corners = " and ".join("({:g}, {:g}, {:g})".format(*c) for c in (lower, upper))
        advice = "Faults that dip or bend, or strike in other directions, run with engine: dg."
        allowed = "corners of one vertical rectangle with the same x, or the same y"
        raise InputError(Problem("grid.fault", f"{corners} are not of a fault that a grid can have", allowed, advice))
    return "x" if flat[0] == 0 else "y"


def plane_of(setting: PlaneOfFault, grid: Grid) -> FaultPlane:
    """Return the plane of a fault in a grid, moved to the nearest cell centres."""
    axis = across(setting)
    k = "xyz".index(axis)
    corner, h = np.array(grid.lower), grid.spacing
    lower: np.ndarray = (np.array(setting.lower) - corner) / h
    upper: np.ndarray = (np.array(setting.upper) - corner) / h
    index = round(float(lower[k]) - 0.5)
    first = [int(np.floor(lower[n])) - MARGIN for n in (2, 1 - k)]
    end = [int(np.ceil(upper[n])) + MARGIN + 1 for n in (2, 1 - k)]
    top = grid.shape[0]
    at_top = upper[2] > top - EVEN
    return FaultPlane(axis, index, (first[0], first[1]), (top + 1 if at_top else end[0], end[1]))


__all__ = ["EVEN", "MARGIN", "FaultPlane", "across", "high", "locked", "plane_of"]
