"""Geometry of a block of a grid, before its material is known; a grid of one spacing is one block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from faultwave.case.settings.model import Case
from faultwave.fd.method.absorbing import Absorber
from faultwave.fd.method.fault_plane import plane_of
from faultwave.fd.method.grid import Grid, SideKind
from faultwave.fd.method.program import Scheme


@dataclass(frozen=True)
class GridBlock:
    """Geometry of a block.

    Attributes
    ----------
    grid : Grid
        Grid including the absorbing layers.
    lower, upper : ndarray, shape (3,)
        Corners [m] of the box without these layers.
    sides : mapping
        Kinds of the sides.
    width : int
        Thickness of the absorbing layers in points.
    joined_above, joined_below : bool
        True if another block is joined above or below.
    order : int
        Order of the differences in space.
    """

    grid: Grid
    lower: np.ndarray
    upper: np.ndarray
    sides: Mapping[str, SideKind]
    width: int
    joined_above: bool = False
    joined_below: bool = False
    order: int = 4

    def scheme(self, case: Case, step: float = 1.0, speed: float = 1.0) -> Scheme:
        """Return the scheme of the block; the defaults of step and speed stand for values not yet known."""
        setting = case.grid
        assert setting is not None
        absorber, attenuation = Absorber(setting.absorbing.kind, self.width), case.attenuation is not None
        made = Scheme(self.grid, step, speed, self.sides, absorber, attenuation, self.order)
        fault = plane_of(setting.fault, self.grid) if setting.fault is not None and case.fault is not None else None
        return replace(
            made, joined_above=self.joined_above, joined_below=self.joined_below, yields=case.yields,
            fault=fault,
        )  # fmt: skip


def order_of(case: Case, block: int) -> int:
    """Return the order of differences in a block; 4 in the uppermost block below a topography."""
    setting = case.grid
    assert setting is not None
    return 4 if block == 0 and setting.topography is not None else setting.order


__all__ = ["GridBlock", "order_of"]
