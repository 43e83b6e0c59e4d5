"""Numbers on their way to the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Awaited(Protocol):
    """What a buffer was asked for: the numbers as they were then, whatever has been done to it since."""

    @property
    def here(self) -> bool:
        """Whether ``values`` would not wait."""
        ...

    def values(self) -> np.ndarray:
        """The numbers, once they are here."""
        ...


@dataclass(frozen=True)
class Here:
    """Numbers that need not come from anywhere: a copy is made at once."""

    copied: np.ndarray
    here = True

    def values(self) -> np.ndarray:
        return self.copied


class Marked:
    """A mark where launches are done when they return."""

    done = True


__all__ = ["Awaited", "Here", "Marked"]
