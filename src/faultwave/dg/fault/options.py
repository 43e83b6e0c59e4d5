"""Options and sizes of the friction kernel, apart from the friction law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.base.columns import Columns
from faultwave.dg.fault.record import recorded
from faultwave.dg.fault.transforms import degree_of


@dataclass(frozen=True)
class Options:
    """Options of the friction solver.

    Attributes
    ----------
    times : int
        Number of sub-steps of a step.
    whole_steps : bool
        Mark ruptures with the start of the step, as SeisSol does.
    damping : float
        Factor of the locked normal traction until ``damping_end`` [s].
    moved : bool
        Also record slip and work by the velocity jump.
    breakdown : bool
        Also record the breakdown work.
    linear_normal : bool
        Let strength follow the part of the normal traction that is linear on a face.
    quadratic_slip : bool
        Let the quadratic part of slip weaken the fault.
    smooth_sliding : bool
        Remove the highest degree of the slip rate on faces that have weakened.
    grains : bool
        Treat friction in porous rock as if rock were as dense as its grains.
    """

    times: int
    whole_steps: bool = False
    damping: float = 1.0
    damping_end: float = np.inf
    moved: bool = False
    breakdown: bool = False
    linear_normal: bool = False
    quadratic_slip: bool = False
    smooth_sliding: bool = False
    grains: bool = False


@dataclass(frozen=True)
class Sizes:
    """Array sizes and variants of the friction kernel.

    Attributes
    ----------
    rows : tuple of int
        Number of rows of each coefficient of the face time expansion.
    points : int
        Number of points of a face.
    episodes : int
        Number of nucleation episodes.
    options : Options
        Options of the friction solver.
    narrow : bool
        True if waves are stored in single precision.
    conical : bool
        True if the points belong to the conical rule.
    uniform : tuple of str
        Parameters of the law that have one value on the whole fault, which points need not read.
    """

    rows: tuple[int, ...]
    points: int
    episodes: int
    options: Options
    narrow: bool = False
    conical: bool = False
    uniform: tuple[str, ...] = ()

    @property
    def degree(self) -> int:
        """Degree of the face modes."""
        return degree_of(self.rows[0])


def record_columns_of(options: Options) -> Columns:
    """Return the columns of the record of fault points under ``options``."""
    return recorded(options.moved, options.breakdown, options.smooth_sliding)


__all__ = ["Options", "Sizes", "record_columns_of"]
