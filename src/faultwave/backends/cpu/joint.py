"""Joint steps of several coupled programs (``backends.make_joint_steps``) in one compiled loop over tiles of rows.

In each tile the loop executes the half-steps of all programs and the transfers between them (joint.h, joint_order.py). A
tile has rows of all planes that the programs process, so these should be few, except for a first program that is swept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from faultwave.backends.base import Transfer
from faultwave.backends.cpu.blocking import row_bytes
from faultwave.backends.cpu.compile import build, load
from faultwave.backends.cpu.joint_order import Schedule, Sweep
from faultwave.backends.cpu.planes import Tables, function
from faultwave.backends.cpu.queue import address
from faultwave.backends.cpu.stencil import StencilRunner
from faultwave.kernels.stencil import Work

TILE = 4e6
"""Size of a tile [bytes], over all planes of all programs."""

_PROGRAM: Any = [
    *((name, ctypes.c_void_p) for name in ("run", "base", "scalar", "points")),
    *((name, ctypes.c_long) for name in ("start", "count")),
    ("amplitude", ctypes.c_void_p), ("amplitude_steps", ctypes.c_long), ("sources", ctypes.c_long),
    ("tape", ctypes.c_void_p), ("taped", ctypes.c_long), ("calls", ctypes.c_void_p), ("first_call", ctypes.c_void_p),
]  # fmt: skip
_TOLD: Any = [
    ("product", ctypes.c_void_p), ("width", ctypes.c_long), ("into", ctypes.c_void_p),
    *((name, ctypes.c_long) for name in ("stride", "ny", "nx")),
    ("row", ctypes.c_void_p), ("down", ctypes.c_void_p), ("downs", ctypes.c_long),
    ("place", ctypes.c_void_p), ("over", ctypes.c_void_p),
    *((name, ctypes.c_long) for name in ("overs", "every", "step", "room")),
    ("source", ctypes.c_void_p),
    *((name, ctypes.c_long) for name in ("stride_of_source", "rows", "columns", "first_row", "first_column", "size", "deepest")),
]  # fmt: skip
_EVENT: Any = [
    ("program", ctypes.c_void_p), ("told", ctypes.c_void_p),
    *((name, ctypes.c_long) for name in ("half", "first", "end", "rows", "behind")),
]  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = _PROGRAM


class _Told(ctypes.Structure):
    _fields_ = _TOLD


class _Event(ctypes.Structure):
    _fields_ = _EVENT


class JointSteps:
    """Joint steps of programs on the cpu backend.

    Parameters
    ----------
    runners : sequence of StencilRunner
        Programs.
    rows : sequence of int
        Rows of each program per row of the coarsest one.
    transfers : sequence of sequences of Transfer
        Transfers before each stage.
    """

    def __init__(self, runners: Sequence[StencilRunner], rows: Sequence[int], transfers: Sequence[Sequence[Transfer]]):
        self.runners, self.rows, self.transfers = runners, rows, transfers
        self._programs = (_Program * len(runners))()
        listed = [t for reported in transfers for t in reported]
        self._tables = [Tables(t.rows, t.columns, t.width, t.into.dtype) for t in listed]
        self._told = (_Told * len(listed))(*map(_told, listed, self._tables))
        own = max(
            t.deepest * t.width * t.size + tables.across * t.size
            for t, tables in zip(self._told, self._tables, strict=True)
        )
        self._own = -(-own // 64) * 64
        self._room = np.zeros(self._own * runners[0].threads, np.uint8)
        self._events: dict[int, Any] = {}
        self.sweeps = Sweep.of(runners[0].program, 1) is not None
        source = resources.files("faultwave.backends.cpu").joinpath("joint.h").read_text()
        self._run = load(str(build([("joint", source)])["joint"])).joint
        self._run.argtypes = [ctypes.c_void_p, *[ctypes.c_long] * 4, ctypes.c_void_p, ctypes.c_long]
        self._run.restype = None

    def run(self, steps: int, amplitudes: Sequence[np.ndarray], works: Sequence[Work]) -> list[list[np.ndarray]]:
        """Advance the programs; see ``backends.JointSteps``."""
        threads = self.runners[0].threads
        given = zip(self.runners, amplitudes, works, strict=True)
        parts = [runner.part(steps, pushes, work) for runner, pushes, work in given]
        for n, part in enumerate(parts):
            self._programs[n] = _Program(*part.given)
        events, most = self._listed(steps)
        tile = self.tile(works)
        coarsest = max(-(-r.program.box.shape[1] // n) for r, n in zip(self.runners, self.rows, strict=True))
        tiles = -(-(coarsest + most) // tile)
        self._run(ctypes.addressof(events), len(events), tile, tiles, threads, self._room.ctypes.data, self._own)
        return [part.sample_buffers for part in parts]

    def tile(self, works: Sequence[Work]) -> int:
        """Return the rows of a tile, in rows of the coarsest program."""
        if self.sweeps:
            return max(1, round(self.runners[0].blocking.rows / self.rows[0]))
        bytes_ = sum(
            _planes(w) * row_bytes(r.arrays) * n for w, r, n in zip(works, self.runners, self.rows, strict=True)
        )
        return max(1, int(TILE / max(1.0, bytes_)))

    def _listed(self, steps: int) -> tuple[Any, int]:
        """Return the events of ``steps`` steps, and the lag of the last behind the first in rows of the coarsest program."""
        if steps not in self._events:
            found = Schedule([r.program for r in self.runners], self.rows, self.transfers, steps).events()
            first, size = ctypes.addressof(self._programs), ctypes.sizeof(_Program)
            reported, each = ctypes.addressof(self._told), ctypes.sizeof(_Told)
            listed = (_Event * len(found))()
            for into, e in zip(listed, found, strict=True):
                if e.half is None:
                    into.told = reported + e.number * each
                else:
                    into.program, into.half = first + e.number * size, e.half
                    into.first, into.end = e.planes
                into.rows, into.behind = e.rows, e.behind
            self._events[steps] = listed, max(-(-e.behind // e.rows) for e in found)
        return self._events[steps]


def _planes(work: Work) -> int:
    """Return the number of planes that some work touches."""
    boxes = [box for half in work for slot in half[:-2] for box in slot]
    ends = sorted({(box.lo[0], box.hi[0]) for box in boxes})
    count, at = 0, -(1 << 40)
    for low, high in ends:
        count, at = count + max(0, high - max(low, at)), max(at, high)
    return count


def _told(of: Transfer, tables: Tables) -> _Told:
    """Return a transfer in the layout of the compiled loop."""
    if of.values.strides[1] != of.values.itemsize or of.into.strides[1] != of.into.itemsize:
        raise ValueError("rows of planes are contiguous")
    deepest = int(of.rows[0].max()) + of.rows[1].shape[1] - int(of.rows[0].min())
    return _Told(
        address(function(of.into.dtype)), of.width, of.into.ctypes.data, of.into.strides[0] // of.into.itemsize, *of.into.shape,
        *tables.arguments, tables.room, of.values.ctypes.data, of.values.strides[0], *of.values.shape, *of.first, of.into.itemsize, deepest,
    )  # fmt: skip


__all__ = ["JointSteps"]
