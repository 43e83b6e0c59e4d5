"""The dg operator on one backend: buffers, compiled kernels, and what a cluster does to predict and to correct."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.backends import Backend
from faultwave.base.errors import NotBuiltError, Problem
from faultwave.domain.tets.mesh import BoundaryKind
from faultwave.engines.dg import kernels
from faultwave.engines.dg.basis import FACES, tet_size, triangle_size
from faultwave.engines.dg.layout import Layout
from faultwave.laws import Law


@dataclass(frozen=True)
class Cells:
    """What the operator needs of the cells, in the mesh's cell order (nc, ...)."""

    inverse: np.ndarray  # (nc, 3, 3) d xi / d x
    volume: np.ndarray
    areas: np.ndarray  # (nc, 4)
    normals: np.ndarray  # (nc, 4, 3) outward
    neighbours: np.ndarray  # (nc, 4)
    kinds: np.ndarray  # (nc, 4)
    fault: np.ndarray  # (nc, 4) faces with friction
    material: dict[str, np.ndarray]  # parameter -> (nc,)
    wall: np.ndarray | None = None  # (nc, 4) impedance of faces of kind 'impedance'
    driven: np.ndarray | None = None  # (nc, 4) faces whose arriving wave somebody fills in
    opposite: np.ndarray | None = None  # (nc, 4) the neighbour's number of the face; needed for driven ones

    def neighbour_faces(self, cells: np.ndarray, faces: np.ndarray) -> np.ndarray:
        if self.opposite is None:
            raise ValueError("driven faces need the neighbours' face numbers")
        return np.asarray(self.opposite[cells, faces])

    @property
    def tangents(self) -> np.ndarray:
        """(nc, 4, 2, 3) unit tangents of every face, the same from both sides: along its first edge and across it."""
        corners = np.concatenate(
            [np.zeros((len(self.inverse), 1, 3)), np.linalg.inv(self.inverse).transpose(0, 2, 1)], 1
        )
        a, b, c = (corners[:, [face[i] for face in FACES]] for i in range(3))
        first, second = b - a, c - a
        first /= np.linalg.norm(first, axis=2, keepdims=True)
        second -= (first * second).sum(2, keepdims=True) * first
        return np.stack([first, second / np.linalg.norm(second, axis=2, keepdims=True)], 2)


def powers(step: float, order: int) -> tuple[list[float], list[float]]:
    """Taylor weights of D_k at ``step`` and of its integral over [0, step]."""
    advance = [step**k / math.factorial(k) for k in range(order)]
    return advance, [step ** (k + 1) / math.factorial(k + 1) for k in range(order)]


