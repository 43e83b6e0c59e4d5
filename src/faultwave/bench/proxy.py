"""Kernel proxy: element updates per second of the engine as in a real run, with the roofs and energy measured at the same time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.backends import Backend
from faultwave.backends.cpu.compile import compiler, flags, vector_bytes, version
from faultwave.base.errors import BackendError, InputError, Problem
from faultwave.bench import problem
from faultwave.bench.launch_recorder import Book, Entry
from faultwave.bench.problem import Setting
from faultwave.bench.results import Measured
from faultwave.bench.rooflines.minimal_flops import useful_flops
from faultwave.bench.rooflines.roofs import DeviceRoofs, Roofs, last_cache_bytes
from faultwave.dg.solver import Solver
from faultwave.kernels.count import cost
from faultwave.output.manifest import machine, versions


def joules(backend: Backend) -> float | None:
    """Return the energy of the whole board since its driver was loaded [J]; None if unknown (see ``why_not``)."""
    if why_no_energy(backend):
        return None
    import pynvml

    try:
        pynvml.nvmlInit()
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(_nvml_handle(backend))) / 1e3
    except pynvml.NVMLError:
        return None


def why_no_energy(backend: Backend) -> str:
    """Return why a backend's energy cannot be measured; empty if no reason is known."""
    if backend.name != "cuda":
        return f"the driver of the backend '{backend.name}' is not queried for it"
    try:
        import pynvml  # noqa: F401
    except ImportError:
        return "pip install nvidia-ml-py"
    return ""


def _nvml_handle(backend: Any) -> Any:
    """Return the NVML handle of the board at the device's PCI bus address; NVML and CUDA number boards differently."""
    import pynvml

    return pynvml.nvmlDeviceGetHandleByPciBusId(backend.device.bus.encode())


FORMAT = "faultwave-bench-proxy-1"
REPEAT_SECONDS = 0.5
MIN_STEPS = 10
"""Smallest number of steps of a repeat.

Correction and prediction are one kernel between steps, but not before the first or after the last.
"""
Say = Callable[[str], None]


def proxy(setting: Setting, say: Say = lambda _: None, sweep: int | None = None) -> Measured:
    """Run a proxy and return all measurements as plain data (docs/benchmarks.md explains each key).

    Parameters
    ----------
    setting : Setting
    say : callable, optional
        Receives progress messages.
    sweep : int, optional
        Bytes of each array of the bandwidth measurement.

    Raises
    ------
    InputError
        With all problems of the setting.
    """
    problem.check(setting)
    known = facts()
    say("preparing")
    started = time.perf_counter()
    solver = problem.solver(setting if setting.cells else replace(setting, cells=_enough_cells(setting)))
    setup = time.perf_counter() - started
    book = solver.backend
    assert isinstance(book, Book)
    far = book.device is not None  # whose memory and arithmetic are not the processor's
    roofs, cache = _roofs(book, far, setting.precision, sweep), 0 if far else last_cache_bytes()
    _advance(solver, 1)  # pages, caches, threads
    steps, cells = setting.steps or _enough_steps(solver), solver.plan.cells
    for _ in range(4 * far):  # so that every number of steps that comes has been recorded
        _advance(solver, steps)
    plain = problem.plain(replace(setting, cells=cells))
    adjacent = None if plain is None else problem.solver(plain)
    faces = int(solver.plan.frictional.sum()) // 2
    samples = []
    for i in range(setting.repeats):
        say(f"measuring, repeat {i + 1} of {setting.repeats}")
        samples.append(_sample(solver, book, roofs, steps, adjacent))
    found = {
        "format": FORMAT,
        **known,
        "setting": asdict(replace(setting, cells=setting.cells or cells, steps=steps, threads=int(book.threads))),
        "cells": cells,
        "faces_between_cells": int((solver.plan.topology.neighbours >= 0).sum()) // 2,
        "fault_faces": faces,
        "fault_face_updates": _face_updates(samples, cells, faces),
        "dofs_per_cell": solver.operator.b3 * len(solver.plan.law.quantities),
        **_update(samples, _kernel_table(samples, book, steps, cells), cells, setting),
        "roofs": {n: asdict(roofs.roof(n)) for n in roofs.samples},
        **_memory(book, cells, cache),
        "runs_on": book.described,
        "setup_seconds": setup,
        "energy_missing": why_no_energy(book),
        "steps_replayed": solver.replays.replayed,
    }
    found["dofs_per_second"] = found["updates_per_second"] * found["dofs_per_cell"]
    return found


