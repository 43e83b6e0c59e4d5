"""Where penalised faces leave what they show: they do as waves do, in slots of their own that only they have."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from faultwave.comm.exchange import Channel, Kind
from faultwave.dg.layout import Layout, Ranged, ranged

KINDS: dict[Kind, Kind] = {"wave": "shown", "series": "shown series"}


@dataclass(frozen=True)
class Places:
    """As in ``Layout``, of penalised faces only; 0 where a face is not. ``own`` (positions, 4): row of a face as its cell sees it."""

    own: np.ndarray
    incoming: np.ndarray
    outgoing: np.ndarray
    slots: int
    slow: np.ndarray
    slow_slots: int
    slower: Ranged
    channels: tuple[Channel, ...]


def places(lay: Layout, faces: np.ndarray, lanes: int) -> Places:
    """Of the ``faces`` (nc, 4) that are penalised."""
    chosen = np.zeros(lay.own.shape, bool)
    chosen[lay.position] = faces
    rows, sizes = lay.slower.rows, [end - begin for begin, end in lay.slower.ranges]
    mine = np.zeros(lay.wave_slots, bool)
    mine[lay.own[chosen]] = True
    kept, group = mine[rows[:, 0]], np.repeat(np.arange(len(sizes)), sizes)
    rows, group = rows[kept], group[kept]
    waves = _numbers(lay.wave_slots, [*(s[chosen] for s in (*lay.incoming, *lay.outgoing)), rows[:, :3]])
    series = _numbers(lay.slow_slots, [lay.slow[chosen & (lay.slow > 0)], rows[:, 3]])
    trash = int(waves.max()) + 1
    own = np.zeros(chosen.shape, np.int64)
    own[chosen] = 1 + np.arange(chosen.sum())
    near = np.zeros(lay.wave_slots, np.int64)
    near[rows[:, 0]] = rows[:, 3]
    mapped = np.concatenate([waves[rows[:, :3]], series[rows[:, 3:]]], 1)
    return Places(
        own,
        np.where(chosen, waves[lay.incoming], 0),
        np.where(chosen, waves[lay.outgoing], 0),
        trash + 1,
        np.where(chosen, series[lay.slow], 0),
        int(series.max()) + 1,
        ranged(mapped, group, len(sizes), lanes, np.array([trash, trash, trash, 0])),
        tuple(x for x in (_channel(c, lay, chosen, waves, series, near) for c in lay.channels) if x is not None),
    )


def _numbers(size: int, used: list[np.ndarray]) -> np.ndarray:
    """New numbers (size,) of the slots that are used, from 1 in the same order; 0 elsewhere."""
    marked = np.zeros(size, bool)
    for slots in used:
        marked[slots] = True
    return np.where(marked, np.cumsum(marked), 0)


def _channel(
    c: Channel, lay: Layout, chosen: np.ndarray, waves: np.ndarray, series: np.ndarray, near: np.ndarray
) -> Channel | None:
    """What of a channel is about penalised faces."""
    at = lay.position[c.cells], c.faces
    some = chosen[at]
    if not some.any():
        return None
    at = at[0][some], at[1][some]
    sent = waves if c.send == "wave" else series
    got = waves[lay.incoming[0][at]] if c.receive == "wave" else series[near[lay.own[at]]]
    return replace(
        c, send=KINDS[c.send], send_rows=sent[c.send_rows[:, some]], receive=KINDS[c.receive], first=int(got.min()),
        cells=c.cells[some], faces=c.faces[some],
    )  # fmt: skip


__all__ = ["Places", "places"]