class Operator:
    """Advances dofs ``q`` cluster by cluster.

    ``time_unit`` [s]: unit of time in the kernels. Derivatives D_k count per unit, so that none of them, nor the waves, leave
    the range of single precision where steps are tiny. Every other method takes seconds.
    """

    def __init__(self, law: Law, order: int, backend: Backend, layout: Layout, cells: Cells, time_unit: float = 1.0):
        self.law, self.order, self.backend, self.layout, self.cells = law, order, backend, layout, cells
        self.time_unit = time_unit
        self.drive: Callable[[float], None] | None = None  # fills driven faces at a share of the step, where asked
        self.b3, self.b2 = tet_size(order - 1), triangle_size(order - 1)
        self.launches: dict[str, Callable[..., None]] = {}
        self._allocate()
        self._bind()

    def _allocate(self) -> None:
        b, lay, size = self.backend, self.layout, len(self.layout.cell_at)
        m, quantities = self.law.face_channels, len(self.law.quantities)
        full = kernels.reacts(self.law)
        history_rows = sum(kernels.derivative_rows(self.order, full))
        self.q = b.batch(size, self.b3, quantities)
        self.kept = b.batch(size, 4 * self.b2, m)
        self.waves = b.store(lay.wave_slots, self.b2 * m)
        self.history = b.store(lay.histories, history_rows * quantities)
        self.slow = b.store(lay.slow_slots, sum(kernels.face_rows(self.order, full)) * m)
        self.cell = b.batch(size, 1, kernels.CellColumns(self.law).size)
        self.face = b.batch(size, 4, kernels.FaceColumns(self.law).size)
        real = lay.cell_at >= 0
        index = lay.cell_at[real]
        constants = self._cell_constants()
        self.cell.put(constants[index][:, None], real)
        self.face.put(self._face_constants()[index], real)
        self.own, self.incoming = b.index(lay.own), b.index(lay.incoming)
        self.history_slot = b.index(lay.history[:, None])

    def _cell_constants(self) -> np.ndarray:
        c, law = self.cells, self.law
        rates = [self.time_unit * r for r in law.rates(c.material)]
        own = np.stack([*law.constants(c.material), *law.impedance(c.material), *rates], 1)
        return np.concatenate([self.time_unit * c.inverse.reshape(-1, 9), own], 1)

    def frames(self) -> np.ndarray:
        """(nc, 4, 3 or 9) normal and, where the law needs them, tangents."""
        c = self.cells
        if kernels.FaceColumns(self.law).frames == 3:
            return c.normals
        return np.concatenate([c.normals, c.tangents.reshape(*c.normals.shape[:2], 6)], 2)

    def _face_constants(self) -> np.ndarray:
        c, law = self.cells, self.law
        own = np.stack(law.impedance(c.material), 1)[:, None, :].repeat(4, 1)
        across = (c.neighbours >= 0) & ~c.fault
        other = np.where(across[..., None], own[np.maximum(c.neighbours, 0), 0], own)
        total = own + other
        scale = self.time_unit * c.areas / (3.0 * c.volume[:, None])
        admittance = np.where(total > 0, scale[..., None] / np.where(total > 0, total, 1.0), 0.0)
        mix = np.zeros((*c.neighbours.shape, 2))
        mix[across] = (-1.0 if law.traction_is_flux else 1.0, 0.0)
        mix[c.fault] = (1.0, 0.0)
        for kind in np.unique(c.kinds[c.neighbours < 0]):
            name, faces = BoundaryKind(kind).name.lower().replace("_", "-"), (c.neighbours < 0) & (c.kinds == kind)
            if name == "impedance" and own.shape[2] == 1 and c.wall is not None:
                z = own[faces][:, 0]
                mix[faces, 0], mix[faces, 1] = (c.wall[faces] - z) / (c.wall[faces] + z), 0.0
                continue
            if name not in law.boundaries:
                where = f"boundary faces of kind '{name}'"
                raise NotBuiltError(Problem(where, f"not available for the {law.name} law", ", ".join(law.boundaries)))
            state = law.boundaries[name]
            mix[faces] = (state.a, state.b)
        self.mixing = mix.copy()
        if c.driven is not None:
            mix[c.driven] = (1.0, 0.0)
        return np.concatenate([self.frames(), other, admittance, mix], 2)

    def _bind(self) -> None:
        law, order, lay = self.law, self.order, self.layout
        main = [
            kernels.predict(law, order, False), kernels.predict(law, order, True), kernels.correct(law, order),
            kernels.accumulate(law, order), kernels.integrate(law, order), kernels.evaluate(law, order),
        ]  # fmt: skip
        faces = [kernels.slow_traces(law, order, f, False) for f in range(4) if len(lay.slow[f].rows)]
        if not len(lay.accumulate.rows):
            main = [k for k in main if k.name not in ("accumulate", "integrate")]
        compiled = self.backend.compile([*main, *faces])
        common = {
            "q": self.q, "cell": self.cell, "face": self.face, "own": self.own, "incoming": self.incoming,
            "waves": self.waves, "kept": self.kept, "history": self.history, "slot": self.history_slot, "slow": self.slow,
        }  # fmt: skip
        for name in ("predict", "predict_keep", "correct"):
            self.launches[name] = compiled[name](common)
        self._evaluate = compiled["evaluate"]
        for name, rows in (("accumulate", lay.accumulate), ("integrate", lay.integrate)):
            if name in compiled:
                self.launches[name] = compiled[name](common | {"slots": self.backend.index(rows.rows)})
        for f, listed in enumerate(lay.slow):
            if len(listed.rows):
                side = self.sides(listed.source, f)
                self.launches[f"slow_traces_{f}"] = compiled[f"slow_traces_{f}"](
                    common | {"slots": self.backend.index(listed.rows), "side": side, "traces": self.slow}
                )

    def sides(self, source: np.ndarray, face: int) -> Any:
        """Batch of (frame of the face, own impedance) for the listed cells' local face; -1 pads."""
        z, frames = np.stack(self.law.impedance(self.cells.material), 1), self.frames()
        side = self.backend.batch(len(source), 1, frames.shape[2] + z.shape[1])
        real = source >= 0
        cells = source[real]
        side.put(np.concatenate([frames[cells, face], z[cells]], 1)[:, None], real)
        return side

    def powers(self, step: float) -> tuple[list[float], list[float]]:
        """Taylor weights of D_k [per time unit^k] at ``step`` [s] and of the integral over [0, step]."""
        count = self.order + kernels.reacts(self.law)
        advance, integral = powers(step / self.time_unit, count)
        return advance, integral[: self.order]

    def predict(self, cluster: int, step: float, restart: bool) -> None:
        advance, integral = self.powers(step)
        lay = self.layout
        self._run("predict_keep", lay.keep_ranges[cluster], advance=advance, integral=integral)
        self._run("predict", lay.plain_ranges[cluster], advance=advance, integral=integral)
        for f in range(4):
            self._run(f"slow_traces_{f}", lay.slow[f].ranges[cluster])
        self._run("accumulate", lay.accumulate.ranges[cluster], keep=0.0 if restart else 1.0)

    def correct(self, cluster: int, step: float, offset: float) -> None:
        lay = self.layout
        after, before = self.powers(offset + step)[1], self.powers(offset)[1]
        weight = [a - b for a, b in zip(after, before, strict=True)]
        self._run("integrate", lay.integrate.ranges[cluster], weight=weight)
        self._run("correct", lay.keep_ranges[cluster])
        self._run("correct", lay.plain_ranges[cluster])

    def _run(self, name: str, part: tuple[int, int], **scalars: Any) -> None:
        if part[1] > part[0]:
            self.launches[name](*part, **scalars)

    def evaluator(self, target: Any) -> Callable[[int, float], None]:
        """evaluate(cluster, tau): the state ``tau`` after the cluster's current time, into the batch ``target``."""
        launch = self._evaluate({"q": self.q, "cell": self.cell, "sampled": target})

        def evaluate(cluster: int, tau: float) -> None:
            for part in (self.layout.keep_ranges[cluster], self.layout.plain_ranges[cluster]):
                if part[1] > part[0]:
                    launch(*part, advance=self.powers(tau)[0])

        return evaluate

    def dofs(self, cells: np.ndarray | None = None) -> np.ndarray:
        """(cells, B3, Q) in the mesh's cell order."""
        return self.q.get(self.layout.position if cells is None else self.layout.position[cells])

    def set_dofs(self, values: np.ndarray, cells: np.ndarray | None = None) -> None:
        self.q.put(values, self.layout.position if cells is None else self.layout.position[cells])

    def finite(self) -> bool:
        """Whether every dof is a finite number."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.q.finite()

    def means(self) -> np.ndarray:
        """Cell averages (cells, Q) in the mesh's cell order; mode 0 is the constant sqrt(6)."""
        return self.q.get(self.layout.position, slice(0, 1))[:, 0] * 6.0**0.5

    def nbytes(self) -> int:
        buffers: Iterable[Any] = (self.q, self.kept, self.waves, self.history, self.slow, self.cell, self.face)
        return sum(b.nbytes for b in buffers) + self.own.nbytes + self.incoming.nbytes


__all__ = ["Cells", "Operator", "powers"]
