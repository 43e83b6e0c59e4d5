"""What pushes the grid: points and weights of the program, and how strongly in each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from faultwave.fd.program import LEVELS
from faultwave.kernels.stencil import Injection


class Drive(Protocol):
    """Sources of one kind: ``injections`` name them by numbers below ``count``."""

    @property
    def injections(self) -> Sequence[Injection]: ...

    @property
    def count(self) -> int: ...

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """(levels, steps, count) of steps first, first + 1, ...: velocities are pushed around t = n dt, stresses over n dt to
        (n + 1) dt."""


class Drives:
    """All of them, numbered one after the other."""

    def __init__(self, drives: Sequence[Drive]):
        self.drives = tuple(drives)
        self.injections: list[Injection] = []
        total = 0
        for drive in self.drives:
            self.injections += [replace(i, sources=i.sources + total) for i in drive.injections]
            total += drive.count
        self.count = max(1, total)  # programs take one number at least

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """(levels, steps, count), as of each."""
        found = [drive.amplitudes(first, steps) for drive in self.drives if drive.count]
        return np.concatenate(found, 2) if found else np.zeros((LEVELS, steps, 1))


__all__ = ["Drive", "Drives"]
