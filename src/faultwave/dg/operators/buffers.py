"""Buffers of an operator on a backend: degrees of freedom, constants of cells and faces, waves and their slots."""

from __future__ import annotations

import numpy as np

from faultwave.backends import Backend
from faultwave.backends.base import Buffer
from faultwave.base.processes.pieces import in_pieces
from faultwave.dg.method.forms import Cells, Form
from faultwave.dg.method.outgoing_waves import store_rows
from faultwave.dg.operators.layout import MeshLayout, part_slots
from faultwave.dg.operators.penalty_buffers import PenaltyBuffers
from faultwave.dg.operators.rounding import spread


class Buffers:
    """Buffers of the cells of one process, with the constants filled in.

    Attributes
    ----------
    form : Form
        Equations of the wave law in one cell.
    backend : Backend
        Hardware that holds the buffers.
    layout : Layout
        Order of the cells in memory and the slots of their waves; without the waves' slots, which the buffers hold.
    cells : Cells
        Geometry, neighbours and material of the cells.
    flows : bool
        True if the velocity on both sides of frictional faces is stored.
    q : batch buffer, rows (B3, Q)
        Modal degrees of freedom in the components of ``form``.
    remainder : batch buffer or None
        Rounding errors of sums in ``q``, if sums are compensated.
    own_waves : batch buffer
        Sums u = T + Z_R v of each face until the next correction.
    waves, history, friction : store
        Outgoing waves, coefficients of predictions, and face time expansions.
    cell, face : batch buffer
        Constants of cells and faces.
    incoming, outgoing : list of buffer
        Slots of the waves that are read and written, by number of the step.
    history_slot, friction_slots, part_slots, sum_slots
        Slots of ``history``, of ``friction``, and of waves for faster and slower neighbours.
    penalty : PenaltyBuffers or None
        Buffers of penalised faces.
    """

    def __init__(
        self,
        form: Form,
        backend: Backend,
        layout: MeshLayout,
        cells: Cells,
        compensated: bool = False,
        flows: bool = False,
    ):
        """Allocate the buffers and fill the constants.

        Parameters
        ----------
        form, backend, layout, cells, flows
            See the attributes of the class; ``layout`` with the slots of waves.
        compensated : bool
            Allocate ``remainder``.
        """
        b, lay, slots = backend, layout.cells, layout.waves
        size = len(lay.cell_at)
        self.form, self.backend, self.cells, self.flows = form, backend, cells, flows
        self.layout = lay
        self.q = b.batch(size, form.b3, form.Q)
        self.remainder = b.batch(size, form.b3, form.Q) if compensated else None
        self.own_waves = b.batch(size, 4 * form.b2, form.faced, narrow=form.narrow)
        self.waves = b.store(lay.wave_slots, form.b2 * form.faced, narrow=form.narrow)
        self.history = b.store(lay.history.count, sum(form.predictor.rows) * form.Q)
        self.friction = b.store(lay.friction.count, store_rows(form, flows) * form.faced)
        self.cell = b.batch(size, 1, form.cell_size)
        self.face = b.batch(size, *form.face_shape, narrow=form.narrow_faces)
        ranges = [*lay.observed_ranges, *lay.storing_ranges, *lay.plain_ranges]
        b.first_touch([self.q, self.own_waves, self.waves, self.cell, self.face], ranges)
        self._fill_constants()
        self.incoming = [b.index(turn) for turn in slots.incoming]
        same = slots.incoming is slots.outgoing
        self.outgoing = self.incoming if same else [b.index(turn) for turn in slots.outgoing]
        self.history_slot = b.index(lay.history.slots[:, None])
        special = any(end > begin for begin, end in (*lay.observed_ranges, *lay.storing_ranges))
        self.friction_slots = b.index(lay.friction.slots) if special else None
        faster, slower = bool((slots.for_faster > 0).any()), bool((slots.sums > 0).any())
        self.part_slots = b.index(part_slots(slots.for_faster, lay.parts)) if faster else None
        self.sum_slots = [b.index(turn) for turn in slots.sums] if slower else []
        self.penalty = PenaltyBuffers.make(form, b, layout, cells)

    def _constants(self, cells: Cells) -> np.ndarray:
        """Return the constants of the cells (nc, columns).

        In single precision the moduli are dithered (``rounding.spread``): waves depend on their means over many cells.
        """
        values = self.form.cell_constants(cells)
        if self.backend.dtype is np.float64:
            return values
        places = self.form.cell_columns.places
        columns = [i for name in self.form.moduli for i in range(places[name].start, places[name].stop)]
        assert cells.numbers is not None  # set by ``Cells.of``
        values[:, columns] = spread(values[:, columns], cells.numbers)
        return values

    def _fill_constants(self) -> None:
        """Fill the constants of cells and faces.

        On the host they are computed in pieces, so that no second copy of all of them is held.
        """
        source = np.maximum(self.layout.cell_at, 0)  # padding repeats a real cell: its numbers stay finite

        def fill(piece: slice | None) -> None:
            cells = self.cells.of(source if piece is None else source[piece])
            self.cell.put(self._constants(cells)[:, None], piece)
            self.face.put(self.form.face_constants(cells), piece)

        if self.backend.capabilities.asynchronous:
            fill(None)
        else:
            in_pieces(fill, len(source))

    def fill(self, buffer: Buffer, values: np.ndarray) -> None:
        """Copy values (nc, rows, columns) of the mesh's cells into a buffer; padding repeats a real cell."""
        buffer.put(values[np.maximum(self.layout.cell_at, 0)])

    def per_cell(self, values: np.ndarray) -> Buffer:
        """Return a batch buffer with constants of the cells (nc, columns)."""
        made = self.backend.batch(len(self.layout.cell_at), 1, values.shape[1])
        self.fill(made, values[:, None])
        return made

    def take_memory(self) -> None:
        """Start to allocate the pages of buffers that are first written in a step, concurrently with the remaining setup."""
        self.backend.take_memory([self.q, self.own_waves, self.waves, self.history, self.friction])

    def nbytes(self) -> int:
        """Return the memory of all buffers [bytes]."""
        optional = (self.remainder, self.part_slots)
        buffers = [
            self.q, self.own_waves, self.waves, self.history, self.friction, self.cell, self.face, *self.incoming,
            *([] if self.outgoing is self.incoming else self.outgoing), *(x for x in optional if x is not None),
            *self.sum_slots,
        ]  # fmt: skip
        return sum(b.nbytes for b in buffers) + (self.penalty.nbytes() if self.penalty else 0)
