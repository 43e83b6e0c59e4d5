"""Backend wrapper that records every buffer and, on request, every launch with its kernel, items and time.

It wraps any backend without the engine's knowledge; attributes beyond the protocol are passed on to the wrapped backend.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from faultwave.backends import Backend
from faultwave.backends.base import Bound, Buffer, Launch, Store
from faultwave.base.types import Record
from faultwave.kernels.language import Kernel, When, WhenAny

B = TypeVar("B", bound=Bound)


@dataclass(frozen=True)
class Entry:
    """Record of one launch: items [begin, end) in ``seconds``; ``again`` repeats it."""

    kernel: Kernel
    begin: int
    end: int
    seconds: float
    again: Callable[[], None]
    share: Callable[[When | WhenAny], float]  # of the batches for which it is done

    @property
    def items(self) -> int:
        return self.end - self.begin


class Book:
    """Recording backend around the backend ``inner``."""

    def __init__(self, inner: Backend):
        self.inner = inner
        self.entries: list[Entry] = []
        self.open = False
        self.occasion = 1.0  # of batches, the part that does what is under ``Kernel.when_any``
        self._buffers: list[weakref.ref[Bound]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def batch(self, items: int, rows: int, cols: int, fixed: bool = False, narrow: bool = False) -> Buffer:
        return self._registered(self.inner.batch(items, rows, cols, fixed, narrow))

    def store(self, slots: int, size: int, fixed: bool = False, narrow: bool = False) -> Store:
        return self._registered(self.inner.store(slots, size, fixed, narrow))

    def index(self, values: np.ndarray, fixed: bool = False) -> Bound:
        return self._registered(self.inner.index(values, fixed))

    @property
    def index_bytes(self) -> int:
        """Size [bytes] of one slot number."""
        return int(self.inner.index(np.zeros((self.inner.lanes, 1), np.int64)).nbytes) // self.inner.lanes

    def matrix(self, values: np.ndarray, fixed: bool = False) -> Buffer:
        return self._registered(self.inner.matrix(values, fixed))

    def _registered(self, buffer: B) -> B:
        self._buffers.append(weakref.ref(buffer))
        return buffer

    def nbytes(self) -> int:
        """Return the bytes of all buffers that are still in use."""
        return sum(b.nbytes for b in (ref() for ref in self._buffers) if b is not None)

    def compile(self, kernels: Iterable[Kernel]) -> Mapping[str, Callable[[Record], Launch]]:
        kernels = list(kernels)
        made = self.inner.compile(kernels)
        return {k.name: self._binder(k, made[k.name]) for k in kernels}

    def _binder(self, kernel: Kernel, bind: Callable[[Record], Launch]) -> Callable[[Record], Launch]:
        return lambda buffers: _Noted(self, kernel, bind(buffers), buffers)

    @contextmanager
    def written(self) -> Iterator[list[Entry]]:
        """Record the launches inside the block, in order."""
        self.entries, self.open = [], True
        try:
            yield self.entries
        finally:
            self.open = False


class _Noted:
    """Launch that adds an entry to the book while recording is on."""

    def __init__(self, book: Book, kernel: Kernel, launch: Launch, buffers: Record):
        self.book, self.kernel, self.launch, self.buffers = book, kernel, launch, buffers

    def __getattr__(self, name: str) -> Any:
        return getattr(self.launch, name)

    def __call__(self, begin: int, end: int, **scalars: object) -> None:
        if not self.book.open:
            self.launch(begin, end, **scalars)
            return
        start = time.perf_counter()
        self.launch(begin, end, **scalars)
        self.book.inner.finish()
        seconds = time.perf_counter() - start
        self.book.entries.append(
            Entry(
                self.kernel,
                begin,
                end,
                seconds,
                lambda: self.launch(begin, end, **scalars),
                lambda s: self._share(s, begin, end),
            )
        )

    def _share(self, s: When | WhenAny, begin: int, end: int) -> float:
        """Return the fraction of batches for which conditional work is done.

        A batch does the work if one of its items has a slot for it. For conditions on values the fraction is the book's ``occasion``.
        """
        if isinstance(s, WhenAny):
            return self.book.occasion
        slots = np.asarray(self.buffers[s.index.name].get())
        requested = slots.reshape(len(slots), -1)[begin:end, s.column] > 0
        return float(requested.reshape(-1, self.book.inner.lanes).any(1).mean())
