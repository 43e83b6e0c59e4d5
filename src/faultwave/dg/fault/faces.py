"""Dynamic rupture on fault faces: geometry, friction state, time steps, recorded values, and sides on other processes.

Both processes make the same readings of a cluster in the same order. The process of the minus side sends its part of each reading; the
owner combines both parts when all clusters are at the same time and every message has been sent, so that no process waits
in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from faultwave.backends.base import Buffer, Launch
from faultwave.base.columns import Columns
from faultwave.base.formulas import gauss_jacobi
from faultwave.comm import World
from faultwave.comm.exchange import Channel
from faultwave.comm.messages import Plain, Receive, Send, free, wait_all
from faultwave.dg.fault.coupling import make_coupling
from faultwave.dg.fault.points import PointRule, vertex_permutation
from faultwave.dg.fault.record import (
    FAULT_ENERGIES,
    FIRST_STEP_TIME,
    HUGE,
    JUMP_SLIP,
    JUMP_WORK,
    fault_energies,
    jump_energies,
    loaded_slip,
)
from faultwave.dg.fault.rupture import FRAME, FrictionOptions, FrictionSizes, record_columns_of, rupture
from faultwave.dg.fault.transforms import tables
from faultwave.dg.method.outgoing_waves import rows_left, weights_left
from faultwave.dg.operators.layout import sort_and_pad
from faultwave.dg.operators.operator import Operator
from faultwave.domain.tets.geometry import Geometry
from faultwave.domain.tets.mesh import FILE_FACES, SORTED_FACES, Mesh, Topology
from faultwave.domain.tets.partition import hilbert_order
from faultwave.kernels.expr import Table
from faultwave.kernels.language import Kernel
from faultwave.physics.friction import frame
from faultwave.physics.friction.initial_stress import increment
from faultwave.physics.friction.law import FrictionLaw

TAG = 20000
"""First message tag, larger than all tags of waves."""

WHAT = "readings of the other side of a fault"


class RemoteFaultSides:
    """Messages of readings between processes; ``tag`` distinguishes the probes of one pair of processes."""

    def __init__(self, world: World):
        self.world = world
        self._receives: deque[tuple[list[Receive], Callable[[], None]]] = deque()
        self._sends: list[Send] = []

    def send(self, rank: int, tag: int, values: np.ndarray) -> None:
        """Send the local part of a reading to process ``rank``."""
        source = Plain(np.ascontiguousarray(values, float))
        self._sends.append(Send(self.world.mpi, rank, TAG + tag, source, WHAT))
        self._sends[-1].start()

    def receive(self, sources: Sequence[tuple[int, np.ndarray]], tag: int, then: Callable[[], None]) -> None:
        """Receive from each rank into its array, and call ``then`` at the next ``finish``."""
        made = [Receive(self.world.mpi, rank, TAG + tag, Plain(into), WHAT) for rank, into in sources]
        for message in made:
            message.start()
        self._receives.append((made, then))

    def finish(self) -> None:
        """Wait for all messages and combine the readings; called when all processes have done the same steps."""
        while self._receives:
            receives, then = self._receives.popleft()
            wait_all(receives)
            free(receives)
            then()
        wait_all(self._sends)
        free(self._sends)
        self._sends = []


if TYPE_CHECKING:

    class Probe(Protocol):
        """Probe with readings on their way, see ``dg.fault.probe``."""

        def finish_reads(self, wait: bool = True) -> bool: ...
        def bring(self) -> None: ...


CHANGING = ("stress", "state", "record", "inner_state", "jumped", JUMP_WORK)


@dataclass(frozen=True)
class FaultFaces:
    """Fault faces of one process, each between a plus and a minus cell.

    Normals point from the plus to the minus cell. Where the two cells belong to different processes, both processes
    solve the friction of the face and the one with the plus cell owns it. Faces owned elsewhere come last.

    Attributes
    ----------
    cells : (n, 2) int
        Plus and minus cell, -1 where another process has the cell.
    faces : (n, 2) int
        Local face number in the plus and the minus cell.
    tags : (n,) int
        Fault tags of the mesh.
    corners : (n, 3, 3) float
        Vertices in ascending order of the plus cell [m].
    area : (n,) float
        Areas [m^2].
    normal, tangent1, tangent2, strike, dip : (n, 3) float
        Unit vectors.
    group : (n,) int
        Vertex permutation, as an index into the tables of the point rule.
    number : (n,) int
        Index of the face in the whole fault.
    far : (n,) int
        Process that has the missing cell, -1 where both cells are local.
    """

    cells: np.ndarray  # (n, 2) plus, minus; -1: another process has it
    faces: np.ndarray  # (n, 2) local faces
    tags: np.ndarray  # (n,)
    corners: np.ndarray  # (n, 3, 3) vertices in ascending order, as seen by the plus cell
    area: np.ndarray
    normal: np.ndarray
    tangent1: np.ndarray
    tangent2: np.ndarray
    strike: np.ndarray
    dip: np.ndarray
    group: np.ndarray  # (n,) group of the point rule
    number: np.ndarray  # (n,) in the whole fault
    far: np.ndarray  # (n,) process of the cell that is not here, -1 where both are

    @property
    def inside(self) -> np.ndarray:
        """Index of a local cell of each face, (n,)."""
        return np.asarray(self.cells.max(1))

    @property
    def owned(self) -> int:
        """Number of faces that this process owns and writes to outputs."""
        return int((self.cells[:, 0] >= 0).sum())

    def positions(self, points: np.ndarray) -> np.ndarray:
        """Return the Cartesian coordinates (n, p, 3) [m] of points in face coordinates (p, 2) or (n, p, 2)."""
        a, b, c = (self.corners[:, i, None, :] for i in range(3))
        points = np.broadcast_to(points, (len(a), *points.shape[-2:]))
        return a + points[..., :1] * (b - a) + points[..., 1:] * (c - a)


def fault_faces(
    mesh: Mesh, topology: Topology, geometry: Geometry, fault: np.ndarray, reference: Sequence[float],
    method: Literal["point", "direction"], groups: int,
) -> FaultFaces:  # fmt: skip
    """Collect the marked faces and orient them by a reference point or direction.

    Parameters
    ----------
    mesh, topology, geometry
        Mesh with its connectivity and the geometry of its nc cells.
    fault : (nc, 4) bool
        Faces with friction. Faces without a neighbour are ignored.
    reference : (3,) float
        Reference point [m] or direction.
    method : {"point", "direction"}
        Meaning of ``reference``.
    groups : int
        Number of vertex permutations that the point rule distinguishes.

    Returns
    -------
    FaultFaces
        Faces whose two cells are both local, with cell indices of this mesh.
    """
    cell, face = np.nonzero(fault & (topology.neighbours >= 0))
    first = cell < topology.neighbours[cell, face]
    cell, face = cell[first], face[first]
    other, other_face = topology.neighbours[cell, face], topology.neighbour_faces[cell, face]
    corners = mesh.vertices[np.take_along_axis(topology.cells[cell], SORTED_FACES[face], 1)]
    normal = geometry.normals[cell, face]
    opposite = mesh.vertices[topology.cells[cell, face]]  # face f lies opposite vertex f
    plus = frame.plus_side(method, (reference[0], reference[1], reference[2]), normal, corners[:, 0], opposite)
    cells = np.where(plus[:, None], np.stack([cell, other], 1), np.stack([other, cell], 1))
    faces = np.where(plus[:, None], np.stack([face, other_face], 1), np.stack([other_face, face], 1))
    corners = mesh.vertices[np.take_along_axis(topology.cells[cells[:, 0]], SORTED_FACES[faces[:, 0]], 1)]
    normal = geometry.normals[cells[:, 0], faces[:, 0]]
    s1, s2 = frame.tangents(normal, corners[:, 1] - corners[:, 0])
    strike, dip = frame.strike_dip(normal, corners.mean(1))
    group = np.zeros(len(cells), np.int64)
    if groups > 1:
        group = vertex_permutation(topology.order[cells[:, 0]], faces[:, 0], FILE_FACES, SORTED_FACES)
    area = geometry.areas[cells[:, 0], faces[:, 0]]
    tags = topology.tags[cells[:, 0], faces[:, 0]]
    number, far = np.arange(len(cells)), np.full(len(cells), -1)
    return FaultFaces(cells, faces, tags, corners, area, normal, s1, s2, strike, dip, group, number, far)


def time_points(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Gauss points and weights on [0, 1] and the lengths of the sub-steps.

    Sub-step i leads from point i - 1 (from 0 for the first) to point i; the last one leads on to the end, 1.
    """
    x, w = gauss_jacobi(count)
    tau = (1.0 + x) / 2.0
    steps = np.diff(tau, prepend=0.0)
    steps[-1] += 1.0 - tau[-1]
    return tau, w / 2.0, steps


