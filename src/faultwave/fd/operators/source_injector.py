"""Source injectors of the grid: points, weights and amplitudes per step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from faultwave.fd.method.program import LEVELS
from faultwave.kernels.stencil import Injection


class Drive(Protocol):
    """Protocol of the sources of one kind; ``injections`` refer to them by numbers below ``count``."""

    @property
    def injections(self) -> Sequence[Injection]: ...

    @property
    def count(self) -> int: ...

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """Return the amplitudes of ``steps`` steps from number ``first`` on.

        Returns
        -------
        ndarray, shape (levels, steps, count)
            Velocities are forced around t = n dt, stresses over n dt to (n + 1) dt.
        """


class Drives:
    """Source injectors of all kinds, numbered consecutively."""

    def __init__(self, drives: Sequence[Drive]):
        self.drives = tuple(drives)
        self.injections: list[Injection] = []
        total = 0
        for drive in self.drives:
            self.injections += [replace(i, sources=i.sources + total) for i in drive.injections]
            total += drive.count
        self.count = max(1, total)  # a program has at least one source

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """Return the amplitudes (levels, steps, count) of all injectors (see ``Drive.amplitudes``)."""
        found = [drive.amplitudes(first, steps) for drive in self.drives if drive.count]
        return np.concatenate(found, 2) if found else np.zeros((LEVELS, steps, 1))


__all__ = ["Drive", "Drives"]
