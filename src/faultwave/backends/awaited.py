"""Results of asynchronous reads on their way to the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Awaited(Protocol):
    """Result of an asynchronous read: the numbers at the time of the request, whatever was written since."""

    @property
    def here(self) -> bool:
        """True if ``values`` would not wait."""
        ...

    def values(self) -> np.ndarray:
        """Return the numbers, after waiting for them if necessary."""
        ...


@dataclass(frozen=True)
class Here:
    """Result that is available at once, as a copy."""

    copied: np.ndarray
    here = True

    def values(self) -> np.ndarray:
        return self.copied


class Marked:
    """Mark of a backend whose launches are complete when they return."""

    done = True


__all__ = ["Awaited", "Here", "Marked"]
