"""Faces with prescribed waves: a cell receives the wave of its neighbour or of the reflecting boundary plus a given field.

One mechanism serves plane waves that enter through a boundary or a closed surface inside (total field within, scattered field
outside; Taflove & Hagness 2005, ch. 5), sheets of current and waveguide ports. Like fault faces, these faces have separate slots for
arriving waves, and both cells of a face are in one cluster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from faultwave.dg.method.basis import face_points, inner, triangle_basis, triangle_quadrature
from faultwave.dg.method.forms import onto_face
from faultwave.dg.operators.method_of_lines import MethodOfLines
from faultwave.dg.operators.operator import Operator
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import LAYER


class Function(Protocol):
    """Function of time with its antiderivative."""

    def value(self, t: float | np.ndarray) -> np.ndarray: ...
    def integral(self, t: float | np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Shifted:
    """Function of time that is delayed by ``onset`` [s]."""

    function: Function
    onset: float

    def value(self, t: float | np.ndarray) -> np.ndarray:
        return np.asarray(self.function.value(np.asarray(t, float) - self.onset))

    def integral(self, t: float | np.ndarray) -> np.ndarray:
        return np.asarray(self.function.integral(np.asarray(t, float) - self.onset))


@dataclass(frozen=True)
class Faces:
    """Faces as seen from their cells, n of them.

    Attributes
    ----------
    cells, faces : (n,) int
        Cells and local faces.
    frames : (n, 3 or 9) float
        Normals or frames in the layout of the law's kernels.
    corners : (n, 3, 3) float
        Vertices in the order of face coordinates [m].
    """

    cells: np.ndarray
    faces: np.ndarray
    frames: np.ndarray
    corners: np.ndarray

    def positions(self, points: np.ndarray) -> np.ndarray:
        """Return the Cartesian coordinates (n, p, 3) [m] of points in face coordinates (p, 2)."""
        a, b, c = (self.corners[:, i, None] for i in range(3))
        return a + points[None, :, :1] * (b - a) + points[None, :, 1:] * (c - a)

    @property
    def areas(self) -> np.ndarray:
        """Areas of the faces (n,) [m^2]."""
        a, b, c = (self.corners[:, i] for i in range(3))
        return np.asarray(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1))


def faces_of(operator: Operator, cells: np.ndarray, faces: np.ndarray, origin: np.ndarray) -> Faces:
    """Return the given faces of cells with their frames and vertices.

    Parameters
    ----------
    operator : Operator
        Operator that has the cells.
    cells, faces : (n,) int
        Cells and local faces.
    origin : (n, 3) float
        First vertex of each of the cells [m].
    """
    jacobian = np.linalg.inv(operator.cells.inverse[cells])
    corners = np.empty((len(cells), 3, 3))
    for f in range(4):
        mine = faces == f
        reference = face_points(f, np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
        corners[mine] = origin[mine, None] + np.einsum("cij,nj->cni", jacobian[mine], reference)
    return Faces(cells, faces, operator.frames()[cells, faces], corners)


def pair(law: Law, frames: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return traction and velocity [T, v] of states on faces.

    Parameters
    ----------
    law : Law
        Wave law.
    frames : (n, 3 or 9) float
        Normals or frames of the faces.
    q : (n, ..., Q) float
        States.

    Returns
    -------
    (n, ..., 2 face channels) array
        Traction, then velocity.
    """
    extra = q.ndim - 2
    frame = [frames[:, i].reshape(-1, *[1] * extra) for i in range(frames.shape[1])]
    state = [q[..., i] for i in range(q.shape[-1])]
    flux, potential = onto_face(law, frame, law.flux(state, frame[:3])), onto_face(law, frame, law.potential(state))
    traction, flow = law.sides(flux, potential)
    return np.stack(np.broadcast_arrays(*traction, *flow), -1)


@dataclass(frozen=True)
class SeparableField:
    """Prescribed field with one time function: ``pairs`` (k, B2, 2 face channels) on the faces ``items`` of a list."""

    items: np.ndarray
    pairs: np.ndarray
    function: Function

    def value(self, t: float) -> np.ndarray:
        return float(self.function.value(t)) * self.pairs

    def integral(self, a: float, b: float) -> np.ndarray:
        return float(self.function.integral(b) - self.function.integral(a)) * self.pairs

    def part(self, chosen: np.ndarray) -> SeparableField:
        """Return the field on the faces ``chosen`` (k,) bool only."""
        return replace(self, items=self.items[chosen], pairs=self.pairs[chosen])


