"""What the engine sees of a backend: buffers, compiled kernels, launches."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from faultwave.base.errors import BackendError, suggest
from faultwave.kernels.language import Kernel
from faultwave.kernels.stencil import Program, Runner


class Buffer(Protocol):
    """Numbers living where the backend computes, seen item-major: (items, rows, cols) or (slots, size)."""

    items: int

    def get(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> np.ndarray: ...

    def finite(self) -> bool: ...

    def put(self, values: np.ndarray | float, items: np.ndarray | slice | None = None) -> None: ...

    def add(self, values: np.ndarray, items: np.ndarray) -> None: ...

    @property
    def nbytes(self) -> int: ...


class Store(Buffer, Protocol):
    """Slots of numbers, (slots, size)."""

    @property
    def memory(self) -> np.ndarray:
        """The numbers themselves, for messages to be read from and received into."""


Launch = Callable[..., None]  # launch(begin, end, **scalars): items [begin, end), multiples of the lanes


class Backend(Protocol):
    """One place to run. ``lanes``: items are padded to multiples of it (``fixed_lanes`` for double-only kernels)."""

    name: str
    dtype: type
    lanes: int
    fixed_lanes: int

    def settle(self, buffers: Sequence[Any], ranges: Iterable[tuple[int, int]]) -> None:
        """Place fresh ``buffers``, whose items are worked on in ``ranges``, near the threads that will."""
        ...

    def batch(self, items: int, rows: int, cols: int, fixed: bool = False) -> Buffer: ...

    def store(self, slots: int, size: int) -> Store: ...

    def index(self, values: np.ndarray, fixed: bool = False) -> Buffer: ...

    def matrix(self, values: np.ndarray, fixed: bool = False) -> Buffer: ...

    def compile(self, kernels: Iterable[Kernel]) -> Mapping[str, Callable[[Mapping[str, Any]], Launch]]:
        """name -> bind(buffers by argument name) -> launch."""
        ...


def names() -> list[str]:
    """Backends found in this package."""
    return sorted(
        m.name for m in pkgutil.iter_modules(importlib.import_module("faultwave.backends").__path__) if m.ispkg
    )


def make(name: str, precision: str = "double", threads: int | None = None) -> Backend:
    """The backend called ``name``; raises BackendError naming what exists or what to install."""
    if name not in names():
        raise BackendError(f"backend '{name}' does not exist (allowed: {', '.join(names())}) {suggest(name, names())}")
    module = importlib.import_module(f"faultwave.backends.{name}")
    return module.backend(precision, threads)


def make_stencils(name: str, program: Program, precision: str = "single", threads: int | None = None) -> Runner:
    """A stencil program on the backend called ``name``; raises BackendError where it cannot run those."""
    if name not in names():
        raise BackendError(f"backend '{name}' does not exist (allowed: {', '.join(names())}) {suggest(name, names())}")
    try:
        module = importlib.import_module(f"faultwave.backends.{name}.stencil")
    except ModuleNotFoundError as error:
        if error.name != f"faultwave.backends.{name}.stencil":
            raise
        raise BackendError(f"the backend '{name}' cannot run stencils, and so not the fd engine") from None
    runner: Runner = module.StencilRunner(program, precision, threads)
    return runner