@dataclass(frozen=True)
class NucleationEpisode:
    """Nucleation episode: its ``start`` and ``duration`` [s] and the traction added to each point [Pa]."""

    start: float
    duration: float
    traction: np.ndarray  # (n, points, 3) along n, s1, s2


class Model(Protocol):
    """Input of the friction solver on n faces with p points each.

    Attributes
    ----------
    material : dict of (n, 2) arrays
        Material of the plus and the minus side.
    parameters, state : dict of (n, p, ...) arrays
        Parameters of the friction law and its state at the start.
    uniform : tuple of str
        Parameters that have one value on the whole fault.
    stress : (n, p, 3) float
        Initial traction along normal, tangent1 and tangent2 [Pa].
    episodes : sequence of NucleationEpisode
        Tractions that nucleation adds.
    """

    @property
    def faces(self) -> FaultFaces: ...
    @property
    def material(self) -> dict[str, np.ndarray]: ...
    @property
    def rule(self) -> PointRule: ...
    @property
    def law(self) -> FrictionLaw: ...
    @property
    def constants(self) -> dict[str, float]: ...
    @property
    def parameters(self) -> dict[str, np.ndarray]: ...
    @property
    def uniform(self) -> tuple[str, ...]: ...
    @property
    def state(self) -> dict[str, np.ndarray]: ...
    @property
    def stress(self) -> np.ndarray: ...
    @property
    def episodes(self) -> Sequence[NucleationEpisode]: ...