_GAUSS = tuple(zip(*np.polynomial.legendre.leggauss(4), strict=True))


@dataclass(frozen=True)
class PrescribedPlaneWave:
    """Plane wave prescribed on faces.

    Attributes
    ----------
    items : (k,) int
        Faces in a list.
    pairs : (k, 2 face channels) float
        Traction and velocity per unit of the time function.
    delays : (k, p) float
        Arrival times at the quadrature points [s].
    project : (B2, p) float
        Projection of point values on face modes.
    function : Function
        Time function, evaluated at t - delay.
    """

    items: np.ndarray
    pairs: np.ndarray
    delays: np.ndarray
    project: np.ndarray
    function: Function

    def value(self, t: float) -> np.ndarray:
        return self._spread(self.function.value(t - self.delays))

    def integral(self, a: float, b: float) -> np.ndarray:
        """Integrate with four Gauss points, which is as accurate as the scheme and cheaper than most antiderivatives."""
        centre, half = 0.5 * (a + b), 0.5 * (b - a)
        values = sum(w * self.function.value(centre + half * x - self.delays) for x, w in _GAUSS)
        return self._spread(half * np.asarray(values))

    def _spread(self, values: np.ndarray) -> np.ndarray:
        return np.asarray((values @ self.project.T)[:, :, None] * self.pairs[:, None, :])

    def part(self, chosen: np.ndarray) -> PrescribedPlaneWave:
        """Return the wave on the faces ``chosen`` (k,) bool only; ``items`` are the chosen faces."""
        return replace(self, items=self.items[chosen], pairs=self.pairs[chosen], delays=self.delays[chosen])


class PrescribedField(Protocol):
    """Interface of a field prescribed on the faces ``items`` of a list, in addition to the reflected or transmitted wave.

    Values at a time and integrals over an interval are pairs [T, v] of shape (k, B2, 2 face channels).
    """

    @property
    def items(self) -> np.ndarray: ...
    def value(self, t: float) -> np.ndarray: ...
    def integral(self, a: float, b: float) -> np.ndarray: ...
    def part(self, chosen: np.ndarray) -> PrescribedField: ...