def _memory(book: Book, cells: int, cache: int) -> Measured:
    """Return the measured memory of a run, next to the last-level ``cache`` [bytes] of the processor."""
    used = book.nbytes()
    return {
        "bytes_per_cell": used / cells,
        "resident_bytes": used,
        "last_cache_bytes": cache,
        "in_cache": used <= cache,
        "index_bytes": book.index_bytes,
    }


def _roofs(book: Book, far: bool, precision: str, sweep: int | None) -> DeviceRoofs | Roofs:
    """Return the roofs of the device, if ``far``, or of the processor, with loops that are warm and sized."""
    roofs = DeviceRoofs(book.inner, sweep) if far else Roofs(precision, int(book.threads), sweep)
    roofs.sample()
    roofs.samples.clear()
    return roofs


def _update(samples: list[Sample], kernels: list[Measured], cells: int, setting: Setting) -> Measured:
    """Return the results of the whole update from its kernels and repeats."""
    executed, moved = (sum(k["items"] * k[f"{what}_per_item"] for k in kernels) / cells for what in ("flops", "bytes"))
    useful, source = useful_flops(setting.law, setting.order, executed)
    rates = [s.rate for s in samples]
    rate = _median(rates)

    def fraction(amount: float, roof: str) -> float:
        return _median(s.rate * amount / s.roofs[roof] for s in samples)

    return {
        "updates_per_second": rate,
        "roofline_fraction": _median(
            max(s.rate * useful / s.roofs["fma"], s.rate * moved / s.roofs["copy"]) for s in samples
        ),
        "roofline": "memory" if fraction(moved, "copy") >= fraction(useful, "fma") else "arithmetic",
        "updates_per_second_samples": rates,
        "updates_per_second_spread": _spread(rates),
        "ns_per_update": 1e9 / rate,
        "elastic_updates_per_second": _median(s.elastic for s in samples) if samples[0].elastic else None,
        "elastic_fraction": _median(s.rate / s.elastic for s in samples) if samples[0].elastic else None,
        "updates_per_joule": _median(found) if (found := [s.per_joule for s in samples if s.per_joule]) else None,
        "useful_flops_per_update": useful,
        "useful_flops_source": source,
        "executed_flops_per_update": executed,
        "bytes_per_update": moved,
        "useful_flops_per_second": rate * useful,
        "executed_flops_per_second": rate * executed,
        "bytes_per_second": rate * moved,
        "peak_flops": _median(s.roofs["fma"] for s in samples),
        "peak_fraction": fraction(useful, "fma"),
        "executed_peak_fraction": fraction(executed, "fma"),
        "memory_operand_peak_flops": _median(s.roofs["fma_memory"] for s in samples),
        "copy_bandwidth": _median(s.roofs["copy"] for s in samples),
        "copy_fraction": fraction(moved, "copy"),
        "kernels": kernels,
    }


def _face_updates(samples: list[Sample], cells: int, faces: int) -> float | None:
    """Return the cost of friction of a face in cell updates: its time per face over the time of all other kernels per cell."""
    if not faces:
        return None
    spent = [{name: sum(e.seconds for e in entries) for name, entries in sample.launches.items()} for sample in samples]
    return _median(s["rupture"] / faces / ((sum(s.values()) - s["rupture"]) / cells) for s in spent)


