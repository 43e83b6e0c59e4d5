"""What the engine sees of a backend: buffers, compiled kernels, launches."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint
from typing import Any, Protocol

import numpy as np

from faultwave.backends.awaited import Awaited
from faultwave.backends.copier import Part
from faultwave.backends.injector import Points
from faultwave.base.errors import BackendError, suggest
from faultwave.base.registry import entries
from faultwave.kernels.language import Kernel
from faultwave.kernels.stencil import Program, Runner, Work


class Buffer(Protocol):
    """Numbers living where the backend computes, seen item-major: (items, rows, cols) or (slots, size)."""

    items: int

    def get(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> np.ndarray: ...

    def fetch(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> Awaited:
        """What ``get`` would give now, without waiting for it: it comes while the backend goes on."""
        ...

    def finite(self) -> bool: ...

    def total(self) -> np.ndarray:
        """Sums (rows, cols) over all items, in double precision."""
        ...

    def put(self, values: np.ndarray | float, items: np.ndarray | slice | None = None) -> None: ...

    def add(self, values: np.ndarray, items: np.ndarray) -> None: ...

    @property
    def nbytes(self) -> int: ...


class Store(Buffer, Protocol):
    """Slots of numbers, (slots, size)."""

    @property
    def memory(self) -> np.ndarray:
        """The numbers themselves, for messages to be read from and received into."""


Band = tuple[np.ndarray, np.ndarray]
"""A matrix with few numbers other than zero: by row, the first column that has one, and all ``weights`` (rows, n) from there on."""


@dataclass(frozen=True)
class Transfer:
    """A plane ``into`` of the program number ``target`` that becomes rows values columns^T, in the memory of the host. The values are those
    of a plane of the program number ``source``, whose first number is that of row and column ``first`` of the values, and zero beyond."""

    source: int
    target: int
    rows: Band
    columns: Band
    values: np.ndarray
    first: tuple[int, int]
    width: int
    into: np.ndarray


class JointSteps(Protocol):
    """Steps of several programs. ``sweeps``: whether the first is best given all its work; of the others, few planes."""

    sweeps: bool

    def run(self, steps: int, amplitudes: Sequence[np.ndarray], works: Sequence[Work]) -> list[list[np.ndarray]]:
        """Take so many; of each program how strongly sources push and what it does, as of ``Runner.run``. Its sample buffers."""


Launch = Callable[..., None]  # launch(begin, end, **scalars): items [begin, end), multiples of the lanes


def prepared(launch: Launch, begin: int, end: int, **scalars: Any) -> Callable[[], None]:
    """A launch with everything that it is given, to be done many times. Backends for which that saves work have a way of their own,
    ``launch.prepared``."""
    own = getattr(launch, "prepared", None)
    return partial(launch, begin, end, **scalars) if own is None else own(begin, end, **scalars)


class Mark(Protocol):
    """A place in the order of launches."""

    @property
    def done(self) -> bool:
        """Whether everything before it is."""
        ...


class Recording(Protocol):
    """Launches in the order in which they were done."""

    @property
    def launches(self) -> int: ...

    @property
    def stages(self) -> int:
        """How many of them follow each other at least, the others being done beside them."""
        ...

    def replay(self, tables: Sequence[Mapping[str, Any]] = ()) -> None:
        """Do them all again. ``tables``: what each launch of a kernel with scalars that change is given for them, in order."""
        ...


class Backend(Protocol):
    """One place to run. ``lanes``: items are padded to multiples of it (``fixed_lanes`` for double-only kernels). ``asynchronous``:
    whether launches go into a queue, so that reading their results waits for them."""

    name: str
    dtype: type
    lanes: int
    fixed_lanes: int
    asynchronous: bool
    failures: tuple[type[Exception], ...]  # what is raised where a device fails

    @property
    def described(self) -> str:
        """The backend and what it runs on."""
        ...

    def first_touch(self, buffers: Sequence[Any], ranges: Iterable[tuple[int, int]]) -> None:
        """Place fresh ``buffers``, whose items are worked on in ``ranges``, near the threads that will."""
        ...

    def take_memory(self, buffers: Sequence[Any]) -> None:
        """Begin to take the memory of ``buffers`` from the system, beside what comes next, where steps would wait for it otherwise."""
        ...

    def finish(self) -> None:
        """Wait for all launches, and for kernels that are being compiled: some backends only put them into a queue."""
        ...

    def mark(self) -> Mark:
        """After all launches so far."""
        ...

    def record(self, work: Callable[[], None]) -> Recording | None:
        """Do ``work``, and remember its launches so that they can be done again at once. None where that is of no use, and where
        the host read or wrote a buffer meanwhile."""
        ...

    def independent(self, readings: bool = False) -> AbstractContextManager[None]:
        """Launches inside need not wait for each other. ``readings``: nor for those of another such block right before, as they all only
        read what was there, each for a place of its own."""
        ...

    def copier(self, parts: Sequence[Part]) -> Callable[[int], None]:
        """copy(n): items of some buffers to their stores, there to the places of reading n; in turn with launches and recorded as they
        are, one launch for all parts."""
        ...

    def injector(self, points: Points) -> Callable[[np.ndarray], None]:
        """inject(amounts (m,)): what sources add to items of a buffer, in turn with launches. On devices one launch, for which a
        recording asks for other ``amounts`` every time."""
        ...

    def batch(self, items: int, rows: int, cols: int, fixed: bool = False, narrow: bool = False) -> Buffer:
        """``fixed``: of a kernel that computes in double; ``narrow``: in single precision, as ``kernels.language.Array`` says."""
        ...

    def store(self, slots: int, size: int, fixed: bool = False, narrow: bool = False) -> Store: ...

    def index(self, values: np.ndarray, fixed: bool = False) -> Buffer: ...

    def matrix(self, values: np.ndarray, fixed: bool = False) -> Buffer: ...

    def compile(self, kernels: Iterable[Kernel]) -> Mapping[str, Callable[[Mapping[str, Any]], Launch]]:
        """name -> bind(buffers by argument name) -> launch."""
        ...


def names() -> list[str]:
    """Backends: the folders of this package with a runtime, and the entry points 'faultwave.backends'."""
    return sorted(_found())


def _found() -> dict[str, EntryPoint]:
    return entries("faultwave.backends", holding="runtime")


def missing(name: str) -> str:
    """Why the backend ``name`` cannot run here, and what to install; empty where it can."""
    module = _found()[name].load()
    return str(module.missing()) if hasattr(module, "missing") else ""


def runs_stencils(name: str) -> bool:
    """Whether the backend ``name`` can run stencils, as the fd engine needs."""
    module = _found()[name].load()
    return hasattr(module, "__path__") and importlib.util.find_spec(f"{module.__name__}.stencil") is not None


def on_host(name: str) -> bool:
    """Whether the backend ``name`` computes in the host's memory."""
    return hasattr(_found()[name].load(), "ON_HOST")


