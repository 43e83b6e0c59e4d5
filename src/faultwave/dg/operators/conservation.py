"""Conservation with rounded messages: a cell corrects itself for the rounding of the waves that it sent.

The state on a face follows from the waves of both sides. If the other side reads w + e instead of w, its state on the face differs,
and conservation requires the same state on this side: the jumps here change by dv = -e/(Z + Z_R) and dT = Z_R e/(Z + Z_R), which leave
u = T + Z_R v unchanged and turn T - Z v of the trace into w + e. For every mode of a face the change of the degrees of freedom is one
small matrix times e, lifted into the cell. Messages write their rounding errors to a store; after each correction one kernel adds the
changes on the backend.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.backends.base import Store
from faultwave.comm.exchange import Channel
from faultwave.dg.method.forms import Form
from faultwave.dg.method.formula import Outputs
from faultwave.dg.operators.layout import sort_and_pad
from faultwave.dg.operators.operator import Operator
from faultwave.kernels.expr import Numbers
from faultwave.kernels.language import Kernel
from faultwave.physics.waves.law import dot


def correction_matrices(operator: Operator, cells: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return the matrices (n, Q, channels) from wave errors at faces to changes of the degrees of freedom.

    Errors are integrated over the step in the operator's unit of time; changes are in the form's own quantities.

    Parameters
    ----------
    operator : Operator
        Operator of the cells.
    cells, faces : (n,) int
        Cells and local faces.
    """
    law, form, c = operator.law, operator.form, operator.cells
    own, other = (z[cells, faces] for z in form.both_impedances(c))
    share = law.admittance(own, other, operator.time_unit * c.areas[cells, faces] / (3.0 * c.volume[cells]))
    normal = [c.normals[cells, faces, i, None] for i in range(3)]
    material = tuple(np.asarray(k)[cells, None] for k in law.constants(c.material))
    m, zero = law.channels, np.zeros((len(cells), 1))

    def applied(z: np.ndarray, x: list[np.ndarray]) -> list[np.ndarray]:
        return list(law.apply_impedance([z[:, i, None] for i in range(z.shape[1])], normal, x))

    columns = []
    for channel in range(m):
        waves = [zero + (i == channel) for i in range(m)]
        flow = applied(-share, waves)
        traction = applied(share * other, waves) if law.principal else [-t for t in applied(other, flow)]
        flux, potential = law.sides(traction, flow)
        gradient = [[normal[d] * p for p in potential] for d in range(3)]
        columns.append(np.concatenate([zero + x for x in law.rate(flux, gradient, material)], 1))
    return operator.working(np.stack(columns, 1), cells).transpose(0, 2, 1)


def conserve(form: Form) -> Kernel:
    """Return the kernel that adds the corrections for rounding errors at the four faces to q and clears the errors.

    Row 0 of both stores holds zeros, for faces whose waves are not sent.
    """
    k, m = Kernel("conserve"), form.faced
    q, faces = k.batch("q", form.b3, form.Q, "inout"), k.index("faces", 4)
    errors, matrices = k.store("errors", form.b2, m, "inout"), k.store("matrices", 1, form.Q * m)
    error, matrix = k.temp("error", form.b2, m), k.temp("matrix", 1, form.Q * m)
    lifted, zeros = k.temp("lifted", form.b3, m), k.temp("zeros", form.b2, m)
    k.pointwise(lambda q: [[0.0 * q[0] for _ in range(m)]], [q.view(0, 1)], [zeros], form.b2)

    def add(x: Numbers, matrix: Numbers, q: Numbers) -> Outputs:
        return [[y + dot(matrix[m * i : m * (i + 1)], x) for i, y in enumerate(q)]]

    for face in range(4):
        k.gather(error, errors, faces, face)
        k.gather(matrix, matrices, faces, face)
        k.contract(lifted, form.trace[face][: form.b2, : form.b3].T, error)
        k.pointwise(add, [lifted, matrix, q], [q])
        k.scatter(zeros, errors, faces, face)
    return k


def add_parts(form: Form, parts: int) -> Kernel:
    """Return the kernel that sums the errors of all parts of a step into the row of a face.

    ``slots`` lists the row of the face, then the rows of the parts.
    """
    k = Kernel("add_parts")
    slots, errors = k.index("slots", 1 + parts), k.store("errors", form.b2, form.faced, "inout")
    split = k.store("split", form.b2, form.faced)
    total, one = k.temp("total", form.b2, form.faced), k.temp("one", form.b2, form.faced)
    k.gather(total, split, slots, 1)
    for p in range(1, parts):
        k.gather(one, split, slots, 1 + p)
        k.pointwise(lambda x, y: [[a + b for a, b in zip(x, y, strict=True)]], [total, one], [total])
    k.scatter(total, errors, slots, 0)
    return k


class Conservation:
    """Corrections of a process's cells for the rounding of the waves sent through ``channels``."""

    def __init__(self, operator: Operator, channels: Sequence[Channel]):
        lay, form, b = operator.layout, operator.form, operator.backend
        self.operator = operator
        self.channels = [c for c in channels if c.send != "fault"]
        none, parts = np.zeros(0, np.int64), lay.parts
        cells, faces = (np.concatenate([none, *(getattr(c, n) for c in self.channels)]) for n in ("cells", "faces"))
        cluster = np.concatenate([none, *(np.full(len(c.cells), c.cluster) for c in self.channels)])
        split = np.concatenate([none, *(np.full(len(c.cells), self._split(c)) for c in self.channels)]).astype(bool)
        rows, count = 1 + np.arange(len(cells)), parts * int(split.sum())
        index = np.zeros((len(lay.cell_at), 4), np.int64)
        index[lay.position[cells], faces] = rows
        unused = 1 + len(cells)  # row that padding writes to
        self.errors = b.store(unused + 1, form.b2 * form.faced)
        self.split = b.store(1 + count, form.b2 * form.faced)
        matrices = b.store(unused, form.Q * form.faced)
        matrices.put(correction_matrices(operator, cells, faces).reshape(len(cells), form.Q * form.faced), rows)
        lanes = max(b.lanes, b.fixed_lanes)
        added = np.concatenate([rows[split, None], 1 + np.arange(count).reshape(-1, parts)], 1)
        self.added = sort_and_pad(added, cluster[split], lay.clusters, lanes, np.array([unused, *[0] * parts]))
        made = b.compile([conserve(form), add_parts(form, parts)])
        self.launch = made["conserve"](
            {"q": operator.q, "faces": b.index(index), "errors": self.errors, "matrices": matrices}
        )
        self.add = made["add_parts"]({"slots": b.index(self.added.rows), "split": self.split, "errors": self.errors})

    def _split(self, channel: Channel) -> bool:
        """Return True if a channel sends the waves of parts of a step."""
        return channel.other < channel.cluster

    def place(self, channel: Channel) -> tuple[Store, int]:
        """Return the store for the rounding errors of a channel's messages, and the first row of its faces."""
        before = self.channels[: self.channels.index(channel)]
        if self._split(channel):
            return self.split, 1 + sum(c.count for c in before if self._split(c))
        return self.errors, 1 + sum(len(c.cells) for c in before)

    def __call__(self, cluster: int) -> None:
        """Correct the cells of a cluster, after its correction and once all waves of its step have been sent."""
        begin, end = self.added.ranges[cluster]
        if end > begin:
            self.add(begin, end)
        begin, end = self.operator.layout.observed_ranges[cluster]
        if end > begin:
            self.launch(begin, end)
