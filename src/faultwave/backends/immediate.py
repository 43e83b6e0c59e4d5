"""What all backends are alike in whose launches are done when they return: there is no queue, and nothing to record."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from faultwave.backends.awaited import Marked
from faultwave.backends.copier import Part, copied
from faultwave.backends.injector import Points, injected


class Immediate:
    """The part of ``Backend`` that has to do with order."""

    asynchronous = False

    def finish(self) -> None:
        """Nothing is left to do when a launch returns."""

    def take_memory(self, buffers: Sequence[Any]) -> None:
        """The system gives it when somebody writes there."""

    def mark(self) -> Marked:
        return Marked()

    def independent(self, readings: bool = False) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def copier(self, parts: Sequence[Part]) -> Callable[[int], None]:
        return functools.partial(copied, parts)

    def injector(self, points: Points) -> Callable[[np.ndarray], None]:
        return functools.partial(injected, points)

    def record(self, work: Callable[[], None]) -> None:
        """Launches cost next to nothing here."""
        work()


__all__ = ["Immediate"]