def facts() -> Measured:
    """Return the date, the machine, the compiler and the versions."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine() | _compiled(),
        "versions": versions(),
    }


def _compiled() -> Measured:
    """Return how CPU kernels are compiled; None values on a machine without a C compiler, which devices do not need."""
    names = ("compiler", "flags", "command", "vector_bytes")
    try:
        return dict(zip(names, (version(), list(flags()), list(compiler()), vector_bytes()), strict=True))
    except BackendError:
        return dict.fromkeys(names)


def _advance(solver: Solver, steps: int, replay: bool = True) -> None:
    """Advance by a number of steps; ``replay`` uses recorded launches where a run does, on backends with a launch queue."""
    end = solver.march.time + (steps - 0.5) * solver.march.tick
    if replay and solver.backend.capabilities.asynchronous:
        while solver.march.time < end:
            solver.replays.advance(round((end - solver.march.time) / solver.march.tick + 0.5))
    else:
        solver.advance(solver.march.time + steps * solver.march.tick)
    solver.backend.finish()


def _enough_cells(setting: Setting) -> int:
    """Return the number of cells of a proxy out of cache, from the bytes per cell of a small proxy with the same kernels."""
    small = problem.solver(replace(setting, cells=problem.SMALLEST))
    assert isinstance(small.backend, Book)
    cache = last_cache_bytes() if small.backend.capabilities.on_host else 0
    return problem.enough_cells(small.backend.nbytes() / small.plan.cells, cache)


def _enough_steps(solver: Solver) -> int:
    """Return the number of steps that take about REPEAT_SECONDS, at least MIN_STEPS."""
    start = time.perf_counter()
    _advance(solver, 1)
    return max(MIN_STEPS, round(REPEAT_SECONDS / (time.perf_counter() - start)))


@dataclass(frozen=True)
class Sample:
    """Measurements of one repeat: roofs, the update, and each kernel within its steps and alone, all within about a second."""

    roofs: dict[str, float]
    rate: float  # updates a second
    launches: dict[str, list[Entry]]  # by kernel, of all steps
    alone: dict[str, float]  # seconds an item
    elastic: float  # updates per second of elastic rock; 0 if it is not compared
    per_joule: float | None  # updates; None where the driver does not count, or not as finely


def _sample(solver: Solver, book: Book, roofs: DeviceRoofs | Roofs, steps: int, adjacent: Solver | None) -> Sample:
    found = roofs.sample()
    elastic = _rate(adjacent, steps) if adjacent is not None else 0.0
    _advance(solver, 1)  # the caches are the engine's again
    spent, before = joules(book), solver.updates
    rate = _rate(solver, steps, warm=0)
    taken = joules(book)
    energy = None if spent is None or taken is None or taken <= spent else (solver.updates - before) / (taken - spent)
    with book.written() as entries:
        _advance(solver, steps, replay=False)
    names = dict.fromkeys(e.kernel.name for e in entries)
    launches = {name: [e for e in entries if e.kernel.name == name] for name in names}
    alone = {name: _seconds_an_item(mine, book.finish) for name, mine in launches.items()}
    return Sample(found, rate, launches, alone, elastic, energy)


def _rate(solver: Solver, steps: int, warm: int = 1) -> float:
    """Return the updates per second after ``warm`` steps."""
    if warm:
        _advance(solver, warm)
    before, start = solver.updates, time.perf_counter()
    _advance(solver, steps)
    return (solver.updates - before) / (time.perf_counter() - start)


def _seconds_an_item(launched: list[Entry], finish: Callable[[], None]) -> float:
    """Launch each range twice in sequence and return the time [s] per item of the second round.

    The state loses its physical meaning, but its values stay finite.
    """
    ranges = {(e.begin, e.end): e for e in launched}.values()
    for entry in ranges:
        entry.again()
    finish()
    start = time.perf_counter()
    for entry in ranges:
        entry.again()
    finish()
    return (time.perf_counter() - start) / sum(e.items for e in ranges)


def _kernel_table(samples: list[Sample], book: Book, steps: int, cells: int) -> list[Measured]:
    """Return a row for every kernel, largest share of the time first; items are the mean per step, including padding."""
    rows = []
    for name, mine in samples[-1].launches.items():
        items, counted = sum(e.items for e in mine) / steps, cost(mine[0].kernel, mine[0].share)
        flops, moved = counted.flops, counted.bytes(np.dtype(book.dtype).itemsize, book.index_bytes)
        alone = [s.alone[name] for s in samples]
        within = [sum(e.seconds for e in s.launches[name]) / steps for s in samples]
        rows.append(
            {
                "kernel": name,
                "items": items,
                "flops_per_item": flops,
                "bytes_per_item": moved,
                "ns_per_item": 1e9 * _median(alone),
                "ns_per_item_in_step": 1e9 * _median(within) / items,
                "spread": _spread(alone),
                "flops_per_second": flops / _median(alone),
                "bytes_per_second": moved / _median(alone),
                "peak_fraction": _median(flops / t / s.roofs["fma"] for t, s in zip(alone, samples, strict=True)),
                "copy_fraction": _median(moved / t / s.roofs["copy"] for t, s in zip(alone, samples, strict=True)),
                "ns_per_update": 1e9 * _median(within) / cells,
                "share": _median(t * s.rate / cells for t, s in zip(within, samples, strict=True)),
            }
        )
    return sorted(rows, key=lambda r: -r["share"])


def _median(values: Iterable[float]) -> float:
    return float(np.median(list(values)))


def _spread(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / _median(values)


def read(path: Path) -> Measured:
    """Return a result of ``faultwave bench proxy --json``; raise InputError if the file is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from error
    except ValueError as error:
        raise InputError(Problem(str(path), f"is not JSON: {error}")) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(Problem(str(path), "is not a proxy result", "a file of faultwave bench proxy --json"))
    return found
