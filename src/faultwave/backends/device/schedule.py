"""Schedule of a kernel on a device: tasks in phases, and the layout of shared memory.

A group of threads processes ``share`` items, one lane each, with ``workers`` threads per lane. Between phases the group
waits at a barrier; within a phase all tasks run concurrently, each on its own workers as far as they suffice. Tasks
that pass numbers row by row, from a thread to itself, need no barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from faultwave.backends.device.target import LINE, Target
from faultwave.backends.device.tasks import (
    Copy,
    Dense,
    Product,
    Region,
    Task,
    every,
    replaced,
    split_temporaries,
    tasks_of,
)
from faultwave.base.errors import BackendError
from faultwave.kernels.language import Array, Gather, Kernel, Pointwise, Repeat, Scatter

REGISTERS = 112
"""Assumed number of 32-bit registers of a thread; with fewer, kernels would spill."""

ROWS = 24
"""Number of rows of a product that one thread sums at once, in registers."""


@dataclass(frozen=True)
class Placed:
    """Task with its first worker, and the phases of its body, if it has one."""

    task: Task
    worker: int
    phases: tuple[Phase, ...] = ()


Phase = tuple[Placed, ...]


@dataclass(frozen=True)
class Place:
    """Location of an array in shared memory: numbers [offset, end), with the stride ``pitch`` between numbers of an item."""

    offset: int
    end: int
    pitch: int


@dataclass(frozen=True)
class Plan:
    """Launch plan of a kernel.

    Attributes
    ----------
    kernel : Kernel
        Kernel.
    target : Target
        Device.
    lanes : int
        Items of a batch.
    share : int
        Items of a thread group.
    workers : int
        Threads per item.
    phases : tuple of Phase
        Tasks between barriers.
    places : dict of str to Place
        Arrays in shared memory.
    numbers : int
        Numbers in the shared memory of a group.
    size : int
        Size of a number [bytes].
    """

    kernel: Kernel
    target: Target
    lanes: int
    share: int
    workers: int
    phases: tuple[Phase, ...]
    places: dict[str, Place]
    numbers: int
    size: int

    @property
    def threads(self) -> int:
        return self.share * self.workers

    @property
    def shared(self) -> int:
        """Shared memory of a group [bytes]."""
        return self.numbers * self.size

    @property
    def groups(self) -> int:
        """Number of resident groups of a multiprocessor, limited by shared memory, threads and registers."""
        registers = self.target.functions if self.kernel.fixed else REGISTERS  # friction has exponentials
        available = (
            self.target.unit // max(1, self.shared + self.target.reserved),
            self.target.registers // (registers * self.threads),
        )
        return max(1, min(*available, self.target.resident // self.threads))


def plan(kernel: Kernel, target: Target, single: bool) -> Plan:
    """Return the launch plan of a kernel.

    A group gets as many items as leave shared memory for a second group, and as many arguments in shared memory as fit.

    Parameters
    ----------
    kernel : Kernel
        Kernel.
    target : Target
        Device.
    single : bool
        True for single precision; a kernel with ``fixed`` precision computes in double precision.

    Raises
    ------
    BackendError
        If not even one item fits into shared memory.
    """
    size = 4 if single and not kernel.fixed else 8
    lanes = LINE // size
    tasks, arrays = split_temporaries(kernel, tasks_of(kernel))
    staged = _worth_staging(kernel, tasks)
    warp = max(1, target.warp)
    half = max(target.unit // 2 - 1024, target.shared // 2)
    for limit, smallest in ((min(half, target.shared), lanes // 4), (target.shared, 1)):
        for keep in range(len(staged), -1, -1):
            whole, inside = _with_copies(tasks, staged[:keep])
            here = arrays | inside
            share = lanes
            while share >= smallest:
                made = _shape(kernel, target, whole, here, lanes, share, warp, size)
                if made.shared <= limit:
                    return made
                share //= 2
    raise BackendError(
        f"kernel {kernel.name} needs {made.shared} bytes of fast memory for one item, and a group of threads of {target.name} has "
        f"{target.shared}; choose a lower order or the cpu backend"
    )


def _worth_staging(kernel: Kernel, tasks: Sequence[Task]) -> list[Array]:
    """Return the batch arguments whose numbers are read more than once, in descending order of reads per number."""
    batches = {a.name: a for a in kernel.arguments if a.space == "batch"}
    traffic = dict.fromkeys(batches, 0)
    again: set[str] = set()
    seen: dict[str, list[Region]] = {n: [] for n in batches}
    for whole in tasks:
        times = 2 if isinstance(whole.work, Repeat) else 1
        for t in every([whole]):
            for r in t.reads:
                if r.name in batches:
                    rows = _rows(t) if r.end - r.row == 1 else 1  # read by every row
                    traffic[r.name] += times * rows * len(r.cols) * (r.end - r.row)
                    if times * rows > 1 or any(r.touches(s) for s in seen[r.name]):
                        again.add(r.name)
                    seen[r.name].append(r)
            for w in t.writes:
                if w.name in batches:
                    seen[w.name].append(w)
    chosen = [a for n, a in batches.items() if n in again and n not in kernel.occasional]
    return sorted(chosen, key=lambda a: -traffic[a.name] / (a.rows * a.cols))


def _rows(t: Task) -> int:
    return t.work.rows if isinstance(t.work, Pointwise) else 1


def _with_copies(tasks: Sequence[Task], staged: Sequence[Array]) -> tuple[list[Task], dict[str, Array]]:
    """Return tasks that work on copies of the ``staged`` arguments in shared memory, with the copies before and after, and the arrays."""
    inner = {a.name: replace(a, name=f"{a.name}.near", space="temp") for a in staged}
    copies, back = [], []
    for a in staged:
        whole = Region(a.name, 0, a.rows, frozenset(range(a.cols)))
        near = replace(whole, name=inner[a.name].name)
        copies.append(
            Task(Copy(inner[a.name], a, True), [whole], [near])
        )  # the whole array is copied back, including numbers that are not written
        if a.intent != "in":
            back.append(Task(Copy(inner[a.name], a, False), [near], [whole]))
    changed = [replaced(t, inner) for t in tasks]
    return [*copies, *changed, *back], {a.name: a for a in inner.values()}


def _shape(
    kernel: Kernel, target: Target, tasks: list[Task], arrays: dict[str, Array], lanes: int, share: int, warp: int, size: int
) -> Plan:  # fmt: skip
    together = max(1, warp // share)  # workers in one warp, which should execute the same task
    levels = _levels(tasks)
    most = max((sum(_width(t, together) for t in level) for level in levels), default=1)
    workers = min(max(1, target.threads // share), _multiple(most, together))
    places, numbers = _pack(levels, arrays, share)
    return Plan(
        kernel,
        target,
        lanes,
        share,
        workers,
        tuple(_assign_workers(p, workers, together) for p in levels),
        places,
        numbers,
        size,
    )


def _multiple(n: int, of: int) -> int:
    return -(-n // of) * of


def _width(t: Task, together: int) -> int:
    """Return the number of workers that a task can use."""
    if t.body:
        return max(sum(_width(x, together) for x in level) for level in _levels(t.body))
    match t.work:
        case Product() as p:
            return _multiple(len(p.columns), together) * -(-p.rows // ROWS)
        case Pointwise() as s:
            return _multiple(s.rows, together)
        case Dense(s):
            return _multiple(s.matrix.rows, together)  # type: ignore[union-attr]
    return together


def _levels(tasks: Sequence[Task]) -> list[list[Task]]:
    """Return the tasks by level, each as early as its dependences allow."""
    level: list[int] = []
    chain: list[int] = []  # tasks of one chain share their workers, row by row
    for i, t in enumerate(tasks):
        earliest, joins = 0, -1
        for j in range(i):
            waits, own = t.after(tasks[j])
            if not waits:
                continue
            if own and level[j] >= earliest and (level[j] > earliest or joins in (-1, chain[j])):
                earliest, joins = level[j], chain[j]
            elif level[j] >= earliest:
                earliest, joins = level[j] + 1, -1
        level.append(earliest)
        chain.append(joins if joins >= 0 else i)
    found: list[list[Task]] = [[] for _ in range(max(level, default=-1) + 1)]
    for i, t in enumerate(tasks):
        t.chain = chain[i]
        found[level[i]].append(t)
    return found


def _assign_workers(tasks: Sequence[Task], workers: int, together: int) -> Phase:
    """Assign consecutive workers to the tasks of a phase; tasks of a chain share their workers."""
    placed, at, chains = [], 0, {}
    for t in tasks:
        if t.chain not in chains:
            chains[t.chain] = at % workers
            at += _width(t, together)
        inner = tuple(_assign_workers(p, workers, together) for p in _levels(t.body)) if t.body else ()
        placed.append(Placed(t, chains[t.chain], inner))
    return tuple(placed)


def _pack(levels: Sequence[Sequence[Task]], arrays: dict[str, Array], share: int) -> tuple[dict[str, Place], int]:
    """Return the places of the arrays in shared memory and its size in numbers; arrays never needed at the same time overlap.

    Arrays that are copied to or from slots get a pitch of ``share`` + 1, so that adjacent numbers of an item lie in different banks.
    """
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    moved: set[str] = set()
    for number, level in enumerate(levels):
        for t in level:
            for r in (*t.reads, *t.writes):
                if r.name in arrays:
                    first.setdefault(r.name, number)
                    last[r.name] = number
        for t in every(level):
            if isinstance(t.work, Gather):
                moved.add(t.work.out.array.name)
            elif isinstance(t.work, Scatter):
                moved.add(t.work.inp.array.name)
    places: dict[str, Place] = {}
    spans: list[tuple[int, int, str]] = []
    total = 0
    order = sorted(first, key=lambda n: (-arrays[n].rows * arrays[n].cols, first[n]))
    for name in order:
        pitch = share + 1 if name in moved else share
        need = arrays[name].rows * arrays[name].cols * pitch
        at = 0
        for begin, end, other in sorted(spans):
            if first[other] <= last[name] and first[name] <= last[other]:
                if at + need <= begin:
                    break
                at = max(at, end)
        places[name] = Place(at, at + need, pitch)
        spans.append((at, at + need, name))
        total = max(total, at + need)
    return places, total


__all__ = ["Copy", "Dense", "Phase", "Place", "Placed", "Plan", "Product", "plan"]
