"""Arrays of a stencil program in host memory: groups of fields with interleaved rows, padded with zeros.

Rows of the fields of a group alternate: all fields of a point lie within a few pages, and one address reaches them all.
The padding left of a row is also the padding right of the previous row.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.kernels.stencil import Box, Layout, Program, row_scalars


@dataclass(frozen=True)
class Strides:
    """Strides between planes and between rows, and the offset of the array in its group, in elements."""

    plane: int
    row: int
    offset: int


class GridArrays:
    """Arrays of a program; ``pad`` is the number of elements left of each row, one vector or more."""

    def __init__(self, program: Program, dtype: type, pad: int):
        self.program, self.dtype = program, np.dtype(dtype)
        self.pad = max(pad, 2 * program.reach)
        self.storage: dict[str, np.ndarray] = {}
        self.strides: dict[str, Strides] = {}
        self.origin: dict[str, int] = {}  # element of the group's storage that point (0, 0, 0) would have
        self.group: dict[str, str] = {}
        groups: dict[str, list[str]] = {}
        for name, layout in program.arrays.items():
            groups.setdefault(layout.group or f"={name}", []).append(name)
        of_rows = row_scalars(program)
        for group, names in groups.items():
            self._allocate(group, names, program.arrays[names[0]], of_rows.issuperset(names))

    def _allocate(self, group: str, names: list[str], layout: Layout, tight: bool) -> None:
        """Allocate the arrays of a group; ``tight``: rows have one element, which no vector reads."""
        box = layout.box
        if len(names) > 1 and any(self.program.arrays[n] != layout or layout.kind != "grid" for n in names):
            raise ValueError(f"the arrays {', '.join(names)} of one group differ in box or kind")
        dtype = np.dtype(np.float16) if layout.half and self.dtype == np.float32 else self.dtype
        nz, ny, nx = box.shape
        if layout.kind == "line":
            nz = ny = 1
            nx = box.shape["zyx".index(layout.axis)]
        halo = layout.halo if layout.kind == "grid" else 0
        before = self.pad if halo or layout.kind != "grid" else 0
        length = 1 if tight else before + -(-nx // self.pad) * self.pad
        row = length * len(names)
        if row * dtype.itemsize % 4096 == 0:
            row += 64 // dtype.itemsize  # rows with a stride of a page would map to the same few cache sets
        plane = row * (ny + 2 * halo)
        size = plane * (nz + 2 * halo) + 2 * self.pad
        raw = np.zeros(size * dtype.itemsize + 64, np.uint8)
        start = -raw.ctypes.data % 64
        self.storage[group] = raw[start : start + size * dtype.itemsize].view(dtype)
        lo = box.lo if layout.kind == "grid" else (0, 0, box.lo[2])
        if layout.kind == "line":
            plane = row = 0
            lo = (0, 0, box.lo["zyx".index(layout.axis)])
        for i, name in enumerate(names):
            self.group[name] = group
            self.strides[name] = Strides(plane, row, i * length)
            self.origin[name] = self.pad + i * length + (halo - lo[0]) * plane + (halo - lo[1]) * row - lo[2]

    def view(self, name: str, halo: int = 0) -> np.ndarray:
        """Return a view (nz, ny, nx) with ``halo`` points around (grids only); lines are (n,), parity tables (2, 2, nx)."""
        layout, strides, storage = self.program.arrays[name], self.strides[name], self.storage[self.group[name]]
        lo, hi = layout.box.lo, layout.box.hi
        if layout.kind == "line":
            k = "zyx".index(layout.axis)
            start = self.origin[name] + lo[k]
            return storage[start : start + hi[k] - lo[k]]
        if layout.kind == "parity":
            lo, hi, halo = (0, 0, lo[2]), (2, 2, hi[2]), 0
        if halo > layout.halo:
            raise ValueError(f"{name} has a halo of {layout.halo} points, not {halo}")
        first = self.origin[name] + (lo[0] - halo) * strides.plane + (lo[1] - halo) * strides.row + lo[2] - halo
        shape = tuple(b - a + 2 * halo for a, b in zip(lo, hi, strict=True))
        item = storage.itemsize
        return np.ndarray(shape, storage.dtype, storage, first * item, (strides.plane * item, strides.row * item, item))

    def address(self, name: str) -> int:
        """Return the address of point (0, 0, 0) of the array, which may lie outside it."""
        storage = self.storage[self.group[name]]
        return int(storage.ctypes.data) + self.origin[name] * storage.itemsize

    def within(self, name: str, box: Box) -> np.ndarray:
        """Return a view of a box of an array, which may lie in its halo."""
        layout = self.program.arrays[name]
        low = [a - b + layout.halo for a, b in zip(box.lo, layout.box.lo, strict=True)]
        view = self.view(name, layout.halo)
        if min(low) < 0 or any(a + n > full for a, n, full in zip(low, box.shape, view.shape, strict=True)):
            raise ValueError(f"the box {box} leaves the array {name} of {layout.box}")
        return view[tuple(slice(a, a + n) for a, n in zip(low, box.shape, strict=True))]

    def finite(self, names: Iterable[str]) -> bool:
        """Return True if the sum of each array is finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            return all(bool(np.isfinite(self.view(name).sum(dtype=np.float64))) for name in names)

    @functools.cached_property
    def half_precision(self) -> frozenset[str]:
        """Names of the arrays stored in half precision."""
        return frozenset(n for n, group in self.group.items() if self.storage[group].dtype == np.float16)

    @property
    def nbytes(self) -> int:
        return sum(s.nbytes for s in self.storage.values())


class HostHaloBuffer:
    """Message buffer of boxes of arrays in host memory."""

    def __init__(self, arrays: GridArrays, listed: Sequence[tuple[str, Box]]):
        self.views = [arrays.within(name, box) for name, box in listed]
        self.size = sum(v.size for v in self.views)

    def pack(self, into: np.ndarray) -> None:
        at = 0
        for view in self.views:
            into[at : at + view.size].reshape(view.shape)[...] = view
            at += view.size

    def unpack(self, values: np.ndarray) -> None:
        at = 0
        for view in self.views:
            view[...] = values[at : at + view.size].reshape(view.shape)
            at += view.size


def ends(array: np.ndarray, axis: int, halo: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return two pairs (halo, equal interior points) of views along a periodic axis.

    ``axis`` is 0 for z, 1 for y, 2 for x; ``array`` is (nz, ny, nx) with its ``halo``.
    """
    a = np.moveaxis(array, axis, 0)
    return [(a[:halo], a[-2 * halo : -halo]), (a[-halo:], a[halo : 2 * halo])]


def wrap_axis(array: np.ndarray, axis: int, halo: int) -> None:
    """Fill the halo along a periodic axis (0: z, 1: y, 2: x) of an array (nz, ny, nx) that includes its ``halo``."""
    for beyond, inside in ends(array, axis, halo):
        beyond[...] = inside


def offsets(arrays: Mapping[str, Layout], name: str, points: np.ndarray, view: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the indices of points (n, 3) into the view of an array with its full halo."""
    index = points - np.array(arrays[name].box.lo) + arrays[name].halo
    if len(index) and ((index < 0).any() or (index >= np.array(view.shape)).any()):
        outside = points[((index < 0) | (index >= np.array(view.shape))).any(axis=1)]
        raise ValueError(
            f"{len(outside)} points are outside of the array {name}, the first at (z, y, x) {tuple(map(int, outside[0]))}"
        )
    return tuple(index.T)
