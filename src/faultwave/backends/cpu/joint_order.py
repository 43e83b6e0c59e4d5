"""Order and lags [rows] of the half-steps of coupled programs that are advanced in tiles of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.backends.base import Transfer
from faultwave.backends.cpu.blocking import rows_behind
from faultwave.backends.cpu.skew import first_lagging_plane, skew
from faultwave.kernels.stencil import Program, record

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
        if any(len(stage) > 1 for stage in program.stages) or first_lagging_plane(program) is not None:
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
        apart = max(reach(t, rows) for reported in transfers for t in reported)
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


__all__ = ["ABOVE", "FIRST", "Event", "Schedule", "Sweep", "reach"]
