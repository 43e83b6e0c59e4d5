"""The table of docs/performance.md: proxies of every order, precision and number of threads, in and out of cache."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from faultwave.base.errors import Problems, RunError
from faultwave.base.processes.host import PYTHON
from faultwave.bench.launch_recorder import Book
from faultwave.bench.problem import SMALLEST, Setting, enough_cells, solver
from faultwave.bench.proxy import read
from faultwave.bench.results import Files, Measured, check_counts
from faultwave.bench.rooflines.roofs import TITLES, last_cache_bytes

IN_CACHE, OUT_OF_CACHE = 0.4, 8.0
"""Memory of a proxy out of cache and in cache, in multiples of the last-level cache."""
QUIET = 0.15
"""Spread of repeats that is not exceeded on an idle machine."""
Case = tuple[str, int, str]  # law, order, precision
GOALS: dict[Case, float] = {
    ("elastic", 3, "double"): 0.30,
    ("elastic", 4, "double"): 0.42,
    ("elastic", 5, "double"): 0.44,
    ("elastic", 6, "double"): 0.55,
    ("elastic", 7, "double"): 0.57,
    ("elastic", 4, "single"): 0.38,
}
"""Fraction of the multiply-add peak that useful flops should reach on one core out of cache."""
CASES: tuple[Case, ...] = (*GOALS, ("acoustic", 4, "double"))


def settings(
    case: Case, bytes_per_cell: float, threads: Sequence[int], repeats: int, cache: int | None = None
) -> list[Setting]:
    """Return the proxies of a case in and out of cache, each with every number of threads."""
    law, order, precision = case
    cache = last_cache_bytes() if cache is None else cache
    most = enough_cells(bytes_per_cell, cache)
    sizes = [int(max(SMALLEST, min(most, share * cache / bytes_per_cell))) for share in (OUT_OF_CACHE, IN_CACHE)]
    return [Setting(law, order, precision, cells, threads=t, repeats=repeats) for cells in sizes for t in threads]


def measure(
    threads: Sequence[int], repeats: int, say: Callable[[str], None], cases: Sequence[Case] = CASES, cache: int | None = None
) -> list[Measured]:  # fmt: skip
    """Return the results of all cases, with each proxy in its own process so that threads and memory start afresh."""
    results = []
    for case in cases:
        law, order, precision = case
        small = solver(Setting(law, order, precision, SMALLEST, threads=1))  # compiles, too
        assert isinstance(small.backend, Book)
        for s in settings(case, small.backend.nbytes() / small.plan.cells, threads, repeats, cache):
            say(f"{law}, order {order}, {precision}, {s.cells:,} cells, {_threads(s.threads or 1)}")
            results.append(apart(s))
    return results


def apart(setting: Setting) -> Measured:
    """Run a proxy in another process; raise RunError with its output if it fails."""
    with tempfile.TemporaryDirectory(prefix="faultwave-bench-") as folder:
        target = Path(folder) / "proxy.json"
        options = [w for k, v in asdict(setting).items() if v is not None for w in (f"--{k.replace('_', '-')}", str(v))]
        command = [*PYTHON, "-m", "faultwave.cli.main", "bench", "proxy", *options, "--json", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RunError(f"faultwave bench proxy {' '.join(options)} failed: {done.stderr.strip()[-1000:]}")
        return read(target)


def markdown(results: Sequence[Measured]) -> str:
    """Return date and machine, the roofs, and a row for each proxy."""
    first = results[0]
    m, repeats = first["machine"], first["setting"]["repeats"]
    threads = sorted({r["setting"]["threads"] for r in results})
    precisions = sorted({r["setting"]["precision"] for r in results})
    lines = [
        f"{first['date'][:10]}, {m['cpu']}, {m['cores']} cores, {8 * m['vector_bytes']}-bit vectors, last cache "
        f"{first['last_cache_bytes'] / 2**20:.0f} MiB, {m['compiler']}, Faultwave {first['versions']['faultwave']}. "
        f"Medians of {repeats} repeats, roofs measured in each.", "",
        _row("roof", *[f"{p}, {_threads(t)}" for p in precisions for t in threads]),
        _row("---", *["---:"] * (len(precisions) * len(threads))),
    ]  # fmt: skip
    restless = [r for r in results if r["updates_per_second_spread"] > QUIET]
    if restless:
        where = f"In {len(restless)} of {len(results)} proxies the repeats differ by more than {100 * QUIET:.0f} %"
        lines[1:1] = ["", f"**{where}: the machine was busy with other work, measure again.**"]
    for name, title in TITLES.items():
        cells = [_roof(results, name, p, t) for p in precisions for t in threads]
        lines.append(_row(title, *[f"{1e-9 * v:.1f}" if v else "" for v in cells]))
    lines += ["", _row(*_HEADER), _row("---", "---", *["---:"] * (len(_HEADER) - 2))]
    lines += [_row(*_cells(r, results)) for r in results]
    return "\n".join(lines)


_HEADER = ("proxy", "memory", "threads", "updates/s", "ns", "of the roofline", "useful, of peak", "goal", "executed, of peak",
           "bytes", "of copy", "bytes a cell", "of 1 thread", "goal", "spread")  # fmt: skip


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def _roof(results: Sequence[Measured], name: str, precision: str, threads: int) -> float:
    """Return the median of one roof over all results; 0 if none has it."""
    found = [
        r["roofs"][name]["value"]
        for r in results
        if name in r["roofs"] and (r["setting"]["precision"], r["setting"]["threads"]) == (precision, threads)
    ]
    return float(np.median(found)) if found else 0.0


def _cells(r: Measured, results: Sequence[Measured]) -> tuple[str, ...]:
    s = r["setting"]
    case, place = (s["law"], s["order"], s["precision"]), "in cache" if r["in_cache"] else "out of cache"
    single = _like(r, results)
    speedup = r["updates_per_second"] / single["updates_per_second"] if single is not None and s["threads"] > 1 else 0.0
    goal = GOALS.get(case, 0.0) if not r["in_cache"] and s["threads"] == 1 else 0.0
    threaded = 0.0 if s["threads"] != 2 else 1.9 if r["in_cache"] else 1.7
    return (
        f"{s['law']}, order {s['order']}, {s['precision']}", f"{place}, {r['cells']:,} cells", str(s["threads"]),
        f"{r['updates_per_second']:,.0f}", f"{r['ns_per_update']:,.0f}", _percent(r["roofline_fraction"]),
        _percent(r["peak_fraction"]), _percent(goal),
        _percent(r["executed_peak_fraction"]), f"{r['bytes_per_update']:,.0f}", _percent(r["copy_fraction"]),
        f"{r['bytes_per_cell']:,.0f}", f"{speedup:.2f}" if speedup else "", f"{threaded:.1f}" if threaded else "",
        _percent(r["updates_per_second_spread"]),
    )  # fmt: skip


def _like(r: Measured, results: Sequence[Measured]) -> Measured | None:
    """Return the result with one thread and otherwise equal settings."""
    apart = {"threads", "steps"}
    same = {k: v for k, v in r["setting"].items() if k not in apart}
    for other in results:
        if other["setting"]["threads"] == 1 and {k: v for k, v in other["setting"].items() if k not in apart} == same:
            return other
    return None


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share else ""


def check(threads: Sequence[int], repeats: int, files: Files) -> None:
    """Check the settings before anything is measured; raise InputError with all problems."""
    problems = Problems()
    for count in threads:
        check_counts(problems, threads=count)
    check_counts(problems, repeats=repeats)
    problems.extend(files.problems("bench"))
    problems.raise_errors()
