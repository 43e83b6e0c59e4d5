"""Parts: everything one capability needs, from the case to the results, in one file of ``dg/parts`` or ``fd/parts``.

A part is planned from the case (``Part``, frozen), told which of its items belong to each process (``on``), and attached to the
solver (``Attached``). The solver, checkpoints, the report and the manifest know lists of parts and none of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from faultwave.base.errors import Problem
from faultwave.observe.lagrange import CellKind
from faultwave.observe.lattice import Lattice
from faultwave.observe.model import Marks, Sheet
from faultwave.observe.result import Result

When = Literal[
    "before predict", "after predict", "friction", "inject", "after correct", "after step", "end of largest step"
]
"""Where in a step of a cluster a call comes. 'friction': before the correction, when both sides of a face are known. 'inject': adds to
the corrected cells. 'after step': after the correction, or after the prediction that follows where both are one kernel. 'end of
largest step': all clusters have met."""


class OnDevice(Protocol):
    """Of a call that acts on a device alone, so that steps with it can be recorded once and replayed."""

    def key(self, steps: Sequence[int]) -> Hashable:
        """What tells its work in so many next steps of each cluster from other work."""

    def table_bytes(self, steps: Sequence[int]) -> int:
        """Of the values that its launches take in so many steps of each cluster."""

    def begin(self, due: bool) -> None:
        """Steps that will be recorded, or are replayed, follow; ``due``: the call has something to do in them."""

    def tables(self, cluster: int, time: float, step: float) -> Sequence[Mapping[str, Any]]:
        """In place of the call when a step is replayed: the values that its launches take this time, one entry a launch that takes
        any."""

    def end(self) -> None:
        """They are over."""


def always(until: float) -> bool:
    """A call that has something to do in every step."""
    return True


@dataclass(frozen=True)
class Call:
    """What a part does in a step.

    ``act(cluster, time, step)`` returns False where it launched nothing after all; ``due(until)``: whether it has something to do
    in steps that end before that time; ``splits(cluster, time, step)``: whether it looks at all cells between the correction that
    ends at ``time`` and the prediction of the step that follows, which are then not done by one kernel; ``next()``: of calls at the
    end of a largest step, the time [s] that must not be passed without it; ``clusters``: in whose steps it may have something to do, None:
    in those of all; ``rests(cluster)``, asked after a call: the time [s] before which a step must end to need neither the next one nor to
    be split.
    """

    when: When
    act: Callable[[int, float, float], bool | None]
    due: Callable[[float], bool] = always
    on_device: OnDevice | None = None
    splits: Callable[[int, float, float], bool] | None = None
    next: Callable[[], float] = lambda: -np.inf
    clusters: frozenset[int] | None = None
    rests: Callable[[int], float] = lambda cluster: -np.inf


@dataclass(frozen=True)
class State:
    """An array that a checkpoint keeps.

    ``rows`` (n,): number of each row in the whole run, whatever the process that has it; None where it is the same on all processes,
    or known to the first alone. ``read()`` gives the array now, in memory that the run does not change afterwards; ``write(values,
    origin)`` puts it back, the rows in the order of ``rows``. ``optional``: an older or other run may not have it.
    """

    rows: np.ndarray | None
    read: Callable[[], np.ndarray]
    write: Callable[[np.ndarray, Origin], None]
    optional: bool = False


def as_numbers(words: Sequence[str]) -> np.ndarray:
    """Words without line breaks as an array of bytes: checkpoints hold numbers only."""
    return np.frombuffer("\n".join(words).encode(), np.uint8).copy()


def as_words(numbers: np.ndarray) -> list[str]:
    """What ``as_numbers`` took."""
    return bytes(numbers.astype(np.uint8)).decode(errors="replace").split("\n") if len(numbers) else []


@dataclass(frozen=True)
class Origin:
    """Where a state comes from: the checkpoint's notes (order, precision, backend, ...), whether the clusters were the same, and all
    arrays of the part by name."""

    notes: Mapping[str, Any]
    same_clusters: bool = True
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class BlockState:
    """A box of an array on a grid that a checkpoint keeps: of all processes together, every number once.

    ``low`` (3,): index of its first number in the whole grid. ``take(values, low)`` puts what lies here of a box that some process
    had. What ``read()`` gives may be a view that is to be written before the next step.
    """

    low: tuple[int, int, int]
    read: Callable[[], np.ndarray]
    take: Callable[[np.ndarray, tuple[int, int, int]], None]


