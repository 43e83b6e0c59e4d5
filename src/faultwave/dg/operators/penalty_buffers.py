"""Buffers of a penalty on a backend, their slots for penalised faces, and the exchange of their values between cells."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from faultwave.backends import Backend
from faultwave.backends.base import Bound
from faultwave.comm.exchange import Channel, Kind
from faultwave.dg.method.forms import Cells, Form
from faultwave.dg.operators.layout import MeshLayout, part_slots
from faultwave.dg.penalties import Penalised, Sides, penalty_fluxes

SHOWN: Kind = "shown"


@dataclass(frozen=True)
class PenaltyPlaces:
    """Slots as in ``Layout``, for penalised faces only; 0 for other faces. ``own`` (positions, 4) has the row of each face."""

    own: np.ndarray
    incoming: np.ndarray
    outgoing: np.ndarray
    slots: int
    for_faster: np.ndarray
    sums: np.ndarray
    channels: tuple[Channel, ...]


def penalty_places(layout: MeshLayout, faces: np.ndarray) -> PenaltyPlaces:
    """Return the slots of the penalised ``faces`` (nc, 4)."""
    lay, slots = layout.cells, layout.waves
    chosen = np.zeros(lay.own.shape, bool)
    chosen[lay.position] = faces
    left = chosen & (slots.for_faster > 0)
    used = [*(s[chosen] for s in (*slots.incoming, *slots.outgoing, *slots.sums))]
    waves = _numbers(lay.wave_slots, [*used, *(slots.for_faster[left] + p for p in range(lay.parts))])
    own = np.zeros(chosen.shape, np.int64)
    own[chosen] = 1 + np.arange(chosen.sum())
    mine = [np.where(chosen, waves[s], 0) for s in (slots.incoming, slots.outgoing, slots.for_faster, slots.sums)]
    incoming, outgoing, for_faster, sums = mine
    channels = [_channel(c, layout, chosen, waves) for c in lay.channels]
    return PenaltyPlaces(
        own, incoming, outgoing, int(waves.max()) + 1, for_faster, sums, tuple(x for x in channels if x is not None)
    )


def _numbers(size: int, used: list[np.ndarray]) -> np.ndarray:
    """Return new numbers (size,) of the used slots, from 1 in the same order; 0 elsewhere."""
    marked = np.zeros(size, bool)
    for slots in used:
        marked[slots] = True
    marked[0] = False  # slot 0 is a dummy
    return np.where(marked, np.cumsum(marked), 0)


def _channel(c: Channel, layout: MeshLayout, chosen: np.ndarray, waves: np.ndarray) -> Channel | None:
    """Return the part of a channel that concerns penalised faces, or None."""
    at = layout.cells.position[c.cells], c.faces
    some = chosen[at]
    if not some.any():
        return None
    at = at[0][some], at[1][some]
    first = int(waves[layout.waves.incoming[:, *at]].min())
    rows, arriving = np.repeat(some, c.count // len(some)), c.received // len(some) * int(some.sum())
    return replace(
        c, send=SHOWN, send_rows=waves[c.send_rows[:, rows]], receive=SHOWN, first=first, cells=c.cells[some],
        faces=c.faces[some], arriving=arriving,
    )  # fmt: skip


class PenaltyBuffers:
    """Buffers of the penalised faces of an operator."""

    @classmethod
    def make(cls, form: Form, backend: Backend, layout: MeshLayout, cells: Cells) -> PenaltyBuffers | None:
        """Return the buffers, or None if no face of any process has a penalty."""
        return cls(form, backend, layout, cells) if cells.penalised is not None else None

    def __init__(self, form: Form, backend: Backend, layout: MeshLayout, cells: Cells):
        assert cells.penalised is not None
        penalty = penalty_fluxes()[cells.penalised.name].make(form.law)
        self.backend, self.penalised = backend, Penalised(form, penalty)
        faces = cells.penalised.faces
        self.places = penalty_places(layout, faces)
        where, size = self.places, self.penalised.b2 * self.penalised.faced
        cell, face = np.nonzero(faces)
        own = where.own[layout.cells.position[cell], face]
        values = penalty.columns.join(penalty.constants(_sides(form, cells, cell, face)))
        self.sides = backend.store(1 + len(cell), penalty.columns.size)
        self.sides.put(np.zeros((1, penalty.columns.size)), slice(0, 1))
        self.sides.put(values, own)
        self.held = backend.store(1 + len(cell), size)
        self.shown = backend.store(where.slots, size)
        self.own, self.part_slots = (
            backend.index(where.own),
            backend.index(part_slots(where.for_faster, layout.cells.parts)),
        )
        self.sum_slots = [backend.index(slots) for slots in where.sums]
        self.incoming = [backend.index(slots) for slots in where.incoming]
        self.outgoing = [backend.index(slots) for slots in where.outgoing]

    def bound(self, turn: int, sums: int) -> dict[str, Bound]:
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
