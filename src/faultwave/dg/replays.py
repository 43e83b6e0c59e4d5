"""Largest time steps that are alike, recorded once and replayed at once: launches then cost next to nothing.

A recording holds some largest steps of all clusters. It can be done again where nothing of them needs the host: no snapshot is due,
nothing is exchanged. Samples of receivers and readings of the fault lie on tapes on the device, each at its place of the recording, and
are brought to the host after it. Launches are the same each time but for what depends on the time: scalars of friction, how much each
point source acts, and the moments of samples. Where any sample is due, every step takes as many as may ever fall into it; those that
fall into none are nobody's. While any source acts, every step of its cluster asks for its share, be it zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultwave.backends.base import Recording
from faultwave.dg.method_of_lines import Lines

if TYPE_CHECKING:
    from faultwave.dg.solver import Engine, Event, What

LAUNCHES = 256
"""About so many launches make the cost of one replay small beside theirs."""

TABLE = 16 << 20
"""Bytes at most that say how much sources act in the steps of a recording."""

SOON, MOST = 8, 64
"""So many recordings are made when they are first asked for; others, up to so many, when they are asked for again."""


@dataclass(frozen=True)
class Recorded:
    """``events``: what happened, cluster, ticks since the start, length; what the counters are afterwards."""

    recording: Recording
    events: tuple[tuple[What, int, int, float], ...]
    updates: int
    turns: tuple[int, ...]
    sums: tuple[int, ...]


class Replays:
    """Advances an engine by largest time steps. ``replayed``: how many were not computed step by step."""

    def __init__(self, engine: Engine):
        self.engine, self.replayed = engine, 0
        rates = [c.rate for c in engine.march.clocks]
        self.each = [max(rates) // r for r in rates]  # steps of each cluster in a largest one, of three launches or so
        self.most = 1 << max(0, (LAUNCHES // (3 * sum(self.each))).bit_length() - 1)
        self.made: dict[tuple, Recorded | None] = {}  # None: the host had a part in it after all
        self.asked: set[tuple] = set()

    def advance(self, most: int = 1) -> None:
        """One largest step, or several up to ``most`` where they can be replayed."""
        engine, march, op = self.engine, self.engine.march, self.engine.operator
        steps, acting = (0, False) if isinstance(op, Lines) or not engine.backend.ahead else self._at_once(most)
        until = march.ahead(steps)
        paced = not engine.quiet(until)
        if not steps or (paced and not engine.quiet(until, paced)):
            march.advance(march.time + march.longest)
            return
        ahead = [steps * n for n in self.each]
        key = (steps, paced, acting, *op.turns, *op.sums, *(reads(ahead) for reads in engine.taped.values()))
        if key not in self.made and self._wanted(key):
            with self._paced(paced, acting):
                self.made[key] = self._record(until)
            return
        known = self.made.get(key)
        if known is None:
            march.advance(march.time + march.longest)
            return
        with self._paced(paced, acting):
            self._replay(known, until, paced)
        self.replayed += steps

    def _at_once(self, most: int) -> tuple[int, bool]:
        """How many largest steps to replay, up to ``most``, and whether sources act in them; none where their table were too large."""
        march, sources = self.engine.march, self.engine.sources
        steps = 1 << (min(most, self.most).bit_length() - 1)
        acting = not sources.idle(march.ahead(steps) + march.longest)
        while acting and steps and sources.nbytes([steps * n for n in self.each]) > TABLE:
            steps //= 2
        return steps, acting

    def _wanted(self, key: tuple) -> bool:
        """Whether to record what is asked for: what never comes again is not worth it, nor its place on the device."""
        again = key in self.asked
        self.asked.add(key)
        return len(self.made) < (MOST if again else SOON)

    @contextmanager
    def _paced(self, paced: bool, acting: bool) -> Iterator[None]:
        """All tapes at their beginnings, recorders that take as many samples every time, and sources in every step or in none."""
        engine = self.engine
        engine.sources.acting = acting
        if engine.fault:
            engine.fault.rewind()
        for recorder, samples in engine.paced.values():
            samples.rewind()
            recorder.paced = paced
        yield
        engine.sources.acting = False
        for recorder, _ in engine.paced.values():
            recorder.paced = False

    def _record(self, until: float) -> Recorded | None:
        engine, march, op = self.engine, self.engine.march, self.engine.operator
        start, before = march.time, engine.updates
        events: list[Event] = []
        engine.events = events
        recording = engine.backend.record(lambda: march.advance(until))
        engine.events = None
        if recording is None:
            return None
        found = [(what, cluster, round((t - start) / march.tick), step) for what, cluster, t, step in events]
        return Recorded(recording, tuple(found), engine.updates - before, tuple(op.turns), tuple(op.sums))

    def _replay(self, known: Recorded, until: float, paced: bool) -> None:
        engine, march, op = self.engine, self.engine.march, self.engine.operator
        known.recording.replay(self._tables(known, paced))
        march.time = until
        engine.updates += known.updates
        op.turns[:], op.sums[:] = known.turns, known.sums

    def _tables(self, known: Recorded, paced: bool) -> list[Mapping[str, Any]]:
        """What changes, launch by launch. What is on the tapes afterwards is told to those who wait for it."""
        engine, march, fault = self.engine, self.engine.march, self.engine.fault
        samples = [s for _, s in engine.paced.values()]
        tables: list[Mapping[str, Any]] = []
        _mark(fault, samples, True)
        for what, cluster, ticks, step in known.events:
            time = march.moment(ticks)
            if what == "slipped" and fault:
                tables += [fault.changing(time, step)] * fault.acts(cluster)
            elif what == "injected":
                tables.append({"amounts": engine.sources.amounts(cluster, time, step)})
            elif what == "predicted" and paced:
                for hook, (_, taken) in engine.paced.items():
                    hook(cluster, time, step)
                    tables += taken.moments
                    taken.moments = []
            elif what == "read":
                for read in engine.taped:
                    read(cluster, time, step)
        _mark(fault, samples, False)
        return tables


def _mark(fault: Any, samples: list[Any], replayed: bool) -> None:
    for one in (*samples, *([fault] if fault else [])):
        one.replayed = replayed


__all__ = ["LAUNCHES", "MOST", "SOON", "TABLE", "Recorded", "Replays"]
