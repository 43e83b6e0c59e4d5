"""Face between two blocks of a grid whose spacings have a ratio of two or three, the lower block being coarser.

Differences across the face use the other block's values on it (``differences``). Tractions are exchanged before
velocities are stepped, and velocities before stresses. Both directions are interpolated by weights that are
transposes of each other (``domain.grids``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave import backends
from faultwave.backends.grid import HostHaloBuffer
from faultwave.comm import World
from faultwave.comm.compression import CompressionLoss
from faultwave.comm.messages import Target, swap
from faultwave.comm.packing import box_source, box_target
from faultwave.domain.grids import Axis
from faultwave.fd.method.differences import WHOLE
from faultwave.fd.method.grid import HALF
from faultwave.fd.method.stencils import beyond
from faultwave.fd.operators.operator import Operator
from faultwave.kernels.stencil import Box

EXCHANGED_FIELDS: tuple[tuple[str, ...], ...] = (("szz", "sxz", "syz"), ("w", "u", "v"))
"""Fields exchanged between blocks before velocities, and before stresses."""
TAG = 78
Range = tuple[int, int]
Rectangle = tuple[Range, Range]
"""Ranges of points along y and x in a plane."""


@dataclass(frozen=True)
class Piece:
    """Part of a plane that one process needs of another.

    Attributes
    ----------
    source : tuple of slice
        Position in the plane of the owning process.
    target : tuple of slice
        Position in the plane of the receiving process.
    """

    source: tuple[slice, slice]
    target: tuple[slice, slice]


def pieces(needed: Rectangle, owned: Rectangle, size: tuple[int, int], around: tuple[bool, bool]) -> list[Piece]:
    """Return the pieces of the rectangle ``needed`` within ``owned``, with periodic images along axes ``around``."""
    along: list[list[tuple[slice, slice]]] = []
    for (low, high), (first, last), count, periodic in zip(needed, owned, size, around, strict=True):
        found = []
        for shift in (-count, 0, count) if periodic else (0,):
            a, b = max(low, first + shift), min(high, last + shift)
            if a < b:
                found.append((slice(a - shift - first, b - shift - first), slice(a - low, b - low)))
        along.append(found)
    return [Piece((y[0], x[0]), (y[1], x[1])) for y in along[0] for x in along[1]]


Boxes = Sequence[tuple[str, Box]]


class _Reading:
    """Reader of planes of arrays on the host, either views of its memory or copies from the device."""

    def __init__(self, listed: Any, boxes: Boxes, dtype: np.dtype):
        self._views = _views(listed)
        self._boxes, self._dtype = boxes, dtype
        self._message = None if self._views else box_source(listed, dtype, "exact", CompressionLoss(), False)

    def planes(self) -> list[np.ndarray]:
        """Return the current planes."""
        if self._message is None:
            return self._views
        self._message.pack(0)
        self._message.finish()
        return _cut(self._message.buffer, self._boxes, self._dtype)


class _Writing:
    """Writer of planes of arrays from the host.

    ``planes`` are views of the memory of the host, or buffers that are transferred to the device.
    """

    def __init__(self, listed: Any, boxes: Boxes, dtype: np.dtype):
        self.planes: list[np.ndarray] = _views(listed)
        self._boxes, self._dtype = boxes, dtype
        self._message: Target | None = None
        if not self.planes:
            self._message = box_target(listed, dtype, "exact", False)
            self.planes = [np.empty(box.shape[1:], dtype) for _, box in boxes]

    def done(self) -> None:
        """Transfer the planes after all of them were filled."""
        if self._message is not None:
            self._message.ready()
            for to, plane in zip(_cut(self._message.buffer, self._boxes, self._dtype), self.planes, strict=True):
                to[...] = plane
            self._message.unpack()


def _views(listed: Any) -> list[np.ndarray]:
    """Return views of the planes if they are in host memory, else an empty list."""
    return [view[0] for view in listed.views] if isinstance(listed, HostHaloBuffer) else []


def _cut(buffer: Any, boxes: Boxes, dtype: np.dtype) -> list[np.ndarray]:
    """Return the planes of a message."""
    values, ends = np.asarray(buffer).reshape(-1).view(dtype), np.cumsum([box.points for _, box in boxes])
    parts = np.split(values[: ends[-1]], ends[:-1])
    return [part.reshape(box.shape[1:]) for part, (_, box) in zip(parts, boxes, strict=True)]


class PlaneExchange:
    """Exchange of planes from one block to the adjacent one.

    Attributes
    ----------
    source, target : Operator
        Sending and receiving block.
    above : bool
        True if the sending block is the upper one.
    world : World
    needed : list of Rectangle
        Points of the sending block that each process needs.
    out, into : dict of list of Piece
        Pieces sent to and received from each process.
    """

    def __init__(self, source: Operator, target: Operator, above: bool, ratio: int, world: World):
        self.source, self.target, self.above, self.world = source, target, above, world
        self.axes = {
            name: [Axis(ratio, bool(HALF[name][k])) for k in (1, 0)] for names in EXCHANGED_FIELDS for name in names
        }
        first = self.axes["w"]
        self.wanted = [_rectangle(box) for box in _everywhere(world, target.box)]
        self.needed: list[Rectangle] = []
        for (y0, y1), (x0, x1) in self.wanted:
            self.needed.append((first[0].needed(y0, y1, not above), first[1].needed(x0, x1, not above)))
        owned = [_rectangle(box) for box in _everywhere(world, source.subdomain.owned.box)]
        grid, me = source.scheme.grid, world.rank
        around = ("y" in source.scheme.periodic, "x" in source.scheme.periodic)
        size = grid.shape[1:]
        self.out = {rank: pieces(self.needed[rank], owned[me], size, around) for rank in range(world.size)}
        self.into = {rank: pieces(self.needed[me], owned[rank], size, around) for rank in range(world.size)}
        self.own = owned[me]
        self._reads, self._writes = dict[tuple[str, ...], _Reading](), dict[tuple[str, ...], _Writing]()
        dtype = source.runner.values("u").dtype
        self.dtype = np.dtype(dtype)
        for names in EXCHANGED_FIELDS:
            boxes = [(name, _plane(_face(source, name, above), self.own)) for name in names]
            self._reads[names] = _Reading(source.runner.halo_buffer(boxes), boxes, self.dtype)
            filled = [(beyond(name, above), _plane(0, self.wanted[me])) for name in names]
            self._writes[names] = _Writing(target.runner.halo_buffer(filled), filled, self.dtype)
        self._prepare(target.backend)

    def tell(self, names: tuple[str, ...]) -> None:
        """Exchange the fields ``names``; a collective call of all processes."""
        self._gather(self._reads[names].planes())
        for name in names:
            self._products[name]()
        self._writes[names].done()

    def _gather(self, owned: Sequence[np.ndarray]) -> None:
        """Collect the points that this process needs from their owners; points beyond the grid remain zero."""
        me = self.world.rank
        for piece in self.into[me]:
            for to, plane in zip(self._needed, owned, strict=True):
                to[piece.target] = plane[piece.source]
        if self.world.size > 1:
            out = {
                rank: np.concatenate([plane[p.source].reshape(-1) for plane in owned for p in listed])
                for rank, listed in self.out.items()
                if rank != me and listed
            }
            into = {
                rank: np.empty(len(owned) * sum(_points(p.target) for p in listed), self.dtype)
                for rank, listed in self.into.items()
                if rank != me and listed
            }
            swap(self.world.mpi, TAG, out, into, "planes between blocks")
            self._unpack(into, self._needed)

    def _unpack(self, into: Mapping[int, np.ndarray], found: Sequence[np.ndarray]) -> None:
        for rank, values in into.items():
            at = 0
            for plane in found:
                for piece in self.into[rank]:
                    part = plane[piece.target]
                    part[...] = values[at : at + part.size].reshape(part.shape)
                    at += part.size

    def _prepare(self, backend: str) -> None:
        """Prepare the interpolation of each field from its collected plane to the plane of the receiving block."""
        me = self.world.rank
        needed = self.needed[me]
        self._needed = [np.zeros([b - a for a, b in needed], self.dtype) for _ in EXCHANGED_FIELDS[0]]
        self._products = {}
        for at, n, name in ((reported, n, name) for reported in EXCHANGED_FIELDS for n, name in enumerate(reported)):
            into = self._writes[at].planes[n]
            self._products[name] = backends.plane_product(backend, *self._bands(name), self._needed[n], into)

    def _bands(self, name: str) -> tuple[backends.Band, backends.Band]:
        """Return the interpolation weights along y and x of the points of the receiving plane."""
        me = self.world.rank
        rows, columns = (
            (axis.coarser if self.above else axis.finer)(start, low, high)
            for axis, (start, _), (low, high) in zip(self.axes[name], self.needed[me], self.wanted[me], strict=True)
        )
        return rows, columns

    def transfers(self, names: tuple[str, ...], source: int, target: int) -> list[backends.Transfer]:
        """Return the exchange as transfers between the blocks ``source`` and ``target`` of one process."""
        needed, own = self.needed[self.world.rank], self.own
        first, width = (own[0][0] - needed[0][0], own[1][0] - needed[1][0]), needed[1][1] - needed[1][0]
        planes = zip(names, self._reads[names].planes(), self._writes[names].planes, strict=True)
        return [
            backends.Transfer(source, target, *self._bands(name), read, first, width, written)
            for name, read, written in planes
        ]


class Interface:
    """Exchange between the blocks ``upper`` and ``lower``; every process of ``world`` owns a part of both."""

    def __init__(self, upper: Operator, lower: Operator, world: World):
        ratio = round(lower.scheme.grid.spacing / upper.scheme.grid.spacing)
        self.told = (PlaneExchange(upper, lower, True, ratio, world), PlaneExchange(lower, upper, False, ratio, world))

    def tell(self, stage: int) -> None:
        """Exchange the fields needed before velocities (stage 0) or stresses (stage 1) are stepped."""
        for reported in self.told:
            reported.tell(EXCHANGED_FIELDS[stage])

    def transfers(self, stage: int, upper: int) -> list[backends.Transfer]:
        """Return the exchange as transfers between the block of number ``upper`` and the next."""
        down, up = self.told
        return down.transfers(EXCHANGED_FIELDS[stage], upper, upper + 1) + up.transfers(
            EXCHANGED_FIELDS[stage], upper + 1, upper
        )


def _everywhere(world: World, box: Box) -> list[Box]:
    """Return the boxes of all processes."""
    return [box] if world.size == 1 else list(world.mpi.allgather(box))


def _rectangle(box: Box) -> Rectangle:
    return (box.lo[1], box.hi[1]), (box.lo[2], box.hi[2])


def _plane(number: int, of: Rectangle) -> Box:
    return Box((number, of[0][0], of[1][0]), (number + 1, of[0][1], of[1][1]))


def _face(of: Operator, name: str, lower: bool) -> int:
    """Return the plane of the arrays on the lower or upper face of a block."""
    return -1 if lower else of.scheme.grid.shape[0] - (name in WHOLE)


def _points(part: tuple[slice, slice]) -> int:
    y, x = part
    return (y.stop - y.start) * (x.stop - x.start)
