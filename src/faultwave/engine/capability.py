"""Protocol of capabilities: all that one feature needs, from the case to its results, in one file.

The files are in ``dg/capabilities`` and ``fd/capabilities``. A capability is planned from the case (``CapabilityPlan``, frozen),
restricted to the items of one process (``CapabilityPlan.partition``) and attached to the solver (``Capability``). The solver,
checkpoints, the report and the manifest handle lists of capabilities and know none of them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from faultwave.base.errors import Problem
from faultwave.base.types import Record
from faultwave.observe.dataset import Result
from faultwave.observe.model import Marks, Sheet
from faultwave.observe.snapshots.lattice import Lattice
from faultwave.observe.snapshots.pieces import CellKind

When = Literal[
    "before predict", "after predict", "friction", "inject", "after correct", "after step", "end of largest step"
]
"""Position of a callback in the time step of a cluster.

- ``'friction'``: before the correction, when both sides of a face are known.
- ``'inject'``: adds to the corrected cells.
- ``'after step'``: after the correction, or after the next prediction where one kernel does both.
- ``'end of largest step'``: when all clusters have reached the same time.
"""


class OnDevice(Protocol):
    """Device side of a callback that acts on a device alone, so that its steps can be recorded once and replayed."""

    def key(self, steps: Sequence[int]) -> Hashable:
        """Return a key that identifies the launches of the next ``steps`` steps of each cluster."""

    def table_bytes(self, steps: Sequence[int]) -> int:
        """Return the size [bytes] of the launch arguments of the next ``steps`` steps of each cluster."""

    def begin(self, due: bool) -> None:
        """Prepare for steps that are recorded or replayed; ``due`` is True if the callback acts in any of them."""

    def tables(self, cluster: int, time: float, step: float) -> Sequence[Record]:
        """Return the launch arguments of a replayed step, which replace the call itself.

        Parameters
        ----------
        cluster : int
            Cluster that is stepped.
        time, step : float
            Time and length of the step [s].

        Returns
        -------
        sequence of mapping
            One entry for each launch that takes arguments.
        """

    def end(self) -> None:
        """Finish the recorded or replayed steps."""


def always(until: float) -> bool:
    """Return True, for a callback that acts in every step."""
    return True


@dataclass(frozen=True)
class Callback:
    """Callback of a capability within a time step.

    Attributes
    ----------
    when : When
        Position in the step.
    act : callable
        ``act(cluster, time, step)`` performs the work; it returns False if it launched nothing.
    due : callable
        ``due(until)`` returns True if the callback acts in steps that end before that time [s].
    on_device : OnDevice or None
        Device side of a callback that can be recorded and replayed.
    needs_intermediate_state : callable or None
        ``needs_intermediate_state(cluster, time, step)`` returns True if all cells are needed after the correction that ends at
        ``time`` and before the next prediction. Correction and prediction are then two kernels.
    next : callable
        ``next()`` returns the time [s] that the run must not pass without this callback ('end of largest step' only).
    clusters : frozenset of int or None
        Clusters in whose steps the callback may act; None for all.
    next_due : callable
        Next due time: the function is evaluated for a cluster after a call and returns a time [s]; steps that end before it need neither
        the call nor a split.
    """

    when: When
    act: Callable[[int, float, float], bool | None]
    due: Callable[[float], bool] = always
    on_device: OnDevice | None = None
    needs_intermediate_state: Callable[[int, float, float], bool] | None = None
    next: Callable[[], float] = lambda: -np.inf
    clusters: frozenset[int] | None = None
    next_due: Callable[[int], float] = lambda cluster: -np.inf


@dataclass(frozen=True)
class State:
    """Array that a checkpoint stores.

    Attributes
    ----------
    rows : ndarray of int, shape (n,), or None
        Index of each row in the whole run, independent of the process that owns it. None if the array is the same on all processes or
        known only to process 0.
    read : callable
        ``read()`` returns the current array, in memory that the run does not modify afterwards.
    write : callable
        ``write(values, origin)`` restores the array, with rows in the order of ``rows``.
    optional : bool
        True if checkpoints of older versions or other runs may lack the array.
    """

    rows: np.ndarray | None
    read: Callable[[], np.ndarray]
    write: Callable[[np.ndarray, RestoredFrom], None]
    optional: bool = False


def encode_words(words: Sequence[str]) -> np.ndarray:
    """Encode words without line breaks as an array of bytes, because checkpoints hold only numbers."""
    return np.frombuffer("\n".join(words).encode(), np.uint8).copy()


def decode_words(numbers: np.ndarray) -> list[str]:
    """Decode the words that ``encode_words`` encoded."""
    return bytes(numbers.astype(np.uint8)).decode(errors="replace").split("\n") if len(numbers) else []


@dataclass(frozen=True)
class RestoredFrom:
    """Checkpoint that a state is restored from.

    Attributes
    ----------
    notes : mapping
        Metadata of the checkpoint (order, precision, backend, ...).
    same_clusters : bool
        True if the run that wrote the checkpoint had the same clusters.
    arrays : mapping of str to ndarray
        All stored arrays of the capability by name.
    """

    notes: Record
    same_clusters: bool = True
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class BlockState:
    """Box of a grid array that a checkpoint stores; the boxes of all processes cover every value exactly once.

    Attributes
    ----------
    low : tuple of int
        Index (3,) of the first value in the whole grid.
    read : callable
        ``read()`` returns the values. They may be a view that must be written before the next step.
    take : callable
        ``take(values, low)`` copies the overlap with a stored box of any process that starts at ``low``.
    """

    low: tuple[int, int, int]
    read: Callable[[], np.ndarray]
    take: Callable[[np.ndarray, tuple[int, int, int]], None]


@dataclass(frozen=True)
class Requirements:
    """Requirements of a capability, known before any memory is allocated.

    Attributes
    ----------
    derivatives : ndarray of int, shape (k,)
        Cells whose time derivatives are read during a step.
    between : ndarray of int, shape (k,)
        Cells that are read or changed after the correction and before the next prediction.
    faces : ndarray of int, shape (k, 2)
        Cells and local faces whose incoming wave the capability prescribes.
    solved : ndarray of int, shape (k, 2)
        Cells and local faces whose incoming wave the capability solves for from the outgoing wave as a function of time, as friction does.
    flows : bool
        True if that solution also needs the velocity.
    boundary_faces : ndarray of int, shape (k, 2)
        Boundary faces that reflect an outgoing wave w as ``a w + b n (n . w)``.
    reflection_coefficients : ndarray of float, shape (k, 2)
        Reflection coefficients a and b of ``boundary_faces``.
    disk : int
        Output written until the end of the run [bytes].
    lossless : tuple of (str, ndarray)
        Descriptions and cells of items that must lie outside of absorbing layers.
    face_work : float
        Cost of each face with friction, in units of one cell update.
    frequency : float or None
        Highest requested frequency [Hz], None if none is requested.
    """

    derivatives: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    between: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    faces: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    solved: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    flows: bool = False
    boundary_faces: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    reflection_coefficients: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    disk: int = 0
    lossless: tuple[tuple[str, np.ndarray], ...] = ()
    face_work: float = 0.0
    frequency: float | None = None


class CapabilityPlan:
    """Base class of planned, frozen capabilities; subclasses override the methods that apply.

    Attributes
    ----------
    name : str
        Key of the capability in checkpoints and in the manifest.
    """

    name: str

    @property
    def requirements(self) -> Requirements:
        """Requirements that are known before any memory is allocated."""
        return Requirements()

    @property
    def cell_work(self) -> Any:
        """Work on every cell inside the engine's own kernels (``dg.operators.operator.CellWork``), None for most capabilities."""
        return None

    @property
    def volume_fields(self) -> Sequence[str]:
        """Fields in the volume that the attached capability provides in addition to the quantities of the wave law."""
        return ()

    def partition(self, cut: Any) -> Any:
        """Return the capability restricted to one process.

        ``cut`` is the engine's record of the domain decomposition.
        """
        return self

    def attach(self, solver: Any) -> Capability:
        """Return the capability attached to the engine's solver."""
        return Capability()

    def identity(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        """Return values (n, ...) and item indices (n,) by which a checkpoint recognises the same run."""
        return {}

    def report(self, plan: Any) -> Mapping[str, Sequence[tuple[str, ...]]]:
        """Return rows for ``faultwave plan`` by section: 'size', 'output', 'resolution', 'fault'."""
        return {}

    def shapes(self, plan: Any) -> Sequence[Marks | Sheet]:
        """Return the shapes that pictures of the plan show for this capability."""
        return ()


def output_size(parts: Iterable[CapabilityPlan]) -> float:
    """Return the size [bytes] of the files that capabilities write until the end of a run, without checkpoints."""
    return float(sum(part.requirements.disk for part in parts))


class Capability:
    """Capability attached to a solver; subclasses override only the methods that apply."""

    callbacks: Sequence[Callback] = ()
    channels: Sequence[Any] = ()
    """Message channels to other processes that the capability takes part in."""
    interval: float | None = None
    """Output interval [s] that time steps should meet if the case sets ``output.sync``, None for none."""

    def state(self) -> Mapping[str, State | BlockState]:
        """Return the arrays that a checkpoint stores, by name (collective)."""
        return {}

    def shared_errors(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return wave errors that runs of other orders on the same mesh share, or None if there are none (collective).

        Returns
        -------
        (ndarray, ndarray) or None
            Frequencies [Hz] and relative errors, on process 0.
        """
        return None

    @property
    def samples_complete(self) -> bool:
        """True if all clusters have delivered the same samples, so that a checkpoint can be taken."""
        return True

    def begin(self) -> None:
        """Prepare for a run that starts or resumes."""

    def finish_reads(self, wait: bool = True) -> None:
        """Process the values read from buffers, when all clusters have reached the same time.

        Parameters
        ----------
        wait : bool
            If False, process only values that have already arrived.
        """

    def open(self, files: Files) -> None:
        """Open the files that are written during the run."""

    def close(self) -> None:
        """Release the files of ``open``, which the run closes."""

    def finish(self, time: float) -> None:
        """Record the samples that fall on the end time of the run [s]."""

    needs_energies = False
    """True if the capability requests energies from the solver."""

    def prepare_energies(self) -> None:
        """Compile and allocate everything that ``energies`` needs."""

    def energies(self) -> Mapping[str, float]:
        """Return energies, work and moment [J, N m] of this process for the energy table."""
        return {}

    def energy_given(self) -> float:
        """Return an upper bound of the energy [J] that this process has added to the waves, infinite if unknown."""
        return 0.0

    def results(self) -> Iterable[Result]:
        """Return the results so far (collective); process 0 receives them."""
        return ()

    def sample(self, points: np.ndarray, cells: np.ndarray, fields: Sequence[str]) -> np.ndarray:
        """Return current values of volume fields at points of the reference cell.

        Parameters
        ----------
        points : ndarray, shape (m, 3)
            Points of the reference cell.
        cells : ndarray of int, shape (n,)
            Cells of this process.
        fields : sequence of str
            Names from ``CapabilityPlan.volume_fields``.

        Returns
        -------
        ndarray, shape (n, m, fields)
            Values in SI units.
        """
        raise NotImplementedError

    def remarks(self) -> Iterable[Problem]:
        """Return warnings about the results that are known only at the end."""
        return ()

    def report(self) -> Mapping[str, Sequence[tuple[str, ...]]]:
        """Return rows for ``faultwave plan`` by section that only the attached capability knows."""
        return {}

    def drives(self, faces: Any, points: np.ndarray, project: np.ndarray) -> Sequence[Any]:
        """Return the waves prescribed on the faces of ``Requirements.faces``; see ``dg.operators.prescribed_faces``.

        Parameters
        ----------
        faces : Faces
            All prescribed faces of this process.
        points : ndarray, shape (p, 2)
            Quadrature points in face coordinates.
        project : ndarray, shape (modes, p)
            Projection of values at these points onto the modes of a face.
        """
        return ()

    def over(self) -> bool:
        """Return True if the run may end now (collective, when all clusters have reached the same time)."""
        return False

    def diagnosis(self, place: np.ndarray, cells: np.ndarray) -> tuple[Sequence[str], Sequence[str]]:
        """Describe the state of the capability at a blow-up.

        Parameters
        ----------
        place : ndarray, shape (3,)
            Point of the blow-up [m].
        cells : ndarray of int, shape (n,)
            Cells around it.

        Returns
        -------
        (sequence of str, sequence of str)
            Lines on the state there, and likely causes.
        """
        return (), ()

    @property
    def nbytes(self) -> int:
        """Memory on the backend [bytes]."""
        return 0


class Snapshots(Protocol):
    """Progress of a series of snapshots, as the run's checkpoints see it."""

    @property
    def next_number(self) -> int:
        """Number of the first incomplete snapshot."""

    def go_on(self, number: int) -> None:
        """Continue with snapshot ``number``; earlier ones are already written."""


class Writes(Protocol):
    """File that takes one snapshot after the other."""

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None: ...


@dataclass(frozen=True)
class LatticeSeries:
    """Series of snapshots on a lattice that is to be written.

    Attributes
    ----------
    lattice : Lattice
        Points of the snapshots.
    fields : sequence of str
        Names of the fields.
    formats : sequence of str
        Output formats of the case.
    count : int
        Approximate number of snapshots.
    mesh : tuple of ndarray or None
        Points (n, 3) and triangles (m, 3), two for each point of the lattice, if the fields are also written on a mesh (XDMF).
    """

    lattice: Lattice
    fields: Sequence[str]
    formats: Sequence[str]
    count: int
    mesh: tuple[np.ndarray, np.ndarray] | None = None


class LatticeFiles(Protocol):
    """Files that take one snapshot on a lattice after the other."""

    @property
    def fields(self) -> Sequence[str]:
        """Fields that a snapshot must hold on every process, from the series and from the formats."""

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Write the snapshot of a time [s] (collective).

        The arrays have the lattice's shape and those on process 0 are written.
        """


class Files(Protocol):
    """Output files of a run: capabilities open them, the run owns, resumes and closes them."""

    end: float
    """End time of the current run [s]."""

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
        """Open snapshot files of fields on cells (collective).

        Parameters
        ----------
        kind : str
            Name of the output.
        points : ndarray, shape (n, 3)
            Coordinates [m].
        cells : ndarray of int, shape (m, 3), (m, 4) or (m, nodes)
            Points of each cell. With cells of high degree, fields have a value at each node.
        static : mapping of str to ndarray
            Fields that do not change in time.
        fields : sequence of str
            Names of the fields of each snapshot.
        interval : float
            Time between snapshots [s].
        kind_of_cells : CellKind
            Type of the cells.
        """

    def lattice(self, kind: str, series: LatticeSeries) -> LatticeFiles:
        """Open the files of snapshots on a lattice, or continue them in a resumed run (collective)."""

    def follow(self, kind: str, snapshots: Snapshots) -> None:
        """Record the progress of a series in checkpoints, and continue it where the files of a resumed run end."""


__all__ = [
    "Capability",
    "BlockState",
    "Callback",
    "Requirements",
    "Files",
    "LatticeFiles",
    "LatticeSeries",
    "OnDevice",
    "RestoredFrom",
    "CapabilityPlan",
    "CapabilityPlan",
    "Result",
    "Snapshots",
    "State",
    "When",
    "Writes",
    "always",
    "encode_words",
    "decode_words",
]
