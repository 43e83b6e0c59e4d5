"""Joint steps of several coupled programs (``backends.make_joint_steps``) in one compiled loop over tiles of rows.

In each tile the loop executes the half-steps of all programs and the transfers between them (joint.h, joint_order.py). A
tile has rows of all planes that the programs process, so these should be few, except for a first program that is swept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np

from faultwave.backends.base import Transfer
from faultwave.backends.cpu.blocking import levels_begin_apart, row_bytes, rows_behind, skew
from faultwave.backends.cpu.compile import build, load
from faultwave.backends.cpu.planes import Tables, function
from faultwave.backends.cpu.queue import address
from faultwave.backends.cpu.stencil import StencilRunner
from faultwave.kernels.stencil import Program, Work, record

FIRST, ABOVE = -(1 << 40), 1 << 40
"""Bounds that include all planes below and above."""


@dataclass(frozen=True)
class Event:
    """Half-step ``half`` of a program on the ``planes`` [first, end), or (None) the transfer of this ``number``.

    Its tiles lag ``behind`` rows, of which ``rows`` correspond to one row of the coarsest program.
    """

    number: int
    half: int | None
    rows: int
    behind: int
    planes: tuple[int, int] = (0, 0)


def reach(of: Transfer, rows: Sequence[int]) -> int:
    """Return the rows of the coarsest program, next to a tile, that a transferred plane depends on."""
    first, weights = of.rows
    used = weights != 0
    low = first + used.argmax(1) - of.first[0]
    high = first + weights.shape[1] - used[:, ::-1].argmax(1) - of.first[0]
    source, at = rows[of.source], np.arange(len(first)) // rows[of.target]
    return int(np.ceil(max((high / source - (at + 1)).max(), (at - low / source).max())))


@dataclass(frozen=True)
class Sweep:
    """Sweep of the first program from its lower end up.

    Launches below the plane ``low`` read absolute planes, the highest of which is ``read``. Half-steps stay ``behind`` each
    other along z, and stencils read ``far`` planes away.
    """

    low: int
    read: int
    behind: tuple[int, ...]
    far: int

    @classmethod
    def of(cls, program: Program, steps: int) -> Sweep | None:
        """Return the sweep, or None if a stage has several levels or not all distances are whole pairs of planes."""
        apart = skew(program)
        halves = [z + apart.step[0] * step for step in range(steps) for z in apart.z]
        if any(len(stage) > 1 for stage in program.stages) or levels_begin_apart(program):
            return None
        top = program.box.hi[0] if program.together is None else program.together
        below = [launch for level in program.levels for launch in level if launch.box.lo[0] < top]
        found = [(launch, key) for launch in below for key in record(launch.stencil)[0]]
        named = [
            (launch.box.hi[0], key[2])
            for launch, key in found
            if key[0] == "on" and program.arrays[launch.names.get(key[1], key[1])].box.shape[0] > 1
        ]
        if not named or any(n % 2 for n in halves):
            return None
        far = max(abs(key[2]) for _, key in found if key[0] == "at")
        low, read = (max(n) for n in zip(*named, strict=True))
        return cls(low, read, tuple(halves), far)


class Schedule:
    """Events of several steps in order, each with the smallest lag behind the previous one.

    A transferred plane depends on results of the previous stage, and lags until all rows it reads are available; the next
    stage, which overwrites these, lags as far behind it. Half-steps near the coupling face are therefore farther apart than
    elsewhere. In a swept program the lag decreases with each pair of planes away from the face, down to the distance that its
    stencils require.
    """

    def __init__(
        self, programs: Sequence[Program], rows: Sequence[int], transfers: Sequence[Sequence[Transfer]], steps: int
    ):
        self.programs, self.rows, self.transfers, self.steps = programs, rows, transfers, steps
        self.own = [rows_behind(skew(p), steps) for p in programs]
        self.stages = [divmod(n, len(transfers)) for n in range(steps * len(transfers))]
        apart = max(reach(t, rows) for before in transfers for t in before)
        self.at = [0]  # by stage, rows of the coarsest program
        for n in range(len(self.stages) - 1):
            more = [max(apart * rows[b] + self._lag(b, n), self._lag(b, n, 1)) / rows[b] for b in range(len(programs))]
            self.at.append(self.at[-1] + int(np.ceil(max(more))))
        self.sweep = Sweep.of(programs[0], steps)

    def _halves(self, program: int, stage: int) -> list[int]:
        """Return the half-steps of a program in a stage."""
        step, kind = self.stages[stage]
        count = len(self.programs[program].levels)
        return [step * count + level for level in self.programs[program].stages[kind]]

    def _lag(self, program: int, stage: int, next_: int = 0) -> int:
        """Return the lag [rows] from the first half-step of a stage to its last, or to the first of the next stage."""
        first = self._halves(program, stage)[0]
        last = self._halves(program, stage + 1)[0] if next_ else self._halves(program, stage)[-1]
        return int(self.own[program][last] - self.own[program][first])

    def events(self) -> list[Event]:
        """Return all events in order."""
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
        """Return the transfers before a stage and its half-steps on all planes, for the programs from number ``first`` on."""
        kind, at = self.stages[stage][1], self.at[stage]
        before = sum(map(len, self.transfers[:kind]))
        found = [
            Event(before + n, None, self.rows[t.target], self.rows[t.target] * at)
            for n, t in enumerate(self.transfers[kind])
        ]
        for n in range(first, len(self.programs)):
            halves = self._halves(n, stage)
            own = self.own[n][halves] - self.own[n][halves[0]]
            found += [
                Event(n, h, self.rows[n], self.rows[n] * at + int(lag), (FIRST, ABOVE))
                for h, lag in zip(halves, own, strict=True)
            ]
        return found

    def _event(self, half: int, first: int, end: int) -> Event:
        """Return an event of the swept program."""
        assert self.sweep is not None
        more = np.array(self.at) * self.rows[0] - self.own[0]  # additional lag next to the face
        pairs = max(0, -(-(first - self.sweep.read) // 2))  # distance from the rows that are read next to the face
        nearer = int(np.diff(more).min()) // -(-self.sweep.far // 2)
        behind = int(self.own[0][half]) + max(0, int(more[half]) - pairs * nearer)
        return Event(0, half, self.rows[0], behind, (first, end))


TILE = 4e6
"""Size of a tile [bytes], over all planes of all programs."""

_Fields = list[tuple[str, type[ctypes.c_void_p] | type[ctypes.c_long]]]
_PROGRAM: _Fields = [
    *((name, ctypes.c_void_p) for name in ("run", "base", "scalar", "points")),
    *((name, ctypes.c_long) for name in ("start", "count")),
    ("amplitude", ctypes.c_void_p), ("amplitude_steps", ctypes.c_long), ("sources", ctypes.c_long),
    ("tape", ctypes.c_void_p), ("taped", ctypes.c_long), ("calls", ctypes.c_void_p), ("first_call", ctypes.c_void_p),
]  # fmt: skip
_TRANSFER: _Fields = [
    ("product", ctypes.c_void_p), ("width", ctypes.c_long), ("into", ctypes.c_void_p),
    *((name, ctypes.c_long) for name in ("stride", "ny", "nx")),
    ("row", ctypes.c_void_p), ("down", ctypes.c_void_p), ("downs", ctypes.c_long),
    ("place", ctypes.c_void_p), ("over", ctypes.c_void_p),
    *((name, ctypes.c_long) for name in ("overs", "every", "step", "row_length")),
    ("source", ctypes.c_void_p),
    *((name, ctypes.c_long) for name in ("stride_of_source", "rows", "columns", "first_row", "first_column", "size", "deepest")),
]  # fmt: skip
_EVENT: _Fields = [
    ("program", ctypes.c_void_p), ("arguments", ctypes.c_void_p),
    *((name, ctypes.c_long) for name in ("half", "first", "end", "rows", "behind")),
]  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = _PROGRAM


class _TransferArguments(ctypes.Structure):
    _fields_ = _TRANSFER


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
        listed = [t for before in transfers for t in before]
        self._tables = [Tables(t.rows, t.columns, t.width, t.into.dtype) for t in listed]
        self._arguments = (_TransferArguments * len(listed))(*map(_arguments, listed, self._tables))
        own = max(
            t.deepest * t.width * t.size + tables.across * t.size
            for t, tables in zip(self._arguments, self._tables, strict=True)
        )
        self._own = -(-own // 64) * 64
        self._scratch = np.zeros(self._own * runners[0].threads, np.uint8)
        self._events: dict[int, tuple[ctypes.Array[_Event], int]] = {}
        self.sweeps = Sweep.of(runners[0].program, 1) is not None
        source = resources.files("faultwave.backends.cpu").joinpath("include", "joint.h").read_text()
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
        self._run(ctypes.addressof(events), len(events), tile, tiles, threads, self._scratch.ctypes.data, self._own)
        return [part.sample_buffers for part in parts]

    def tile(self, works: Sequence[Work]) -> int:
        """Return the rows of a tile, in rows of the coarsest program."""
        if self.sweeps:
            return max(1, round(self.runners[0].blocking.rows / self.rows[0]))
        bytes_ = sum(
            _planes(w) * row_bytes(r.arrays) * n for w, r, n in zip(works, self.runners, self.rows, strict=True)
        )
        return max(1, int(TILE / max(1.0, bytes_)))

    def _listed(self, steps: int) -> tuple[ctypes.Array[_Event], int]:
        """Return the events of ``steps`` steps, and the lag of the last behind the first in rows of the coarsest program."""
        if steps not in self._events:
            found = Schedule([r.program for r in self.runners], self.rows, self.transfers, steps).events()
            first, size = ctypes.addressof(self._programs), ctypes.sizeof(_Program)
            start, each = ctypes.addressof(self._arguments), ctypes.sizeof(_TransferArguments)
            listed = (_Event * len(found))()
            for into, e in zip(listed, found, strict=True):
                if e.half is None:
                    into.arguments = start + e.number * each
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


def _arguments(of: Transfer, tables: Tables) -> _TransferArguments:
    """Return a transfer in the layout of the compiled loop."""
    if of.values.strides[1] != of.values.itemsize or of.into.strides[1] != of.into.itemsize:
        raise ValueError("rows of planes are contiguous")
    deepest = int(of.rows[0].max()) + of.rows[1].shape[1] - int(of.rows[0].min())
    return _TransferArguments(
        address(function(of.into.dtype)), of.width, of.into.ctypes.data, of.into.strides[0] // of.into.itemsize, *of.into.shape,
        *tables.arguments, tables.row_length, of.values.ctypes.data, of.values.strides[0], *of.values.shape, *of.first,
        of.into.itemsize, deepest,
    )  # fmt: skip
