"""Trace of a run: a file with the phases, steps, kernels, waiting and output of every process, for https://ui.perfetto.dev.

The file is in the JSON format of Chrome's trace viewer [1]_. Each process of the run is a process of the trace, and its tracks are threads.

References
----------
.. [1] Trace Event Format, Google, 2016.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import shutil
import time as clock
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from faultwave.base import spans
from faultwave.base.errors import FaultwaveError, Problem
from faultwave.base.files.paths import existing_folder
from faultwave.base.spans import NO_CLUSTER, Recorder
from faultwave.comm import World, world
from faultwave.output.atomic import atomic_text

log = logging.getLogger(__name__)

OPTION = "--trace"

MOST = 1_000_000
"""Largest number of short spans in a file, shared by the processes and their tracks."""

FEWEST = 10_000
"""Number of spans of each process that is recorded in any case."""

BYTES = 100
"""Size of a span in the file [bytes]."""

FIRST = '{"displayTimeUnit"'
"""First characters of a file."""

MARKED = "prepare the run"
"""Phase whose beginning makes the trace of a failed run worth writing."""


def check_trace_file(path: Path, force: bool | None = None) -> list[Problem]:
    """Return the reasons why a trace cannot be written to ``path``.

    ``force`` permits to replace a file; None if the command has no such option.
    """
    path = path.absolute()
    place = existing_folder(path.parent)
    if path.is_dir():
        return [Problem(OPTION, f"{path} is a folder", "a file, such as run.json")]
    if not place.is_dir():
        return [Problem(OPTION, f"{place} is a file, but {path} needs a folder of this name")]
    if not os.access(place, os.W_OK | os.X_OK):
        return [Problem(OPTION, f"no permission to write into {place}", advice="Choose another file.")]
    found = []
    if path.is_file() and force and not _is_trace(path):
        found.append(Problem(OPTION, f"{path} is no trace, and --force replaces traces only", "another name"))
    elif path.exists() and not force:
        advice = "Choose another name, or remove the file."
        if force is not None:
            advice = "Choose another name, remove the file, or replace it with --force."
        found.append(Problem(OPTION, f"{path} exists", advice=advice))
    free = shutil.disk_usage(place).free
    if free < 2 * FEWEST * BYTES:
        needed = f"{2e-6 * FEWEST * BYTES:g} MB"
        what = f"a trace needs {needed}, {place} has {1e-6 * free:.2g} MB free"
        found.append(Problem(OPTION, what, advice="Free some space or choose another disk."))
    return found


def _is_trace(path: Path) -> bool:
    """Return True if a file is empty or begins as a trace does."""
    try:
        with path.open("rb") as file:
            begin = file.read(len(FIRST))
    except OSError:
        return False
    return begin in (b"", FIRST.encode())


def spans_per_track(path: Path, processes: int) -> int:
    """Return the number of short spans that a process records in a track, fewer on a disk that is nearly full."""
    place = existing_folder(path.absolute().parent)
    most = min(MOST, shutil.disk_usage(place).free // (2 * BYTES)) // (2 * processes)
    return max(FEWEST, most)


@dataclass
class Trace:
    """Trace that was written.

    Attributes
    ----------
    path : Path
        File.
    spans : int
        Number of spans in the file; 0 if this process is not the first or nothing was written.
    warnings : list of Problem
        Spans that are missing.
    """

    path: Path
    spans: int = 0
    warnings: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class ProcessSpans:
    """Recorded spans of one process.

    Attributes
    ----------
    machine : str
        Name of the machine.
    epoch : float
        System time at which ``time.perf_counter`` was 0 [s].
    recorder : Recorder
        Spans.
    """

    machine: str
    epoch: float
    recorder: Recorder


@contextmanager
def traced(path: Path) -> Iterator[Trace]:
    """Record the spans of a run inside the context, and write them to a file at its end (collective).

    If the run fails or is interrupted during its steps on all processes, the trace is written all the same.
    """
    processes, trace = world(), Trace(path)
    most = processes.broadcast(spans_per_track(path, processes.size) if processes.first else 0)
    with spans.recording(most) as recorder:
        try:
            yield trace
        except FaultwaveError as error:
            together = processes.size == 1 or processes.is_raised_everywhere(error)
            if together and MARKED in recorder.names:
                try:
                    write_trace(trace, recorder, processes)
                except FaultwaveError as other:
                    log.warning("%s", other)
            raise
    write_trace(trace, recorder, processes)


def write_trace(trace: Trace, recorder: Recorder, processes: World) -> None:
    """Write the spans of all processes to one file (collective)."""
    found = processes.gather(ProcessSpans(platform.node(), system_time(), recorder))

    def write() -> None:
        assert found is not None
        if trace.path.is_file() and not _is_trace(trace.path):
            what = f"the run wrote {trace.path} itself, so that its trace is not written"
            trace.warnings.append(Problem(OPTION, what, advice="Choose another name.", severity="warning"))
            return
        with atomic_text(trace.path) as file:
            trace.spans = write_spans(file, found)
        trace.warnings += [
            Problem(OPTION, f"the spans of process {rank} after {seconds:.3g} s are missing: there were more than "
                    f"{one.recorder.most:,} of one kind", advice="Trace a shorter run.", severity="warning")
            for rank, (one, seconds) in enumerate(zip(found, complete_until(found), strict=True)) if np.isfinite(seconds)
        ]  # fmt: skip

    processes.together(write)


def system_time() -> float:
    """Return the system time at which ``time.perf_counter`` was 0 [s], from the fastest of several readings of both clocks."""
    readings = []
    for _ in range(20):
        before, now, after = clock.perf_counter(), clock.time(), clock.perf_counter()
        readings.append((after - before, now - 0.5 * (before + after)))
    return min(readings)[1]


def shifts(found: Sequence[ProcessSpans]) -> list[float]:
    """Return what to add to the readings of each process, so that all count from the first span [s]."""
    between = [one.epoch - found[0].epoch for one in found]
    firsts = [
        min(track.starts) + shift
        for one, shift in zip(found, between, strict=True)
        for track in one.recorder.tracks.values()
        if len(track)
    ]
    first = min(firsts, default=0.0)
    return [shift - first for shift in between]


def complete_until(found: Sequence[ProcessSpans]) -> list[float]:
    """Return the time up to which the spans of each process are complete [s], infinite if all were recorded."""
    return [one.recorder.first_dropped + shift for one, shift in zip(found, shifts(found), strict=True)]


def write_spans(file: IO[str], found: Sequence[ProcessSpans]) -> int:
    """Write the spans of all processes in the order of their starts, enclosing spans first, and return their number."""
    count = 0
    file.write('{"displayTimeUnit":"ms","traceEvents":[\n')
    separator = ""
    for rank, (one, shift) in enumerate(zip(found, shifts(found), strict=True)):
        title = f"process {rank} of {len(found)} on {one.machine}"
        head = [_about("process_name", rank, 0, name=title), _about("process_sort_index", rank, 0, sort_index=rank)]
        names = list(one.recorder.names)
        for number, (label, track) in enumerate(one.recorder.tracks.items()):
            if not len(track):
                continue
            head += [_about("thread_name", rank, number, name=label)]
            head += [_about("thread_sort_index", rank, number, sort_index=number)]
            file.write(separator + ",\n".join(head))
            head, separator = [], ",\n"
            # Both ends are rounded before they are subtracted, so that spans remain nested.
            starts = np.rint(1e9 * (np.array(track.starts) + shift)).astype(np.int64)
            ends = np.rint(1e9 * (np.array(track.ends) + shift)).astype(np.int64)
            for k in np.lexsort((-ends, starts)).tolist():
                file.write(separator)
                file.write(_span(names[track.names[k]], track.clusters[k], int(starts[k]), int(ends[k]), rank, number))
            count += len(track)
    file.write("\n]}\n")
    return count


def _about(kind: str, process: int, track: int, **values: object) -> str:
    return json.dumps({"name": kind, "ph": "M", "pid": process, "tid": track, "args": values})


def _span(name: str, cluster: int, start: int, end: int, process: int, track: int) -> str:
    """Return a span as JSON; ``start`` and ``end`` in nanoseconds, of which the format writes microseconds."""
    label = name if cluster == NO_CLUSTER else f"{name} cluster {cluster}"
    arguments = "" if cluster == NO_CLUSTER else f',"args":{{"cluster":{cluster}}}'
    spent = end - start
    return (
        f'{{"name":"{label}","cat":"{name}","ph":"X","ts":{start // 1000}.{start % 1000:03d},'
        f'"dur":{spent // 1000}.{spent % 1000:03d},"pid":{process},"tid":{track}{arguments}}}'
    )
