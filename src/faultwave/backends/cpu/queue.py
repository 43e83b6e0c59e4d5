"""Launch queue: Python prepares the launches of several steps, then all are executed one after the other.

A launch evicts from the caches what Python needs to prepare the next one, so that preparing each alone takes several times
as long, and other threads go to sleep meanwhile. Launches wait only after ``defer``; reading or changing a buffer executes
them first.
"""

from __future__ import annotations

import ctypes
import struct
import time as clock
from collections.abc import Sequence

import numpy as np

from faultwave.backends.cpu.compile import build, load
from faultwave.base import spans
from faultwave.base.spans import NO_CLUSTER

MOST, ITEMS, NUMBERS = 512, 1 << 17, 1 << 16
"""Limits of the queue: launches, their items and their scalars."""

LONGEST, FEW = 0.25, 1 << 12
"""Limit of queued work [s], estimated from the last items, and number of items that may wait in any case.

The program must still respond to signals.
"""

_SOURCE = """#include <time.h>
struct launch {
  void (*run)(void **, const double *, long, long);
  void **arguments;
  const double *scalars;
  long begin, end;
  double seconds;
};
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
void play(struct launch *launches, long count) {
  double before = now();
  for (long i = 0; i < count; ++i) {
    struct launch *l = launches + i;
    l->run(l->arguments, l->scalars, l->begin, l->end);
    const double after = now();
    l->seconds = after - before;
    before = after;
  }
}
struct copy { const char *from; char *to; const long *places; long count, size; };
void copy_items(void **arguments, const double *scalars, long begin, long end) {
  (void)scalars;
  for (const struct copy *c = arguments[0]; c->from; ++c) {
    const long first = begin * c->count;
    if (c->size == 8)
      for (long i = 0; i < c->count; ++i) ((double *)c->to)[first + i] = ((const double *)c->from)[c->places[i]];
    else
      for (long i = 0; i < c->count; ++i) ((float *)c->to)[first + i] = ((const float *)c->from)[c->places[i]];
  }
  (void)end;
}
"""


_LAUNCH = struct.Struct("@PPPlld")
"""Layout of a launch in C."""


class _Copy(ctypes.Structure):
    _fields_ = (
        ("source", ctypes.c_void_p), ("target", ctypes.c_void_p), ("places", ctypes.c_void_p), ("count", ctypes.c_long),
        ("size", ctypes.c_long),
    )  # fmt: skip


Section = tuple[dict[str, float], str, int]
"""Accumulated seconds by name, the name under which to account, and the time cluster."""


class Queue:
    """Queue of launches; ``section`` accounts for new launches, ``computed`` sums the seconds of executed ones."""

    def __init__(self) -> None:
        self.defers, self.computed = False, 0.0
        self.section: Section = ({}, "", NO_CLUSTER)
        self.count = self.items = self.numbers = 0
        self.most = ITEMS  # limit of the queued items
        self.waiting: list[tuple[Section, object]] = []
        self.library: ctypes.CDLL | None = None

    def defer(self) -> None:
        """Queue launches from now on."""
        if self.library is None:
            self.library = load(str(build([("queue", _SOURCE)])["queue"]))
            self.library.play.restype = None
            self.copy_items = address(self.library.copy_items)
            self.launches, self.scalars = np.zeros(MOST * _LAUNCH.size, np.uint8), np.zeros(NUMBERS)
            self.bytes, self.first = self.launches.data, self.scalars.ctypes.data
            self.seconds = self.launches.view(np.float64)[_LAUNCH.size // 8 - 1 :: _LAUNCH.size // 8]
        self.defers = True

    def add(self, of: Launchable, scalars: list[float], begin: int, end: int, items: int) -> None:
        size = len(scalars)
        if self.numbers + size > NUMBERS:
            self.flush()
        at = 8 * self.numbers
        struct.pack_into(f"{size}d", self.scalars.data, at, *scalars)
        self.numbers += size
        self.put(packed(of, self.first + at, begin, end), of, items)

    def put(self, launch: bytes, held: object, items: int) -> None:
        """Append a ``packed`` launch; ``held`` is referenced until the launch has run."""
        at = _LAUNCH.size * self.count
        self.bytes[at : at + _LAUNCH.size] = launch
        self.waiting.append((self.section, held))
        self.count += 1
        self.items += items
        if self.count == MOST or self.items >= self.most:
            self.flush()

    def flush(self) -> None:
        """Execute all queued launches."""
        if not self.count:
            return
        waiting, items, before = self.waiting, self.items, self.computed
        self.waiting, self.count, self.items, self.numbers = [], 0, 0, 0
        assert self.library is not None
        started = clock.perf_counter()
        self.library.play(ctypes.c_void_p(self.launches.ctypes.data), ctypes.c_long(len(waiting)))
        for spent, ((seconds, name, _), _) in zip(self.seconds.tolist(), waiting, strict=False):
            seconds[name] = seconds.get(name, 0.0) + spent
            self.computed += spent
        if (recorder := spans.recorder()) is not None:
            record_launches(recorder, started, [section for section, _ in waiting], self.seconds.tolist())
        if items:
            self.most = min(ITEMS, max(FEW, int(items * LONGEST / max(self.computed - before, 1e-9))))


def record_launches(recorder: spans.Recorder, start: float, sections: Sequence[Section], seconds: list[float]) -> None:
    """Record launches that were executed one after the other from ``start``; successive ones of one section as one span."""
    end = start
    for k, (_, name, cluster) in enumerate(sections):
        end += seconds[k]
        if k + 1 == len(sections) or sections[k + 1][1:] != (name, cluster):
            recorder.add(name or "other", start, end, cluster, spans.KERNELS)
            start = end


def address(function: ctypes._FuncPointer) -> int:
    """Return the address of a library's function."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


class Launchable:
    """Function address with the addresses of its arguments; ``held`` keeps their memory alive."""

    def __init__(self, function: int, arguments: Sequence[int], held: object):
        self.function, self.held = function, held
        self.arguments = (ctypes.c_void_p * max(1, len(arguments)))(*arguments)
        self.address = ctypes.addressof(self.arguments)


def packed(of: Launchable, scalars: int, begin: int, end: int) -> bytes:
    """Return a launch in the queue's format, to be ``put`` once or repeatedly; ``scalars`` is their address."""
    return _LAUNCH.pack(of.function, of.address, scalars, begin, end, 0.0)


def copies(queue: Queue, listed: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Launchable:
    """Return a launch that copies selected numbers of flat arrays to successive places of others."""
    table = (_Copy * (len(listed) + 1))()  # a last entry of zeros ends the table
    for x, (source, places, target) in zip(table, listed, strict=False):
        x.source, x.target, x.places = (array.ctypes.data for array in (source, target, places))
        x.count, x.size = len(places), source.itemsize
    return Launchable(queue.copy_items, [ctypes.addressof(table)], (table, listed))
