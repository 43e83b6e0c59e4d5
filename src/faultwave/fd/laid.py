"""A block of a grid where it lies, before the material is known; a grid of one spacing is one block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from faultwave.case.model import Case
from faultwave.fd.absorbing import Absorber
from faultwave.fd.fault_plane import plane_of
from faultwave.fd.grid import Grid, SideKind
from faultwave.fd.program import Scheme


@dataclass(frozen=True)
class Laid:
    """A block: its grid with absorbing layers of ``width`` points, the box (3,) [m] without them, what is at its sides, whether it is
    joined to others, and the ``order`` of its differences in space."""

    grid: Grid
    lower: np.ndarray
    upper: np.ndarray
    sides: Mapping[str, SideKind]
    width: int
    joined_above: bool = False
    joined_below: bool = False
    order: int = 4

    def scheme(self, case: Case, step: float = 1.0, speed: float = 1.0) -> Scheme:
        """With a step and speed still to be found."""
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
    """Of differences in the block of this number: the uppermost below a topography has order 4 always, as bent planes do."""
    setting = case.grid
    assert setting is not None
    return 4 if block == 0 and setting.topography is not None else setting.order


__all__ = ["Laid", "order_of"]
