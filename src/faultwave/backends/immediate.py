"""Common part of the backends whose launches are complete when they return: no queue, and nothing to record."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from faultwave.backends.awaited import Marked
from faultwave.backends.copier import Part, copied
from faultwave.backends.injector import Points, inject_on_host


class Immediate:
    """Methods of ``Backend`` that concern the order of execution."""

    asynchronous = False

    def finish(self) -> None:
        """Do nothing: launches are complete when they return."""

    def take_memory(self, buffers: Sequence[Any]) -> None:
        """Do nothing: the system commits memory at the first write."""

    def mark(self) -> Marked:
        return Marked()

    def independent(self, readings: bool = False) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def copier(self, parts: Sequence[Part]) -> Callable[[int], None]:
        return functools.partial(copied, parts)

    def injector(self, points: Points) -> Callable[[np.ndarray], None]:
        return functools.partial(inject_on_host, points)

    def record(self, work: Callable[[], None]) -> None:
        """Execute ``work`` without recording; launches cost next to nothing here."""
        work()


__all__ = ["Immediate"]