class Fault:
    """Friction solver on the fault faces of one process."""

    def __init__(
        self, operator: Operator, model: Model, options: FrictionOptions, cluster: np.ndarray, far: RemoteFaultSides
    ):
        """Allocate the buffers on the backend and compile the friction kernel.

        Parameters
        ----------
        operator : Operator
            Wave operator whose outgoing waves friction reads and whose incoming waves it writes.
        model : Model
            Faces, friction law, parameters and initial state.
        options : Options
            Settings of the friction solver.
        cluster : (nc,) int
            Cluster of every cell.
        far : RemoteFaultSides
            Exchange with processes that have the other cell of a face.
        """
        self.operator, self.faces, self.rule, self.law = operator, model.faces, model.rule, model.law
        options = replace(options, smooth_sliding=options.smooth_sliding and self.law.project)
        single = np.dtype(operator.backend.dtype) == np.float32
        self.constants = model.law.in_single(model.constants) if single else model.constants
        self.episodes, self.options, self.far = list(model.episodes), options, far
        self.times = time_points(options.times)
        self.weights = lru_cache(maxsize=64)(self._weights)  # clusters take the same steps again and again
        # Sub-steps as shares of a step: lengths and ends.
        self.shares = self.times[2].tolist(), np.cumsum(self.times[2]).tolist()
        self.initial, self.columns, self.state_columns = (
            model.stress,
            record_columns_of(options),
            model.law.shown_columns,
        )
        self.reading: dict[Probe, None] = {}  # probes with unfinished readings, in the order of their requests
        self.predicted = False  # True if readings requested now are of the state before the last prediction
        self.replayed = False  # True if replayed steps have already read what is requested now
        self._energies: dict[tuple[bool, bool], tuple[Launch, Buffer]] = {}
        self.material = model.material
        self.coupling = make_coupling(operator.law, options.grains)
        directions = np.stack([model.faces.normal, model.faces.tangent1, model.faces.tangent2], 1)
        self.impedance = self.coupling.constants(operator.law, model.material, directions)  # (n, columns)
        self._trace_rows(cluster)
        self._list_faces(cluster)
        rows, points = rows_left(operator.predictor), len(self.rule.weights)
        sizes = FrictionSizes(
            rows, points, len(self.episodes), options, operator.form.narrow, self.rule.own is not None, model.uniform,
        )  # fmt: skip
        # Parameters of the law that have one value on the whole fault, by name.
        self.uniform = {name: float(model.parameters[name].flat[0]) for name in model.uniform}
        kernel = rupture(self.law, self.constants, sizes, self.coupling)
        self._buffers(kernel, model)
        self.launch = operator.backend.compile([kernel])["rupture"](self.buffers | self.indices | self._tables(kernel))

    def _tables(self, kernel: Kernel) -> dict[str, Buffer]:
        """Upload the constant matrices that the friction kernel uses, by name."""
        used = [a.name for a in kernel.arguments if a.space == "matrix"]
        found = tables(self.rule, used)
        if "face_mean" in used:
            found["face_mean"] = 2.0 * self.rule.weights[None]
        return {name: self.operator.backend.matrix(values, True) for name, values in found.items()}

    def _list_faces(self, cluster: np.ndarray) -> None:
        """Sort the faces by cluster, by vertex permutation and along a Hilbert curve.

        Neighbouring faces mostly stay locked together, so that batches of them skip the solution of friction.
        """
        faces, groups, clusters = self.faces, len(self.rule.phi), self.operator.layout.clusters
        n, lanes = len(faces.area), self.operator.backend.fixed_lanes
        curve = hilbert_order(faces.corners.mean(1))
        order = (cluster[faces.inside] * groups + faces.group)[curve]
        self.list = sort_and_pad(curve[:, None], order, clusters * groups, lanes, np.array([-1]))
        source = self.list.rows[:, 0]
        self.real = source >= 0
        self.item = np.empty(n, np.int64)
        self.item[source[self.real]] = np.flatnonzero(self.real)
        starts = [self.list.ranges[c * groups][0] for c in range(clusters)] + [len(source)]
        self.ranges = list(zip(starts, starts[1:], strict=False))  # range of the list for each cluster

    def _trace_rows(self, of_cell: np.ndarray) -> None:
        """Find the rows of the face time expansions of both sides.

        Rows of sides on other processes follow the local ones, sorted by process, cluster and number of the face, so that each
        message fills one contiguous range.
        """
        lay, f = self.operator.layout, self.faces
        across = np.flatnonzero(f.far >= 0)
        across = across[np.lexsort((f.number[across], of_cell[f.inside[across]], f.far[across]))]
        side = (f.cells[across, 0] >= 0).astype(np.int64)  # side that another process has
        self.trace_rows = lay.friction.slots[lay.position[f.cells], f.faces]
        self.trace_rows[across, side] = lay.friction.far + np.arange(len(across))
        here = self.trace_rows[across, 1 - side]
        self.channels = _channels(f.far[across], of_cell[f.inside[across]], here, lay.friction.far)

    def _buffers(self, kernel: Kernel, model: Model) -> None:
        op, f, b = self.operator, self.faces, self.operator.backend
        source, groups = self.list.rows[:, 0], len(self.rule.phi)
        size = len(source)
        trash = op.layout.wave_slots - 1
        own = np.where(f.cells >= 0, op.layout.own[op.layout.position[f.cells], f.faces], trash)
        nowhere = op.layout.friction.count - 1
        slots = np.tile([nowhere, nowhere, trash, trash], (size, 1))
        real = np.flatnonzero(self.real)
        item = source[real]
        slots[real] = np.concatenate([self.trace_rows[item], own[item]], 1)
        values = {
            "frame": FRAME.join({"normal": f.normal, "tangent1": f.tangent1, "tangent2": f.tangent2})[:, None],
            "impedance": self.impedance[:, None],
            "stress": model.stress,
            "state": _first_state(self.state_columns, model),
        }
        if self.law.inner_columns.size:
            values["inner_state"] = _first_state(self.law.inner_columns, model)
        if self.options.breakdown:
            values["record"] = self._first_record(model.stress.shape[:2])
        if varying := self._varying():
            values["parameter"] = np.stack([model.parameters[name] for name in varying], -1)
        if self.episodes:
            values["nucleation"] = np.concatenate([e.traction for e in self.episodes], -1)
        sizes = [end - begin for begin, end in self.list.ranges]
        group = np.repeat(np.arange(len(sizes)) % groups, sizes)  # padding belongs to the group that it completes
        self.indices = {"slots": b.index(slots, True), "group": b.index(group[:, None], True)}
        self.buffers: dict[str, Buffer] = {"waves_in_time": op.friction, "waves": op.waves}
        for a in kernel.arguments:
            if a.space == "batch":
                buffer = b.batch(size, a.rows, a.cols, True)
                if a.name in values:
                    default = values[a.name][:1]  # padding repeats a real face so that friction stays well defined
                    buffer.put(np.broadcast_to(default, (size, a.rows, a.cols)))
                    buffer.put(values[a.name][item], real)
                self.buffers[a.name] = buffer

    def _varying(self) -> list[str]:
        """Return the names of the parameters that differ from point to point."""
        return [name for name in self.law.kernel_parameters if name not in self.uniform]

    def parameters(self, items: np.ndarray) -> dict[str, np.ndarray]:
        """Return the parameters of the friction law at the points of the faces ``items``, (items, p) by name."""
        found = {name: np.full((len(items), len(self.rule.weights)), x) for name, x in self.uniform.items()}
        if varying := self._varying():
            values = self.buffers["parameter"].get(self.item[items])
            found |= {name: values[..., i] for i, name in enumerate(varying)}
        return found

    def _first_record(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the initial record of points of the given shape (faces, p)."""
        nothing = {name: np.zeros(shape) for name in self.columns.widths}
        return self.columns.join(nothing | {"least": np.full(shape, HUGE)})

    def correct(self, cluster: int, time: float, step: float) -> None:
        """Solve friction over [time, time + step] and write the waves that return to both cells.

        Runs after the cells have predicted and before they correct.
        """
        if not self.acts(cluster):
            return
        values, weight = self.weights(step)
        scalars = {"at_times": values, "weight": weight, **self.changing(time, step)}
        if self.uniform:
            scalars["uniform"] = list(self.uniform.values())
        self.launch(*self.ranges[cluster], **scalars)

    def _weights(self, step: float) -> tuple[list[float], list[float]]:
        """Return the weights of a cell's time expansion at the times of a step, and the quadrature weights [s]."""
        tau, weight, _ = self.times
        own = self.operator.predictor
        values = [x for t in tau for x in weights_left(own, own.at(t * step, step), step)]
        return values, np.ravel(weight * step).tolist()

    def acts(self, cluster: int) -> bool:
        """Return True if the cluster has fault faces; each of its steps then launches the friction kernel once."""
        begin, end = self.ranges[cluster]
        return end > begin

    def changing(self, time: float, step: float) -> dict[str, Table]:
        """Return the kernel's scalars that depend on time, for a step that begins at ``time`` [s]."""
        of_step, first = self.options.whole_steps, max(time, FIRST_STEP_TIME)
        clock, ramp = list[float](), list[float]()
        for part, share in zip(*self.shares, strict=True):
            lasting, end = step * part, time + step * share
            begin = end - lasting
            clock += (lasting, end, first if of_step else begin)  # the columns of CLOCK
            ramp += [increment(begin, end, e.start, e.duration) for e in self.episodes] or [0.0]
        damped = time < self.options.damping_end
        return {"clock": clock, "ramp": ramp, "damping": self.options.damping if damped else 1.0}

    def record(self, items: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Return the recorded values and the friction state of faces, (faces, p) by name."""
        items = np.arange(len(self.item)) if items is None else items
        found = self.named(*self.raw_record(items))
        if self.options.moved:  # slip by the velocity jump is stored as face modes
            modes = self.buffers["jumped"].get(self.item[items])
            found |= JUMP_SLIP.split(self.rule.phi[self.faces.group[items]] @ modes)
        return found

    def raw_record(self, items: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return record, stress and friction state of faces as arrays (faces, p, columns); ``named`` splits them by name."""
        where = self.item[items]
        return tuple(self.buffers[name].get(where) for name in ("record", "stress", "state"))  # type: ignore[return-value]

    def named(self, record: np.ndarray, stress: np.ndarray, state: np.ndarray) -> dict[str, np.ndarray]:
        """Split the arrays of ``raw_record`` by name into (faces, p), or (faces, p, size) for vectors of the law's state."""
        found: dict[str, np.ndarray] = dict(self.columns.split(record))
        found |= {name: stress[..., i] for i, name in enumerate(("stress_n", "stress1", "stress2"))}
        return found | self.state_columns.split(state)

    def finish_reads(self, wait: bool = True) -> None:
        """Finish requested readings when all clusters are at the same time; without ``wait`` only those already available."""
        self.reading = {probe: None for probe in list(self.reading) if not probe.finish_reads(wait)}
        self.far.finish()

    def rewind(self) -> None:
        """Let the next reading of every probe begin a new sample buffer."""
        for probe in self.reading:
            probe.bring()

    def state(self) -> dict[str, np.ndarray]:
        """Return everything that changes in time, (faces, p, columns) by name, as ``put_state`` accepts it."""
        return {name: self.state_of(name) for name in CHANGING if name in self.buffers}

    def state_of(self, name: str) -> np.ndarray:
        """Return one of the arrays of ``state``."""
        return np.asarray(self.buffers[name].get(self.item))

    def put_state(self, name: str, values: np.ndarray) -> None:
        """Restore an array that ``state`` returned under ``name``."""
        self.buffers[name].put(values, self.item)

    def column_names(self) -> dict[str, tuple[str, ...]]:
        """Return the column names of the arrays in ``state``; the name of a vector is repeated."""
        columns = {"stress": ("n", "1", "2"), "state": self.state_columns.labels, "record": self.columns.labels}
        inner = self.law.inner_columns
        if self.options.moved:
            columns |= {"jumped": JUMP_SLIP.labels, JUMP_WORK: (JUMP_WORK,)}
        return columns | ({"inner_state": inner.labels} if inner.size else {})

    def stress_at(self, time: float) -> np.ndarray:
        """Return the initial traction plus the nucleation traction added until ``time`` [s], (faces, p, 3) [Pa]."""
        return self.initial + sum(increment(0.0, time, e.start, e.duration) * e.traction for e in self.episodes)

    def nbytes(self) -> int:
        """Return the memory of the friction buffers [bytes]."""
        own = [b.nbytes for name, b in self.buffers.items() if name not in ("waves", "waves_in_time")]
        return sum(own) + sum(b.nbytes for b in self.indices.values())

    def moment_rate(self, record: dict[str, np.ndarray]) -> float:
        """Return the seismic moment rate [N m/s] of the faces that this process owns."""
        mean = 2.0 * (self.rule.weights * record["slip_rate"]).sum(1)
        return float((self.rigidity() * self.faces.area * mean)[: self.faces.owned].sum())

    def rigidity(self) -> np.ndarray:
        """Return the harmonic mean (faces,) of the shear moduli of both sides [Pa]."""
        mu = self.material["mu"]
        return np.asarray(2.0 * mu.prod(1) / mu.sum(1))

    def energies(self, plain_mean: bool, from_velocity: bool) -> dict[str, float]:
        """Return frictional work [J], potency [m^3] and seismic moment [N m] of the faces that this process owns.

        See docs/theory/friction.md, "Energies of a fault".

        Parameters
        ----------
        plain_mean : bool
            Average the slip over points with equal weights instead of quadrature weights.
        from_velocity : bool
            Use the slip given by the velocity jump instead of the slip of the friction law.
        """
        self.prepare_energies(plain_mean, from_velocity)
        launch, each = self._energies[plain_mean, from_velocity]
        launch(0, each.items)
        return dict(zip(FAULT_ENERGIES, each.total()[0].tolist(), strict=True))

    def prepare_energies(self, plain_mean: bool, from_velocity: bool) -> None:
        """Compile the kernel of ``energies`` in advance."""
        key = plain_mean, from_velocity
        if key not in self._energies:
            self._energies[key] = self._energy_launch(*key)

    def _energy_launch(self, plain_mean: bool, from_velocity: bool) -> tuple[Launch, Buffer]:
        """Compile the kernel of ``energies`` and return its launcher and the buffer of its results per face."""
        b, size, owned = self.operator.backend, len(self.list.rows), self.faces.owned
        scale, each = b.batch(size, 1, 2, True), b.batch(size, 1, len(FAULT_ENERGIES), True)
        values = np.stack([self.faces.area, self.rigidity() * self.faces.area], 1)[:owned, None]
        scale.put(values, self.item[:owned])  # padding and faces owned elsewhere have scale 0
        if from_velocity:
            kernel = jump_energies(self.columns, self.rule.phi.shape[2], self.rule.weights, plain_mean)
        else:
            kernel = fault_energies(self.columns, self.state_columns, self.rule.weights, plain_mean)
        arrays = (
            self.buffers | self.indices | {"back": b.matrix(self.rule.back, True), "scale": scale, "energies": each}
        )
        arrays = {a.name: arrays[a.name] for a in kernel.arguments}
        return b.compile([kernel])["fault_energies"](arrays), each

    def slip_sum(self, loads: np.ndarray) -> Callable[[], float]:
        """Return a function that evaluates the sum of loads times accumulated slip on the backend.

        Parameters
        ----------
        loads : (faces, p) float
            Factors of the points of the first faces; the other faces count as zero.
        """
        b, size, points = self.operator.backend, len(self.list.rows), len(self.rule.weights)
        weights, each = b.batch(size, points, 1, True), b.batch(size, 1, 1, True)
        weights.put(loads[..., None], self.item[: len(loads)])
        arrays = {"state": self.buffers["state"], "loads": weights, "sum": each}
        launch = b.compile([loaded_slip(self.state_columns, points)])["loaded_slip"](arrays)

        def now() -> float:
            launch(0, each.items)
            return float(each.total()[0, 0])

        return now


def _first_state(columns: Columns, model: Model) -> np.ndarray:
    """Return the initial friction state (faces, p, columns), zero where the model gives no values."""
    shape = model.stress.shape[:2]
    sizes = columns.widths.items()
    zero = {name: np.zeros(shape if size is None else (*shape, size)) for name, size in sizes}
    return columns.join(zero | model.state)


def _channels(rank: np.ndarray, cluster: np.ndarray, rows: np.ndarray, first: int) -> tuple[Channel, ...]:
    """Return the messages that exchange face time expansions with other processes.

    Parameters
    ----------
    rank, cluster : (k,) int
        Process of the other side and cluster of each face; faces are sorted by both.
    rows : (k,) int
        Rows of the expansions to send.
    first : int
        Row of the first received expansion.
    """
    keys = np.stack([rank, cluster], 1)
    starts = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(1))) if len(keys) else np.zeros(0, int)
    return tuple(
        Channel(
            int(rank[a]), int(cluster[a]), int(cluster[a]), "fault", np.stack([part, part]), "fault", first + int(a)
        )
        for a, part in zip(starts, np.split(rows, starts)[1:], strict=True)
    )