def best(stencils: bool = False) -> str:
    """The fastest backend that can run here, by what each says of itself (``rank``; 0: only when asked for)."""
    ranks = {n: _found()[n].load().rank() for n in names() if not stencils or runs_stencils(n)}
    return max(ranks, key=lambda n: ranks[n])


def make(name: str, precision: str = "double", threads: int | None = None, place: int = 0) -> Backend:
    """The backend called ``name``, or the best for 'auto'; ``place``: number of this process among those on the machine, which
    share its devices out. Raises BackendError naming what exists or what to install."""
    backend: Backend = _load(best() if name == "auto" else name).backend(precision, threads, place)
    return backend


def make_stencils(
    name: str, program: Program, precision: str = "single", threads: int | None = None, place: int = 0
) -> Runner:
    """A stencil program on the backend called ``name``; ``place`` as for ``make``. Raises BackendError where it cannot run those."""
    name = best(stencils=True) if name == "auto" else name
    module = _load(name)
    if not runs_stencils(name):
        raise BackendError(f"the backend '{name}' cannot run stencils, and so not the fd engine")
    stencil = importlib.import_module(f"{module.__name__}.stencil")
    runner: Runner = stencil.StencilRunner(program, precision, threads, place)
    return runner


def plane_product(name: str, rows: Band, columns: Band, values: np.ndarray, into: np.ndarray) -> Callable[[], None]:
    """product(): ``into`` becomes rows values columns^T, for planes in the memory of the host; on the processor for a device called
    ``name``. No number depends on how many others there are."""
    if name == "auto" or not on_host(name):
        hosts = {n: _found()[n].load().rank() for n in names() if on_host(n)}
        name = max(hosts, key=lambda n: hosts[n])
    planes = importlib.import_module(f"{_load(name).__name__}.planes")
    product: Callable[[], None] = planes.plane_product(rows, columns, values, into)
    return product


MakeJointSteps = Callable[[Sequence[Runner], Sequence[int], Sequence[Sequence[Transfer]]], JointSteps]
"""Of several programs, taken together in tiles of rows; so many rows of each lie beside one row of the coarsest; by stage, what programs
are told before it."""


def joint_steps(name: str) -> MakeJointSteps | None:
    """What makes joint steps of programs of the backend called ``name``; None where it has no way to take them."""
    module = f"{_load(best(stencils=True) if name == 'auto' else name).__name__}.joint"
    if importlib.util.find_spec(module) is None:
        return None
    found: MakeJointSteps = importlib.import_module(module).JointSteps
    return found


def _load(name: str) -> Any:
    """The package of the backend called ``name``."""
    if name not in _found():
        raise BackendError(f"backend '{name}' does not exist (allowed: {', '.join(names())}) {suggest(name, names())}")
    return _found()[name].load()
