"""What steps launch that come again and again: their numbers are worked out once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from faultwave.backends.base import Launch, repeated

MOST = 256
"""Steps that are kept at most: steps before times that all clusters must meet come once."""


class ReadySteps:
    """``known``: the launches of steps, each by all that they depend on."""

    def __init__(self) -> None:
        self.known: dict[Hashable, list[Callable[[], None]]] = {}
        self._noted: list[Callable[[], None]] | None = None

    def again(self, key: Hashable) -> bool:
        """Do a step as the last time; False where it is not known."""
        launches = self.known.get(key)
        for launch in launches or ():
            launch()
        return launches is not None

    @contextmanager
    def noting(self, key: Hashable) -> Iterator[None]:
        """What is launched inside is that step."""
        noted = self._noted = []
        try:
            yield
        finally:
            self._noted = None
        if len(self.known) >= MOST:
            self.known.clear()
        self.known[key] = noted

    def launch(self, launch: Launch, begin: int, end: int, **scalars: Any) -> None:
        """Do it now, and whenever the step comes again that is noted."""
        if self._noted is None:
            launch(begin, end, **scalars)
            return
        ready = repeated(launch, begin, end, **scalars)
        self._noted.append(ready)
        ready()


__all__ = ["MOST", "ReadySteps"]
