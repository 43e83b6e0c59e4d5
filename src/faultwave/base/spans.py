"""Spans of time of this process, recorded for the trace of a run (``run.trace_file``), and its waiting for other processes."""

from __future__ import annotations

import threading
import time as clock
from array import array
from collections.abc import Iterator
from contextlib import contextmanager

from faultwave.base.progress import startup_age

STEPS, KERNELS, OUTPUT = "steps", "queued kernels", "output"
"""Tracks of a trace. Each belongs to one thread, except that the thread of the steps also writes the track of the kernels it has queued."""

NO_CLUSTER = -1
"""Cluster of a span that belongs to none."""


class Track:
    """Spans of one thread in compact arrays, in the order of their ends.

    Attributes
    ----------
    names, clusters : array
        Index of the name of each span, and its cluster.
    starts, ends : array
        Readings of ``time.perf_counter`` [s].
    """

    def __init__(self) -> None:
        self.names, self.clusters = array("H"), array("h")
        self.starts, self.ends = array("d"), array("d")

    def __len__(self) -> int:
        return len(self.names)

    def append(self, name: int, cluster: int, start: float, end: float) -> None:
        self.names.append(name)
        self.clusters.append(cluster)
        self.starts.append(start)
        self.ends.append(end)


class Recorder:
    """Spans of this process.

    Attributes
    ----------
    most : int
        Number of short spans (``add``) in each track after which further ones are dropped. Phases are always recorded.
    names : dict of str to int
        Indices of the names.
    tracks : dict of str to Track
        Spans by track.
    first_dropped : float
        Start of the first span that was dropped, infinite if all were recorded.
    thread : int
        Thread of the steps.
    """

    def __init__(self, most: int):
        self.most, self.first_dropped, self.thread = most, float("inf"), threading.get_ident()
        self.names: dict[str, int] = {}
        self.tracks = {name: Track() for name in (STEPS, KERNELS, OUTPUT)}

    def add(self, name: str, start: float, end: float, cluster: int = NO_CLUSTER, track: str = STEPS) -> None:
        """Record a short span, of which there may be very many."""
        spans = self.tracks[track]
        if len(spans) < self.most:
            spans.append(self.names.setdefault(name, len(self.names)), cluster, start, end)
        elif start < self.first_dropped:
            self.first_dropped = start

    def add_phase(self, name: str, start: float, end: float) -> None:
        """Record a phase of the run."""
        self.tracks[STEPS].append(self.names.setdefault(name, len(self.names)), NO_CLUSTER, start, end)


_recorder: Recorder | None = None


def recorder() -> Recorder | None:
    """Return the recorder of this process, None unless spans are being recorded."""
    return _recorder


@contextmanager
def recording(most: int) -> Iterator[Recorder]:
    """Record spans inside the context, at most about ``most`` in each track, from the start of this process if that was just now."""
    global _recorder
    now, before = clock.perf_counter(), _recorder
    _recorder = found = Recorder(most)
    if age := startup_age():
        found.add_phase("load the program", now - age, now)
    try:
        yield found
    finally:
        _recorder = before


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Record the time inside the context, or of a function that it decorates, as a phase; does nothing unless spans are recorded."""
    recorder = _recorder
    if recorder is None or threading.get_ident() != recorder.thread:
        yield
        return
    started = clock.perf_counter()
    try:
        yield
    finally:
        recorder.add_phase(name, started, clock.perf_counter())


def record(name: str, start: float, end: float, track: str = STEPS) -> None:
    """Record a short span between two readings of ``time.perf_counter``; does nothing unless spans are recorded.

    Of the track of the steps, only spans of the thread that began to record are recorded.
    """
    if _recorder is not None and (track != STEPS or threading.get_ident() == _recorder.thread):
        _recorder.add(name, start, end, NO_CLUSTER, track)


class Waiting:
    """Time that this process has spent waiting for others.

    Attributes
    ----------
    seconds : float
        Sum since the start of the process [s].
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def add(self, name: str, start: float, end: float) -> None:
        """Add the time between two readings of ``time.perf_counter``, named by what was waited for."""
        self.seconds += end - start
        record(name, start, end)


WAITING = Waiting()
"""Waiting of this process."""
