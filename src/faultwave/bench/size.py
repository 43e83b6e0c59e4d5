"""Scaling of time and memory with the mesh: boxes of ten thousand to ten million cells, each in its own process.

Exponents of power laws are fitted by least squares of logarithms, for boxes of at least ``LARGE`` cells; smaller ones fit into caches. The
fit is of the excess over a box of ``TINY`` cells, which measures the fixed cost of every run: libraries and kernels.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, RunError
from faultwave.base.processes.host import PYTHON, machine_memory
from faultwave.base.types import Settings
from faultwave.bench.proxy import facts
from faultwave.bench.results import Files, Measured, check_counts
from faultwave.bench.worker import MARK
from faultwave.case.load import load_case
from faultwave.dg.checks.memory import minimum_memory
from faultwave.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 5_000_000, 10_000_000)
LARGE = 50_000
"""Number of cells from which on exponents are fitted."""

TINY = 6
"""Number of cells of a box whose cost is the fixed cost of every run."""

ROOM = 0.97
"""Fraction of the machine's memory that a box may use."""

FORMAT = "faultwave-bench-size-1"
LAWS = {"setup_s": "set-up", "first_step_s": "first step", "step_s": "a step", "bytes": "memory"}
"""Quantities that are fitted, with their titles."""


@dataclass(frozen=True)
class Setting:
    """Settings of the benchmark: approximate ``cells`` of each box, and ``steps`` per repeat after the first step."""

    cells: Sequence[float] = SIZES
    order: int = 4
    precision: str = "double"
    threads: int | None = None
    steps: int = 10


