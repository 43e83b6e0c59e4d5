"""Backend that executes a fraction of every launch, from which a forecast measures the steps of a large mesh.

It touches only a part of the memory. Waves at the edge of the executed fraction are undefined: the numbers have no use,
the time does. It wraps a synchronous backend; everything other than launches and buffers is delegated to it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from faultwave.backends import Backend
from faultwave.backends.base import Buffer, Launch, Store
from faultwave.kernels.language import Kernel
from faultwave.kernels.types import Table

if TYPE_CHECKING:
    Kept = TypeVar("Kept", bound=Buffer)


class Partial:
    """Backend that executes ``share`` of each launch's items, at least one vector of them.

    Attributes
    ----------
    asked, done : int
        Numbers of requested and of executed items so far.
    """

    def __init__(self, inner: Backend, share: float):
        self.inner, self.share = inner, share
        self.asked = self.done = 0
        self._buffers: list[Callable[[], Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def batch(self, *given: Any, **options: Any) -> Buffer:
        return self._kept(self.inner.batch(*given, **options))

    def store(self, *given: Any, **options: Any) -> Store:
        return self._kept(self.inner.store(*given, **options))

    def first_touch(self, buffers: Sequence[Buffer], ranges: Iterable[tuple[int, int]]) -> None:
        """Do nothing: pages are allocated only where they are used."""

    def _kept(self, buffer: Kept) -> Kept:
        self._buffers.append(weakref.ref(buffer))
        return buffer

    def places(self) -> Iterator[tuple[int, int]]:
        """Yield the address of the first byte and the size of every buffer in use."""
        for buffer in (ref() for ref in self._buffers):
            if buffer is not None:
                yield buffer.storage.ctypes.data, buffer.storage.nbytes

    def compile(self, kernels: Iterable[Kernel]) -> Mapping[str, Callable[[Mapping[str, Buffer]], _Launch]]:
        made = self.inner.compile(kernels)
        return {name: self._binder(bind) for name, bind in made.items()}

    def _binder(self, bind: Callable[[Mapping[str, Buffer]], Launch]) -> Callable[[Mapping[str, Buffer]], _Launch]:
        return lambda buffers: _Launch(self, bind(buffers))


class _Launch:
    """Launch that executes the first of the requested items."""

    def __init__(self, backend: Partial, launch: Launch):
        self.backend, self.launch = backend, launch
        self.lanes = max(backend.inner.lanes, backend.inner.fixed_lanes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.launch, name)

    def prepared(self, begin: int, end: int, **scalars: Table) -> Callable[[], None]:
        return partial(self, begin, end, **scalars)

    def __call__(self, begin: int, end: int, **scalars: Table) -> None:
        some = -(-int(self.backend.share * (end - begin)) // self.lanes) * self.lanes
        some = min(max(some, self.lanes), end - begin)
        self.backend.asked += end - begin
        self.backend.done += some
        self.launch(begin, begin + some, **scalars)


__all__ = ["Partial"]
