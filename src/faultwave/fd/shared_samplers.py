"""Samplers of a grid that several processes share.

Each place belongs to the process in whose box it lies; values on the other side of the border are sent by the
neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.comm import World
from faultwave.comm.messages import swap
from faultwave.fd.method.grid_block import Subdomain
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.operators.overlap import ProcessPartition
from faultwave.fd.operators.points import Sampler, near
from faultwave.kernels.stencil import SampleBuffer

Make = Callable[[np.ndarray], Sampler]
"""Factory of the sampler of places (n, 3) [m] of one process."""

TAG = 77
ANY = "u"
"""Name of an array that every process has."""


def sampler_of(partition: ProcessPartition | None, scheme: Scheme, places: np.ndarray, make: Make) -> Sampler:
    """Return ``make(places)`` for a whole grid, or a ``SharedSampler`` if processes share it."""
    return (
        make(places) if partition is None else SharedSampler(partition.world, partition.subdomain, scheme, places, make)
    )


@dataclass(frozen=True)
class _Column:
    """Columns of one sample buffer: destination of the values recorded here, and number of values of the own receivers."""

    own_index: np.ndarray  # column of the buffer here -> index among own points, -1 for others
    count: int  # number of points of the own receivers


class SharedSampler:
    """Sampler of the places of one process, with exchange of values across borders.

    Attributes
    ----------
    mine : ndarray of int
        Indices of the places whose values this process receives.
    sampler : Sampler
        Sampler of these places.
    sample_buffers : list of SampleBuffer
        Points that this process owns, for its own places and for neighbours.
    columns : list of _Column
        Destination of each buffer's values.
    out, into : dict of int to list
        Buffers and columns that are sent to, or received from, each rank.
    """

    def __init__(self, world: World, subdomain: Subdomain, scheme: Scheme, places: np.ndarray, make: Make):
        self.world = world
        owner = subdomain.cut.rank_of(scheme.grid.cell(places))
        self.mine = np.flatnonzero(owner == subdomain.rank)
        self.sampler = make(places[self.mine])
        self.shape = self.sampler.shape
        close = np.flatnonzero(near(scheme, subdomain.owned.box, places))
        around = make(places[close])
        self.sample_buffers: list[SampleBuffer] = []
        self.columns: list[_Column] = []
        self.out: dict[int, list[tuple[int, np.ndarray]]] = {}  # rank -> sample buffer and the columns sent to it
        self.into: dict[
            int, list[tuple[int, np.ndarray]]
        ] = {}  # rank -> sample buffer and the own points received from it
        for number, buffer in enumerate(around.sample_buffers):
            each = len(buffer.points) // max(1, len(close))
            receiver = np.repeat(close, each)
            here, requested = (
                subdomain.cut.rank_of(buffer.points) == subdomain.rank,
                owner[receiver] == subdomain.rank,
            )
            array = buffer.array if here.any() else ANY  # a process may lack arrays that have no points in its box
            self.sample_buffers.append(SampleBuffer(buffer.level, array, buffer.points[here]))
            place = np.full(len(receiver), -1)
            place[requested] = np.arange(requested.sum())
            self.columns.append(_Column(place[here], int(requested.sum())))
            for rank in np.unique(owner[receiver[here & ~requested]]):
                columns = np.flatnonzero(owner[receiver[here]] == rank)
                self.out.setdefault(int(rank), []).append((number, columns))
            elsewhere = subdomain.cut.rank_of(buffer.points)
            for rank in np.unique(elsewhere[requested & ~here]):
                self.into.setdefault(int(rank), []).append((number, place[requested & (elsewhere == rank)]))

    def values(self, sample_buffers: Sequence[np.ndarray]) -> np.ndarray:
        """Return the values at ``mine``; all processes must call it after the same number of steps."""
        steps = len(sample_buffers[0])
        full = [np.zeros((steps, c.count), t.dtype) for c, t in zip(self.columns, sample_buffers, strict=True)]
        for to, buffer, column in zip(full, sample_buffers, self.columns, strict=True):
            ours = column.own_index >= 0
            to[:, column.own_index[ours]] = buffer[:, ours]
        out = {
            rank: np.concatenate([sample_buffers[number][:, columns] for number, columns in listed], 1)
            for rank, listed in self.out.items()
        }
        found = {
            rank: np.empty((steps, sum(len(places) for _, places in listed)), full[0].dtype)
            for rank, listed in self.into.items()
        }
        if out or found:
            swap(self.world.mpi, TAG, out, found, "values at receivers")
        for rank, listed in self.into.items():
            at = 0
            for number, places in listed:
                full[number][:, places] = found[rank][:, at : at + len(places)]
                at += len(places)
        return self.sampler.values(full) if len(self.mine) else np.zeros((steps, 0, *self.shape))
