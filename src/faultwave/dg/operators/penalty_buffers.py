"""Buffers of a penalty on a backend, and the exchange of its values between cells."""

from __future__ import annotations

import numpy as np

from faultwave.backends import Backend
from faultwave.backends.base import Buffer
from faultwave.dg.method.forms import Cells, Form
from faultwave.dg.operators.layout import Layout, part_slots
from faultwave.dg.operators.penalty_places import places
from faultwave.dg.penalties import Penalised, Sides, penalty_fluxes


class PenaltyBuffers:
    """Buffers of the penalised faces of an operator."""

    @classmethod
    def make(cls, form: Form, backend: Backend, layout: Layout, cells: Cells) -> PenaltyBuffers | None:
        """Return the buffers, or None if no face of any process has a penalty."""
        return cls(form, backend, layout, cells) if cells.penalised is not None else None

    def __init__(self, form: Form, backend: Backend, layout: Layout, cells: Cells):
        assert cells.penalised is not None
        penalty = penalty_fluxes()[cells.penalised.name].make(form.law)
        self.backend, self.penalised = backend, Penalised(form, penalty)
        faces = cells.penalised.faces
        self.places = places(layout, faces)
        where, size = self.places, self.penalised.b2 * self.penalised.faced
        cell, face = np.nonzero(faces)
        own = where.own[layout.position[cell], face]
        values = penalty.columns.join(penalty.constants(_sides(form, cells, cell, face)))
        self.sides = backend.store(1 + len(cell), penalty.columns.size)
        self.sides.put(np.zeros((1, penalty.columns.size)), slice(0, 1))
        self.sides.put(values, own)
        self.held = backend.store(1 + len(cell), size)
        self.shown = backend.store(where.slots, size)
        self.own, self.part_slots = backend.index(where.own), backend.index(part_slots(where.for_faster, layout.parts))
        self.sum_slots = [backend.index(slots) for slots in where.sums]
        self.incoming = [backend.index(slots) for slots in where.incoming]
        self.outgoing = [backend.index(slots) for slots in where.outgoing]

    def bound(self, turn: int, sums: int) -> dict[str, Buffer]:
        """Return the kernel arguments in step ``turn`` and for even or odd steps of slower neighbours."""
        return {
            "sides": self.sides, "held": self.held, "shown": self.shown, "own": self.own, "shown_part_slots": self.part_slots,
            "shown_sum_slots": self.sum_slots[sums], "shown_from": self.incoming[turn % len(self.incoming)],
            "shown_to": self.outgoing[turn % 2],
        }  # fmt: skip

    def nbytes(self) -> int:
        """Return the memory of the buffers [bytes]."""
        return int(sum(b.nbytes for b in (self.sides, self.held, self.shown)))


def _sides(form: Form, cells: Cells, cell: np.ndarray, face: np.ndarray) -> Sides:
    assert cells.penalised is not None
    own = {k: v[cell] for k, v in cells.material.items()}
    across = {k: v[cell, face] for k, v in cells.penalised.across.items()}
    scale = form.unit * cells.areas[cell, face] / (3.0 * cells.volume[cell])
    return Sides(form.law, cells.normals[cell, face], cells.tangents[cell, face], own, across, scale)


__all__ = ["PenaltyBuffers"]