@dataclass(frozen=True)
class Demand:
    """What a part needs, known before anything is allocated.

    ``derivatives`` (k,): cells whose time derivatives it reads during a step. ``between`` (k,): cells that it reads or changes between
    correction and prediction. ``faces`` (k, 2): cells and local faces whose incoming wave it gives; ``solved`` (k, 2): those where it
    finds that wave itself from how the cell's own goes with time, as friction does; ``flows``: from the velocity, too;
    ``walls`` (k, 2) and ``echoes`` (k, 2):
    boundary faces that send a wave w back as a w + b n (n.w), and a and b of each. ``disk`` [bytes] written until the
    end; ``lossless``: (what, cells) that must lie outside of absorbing layers. ``face_work``: of each face with friction, in updates of
    a cell. ``frequency`` [Hz]: the highest that it is asked for, None where it is asked for none.
    """

    derivatives: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    between: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    faces: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    solved: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    flows: bool = False
    walls: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    echoes: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    disk: int = 0
    lossless: tuple[tuple[str, np.ndarray], ...] = ()
    face_work: float = 0.0
    frequency: float | None = None


class Part(Protocol):
    """A planned capability, frozen."""

    @property
    def name(self) -> str:
        """Its key in checkpoints and in the manifest."""

    @property
    def demand(self) -> Demand: ...

    @property
    def cell_work(self) -> Any:
        """What it does to every cell inside the engine's own kernels (``dg.operator.CellWork``); None for most."""

    @property
    def volume_fields(self) -> Sequence[str]:
        """Fields in the volume that its living half knows beside the law's quantities."""

    def on(self, cut: Any) -> Part:
        """What of it belongs to one process; ``cut``: the engine's record of how the domain is cut."""

    def attach(self, solver: Any) -> Attached:
        """Its living half, on the engine's solver."""

    def identity(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        """Values (n, ...) and numbers (n,) of items by which a checkpoint tells whether it is of the same run."""

    def report(self, plan: Any) -> Mapping[str, Sequence[tuple[str, ...]]]:
        """Rows for ``faultwave plan`` by section: 'size', 'output', 'resolution', 'fault'."""

    def shapes(self, plan: Any) -> Sequence[Marks | Sheet]:
        """What pictures of the plan show of it."""


class Planned:
    """What most parts need not say."""

    @property
    def demand(self) -> Demand:
        return Demand()

    @property
    def cell_work(self) -> Any:
        return None

    @property
    def volume_fields(self) -> Sequence[str]:
        return ()

    def on(self, cut: Any) -> Any:
        return self

    def identity(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        return {}

    def report(self, plan: Any) -> Mapping[str, Sequence[tuple[str, ...]]]:
        return {}

    def shapes(self, plan: Any) -> Sequence[Marks | Sheet]:
        return ()


class Attached:
    """A part on a solver; what does not apply stays as it is here."""

    calls: Sequence[Call] = ()
    channels: Sequence[Any] = ()
    """Messages to other processes that it takes part in."""
    interval: float | None = None
    """Of its outputs [s], where a case with ``output.sync`` wants steps to meet them."""

    def state(self) -> Mapping[str, State | BlockState]:
        """What a checkpoint keeps of it, by name. All processes ask at the same time."""
        return {}

    def shared_errors(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Frequencies [Hz] and relative errors of waves there that runs of other orders on the mesh have as well, where it makes any. The
        first process is told; all ask at the same time."""
        return None

    @property
    def samples_complete(self) -> bool:
        """Whether all clusters have delivered the same samples, so that a checkpoint can be taken."""
        return True

    def begin(self) -> None:
        """A run starts, or goes on."""

    def finish_reads(self, wait: bool = True) -> None:
        """Where all clusters have met: process values read from buffers; without ``wait`` only those that have arrived."""

    def open(self, files: Files) -> None:
        """Open what is written while the run goes on."""

    def close(self) -> None:
        """The files of ``open`` are closed."""

    def finish(self, time: float) -> None:
        """Take what falls on the very end of a run [s]."""

    asks_energies = False
    """Whether it asks the solver for energies."""

    def prepare_energies(self) -> None:
        """Have what ``energies`` needs compiled and at hand."""

    def energies(self) -> Mapping[str, float]:
        """Energies, work and moment [J, N m] of this process that it adds to the table of energies."""
        return {}

    def energy_given(self) -> float:
        """Energy [J] of this process that it has given to the waves since the start, at most. Infinite: not known."""
        return 0.0

    def results(self) -> Iterable[Result]:
        """What it found so far. Of several processes all ask; the first gets them."""
        return ()

    def sample(self, points: np.ndarray, cells: np.ndarray, fields: Sequence[str]) -> np.ndarray:
        """Its ``fields`` (n, points, fields) now in cells (n,) of this process at ``points`` (m, 3) of the reference cell."""
        raise NotImplementedError

    def remarks(self) -> Iterable[Problem]:
        """Warnings about the results that are only known at the end."""
        return ()

    def report(self) -> Mapping[str, Sequence[tuple[str, ...]]]:
        """Rows for ``faultwave plan`` that only its living half knows, by section."""
        return {}

    def drives(self, faces: Any, points: np.ndarray, project: np.ndarray) -> Sequence[Any]:
        """Waves that it gives on the faces of its demand, of all ``faces`` that are given waves: see ``dg.driven``."""
        return ()

    def over(self) -> bool:
        """Whether the run may end now. All processes ask where all clusters have met."""
        return False

    def diagnosis(self, place: np.ndarray, cells: np.ndarray) -> tuple[Sequence[str], Sequence[str]]:
        """Of a blow-up at ``place`` (3,) and in ``cells`` (n,): lines that tell the part's state there, and likely causes."""
        return (), ()

    @property
    def nbytes(self) -> int:
        """Memory on the backend [bytes]."""
        return 0


class Snapshots(Protocol):
    """A series of snapshots, as the file's keeper sees it."""

    @property
    def next_number(self) -> int:
        """Number of the first snapshot that is not complete."""

    def go_on(self, number: int) -> None:
        """Snapshots before ``number`` are there already."""


class Writes(Protocol):
    """A file that takes one snapshot after the other."""

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None: ...


@dataclass(frozen=True)
class LatticeSeries:
    """Snapshots on a lattice, to be written: ``fields`` in the ``formats`` of the case, about ``count`` times. ``mesh``: points (n, 3)
    and triangles (m, 3), two for each point of the lattice, where the fields shall be written on those, too (XDMF)."""

    lattice: Lattice
    fields: Sequence[str]
    formats: Sequence[str]
    count: int
    mesh: tuple[np.ndarray, np.ndarray] | None = None


class LatticeFiles(Protocol):
    """Files that take one snapshot on a lattice after the other."""

    @property
    def fields(self) -> Sequence[str]:
        """What a snapshot must hold, the same on all processes: the series' fields and those that a format always has."""

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Write the snapshot of a time [s], arrays of the lattice's shape. All processes call it; the first one's values count."""


class Files(Protocol):
    """The run's files: opened by parts, kept, resumed and closed by the run."""

    end: float
    """The time [s] until which the run goes on now."""

    def cells(
        self,
        kind: str,
        points: np.ndarray,
        cells: np.ndarray,
        static: Mapping[str, np.ndarray],
        fields: Sequence[str],
        interval: float,
        kind_of_cells: CellKind = "linear",
    ) -> Sequence[Writes]:
        """Snapshot files of fields on cells: ``points`` (n, 3), ``cells`` (m, 3 or 4), or (m, nodes) of cells of high degree, of which
        fields have a value at each node; all processes ask together."""

    def lattice(self, kind: str, series: LatticeSeries) -> LatticeFiles:
        """Open the files of snapshots on a lattice; those of a resumed run go on. All processes ask together."""

    def follow(self, kind: str, snapshots: Snapshots) -> None:
        """Keep account of a series in checkpoints, and let it go on where the files of a resumed run end."""


__all__ = [
    "Attached",
    "BlockState",
    "Call",
    "Demand",
    "Files",
    "LatticeFiles",
    "LatticeSeries",
    "OnDevice",
    "Origin",
    "Part",
    "Planned",
    "Result",
    "Snapshots",
    "State",
    "When",
    "Writes",
    "always",
    "as_numbers",
    "as_words",
]
