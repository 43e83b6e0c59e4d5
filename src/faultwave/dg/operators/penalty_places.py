"""Slots of the values that penalised faces publish, arranged like waves but for penalised faces only."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from faultwave.comm.exchange import Channel, Kind
from faultwave.dg.operators.layout import Layout

SHOWN: Kind = "shown"


@dataclass(frozen=True)
class Places:
    """Slots as in ``Layout``, for penalised faces only; 0 for other faces. ``own`` (positions, 4) has the row of each face."""

    own: np.ndarray
    incoming: np.ndarray
    outgoing: np.ndarray
    slots: int
    for_faster: np.ndarray
    sums: np.ndarray
    channels: tuple[Channel, ...]


def places(lay: Layout, faces: np.ndarray) -> Places:
    """Return the slots of the penalised ``faces`` (nc, 4)."""
    chosen = np.zeros(lay.own.shape, bool)
    chosen[lay.position] = faces
    left = chosen & (lay.for_faster > 0)
    used = [*(s[chosen] for s in (*lay.incoming, *lay.outgoing, *lay.sums))]
    waves = _numbers(lay.wave_slots, [*used, *(lay.for_faster[left] + p for p in range(lay.parts))])
    own = np.zeros(chosen.shape, np.int64)
    own[chosen] = 1 + np.arange(chosen.sum())
    mine = [np.where(chosen, waves[s], 0) for s in (lay.incoming, lay.outgoing, lay.for_faster, lay.sums)]
    incoming, outgoing, for_faster, sums = mine
    channels = [_channel(c, lay, chosen, waves) for c in lay.channels]
    return Places(
        own, incoming, outgoing, int(waves.max()) + 1, for_faster, sums, tuple(x for x in channels if x is not None)
    )


def _numbers(size: int, used: list[np.ndarray]) -> np.ndarray:
    """Return new numbers (size,) of the used slots, from 1 in the same order; 0 elsewhere."""
    marked = np.zeros(size, bool)
    for slots in used:
        marked[slots] = True
    marked[0] = False  # slot 0 is a dummy
    return np.where(marked, np.cumsum(marked), 0)


def _channel(c: Channel, lay: Layout, chosen: np.ndarray, waves: np.ndarray) -> Channel | None:
    """Return the part of a channel that concerns penalised faces, or None."""
    at = lay.position[c.cells], c.faces
    some = chosen[at]
    if not some.any():
        return None
    at = at[0][some], at[1][some]
    first = int(waves[lay.incoming[:, *at]].min())
    rows, arriving = np.repeat(some, c.count // len(some)), c.received // len(some) * int(some.sum())
    return replace(
        c, send=SHOWN, send_rows=waves[c.send_rows[:, rows]], receive=SHOWN, first=first, cells=c.cells[some],
        faces=c.faces[some], arriving=arriving,
    )  # fmt: skip


__all__ = ["Places", "places"]
