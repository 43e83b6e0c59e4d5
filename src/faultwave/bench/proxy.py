"""The kernel proxy: element updates a second of the engine of a real run, beside the roofs of the machine then and there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.backends.cpu.compile import FLAGS, compiler, vector_bytes, version
from faultwave.base.errors import InputError, Problem
from faultwave.bench import problem
from faultwave.bench.book import Book, Entry
from faultwave.bench.leanest import useful_flops
from faultwave.bench.problem import Setting
from faultwave.bench.roofs import Roofs, last_cache_bytes
from faultwave.kernels.count import Cost, cost
from faultwave.output.atomic import atomic_text
from faultwave.output.manifest import machine, versions
from faultwave.run.engine import Engine

FORMAT = "faultwave-bench-proxy-1"
REPEAT_SECONDS = 0.5
Say = Callable[[str], None]


def proxy(setting: Setting, say: Say = lambda _: None, sweep: int | None = None) -> dict[str, Any]:
    """Run a proxy; everything measured, as plain data (docs/benchmarks.md explains each key).

    ``sweep``: bytes of an array of the bandwidth measurement. Raises InputError with everything wrong with the setting.
    """
    problem.check(setting)
    say("preparing")
    started = time.perf_counter()
    engine = problem.engine(setting)
    setup = time.perf_counter() - started
    book = engine.backend
    assert isinstance(book, Book)
    threads = int(book.threads)
    roofs = Roofs(setting.precision, threads, sweep)
    engine.march.advance(engine.march.time + engine.march.tick)  # pages, caches, threads
    say("measuring the update and the roofs")
    steps = setting.steps or _enough_steps(engine)
    rates, seconds = _rates(engine, roofs, steps, setting.repeats)
    say("measuring each kernel")
    with book.written() as entries:
        _advance(engine, 1)
    launched, cells = list(entries), engine.plan.cells
    kernels = _kernel_table(engine, book, setting, sum(cells / r for r in rates) / len(rates))
    rate, itemsize = float(np.median(rates)), np.dtype(book.dtype).itemsize
    executed, moved = _per_update(launched, cells, itemsize)
    useful = useful_flops(setting.law, setting.order)
    known = useful if useful is not None else executed
    peaks, copies = (np.array(roofs.samples[n]) for n in ("fma", "copy"))
    each = np.array(rates)
    return {
        "format": FORMAT,
        **facts(),
        "setting": asdict(replace(setting, steps=steps, threads=threads)),
        "cells": cells,
        "faces_between_cells": int((engine.plan.topology.neighbours >= 0).sum()) // 2,
        "fault_faces": 0 if engine.plan.fault is None else len(engine.plan.fault.faces.area),
        "updates_per_second": rate,
        "updates_per_second_samples": rates,
        "updates_per_second_spread": (max(rates) - min(rates)) / rate,
        "ns_per_update": 1e9 / rate,
        "useful_flops_per_update": known,
        "useful_flops_source": "leanest formulation" if useful is not None else "the engine's kernels",
        "executed_flops_per_update": executed,
        "bytes_per_update": moved,
        "useful_flops_per_second": rate * known,
        "executed_flops_per_second": rate * executed,
        "bytes_per_second": rate * moved,
        "peak_flops": roofs.roof("fma").value,
        "peak_fraction": float(np.median(each * known / peaks)),
        "executed_peak_fraction": float(np.median(each * executed / peaks)),
        "memory_operand_peak_flops": roofs.roof("fma_memory").value,
        "copy_bandwidth": roofs.roof("copy").value,
        "copy_fraction": float(np.median(each * moved / copies)),
        "roofs": {n: asdict(roofs.roof(n)) for n in roofs.samples},
        "bytes_per_cell": book.nbytes() / cells,
        "resident_bytes": book.nbytes(),
        "last_cache_bytes": last_cache_bytes(),
        "in_cache": book.nbytes() <= last_cache_bytes(),
        "kernels": kernels,
        "kernel_seconds_share": min(1.0, sum(k["share"] for k in kernels)),
        "setup_seconds": setup,
        "stepping_seconds": seconds,
    }


def facts() -> dict[str, Any]:
    """When, on what machine, with what compiler and versions."""
    built = {"compiler": version(), "flags": list(FLAGS), "command": list(compiler()), "vector_bytes": vector_bytes()}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine() | built,
        "versions": versions(),
    }


def _advance(engine: Engine, steps: int) -> None:
    engine.march.advance(engine.march.time + steps * engine.march.tick)


def _enough_steps(engine: Engine) -> int:
    """Steps that take about REPEAT_SECONDS."""
    start = time.perf_counter()
    _advance(engine, 1)
    return max(1, round(REPEAT_SECONDS / (time.perf_counter() - start)))


def _rates(engine: Engine, roofs: Roofs, steps: int, repeats: int) -> tuple[list[float], float]:
    """Updates a second of every repeat, each after a measurement of the roofs; seconds of stepping."""
    names = roofs.names()
    roofs.sample(names)  # warms up, and sizes the loops
    roofs.samples.clear()
    rates, total = [], 0.0
    for _ in range(repeats):
        roofs.sample(names)
        _advance(engine, 1)  # the caches are the engine's again
        before, start = engine.updates, time.perf_counter()
        _advance(engine, steps)
        seconds = time.perf_counter() - start
        rates.append((engine.updates - before) / seconds)
        total += seconds
    return rates, total


def _per_update(entries: Iterable[Entry], cells: int, itemsize: int) -> tuple[float, float]:
    """Flops executed and bytes moved per element update, as the kernels declare them, padding included."""
    costs = _costs(entries)
    flops = sum(e.items * costs[e.kernel.name].flops for e in entries)
    return flops / cells, sum(e.items * costs[e.kernel.name].bytes(itemsize) for e in entries) / cells


def _costs(entries: Iterable[Entry]) -> dict[str, Cost]:
    return {name: cost(kernel) for name, kernel in {e.kernel.name: e.kernel for e in entries}.items()}


def _kernel_table(engine: Engine, book: Book, setting: Setting, step_seconds: float) -> list[dict[str, Any]]:
    """Every kernel: what it costs alone, launched as one step launches it, and its share of a step.

    Alone means again and again without the others; the state is of no use afterwards.
    """
    samples: dict[str, list[float]] = {}
    for _ in range(setting.repeats):
        with book.written() as entries:
            _advance(engine, 1)
        step: dict[str, float] = {}
        for e in entries:
            step[e.kernel.name] = step.get(e.kernel.name, 0.0) + e.seconds
        for name, seconds in step.items():
            samples.setdefault(name, []).append(seconds)
    launched, itemsize = list(entries), np.dtype(book.dtype).itemsize
    costs, rows = _costs(launched), []
    for name, within in samples.items():
        mine = [e for e in launched if e.kernel.name == name]
        items = sum(e.items for e in mine)
        alone = _alone(mine, setting.repeats)
        seconds = float(np.median(alone))
        flops, moved = costs[name].flops, costs[name].bytes(itemsize)
        rows.append(
            {
                "kernel": name,
                "items": items,
                "flops_per_item": flops,
                "bytes_per_item": moved,
                "ns_per_item": 1e9 * seconds / items,
                "ns_per_item_in_step": 1e9 * float(np.median(within)) / items,
                "spread": (max(alone) - min(alone)) / seconds,
                "flops_per_second": flops * items / seconds,
                "bytes_per_second": moved * items / seconds,
                "ns_per_update": 1e9 * float(np.median(within)) / engine.plan.cells,
                "share": float(np.median(within)) / step_seconds,
            }
        )
    return sorted(rows, key=lambda r: -float(r["share"]))


def _alone(entries: list[Entry], repeats: int) -> list[float]:
    """Seconds of launching these, one after the other, several times."""
    found = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        for entry in entries:
            entry.again()
        found.append(time.perf_counter() - start)
    return found[1:]


def write(path: Path, result: Any) -> None:
    """A result as JSON, whole or not at all."""
    with atomic_text(path) as file:
        json.dump(result, file, indent=1)
        file.write("\n")


def read(path: Path) -> dict[str, Any]:
    """A result written by ``write``. Raises InputError where there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from error
    except ValueError as error:
        raise InputError(Problem(str(path), f"is no JSON: {error}")) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(Problem(str(path), "is no proxy result", "a file of faultwave bench proxy --json"))
    return found


__all__ = ["FORMAT", "Setting", "facts", "proxy", "read", "write"]
