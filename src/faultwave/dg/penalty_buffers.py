"""What a penalty needs on a backend, and how cells exchange it."""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.backends import Backend
from faultwave.dg.forms import Cells, Form
from faultwave.dg.layout import Layout
from faultwave.dg.penalties import Penalised, Sides, penalty_fluxes
from faultwave.dg.penalty_places import places
from faultwave.dg.sums import Sums


class PenaltyBuffers:
    """Buffers of the penalised faces of an operator."""

    @classmethod
    def make(cls, form: Form, backend: Backend, layout: Layout, cells: Cells) -> PenaltyBuffers | None:
        """None where no face has a penalty, on any process."""
        return cls(form, backend, layout, cells) if cells.penalised is not None else None

    def __init__(self, form: Form, backend: Backend, layout: Layout, cells: Cells):
        assert cells.penalised is not None
        penalty = penalty_fluxes()[cells.penalised.name].make(form.law)
        self.backend, self.penalised = backend, Penalised(form, penalty)
        faces = cells.penalised.faces
        self.places = places(layout, faces, max(backend.lanes, backend.fixed_lanes))
        where, size = self.places, self.penalised.b2 * self.penalised.faced
        cell, face = np.nonzero(faces)
        own = where.own[layout.position[cell], face]
        values = penalty.columns.join(penalty.constants(_sides(form, cells, cell, face)))
        self.sides = backend.store(1 + len(cell), penalty.columns.size)
        self.sides.put(np.zeros((1, penalty.columns.size)), slice(0, 1))
        self.sides.put(values, own)
        self.held = backend.store(1 + len(cell), size)
        self.shown = backend.store(where.slots, size)
        self.slow = backend.store(where.slow_slots, sum(form.predictor.face_rows) * self.penalised.faced)
        self.own, self.slow_slots = backend.index(where.own), backend.index(where.slow)
        self.incoming = [backend.index(slots) for slots in where.incoming]
        self.outgoing = [backend.index(slots) for slots in where.outgoing]

    def bound(self, parity: int) -> dict[str, Any]:
        """The arguments of the kernels in even and odd steps."""
        return {
            "sides": self.sides, "held": self.held, "shown": self.shown, "shown_slow": self.slow, "own": self.own,
            "shown_slow_slots": self.slow_slots, "shown_from": self.incoming[parity], "shown_to": self.outgoing[parity],
        }  # fmt: skip

    def sums(self, at_arrival: bool) -> Sums:
        """Between clusters."""
        return Sums(self.backend, self.penalised, self.places.slower, self.shown, self.slow, at_arrival)

    def nbytes(self) -> int:
        return int(sum(b.nbytes for b in (self.sides, self.held, self.shown, self.slow)))


def _sides(form: Form, cells: Cells, cell: np.ndarray, face: np.ndarray) -> Sides:
    assert cells.penalised is not None
    own = {k: v[cell] for k, v in cells.material.items()}
    across = {k: v[cell, face] for k, v in cells.penalised.across.items()}
    scale = form.unit * cells.areas[cell, face] / (3.0 * cells.volume[cell])
    return Sides(form.law, cells.normals[cell, face], cells.tangents[cell, face], own, across, scale)


__all__ = ["PenaltyBuffers"]