def box(setting: Setting, cells: int) -> Settings:
    """Return a box of about ``cells`` cells of one rock below a free surface, with a point source and a receiver."""
    bricks = [max(1, round((cells / 6) ** (1 / 3)))] * 2
    bricks.append(max(1, round(cells / 6 / bricks[0] ** 2)))
    edge = 100.0
    generated = {
        "shape": "box", "cells": bricks, "lower": [0.0, 0.0, -edge * bricks[2]], "upper": [edge * bricks[0], edge * bricks[1], 0.0],
        "boundaries": {"z+": "free-surface"},
    }  # fmt: skip
    middle = [0.37 * edge * bricks[0], 0.41 * edge * bricks[1], -0.43 * edge * bricks[2]]
    source = {
        "kind": "moment-tensor", "location": middle, "tensor": {"xy": 1e18}, "time_function": {"kind": "gaussian", "duration": 0.1},
    }  # fmt: skip
    numerics = {"order": setting.order, "precision": setting.precision}
    return {
        "end_time": 1000.0,
        "mesh": {"generate": generated},
        "material": {"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
        "sources": [source],
        "numerics": numerics if setting.threads is None else numerics | {"threads": setting.threads},
        "output": {"receivers": {"points": [[*middle[:2], 0.0]]}},
    }


def table_name(setting: Setting) -> str:
    """Return the name of the table in a page; there is one for each precision."""
    return f"{setting.precision} size"


def check(setting: Setting, files: Files) -> None:
    """Check the settings and output files before anything is measured; raise InputError with all problems."""
    problems = Problems()
    if not setting.cells or not all(6 <= n < float("inf") and n == int(n) for n in setting.cells):
        problems.error(
            "--cells", f"is {', '.join(f'{n:g}' for n in setting.cells)}", "whole numbers from 6, as 10000 or 1e4"
        )
    check_counts(problems, steps=setting.steps, threads=setting.threads)
    if setting.precision == "auto":
        problems.error("--precision", "is auto", "double, single")
    _, found = load_case(box(replace(setting, threads=None), TINY))
    problems.extend(found.errors)
    problems.extend(files.problems(table_name(setting)))
    problems.raise_errors()


def measure(setting: Setting, say: Callable[[str], None]) -> Measured:
    """Measure all sizes that fit into the machine's memory, smallest first.

    The result's ``left_out`` has the estimated bytes of the sizes that do not fit.
    """
    found: list[Measured] = []
    left_out: dict[int, float] = {}
    memory = machine_memory() or float("inf")
    sizes = sorted({int(n) for n in setting.cells})
    say("compiling kernels")
    apart(box(setting, TINY), 1)
    tiny = [apart(box(setting, TINY), 1) for _ in range(3)]
    fixed = {name: min(float(each[name]) for each in tiny) for name in LAWS}
    for cells in sizes:
        needed = _needed(setting, cells, found)
        if needed > ROOM * memory:
            left_out[cells] = needed
            continue
        say(f"{cells:,} cells")
        found.append(apart(box(setting, cells), setting.steps))
    if not found:
        what = f"{sizes[0]:,} cells need {needed / 2**30:.3g} GiB, and this machine has {memory / 2**30:.3g}"
        raise InputError(Problem("--cells", what, advice="Measure smaller boxes."))
    return {
        "format": FORMAT, **facts(), "order": setting.order, "precision": setting.precision, "sizes": found, "left_out": left_out,
        "fixed": fixed, "exponents": {name: exponent(found, name, fixed[name]) for name in LAWS},
    }  # fmt: skip


def _needed(setting: Setting, cells: int, found: Sequence[Measured]) -> float:
    """Return the bytes of a box, estimated from the largest box measured so far, or as a lower bound while there is none."""
    if found and found[-1]["cells"] >= LARGE:
        return float(found[-1]["bytes"] / found[-1]["cells"] * cells)
    case, _ = load_case(box(setting, TINY))
    assert case is not None
    return minimum_memory(case, cells)


def apart(case: Settings, steps: int) -> Measured:
    """Measure one box in another process; raise RunError with its output if it fails."""
    requested = json.dumps({"case": case, "steps": steps, "started": clock.time()})
    done = subprocess.run([*PYTHON, "-m", "faultwave.bench.size_worker", requested], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode or not lines:
        why = f"was ended by signal {-done.returncode}" if done.returncode < 0 else "failed"
        raise RunError(f"a box of {case['mesh']['generate']['cells']} bricks {why}: {done.stderr.strip()[-1000:]}")
    result: Measured = json.loads(lines[0][len(MARK) :])
    return result | {"step_s": statistics.median(result["steps_s"])}


def exponent(sizes: Sequence[Measured], name: str, fixed: float = 0.0) -> tuple[float, float] | None:
    """Return the exponent of the power law in cells of the excess over ``fixed``, fitted to large boxes, with its largest misfit.

    The misfit is a factor. Returns None for fewer than two boxes.
    """
    large = [s for s in sizes if s["cells"] >= LARGE and s[name] > fixed]
    if len(large) < 2:
        return None
    x, y = np.log([s["cells"] for s in large]), np.log([s[name] - fixed for s in large])
    line = np.polyfit(x, y, 1)
    return float(line[0]), float(np.exp(np.abs(np.polyval(line, x) - y).max()))


HEADER = (
    "cells",
    "set-up [s]",
    "first step [s]",
    "a step [s]",
    "M updates/s",
    "memory [GiB]",
    "of it at set-up",
    "bytes a cell",
)


def markdown(found: Measured) -> str:
    """Return date and machine, a row for each size, and the fitted exponents."""
    m, sizes = found["machine"], found["sizes"]
    threads = sizes[0]["threads"]
    lines = [
        f"{found['date'][:10]}, {m['cpu']}, {m['cores']} cores, Faultwave {found['versions']['faultwave']}: boxes of elastic rock, order "
        f"{found['order']}, {found['precision']} precision, {threads} thread{'s' * (threads > 1)}, each in a process of its own.", "",
        f"| {' | '.join(HEADER)} |", f"|{' ---: |' * len(HEADER)}",
    ]  # fmt: skip
    lines += [f"| {' | '.join(_cells(s))} |" for s in sizes]
    several = sum(s["cells"] >= LARGE for s in sizes) > 2  # a line through two points is always exact
    reported = [
        f"{called} {e[0]:.3f}" + (f" (within {100 * (e[1] - 1):.0f} %)" if several else "")
        for n, called in LAWS.items()
        if (e := found["exponents"][n])
    ]
    if reported:
        fixed = f"{found['fixed']['setup_s']:.2g} s and {found['fixed']['bytes'] / 2**30:.2g} GiB"
        what = f"Exponents from {LARGE:,} cells on, in addition to what every run takes ({fixed} with {TINY} cells)"
        lines += ["", f"{what}: {', '.join(reported)}."]
    left = [f"{int(n):,} cells ({size / 2**30:.3g} GiB)" for n, size in found["left_out"].items()]
    if left:
        lines += ["", f"Too large for this machine's memory: {', '.join(left)}."]
    return "\n".join(lines)


def _cells(s: Measured) -> tuple[str, ...]:
    return (
        f"{s['cells']:,}", *(f"{s[name]:.3g}" for name in ("setup_s", "first_step_s", "step_s")), f"{1e-6 * s['cells'] / s['step_s']:.2f}",
        f"{s['bytes'] / 2**30:.3g}", f"{100 * s['setup_bytes'] / s['bytes']:.0f} %", f"{s['bytes'] / s['cells']:,.0f}",
    )  # fmt: skip


@style.house()
def draw(found: Measured, path: Path) -> Path:
    """Draw time and memory against cells on logarithmic axes with the fitted lines, dotted outside the fitted range.

    Writes a PNG, completely or not at all.
    """
    fig = style.figure(height=3.8)
    times, memory = style.mosaic(fig, 1, 2)[0]
    for colour, name in zip(style.COLOURS, ("setup_s", "first_step_s", "step_s"), strict=False):
        _line(times, found, name, 1.0, colour)
    _line(memory, found, "bytes", 2.0**-30, style.COLOURS[3])
    for axes, label in ((times, "seconds"), (memory, "memory [GiB]")):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("cells")
        axes.set_ylabel(label)
        axes.grid(color="#ececec", lw=0.5)
        axes.set_axisbelow(True)
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2)
    memory.yaxis.set_major_formatter("{x:g}")
    low, high = memory.get_ylim()
    memory.yaxis.set_minor_formatter("{x:g}" if high < 10.0 * low else "")
    return style.save(fig, path)


def _line(axes: Axes, found: Measured, name: str, unit: float, colour: str) -> None:
    """Plot the measured values and the power law of large boxes, including the fixed cost of every run."""
    sizes, law, fixed = found["sizes"], found["exponents"][name], unit * found["fixed"][name]
    x, y = np.array([s["cells"] for s in sizes], float), unit * np.array([s[name] for s in sizes])
    label = LAWS[name] if law is None else f"{LAWS[name]}, exponent {law[0]:.2f}"
    axes.plot(x, y, color=colour, marker="o", ms=3.5, lw=0.0, label=label)
    if law is not None:
        large = (x >= LARGE) & (y > fixed)
        level = np.exp(np.mean(np.log(y[large] - fixed) - law[0] * np.log(x[large])))
        for begin, end, kind in ((x.min(), x[large].min(), ":"), (x[large].min(), x.max(), "-")):
            along = np.geomspace(begin, end, 100)
            axes.plot(along, fixed + level * along ** law[0], color=colour, lw=0.8, ls=kind)
