"""Interface between the engines and a backend: buffers, kernels, launches, sampling and sources, with their host versions."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from faultwave.base.errors import BackendError, suggest
from faultwave.base.registry import entries
from faultwave.kernels.expr import Scalars
from faultwave.kernels.language import Kernel
from faultwave.kernels.stencil import Program, Runner, Work

if TYPE_CHECKING:
    from faultwave.backends.device.interface import Device


@dataclass(frozen=True)
class Capabilities:
    """Abilities of a backend, stated by its package as ``CAPABILITIES`` and by the backend as ``capabilities``.

    Attributes
    ----------
    on_host : bool
        Buffers are in host memory.
    asynchronous : bool
        Launches are queued on a device, so that reading their results waits for them.
    graphs : bool
        ``record`` returns recordings that can be replayed.
    stencils : bool
        The package has ``make_stencils``, which the fd engine needs.
    planes : bool
        The package has ``plane_product``.
    joint_steps : bool
        The package has ``make_joint_steps``.
    """

    on_host: bool = False
    asynchronous: bool = False
    graphs: bool = False
    stencils: bool = False
    planes: bool = False
    joint_steps: bool = False


class LaunchQueue(Protocol):
    """Queue of launches on the host: ``section`` accounts for new launches, ``computed`` sums the seconds of executed ones.

    A section is a dict of accumulated seconds by name, the name under which to account, and the time cluster.
    """

    computed: float
    section: tuple[dict[str, float], str, int]

    def defer(self) -> None:
        """Queue launches from now on."""
        ...

    def flush(self) -> None:
        """Execute all queued launches."""
        ...


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


@dataclass(frozen=True)
class Part:
    """Selection of a buffer, and the store that has a slot for each item in every sample.

    Attributes
    ----------
    buffer : Buffer
        Source.
    items : ndarray, (n,)
        Items that are copied.
    rows : slice
        Rows of each item.
    store : Store
        Destination.
    some : ndarray, (n, m), optional
        Entries of these rows (flattened, row-major) that are copied of each item. Default: all.
    """

    buffer: Buffer
    items: np.ndarray
    rows: slice
    store: Store
    some: np.ndarray | None = None

    def chosen(self, numbers: np.ndarray) -> np.ndarray:
        """Return the entries of ``numbers`` (n, rows, ...) that are copied."""
        flat = numbers.reshape(len(numbers), -1)
        return flat if self.some is None else np.take_along_axis(flat, self.some, 1)


def copy_sample_on_host(parts: Sequence[Part], reading: int) -> None:
    """Copy sample number ``reading``, part by part, on the processor."""
    for p in parts:
        if count := len(p.items):
            values = p.buffer.get(p.items, p.rows)
            p.store.put(p.chosen(values), np.arange(reading * count, (reading + 1) * count))


TERMS_AT_ONCE = 1 << 15
"""Numbers of source terms that a processor computes at once, so that they stay in its cache."""


@dataclass(frozen=True)
class Points:
    """Point sources, m in number, in n items of ``buffer``, sorted by item.

    A source of amount a adds a * outer(rows, columns).

    Attributes
    ----------
    buffer : Buffer
        Batch that is changed.
    items : ndarray, (n,)
        Items that contain sources.
    first : ndarray, (n + 1,)
        Sources of item ``items[i]`` are first[i] <= source < first[i + 1].
    rows : ndarray, (m, rows)
        Row factors.
    columns : ndarray, (m, columns)
        Column factors.
    """

    buffer: Buffer
    items: np.ndarray
    first: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


def inject_on_host(points: Points, amounts: np.ndarray) -> None:
    """Add the sources of amounts (m,) on the processor, in the order of the sources of each item.

    All first sources of items are added, then all second ones, and so on, so that no item occurs twice in one operation.
    ``np.add.at`` would allow that, but takes ten times as long.
    """
    item = np.repeat(np.arange(len(points.items)), np.diff(points.first))
    acting = np.flatnonzero(amounts)
    of = item[acting]
    turn = np.arange(len(of)) - np.searchsorted(of, of)
    sums = np.zeros((len(points.items), points.rows.shape[1], points.columns.shape[1]))
    some = max(1, TERMS_AT_ONCE // max(1, sums[0].size)) if len(sums) else 1
    by_turn = np.argsort(turn, kind="stable")
    counts = np.bincount(turn)
    ends = np.cumsum(counts)
    for first, end in zip(ends - counts, ends, strict=True):
        for i in range(first, end, some):
            listed = by_turn[i : min(i + some, end)]
            part = acting[listed]
            each = amounts[part, None, None] * (points.rows[part, :, None] * points.columns[part, None, :])
            sums[of[listed]] += each
    points.buffer.add(sums, points.items)


class Immediate:
    """Methods of ``Backend`` that concern the order of execution, for backends without a device."""

    device: Device | None = None
    queue: LaunchQueue | None = None

    def finish(self) -> None:
        """Do nothing: launches are complete when they return."""

    def take_memory(self, buffers: Sequence[Buffer | Store]) -> None:
        """Do nothing: the system commits memory at the first write."""

    def mark(self) -> Marked:
        return Marked()

    def independent(self, readings: bool = False) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def copier(self, parts: Sequence[Part]) -> Callable[[int], None]:
        return functools.partial(copy_sample_on_host, parts)

    def injector(self, points: Points) -> Callable[[np.ndarray], None]:
        return functools.partial(inject_on_host, points)

    def record(self, work: Callable[[], None]) -> None:
        """Execute ``work`` without recording; launches cost next to nothing here."""
        work()


class Bound(Protocol):
    """Numbers in the memory of the backend that can be bound to an argument of a kernel."""

    items: int

    @property
    def nbytes(self) -> int: ...


class Buffer(Bound, Protocol):
    """Numbers in the memory of the backend, viewed item-major: (items, rows, cols) or (slots, size)."""

    def get(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> np.ndarray: ...

    def fetch(self, items: np.ndarray | slice | None = None, rows: slice = slice(None)) -> Awaited:
        """Request the present values of ``get`` without waiting; they arrive while the backend continues."""
        ...

    def finite(self) -> bool: ...

    def total(self) -> np.ndarray:
        """Return sums (rows, cols) over all items, in double precision."""
        ...

    def put(self, values: np.ndarray | float, items: np.ndarray | slice | None = None) -> None: ...

    def add(self, values: np.ndarray, items: np.ndarray) -> None: ...


class Store(Buffer, Protocol):
    """Slots of numbers, (slots, size)."""

    @property
    def memory(self) -> np.ndarray:
        """Memory of the slots, from which messages are sent and into which they are received."""


Band = tuple[np.ndarray, np.ndarray]
"""Banded matrix: the first nonzero column of each row, and ``weights`` (rows, n) from there on."""


@dataclass(frozen=True)
class Transfer:
    """Transfer of a plane between two programs: into = rows @ values @ columns^T, in host memory.

    Attributes
    ----------
    source, target : int
        Numbers of the programs that send and receive.
    rows, columns : Band
        Interpolation matrices along y and x.
    values : ndarray
        Part of a plane of ``source``; zero beyond its edges.
    first : tuple of int
        Row and column of the first entry of ``values``, as the bands count them.
    width : int
        Number of columns that the product reads.
    into : ndarray
        Plane of ``target``.
    """

    source: int
    target: int
    rows: Band
    columns: Band
    values: np.ndarray
    first: tuple[int, int]
    width: int
    into: np.ndarray


class JointSteps(Protocol):
    """Joint steps of several coupled programs.

    ``sweeps`` is True if it is fastest to pass all work of the first program, and few planes of the others.
    """

    sweeps: bool

    def run(self, steps: int, amplitudes: Sequence[np.ndarray], works: Sequence[Work]) -> list[list[np.ndarray]]:
        """Advance by ``steps`` steps and return the sample buffers of each program.

        ``amplitudes`` and ``works`` hold, for each program, the arguments of ``Runner.run``.
        """


Launch = Callable[..., None]  # launch(begin, end, **scalars): items [begin, end), multiples of the lanes


class Mark(Protocol):
    """Position in the order of launches."""

    @property
    def done(self) -> bool:
        """True if all launches before the mark are complete."""
        ...


class Recording(Protocol):
    """Recorded launches in their order of execution."""

    @property
    def launches(self) -> int: ...

    @property
    def stages(self) -> int:
        """Length of the longest chain of dependent launches; the others can run concurrently."""
        ...

    def replay(self, tables: Sequence[Scalars] = ()) -> None:
        """Execute all launches again; ``tables`` holds the changing scalars of each launch that has some, in order."""
        ...


class Backend(Protocol):
    """Hardware and compiler that execute kernels.

    Attributes
    ----------
    name : str
        Name in the case.
    dtype : type
        Type of numbers in the run's precision.
    lanes, fixed_lanes : int
        Numbers of items are padded to multiples of this (``fixed_lanes``: kernels that are always double).
    threads : int
        Threads of the host that compute.
    capabilities : Capabilities
        Abilities.
    failures : tuple of exception types
        Exceptions raised if a device fails.
    """

    name: str
    dtype: type
    lanes: int
    fixed_lanes: int
    threads: int
    capabilities: Capabilities
    failures: tuple[type[Exception], ...]

    @property
    def device(self) -> Device | None:
        """Device that computes; None for backends on the host."""
        ...

    @property
    def queue(self) -> LaunchQueue | None:
        """Queue of launches on the host; None if launches are executed at once or on a device."""
        ...

    @property
    def described(self) -> str:
        """Description of the backend and its hardware."""
        ...

    def first_touch(self, buffers: Sequence[Buffer | Store], ranges: Iterable[tuple[int, int]]) -> None:
        """Place new ``buffers`` in memory near the threads that will process the items of each of ``ranges``."""
        ...

    def take_memory(self, buffers: Sequence[Buffer | Store]) -> None:
        """Begin to commit the memory of ``buffers`` in the background, where steps would otherwise wait for the system."""
        ...

    def finish(self) -> None:
        """Wait for all launches and for kernels that are being compiled; some backends only queue them."""
        ...

    def mark(self) -> Mark:
        """Return a mark after all launches so far."""
        ...

    def record(self, work: Callable[[], None]) -> Recording | None:
        """Execute ``work`` and record its launches for replay.

        Returns None if a recording gains nothing, or if the host read or wrote a buffer meanwhile.
        """
        ...

    def independent(self, readings: bool = False) -> AbstractContextManager[None]:
        """Return a context in which launches need not wait for each other.

        ``readings``: nor do they wait for launches of another such block immediately before, since all of them only read existing
        values, each into a place of its own.
        """
        ...

    def copier(self, parts: Sequence[Part]) -> Callable[[int], None]:
        """Return ``copy(n)``, which copies items of buffers to the places of sample n in their stores.

        It is executed in order with launches and recorded like them, as one launch for all parts.
        """
        ...

    def injector(self, points: Points) -> Callable[[np.ndarray], None]:
        """Return ``inject(amounts)``, with amounts (m,), which adds source terms to items of a buffer in order with launches.

        On a device it is one launch, for which a recording requests new ``amounts`` in every replay.
        """
        ...

    def batch(self, items: int, rows: int, cols: int, fixed: bool = False, narrow: bool = False) -> Buffer:
        """Allocate a batch argument; ``fixed`` and ``narrow`` as in ``kernels.language.Array``."""
        ...

    def store(self, slots: int, size: int, fixed: bool = False, narrow: bool = False) -> Store: ...

    def index(self, values: np.ndarray, fixed: bool = False) -> Bound: ...

    def matrix(self, values: np.ndarray, fixed: bool = False) -> Buffer: ...

    def compile(self, kernels: Iterable[Kernel]) -> Mapping[str, Callable[[Mapping[str, Bound]], Launch]]:
        """Compile kernels and return, by kernel name, a function from buffers (by argument name) to a launch."""
        ...


def names() -> list[str]:
    """Return the names of the backends: subpackages with a runtime, and entry points 'faultwave.backends'."""
    return sorted(_found())


def _found() -> dict[str, EntryPoint]:
    return entries("faultwave.backends", holding="runtime")


def missing(name: str) -> str:
    """Return why the backend ``name`` cannot run here and which packages to install; empty if it can run."""
    reason = getattr(_found()[name].load(), "missing", None)  # optional: without it a backend can always run
    return "" if reason is None else str(reason())


def capabilities(name: str) -> Capabilities:
    """Return the abilities of the backend ``name``; a package that states none has none."""
    found: Capabilities = getattr(_found()[name].load(), "CAPABILITIES", Capabilities())
    return found


def runs_stencils(name: str) -> bool:
    """Return True if the backend ``name`` can run stencils, as the fd engine needs."""
    return capabilities(name).stencils


def on_host(name: str) -> bool:
    """Return True if the backend ``name`` computes in host memory."""
    return capabilities(name).on_host


def best(stencils: bool = False) -> str:
    """Return the fastest backend that can run here, by the ``rank`` of each (0: only used on request)."""
    ranks = {n: _found()[n].load().rank() for n in names() if not stencils or runs_stencils(n)}
    return max(ranks, key=lambda n: ranks[n])


def make(name: str, precision: str = "double", threads: int | None = None, place: int = 0) -> Backend:
    """Return the backend called ``name``, or the best one for 'auto'.

    Parameters
    ----------
    name : str
        Name of a backend, or 'auto'.
    precision : {'double', 'single'}
        Precision of the run.
    threads : int, optional
        Number of threads. Default: all cores.
    place : int
        Number of this process among the processes of the machine, which divide its devices among them.

    Raises
    ------
    BackendError
        If it does not exist or cannot run here; the message lists the alternatives or the package to install.
    """
    backend: Backend = _load(best() if name == "auto" else name).backend(precision, threads, place)
    return backend


def make_stencils(
    name: str, program: Program, precision: str = "single", threads: int | None = None, place: int = 0
) -> Runner:
    """Prepare a stencil program on the backend called ``name``; parameters as for ``make``.

    Raises BackendError if the backend cannot run stencils.
    """
    name = best(stencils=True) if name == "auto" else name
    module = _load(name)
    if not runs_stencils(name):
        raise BackendError(f"the backend '{name}' has no stencils, which the engine fd needs")
    runner: Runner = module.make_stencils(program, precision, threads, place)
    return runner


def plane_product(name: str, rows: Band, columns: Band, values: np.ndarray, into: np.ndarray) -> Callable[[], None]:
    """Return ``product()``, which computes into = rows @ values @ columns^T for planes in host memory.

    For a device called ``name`` the processor computes it. Each number is independent of the size of the plane.
    """
    if name == "auto" or not capabilities(name).planes:
        hosts = {n: _found()[n].load().rank() for n in names() if capabilities(n).planes}
        name = max(hosts, key=lambda n: hosts[n])
    product: Callable[[], None] = _load(name).plane_product(rows, columns, values, into)
    return product


MakeJointSteps = Callable[[Sequence[Runner], Sequence[int], Sequence[Sequence[Transfer]]], JointSteps]
"""Factory of joint steps: of programs, their rows per row of the coarsest one, and the transfers before each stage.

The programs are advanced together in tiles of rows.
"""


def make_joint_steps(name: str) -> MakeJointSteps | None:
    """Return the factory of joint steps of the backend called ``name``, or None if it has none."""
    name = best(stencils=True) if name == "auto" else name
    if not capabilities(name).joint_steps:
        return None
    make: MakeJointSteps = _load(name).make_joint_steps
    return make


def _load(name: str) -> ModuleType:
    """Return the package of the backend called ``name``."""
    if name not in _found():
        raise BackendError(f"backend '{name}' does not exist (allowed: {', '.join(names())}) {suggest(name, names())}")
    package: ModuleType = _found()[name].load()
    return package
