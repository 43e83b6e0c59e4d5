"""Steps of several programs whose planes are told to each other, as ``backends.joint_steps`` gives them: one compiled loop goes through
tiles of rows, and in each tile through the half-steps of all programs and what they are told between (joint.h).

What is done here must be few planes of each program: a tile has rows of all of them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from faultwave.backends.base import Transfer
from faultwave.backends.cpu.blocking import row_bytes, rows_behind
from faultwave.backends.cpu.compile import build, load
from faultwave.backends.cpu.planes import Tables, function
from faultwave.backends.cpu.queue import address
from faultwave.backends.cpu.skew import far_apart_from, skew
from faultwave.backends.cpu.stencil import StencilRunner
from faultwave.kernels.stencil import Program, Work, record

TILE = 4e6
"""Bytes of a tile, of all planes of all programs."""
FIRST, ABOVE = -(1 << 40), 1 << 40
"""All planes below, and above."""

_PROGRAM = [
    *((name, ctypes.c_void_p) for name in ("run", "base", "scalar", "points")),
    *((name, ctypes.c_long) for name in ("start", "count")),
    ("amplitude", ctypes.c_void_p), ("amplitude_steps", ctypes.c_long), ("sources", ctypes.c_long),
    ("tape", ctypes.c_void_p), ("taped", ctypes.c_long), ("calls", ctypes.c_void_p), ("first_call", ctypes.c_void_p),
]  # fmt: skip
_TOLD = [
    ("product", ctypes.c_void_p), ("width", ctypes.c_long), ("into", ctypes.c_void_p),
    *((name, ctypes.c_long) for name in ("stride", "ny", "nx")),
    ("row", ctypes.c_void_p), ("down", ctypes.c_void_p), ("downs", ctypes.c_long),
    ("place", ctypes.c_void_p), ("over", ctypes.c_void_p),
    *((name, ctypes.c_long) for name in ("overs", "every", "step", "room")),
    ("source", ctypes.c_void_p),
    *((name, ctypes.c_long) for name in ("stride_of_source", "rows", "columns", "first_row", "first_column", "size", "deepest")),
]  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = _PROGRAM


class _Told(ctypes.Structure):
    _fields_ = _TOLD


class _Event(ctypes.Structure):
    _fields_ = [
        ("program", ctypes.c_void_p), ("told", ctypes.c_void_p),
        *((name, ctypes.c_long) for name in ("half", "first", "end", "rows", "behind")),
    ]  # fmt: skip


@dataclass(frozen=True)
class Event:
    """A ``half``-step of a program on the ``planes`` [first, end), or (None) a transfer, by its number; ``behind``: rows of its own that its
    tiles lag, of which ``rows`` lie beside one of the coarsest program."""

    number: int
    half: int | None
    rows: int
    behind: int
    planes: tuple[int, int] = (0, 0)


def reach(of: Transfer, rows: Sequence[int]) -> int:
    """Rows of the coarsest program beside a tile that a plane which is told to rows of it is made of."""
    first, weights = of.rows
    used = weights != 0
    low = first + used.argmax(1) - of.first[0]
    high = first + weights.shape[1] - used[:, ::-1].argmax(1) - of.first[0]
    source, at = rows[of.source], np.arange(len(first)) / rows[of.target]
    after, before = (high / source - (at + 1 / rows[of.target])).max(), (at - low / source).max()
    return int(np.ceil(max(after, before) - 1e-9))


@dataclass(frozen=True)
class Sweep:
    """How the first program is swept from its lower end up, where it can be: launches below the plane ``low`` name planes that they read,
    the highest of which is ``read``; half-steps stay ``behind`` each other along z, and stencils read ``far`` planes away."""

    low: int
    read: int
    behind: tuple[int, ...]
    far: int

    @classmethod
    def of(cls, program: Program, steps: int) -> Sweep | None:
        """None where several levels make a stage, or not all distances are of whole pairs of planes."""
        apart = skew(program)
        halves = [z + apart.step[0] * step for step in range(steps) for z in apart.z]
        if any(len(stage) > 1 for stage in program.stages) or far_apart_from(program) is not None:
            return None
        top = program.box.hi[0] if program.together is None else program.together
        found = [(x, key) for level in program.levels for x in level for key in record(x.stencil)[0] if x.box.lo[0] < top]
        named = [(x.box.hi[0], key[2]) for x, key in found if key[0] == "on" and program.arrays[x.names.get(key[1], key[1])].box.shape[0] > 1]
        if not named or any(n % 2 for n in halves):
            return None
        far = max(abs(key[2]) for _, key in found if key[0] == "at")
        low, read = (max(n) for n in zip(*named, strict=True))
        return cls(low, read, tuple(halves), far)


class Schedule:
    """The events of some steps in their order, each as few rows behind the one before as it may be.

    A plane that is told is made of what the stage before has written, and is so far behind it that it finds all rows it reads; the next
    stage, which writes what it read, stays as far behind it. So half-steps beside faces are farther apart than they need be elsewhere. Of
    a program that is swept each pair of planes farther from the face is a little less behind, until half-steps are as near each other as
    its stencils allow.
    """

    def __init__(
        self, programs: Sequence[Program], rows: Sequence[int], transfers: Sequence[Sequence[Transfer]], steps: int
    ):
        self.programs, self.rows, self.transfers, self.steps = programs, rows, transfers, steps
        self.own = [rows_behind(skew(p), steps) for p in programs]
        self.stages = [divmod(n, len(transfers)) for n in range(steps * len(transfers))]
        apart = max(reach(t, rows) for told in transfers for t in told)
        self.at = [0]  # by stage, rows of the coarsest program
        for n in range(len(self.stages) - 1):
            more = [max(apart * rows[b] + self._lag(b, n), self._lag(b, n, 1)) / rows[b] for b in range(len(programs))]
            self.at.append(self.at[-1] + int(np.ceil(max(more))))
        self.sweep = Sweep.of(programs[0], steps)

    def _halves(self, program: int, stage: int) -> list[int]:
        """The half-steps of a program in a stage."""
        step, kind = self.stages[stage]
        count = len(self.programs[program].levels)
        return [step * count + level for level in self.programs[program].stages[kind]]

    def _lag(self, program: int, stage: int, next_: int = 0) -> int:
        """Rows that the last half-step of a stage, or the first of the ``next_``, is behind its first by the program's own stencils."""
        first = self._halves(program, stage)[0]
        last = self._halves(program, stage + 1)[0] if next_ else self._halves(program, stage)[-1]
        return int(self.own[program][last] - self.own[program][first])

    def events(self) -> list[Event]:
        """All of them."""
        if self.sweep is None:
            return [e for n in range(len(self.stages)) for e in self._stage(n, 0)]
        sweep, program, found = self.sweep, self.programs[0], list[Event]()
        top = program.box.hi[0] + program.reach - 1 if program.together is None else program.together
        for front in range(sweep.low, top + sweep.behind[-1] + 1, 2):
            for half, behind in enumerate(sweep.behind):
                first = front - behind
                if first == sweep.low:
                    found += self._stage(half, 1)
                    found.append(self._event(half, FIRST, first))
                if sweep.low <= first <= top:
                    found.append(self._event(half, first, first + 2 if first + 2 <= top else ABOVE))
        return found

    def _stage(self, stage: int, first: int) -> list[Event]:
        """What is told before a stage, and its half-steps of programs from the number ``first`` on, on all planes."""
        kind, at = self.stages[stage][1], self.at[stage]
        before = sum(map(len, self.transfers[:kind]))
        found = [
            Event(before + n, None, self.rows[t.target], self.rows[t.target] * at) for n, t in enumerate(self.transfers[kind])
        ]
        for n in range(first, len(self.programs)):
            halves = self._halves(n, stage)
            own = self.own[n][halves] - self.own[n][halves[0]]
            found += [
                Event(n, h, self.rows[n], self.rows[n] * at + int(lag), (FIRST, ABOVE)) for h, lag in zip(halves, own, strict=True)
            ]
        return found

    def _event(self, half: int, first: int, end: int) -> Event:
        """Of the program that is swept."""
        assert self.sweep is not None
        more = np.array(self.at) * self.rows[0] - self.own[0]  # beside the face
        pairs = max(0, -(-(first - self.sweep.read) // 2))
        nearer = int(min(np.diff(more), default=0)) // -(-self.sweep.far // 2)
        return Event(0, half, self.rows[0], int(self.own[0][half] + max(0, more[half] - pairs * max(0, nearer))), (first, end))


class JointSteps:
    """``rows`` of each program lie beside one row of the coarsest. ``transfers``: by stage, what programs are told before it."""

    def __init__(
        self, runners: Sequence[StencilRunner], rows: Sequence[int], transfers: Sequence[Sequence[Transfer]]
    ):
        self.runners, self.rows, self.transfers = runners, rows, transfers
        self._programs = (_Program * len(runners))()
        listed = [t for told in transfers for t in told]
        self._tables = [Tables(t.rows, t.columns, t.width, t.into.dtype) for t in listed]
        self._told = (_Told * len(listed))(*map(_told, listed, self._tables))
        own = max(t.deepest * t.width * t.size + tables.across * t.size for t, tables in zip(self._told, self._tables, strict=True))
        self._own = -(-own // 64) * 64
        self._room = np.zeros(self._own * runners[0].threads, np.uint8)
        self._events: dict[int, Any] = {}
        self.sweeps = Sweep.of(runners[0].program, 1) is not None
        source = resources.files("faultwave.backends.cpu").joinpath("joint.h").read_text()
        self._run = load(str(build([("joint", source)])["joint"])).joint
        self._run.argtypes = [ctypes.c_void_p, *[ctypes.c_long] * 4, ctypes.c_void_p, ctypes.c_long]
        self._run.restype = None

    def run(self, steps: int, amplitudes: Sequence[np.ndarray], works: Sequence[Work]) -> list[list[np.ndarray]]:
        """As of ``backends.JointSteps``."""
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
        """Rows of a tile, of the coarsest program."""
        if self.sweeps:
            return max(1, round(self.runners[0].blocking.rows / self.rows[0]))
        bytes_ = sum(_planes(w) * row_bytes(r.arrays) * n for w, r, n in zip(works, self.runners, self.rows, strict=True))
        return max(1, int(TILE / max(1.0, bytes_)))

    def _listed(self, steps: int) -> tuple[Any, int]:
        """The events of so many steps, and how many rows of the coarsest program the last is behind the first."""
        if steps not in self._events:
            found = Schedule([r.program for r in self.runners], self.rows, self.transfers, steps).events()
            first, size = ctypes.addressof(self._programs), ctypes.sizeof(_Program)
            told, each = ctypes.addressof(self._told), ctypes.sizeof(_Told)
            listed = (_Event * len(found))()
            for into, e in zip(listed, found, strict=True):
                if e.half is None:
                    into.told = told + e.number * each
                else:
                    box, reach_ = self.runners[e.number].program.box, self.runners[e.number].program.reach
                    into.program, into.half = first + e.number * size, e.half
                    into.first, into.end = max(e.planes[0], box.lo[0] - reach_), min(e.planes[1], box.hi[0] + reach_)
                into.rows, into.behind = e.rows, e.behind
            self._events[steps] = listed, max(-(-e.behind // e.rows) for e in found)
        return self._events[steps]


def _planes(work: Work) -> int:
    """That some work has something to do on."""
    boxes = [box for half in work for slot in half[:-2] for box in slot]
    ends = sorted({(box.lo[0], box.hi[0]) for box in boxes})
    count, at = 0, -(1 << 40)
    for low, high in ends:
        count, at = count + max(0, high - max(low, at)), max(at, high)
    return count


def _told(of: Transfer, tables: Tables) -> _Told:
    """As the compiled loop reads it."""
    if of.values.strides[1] != of.values.itemsize or of.into.strides[1] != of.into.itemsize:
        raise ValueError("rows of planes are contiguous")
    deepest = int(of.rows[0].max()) + of.rows[1].shape[1] - int(of.rows[0].min())
    return _Told(
        address(function(of.into.dtype)), of.width, of.into.ctypes.data, of.into.strides[0] // of.into.itemsize, *of.into.shape,
        *tables.arguments, tables.room, of.values.ctypes.data, of.values.strides[0], *of.values.shape, *of.first, of.into.itemsize, deepest,
    )  # fmt: skip


__all__ = ["Event", "JointSteps", "Schedule", "Sweep", "reach"]