def projection(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return quadrature points (p, 2) of a face and the matrix (B2, p) of the L2 projection on its modes."""
    points, weights = triangle_quadrature(order + 2)
    return points, (triangle_basis(points, order - 1) * weights[:, None]).T


def projected(project: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Project point values (k, p, m) on face modes (k, B2, m); rounding does not depend on the number of faces."""
    return inner(project[None, :, None], values.transpose(0, 2, 1)[:, None])


_Placed = tuple[np.ndarray, PrescribedField]
"""Positions of the faces of a prescribed field in a list, and the field."""


def _among(drive: PrescribedField, chosen: np.ndarray) -> _Placed:
    """Return the restriction of a prescribed field to the ``chosen`` faces, which are in ascending order."""
    part = drive.part(np.isin(drive.items, chosen))
    return np.searchsorted(chosen, part.items), part


class PrescribedFaces:
    """Writer of the arriving waves of faces with prescribed fields, called before a cluster corrects."""

    def __init__(self, operator: Operator, faces: Faces, drives: Sequence[PrescribedField], cluster: np.ndarray):
        self.operator, self.faces, self.drives = operator, faces, list(drives)
        lay, law, c = operator.layout, operator.law, operator.cells
        at = lay.position[faces.cells]
        self.slots = (lay.arriving_slots if isinstance(operator, MethodOfLines) else lay.own)[at, faces.faces]
        near, near_face = c.neighbours[faces.cells, faces.faces], c.neighbour_faces(faces.cells, faces.faces)
        wall = near < 0
        self.sources = np.where(
            wall, lay.own[at, faces.faces], lay.own[lay.position[np.maximum(near, 0)], np.maximum(near_face, 0)]
        )
        mixing = operator.mixing[faces.cells, faces.faces]  # of a boundary its reflection coefficients, else a sign
        self.echo = mixing.copy() if law.mixing == 2 else np.stack([mixing[:, 0], np.zeros(len(mixing))], 1)
        self.mirrored = bool(self.echo[:, 1].any())
        behind = np.where(wall, faces.cells, near)
        self.impedance = law.impedance_at({k: v[behind] for k, v in c.material.items()}, faces.frames[:, :3])
        f = law.face_channels
        if isinstance(operator, MethodOfLines):
            across = np.repeat([[-1.0, 1.0] if law.traction_is_flux else [1.0, -1.0]], len(near), 0)
            self.factor = np.repeat(np.where(wall[:, None], self.echo[:, :1] * [1.0, -1.0], across), f, axis=1)
        else:
            self.factor = np.repeat(self.echo[:, :1], f, axis=1)
        clusters = cluster[faces.cells]
        self.members = [np.flatnonzero(clusters == i) for i in range(lay.clusters)]
        self.shape = (len(faces.cells), operator.b2, 2 * f)
        self.listed = [(drive.items, drive) for drive in drives]
        self.parts = [[_among(drive, m) for drive in drives] for m in self.members]
        self.step = 0.0, 0.0  # start and length of the current step [s], for ``write_arriving_traces``

    def sum_fields(
        self, count: int, drives: Sequence[_Placed], of: Callable[[PrescribedField], np.ndarray]
    ) -> np.ndarray:
        """Return the sum of prescribed fields on ``count`` faces, (count, B2, 2 face channels)."""
        total = np.zeros((count, *self.shape[1:]))
        for items, drive in drives:
            total[items] += of(drive)  # faces of one field are distinct
        return total

    def fill(self, cluster: int, time: float, step: float) -> None:
        """Write the arriving waves of [time, time + step]; the method of lines writes traces in each stage instead."""
        self.step = time, step
        mine = self.members[cluster]
        if not len(mine) or isinstance(self.operator, MethodOfLines):
            return
        law, op, f = self.operator.law, self.operator, self.operator.law.face_channels
        pairs = (
            self.sum_fields(len(mine), self.parts[cluster], lambda drive: drive.integral(time, time + step))
            / op.time_unit
        )
        normal = [self.faces.frames[mine, i, None] for i in range(3)]
        z = [self.impedance[mine, i, None] for i in range(self.impedance.shape[1])]
        flow = np.stack(law.apply_impedance(z, normal, [pairs[..., f + i] for i in range(f)]), -1)
        waves = op.waves.get(self.sources[mine]).reshape(len(mine), -1, f)
        arriving = self.factor[mine, None] * waves + pairs[..., :f] + flow
        if self.mirrored:
            arriving += self._mirrored(waves, mine)
        op.waves.put(arriving.reshape(len(mine), -1), self.slots[mine])

    def _mirrored(self, waves: np.ndarray, items: np.ndarray | slice) -> np.ndarray:
        """Return the term b n (n.w) of reflected waves, for vectors (k, B2, 3)."""
        normal = self.faces.frames[items, :3]
        along = inner(waves, normal[:, None])
        return self.echo[items, 1, None, None] * along[..., None] * normal[:, None]

    def write_arriving_traces(self, moment: float) -> None:
        """Write the traces that arrive at a fraction of the current step, for the method of lines."""
        op, time = self.operator, self.step[0] + moment * self.step[1]
        assert isinstance(op, MethodOfLines)
        traces = op.traces.get(self.sources).reshape(self.shape)
        arriving = self.factor[:, None] * traces + self.sum_fields(
            len(traces), self.listed, lambda drive: drive.value(time)
        )
        if self.mirrored:
            arriving[..., :3] += self._mirrored(traces[..., :3], slice(None))
            arriving[..., 3:] -= self._mirrored(traces[..., 3:], slice(None))
        op.traces.put(arriving.reshape(len(arriving), math.prod(self.shape[1:])), self.slots)


def single_lossless_medium(material: dict[str, np.ndarray], cells: np.ndarray) -> dict[str, float] | str:
    """Return the parameters of the electromagnetic medium that all of ``cells`` share, or the end of an error sentence."""
    values = {name: v[cells] for name, v in material.items()}
    if any(np.any(values[name] > 0) for name in LAYER[:3] if name in values):
        return "is in the matched layer"
    own = {name: v for name, v in values.items() if name not in LAYER}
    mixed = [name for name, v in own.items() if np.ptp(v) > 1e-9 * np.abs(v).max()]
    if mixed:
        return f"varies ({', '.join(mixed)})"
    if np.any(own["conductivity"] > 0):
        return "has losses"
    return {name: float(v[0]) for name, v in own.items()}
