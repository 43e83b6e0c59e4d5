"""Scaling with processes and threads: rates, messages, and the best combination on this machine."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from faultwave import backends
from faultwave.base.errors import InputError, Problem, Problems, RunError, collect_problems
from faultwave.base.processes.host import PYTHON
from faultwave.base.progress import rate
from faultwave.base.types import Settings
from faultwave.bench.results import Files, Measured
from faultwave.bench.worker import MARK
from faultwave.case.load import load_case
from faultwave.engine.checks import check_backend
from faultwave.run.inputs import load_case_and_inputs

Rows = list[tuple[str, ...]]


def check(
    case: object,
    wanted: Sequence[Mapping[str, object]],
    seconds: float,
    files: Files | None = None,
    delay: float = 0.0,
    weak: bool = False,
) -> None:
    """Check the settings of a scaling measurement before it begins.

    Parameters
    ----------
    case : path or dict
    wanted : sequence of mapping
        Sets of overrides, with each of which the case must be valid.
    seconds, delay : float
        Duration of a repeat and delay of messages [s].
    files : Files, optional
        Output files that must be writable.
    weak : bool, optional
        True if the case must be extensible for weak scaling.

    Raises
    ------
    InputError
        With all problems.
    """
    problems = Problems()
    for overrides in wanted:
        settings, found = load_case_and_inputs(case, overrides)
        if settings is not None and settings.engine != "dg":
            found.error("engine", f"is {settings.engine}, and time stepping is measured on meshes", "dg")
        elif settings is not None:
            check_backend(settings.numerics, backends.names(), found)
        problems.extend(p for p in found.errors if p not in problems.items)
    if weak and not problems.errors:
        with collect_problems(problems):
            widened(case, 1)
    if not 0 < seconds < math.inf:
        problems.error("--seconds", f"is {seconds:g}", "more than 0 s")
    if not 0 <= delay < math.inf:
        problems.error("--delay", f"is {delay:g}", "0 s or more")
    if files is not None:
        problems.extend(files.problems(""))
    problems.raise_errors()


def run(
    launcher: str,
    case: object,
    ranks: int,
    threads: int,
    overrides: Settings,
    seconds: float = 2.0,
    repeats: int = 3,
    delay: float = 0.0,
) -> Measured:
    """Run one measurement and return its results.

    Parameters
    ----------
    launcher : str
        MPI launcher.
    case : path or dict
    ranks, threads : int
    overrides : dict
    seconds : float, optional
        Approximate duration of a repeat [s].
    repeats : int, optional
    delay : float, optional
        Delay [s] of every message in every second repeat.

    Raises
    ------
    RunError
        With the output of the processes, if they fail.
    """
    requested = {
        "case": case,
        "overrides": {**overrides, "threads": threads},
        "seconds": seconds,
        "repeats": repeats,
        "delay": delay,
    }
    command = [*PYTHON, "-m", "faultwave.bench.worker", json.dumps(requested)]
    command = [launcher, "-n", str(ranks), *command] if ranks > 1 else command
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode or not lines:
        raise RunError(
            f"{ranks} processes of {threads} threads failed:\n{(done.stderr or done.stdout).strip()[-2000:]}"
        )
    result: Measured = json.loads(lines[0][len(MARK) :])
    rates = [r["updates_per_second"] for r in result["repeats"]]
    result["rate"] = statistics.fmean(rates)
    result["deviation"] = statistics.stdev(rates) / result["rate"] if len(rates) > 1 else 0.0
    walls = statistics.fmean(r["wall_s"] for r in result["repeats"])
    result["exposed_share"] = statistics.fmean(r["exposed_s"] for r in result["repeats"]) / walls
    result["cases_per_day"] = 86400.0 / (result["setup_s"] + result["end_time"] / result["simulated_s"] * walls)
    result["stepping_s"] = result["end_time"] / result["simulated_s"] * walls
    return result


def cores_of(result: Measured) -> int:
    """Return the number of cores that a measurement used, including cores of message threads."""
    return int(result["processes"] * (result["threads"] + (result["progress"] == "thread")))


def scaling(results: Sequence[Measured], weak: bool = False) -> tuple[Rows, tuple[str, ...]]:
    """Return the table of strong scaling: efficiency of time stepping and of the whole run with its start, relative to the first result.

    With ``weak``, cases grow with the cores and the whole run should take as long as the first one.
    """
    first = results[0]
    cores = cores_of(first)
    rows: Rows = []
    for r in results:
        share = cores_of(r) / cores
        whole = (first["setup_s"] + first["stepping_s"]) / (r["setup_s"] + r["stepping_s"]) / (1.0 if weak else share)
        rows.append((
            f"{r['processes']} x {r['threads']}", r["progress"], f"{r['rate']:,.0f}", f"{100 * r['deviation']:.1f} %",
            f"{100 * r['rate'] / first['rate'] / share:.0f} %", f"{100 * whole:.0f} %", _gigaflops(r), f"{100 * r['exposed_share']:.1f} %",
            f"{r['cases_per_day']:.3g}",
        ))  # fmt: skip
    header = (
        "processes x threads",
        "messages",
        "updates/s",
        "deviation",
        "stepping",
        "whole run",
        "GFLOP/s executed, useful",
        "exposed messages",
        "cases a day",
    )
    return rows, header


def _gigaflops(result: Measured) -> str:
    """Return the GFLOP/s of the cell updates as text; friction is not counted."""
    if "flops_per_update" not in result:
        return ""
    names = ("flops_per_update", "useful_flops_per_update")
    return ", ".join(f"{1e-9 * result['rate'] * result[name]:.3g}" for name in names)


def profile(result: Measured) -> tuple[Rows, tuple[str, ...]]:
    """Return calls per largest time step and their microseconds, for every process: sends, tests, receives and waiting."""
    names, steps = ("send", "test", "receive", "wait"), result["steps"]
    rows: Rows = []
    for rank, calls in enumerate(result["calls"]):
        cells = [f"{n / steps:,.1f} in {1e6 * s / steps:,.0f} us" for n, s in (calls[name] for name in names[:3])]
        rows.append((str(rank), *cells, f"{1e6 * calls['wait'][1] / steps:,.0f} us"))
    return rows, ("process", "sends", "looks", "receives", "waiting")


def widened(case: object, times: int) -> Settings:
    """Return a case on a box that is ``times`` as long and has ``times`` as many cells, for weak scaling.

    Raises
    ------
    InputError
        If the mesh is not a generated box.
    """
    settings, problems = load_case(case)
    problems.raise_errors()
    assert settings is not None
    data: Settings = settings.model_dump(mode="json", exclude_unset=True)
    box = (data.get("mesh") or {}).get("generate")
    if box is None or box.get("shape") != "box":
        raise InputError(Problem("--weak", "needs a mesh that can grow", "mesh.generate with shape: box"))
    box["cells"][0] *= times
    box["upper"][0] = box["lower"][0] + times * (box["upper"][0] - box["lower"][0])
    return data


def weak_scaling(results: Sequence[Measured]) -> tuple[Rows, tuple[str, ...]]:
    """Return the table of weak scaling, for cases that grow with the processes, relative to the first result."""
    rows, header = scaling(results, weak=True)
    return [(f"{r['cells']:,}", *row[:-1]) for r, row in zip(results, rows, strict=True)], ("cells", *header[:-1])


def traffic(result: Measured) -> tuple[Rows, tuple[str, ...]]:
    """Return messages and bytes per largest time step between processes, as a matrix; rows send."""
    sent, steps, count = result["sent"], result["steps"], result["processes"]
    rows: Rows = []
    for rank, to in enumerate(sent):
        cells = []
        for other in range(count):
            messages, size = to.get(str(other), to.get(other, (0, 0)))
            cells.append(f"{messages / steps:g} messages, {size / steps / 1024:,.1f} KiB" if messages else "")
        rows.append((str(rank), *cells))
    return rows, ("from \\ to", *map(str, range(count)))


def one_repeat(found: Measured, delay: float) -> list[tuple[str, str]]:
    """Return the times of the last repeat (or of the one without ``delay``) and the rate."""
    last = found["repeats"][0 if delay else -1]
    return [
        ("stepping", f"{last['wall_s']:.3f} s"),
        ("waiting for messages (the longest)", f"{last['exposed_s']:.3f} s"),
        ("packing and sending (the longest)", f"{last['packing_s']:.3f} s"),
        ("rate", rate(found["rate"])),
    ]


def slowed(result: Measured) -> tuple[float, float]:
    """Return the wall time [s] of a largest time step without delayed messages, and the factor by which delays increase it.

    Both are medians; the factor is a median of ratios of consecutive repeats, on which a drift of the clock rate has little influence.
    """
    steps = result["simulated_s"] / result["largest_step"]
    walls = [r["wall_s"] / steps for r in result["repeats"]]
    pairs = [late / early for early, late in zip(walls[0::2], walls[1::2], strict=False)]
    return statistics.median(walls[0::2]), statistics.median(pairs)


def candidates(cores: int) -> list[tuple[int, int, str]]:
    """Return (processes, threads, progress mode) that fill the cores; a message thread takes one core of each process."""
    whole = [(n, cores // n) for n in range(1, cores + 1) if cores % n == 0]
    return [(*x, "polling") for x in whole] + [(n, k - 1, "thread") for n, k in whole if n > 1 and k > 1]


def tune(
    launcher: str, case: str, overrides: Settings, cores: int, say: Callable[[str], None], seconds: float = 2.0
) -> list[Measured]:
    """Measure every way to fill the cores; return the results, fastest first."""
    found = []
    for ranks, threads, mode in candidates(cores):
        say(f"{ranks} processes of {threads} threads, {mode}")
        found.append(run(launcher, case, ranks, threads, {**overrides, "progress": mode}, seconds))
    return sorted(found, key=lambda r: -r["rate"])


def draw(results: Sequence[Measured], path: str | Path) -> Path:
    """Draw rate against cores, with the line of perfect scaling from the first result and one colour per number of threads."""
    from faultwave.plot import style

    with style.house():
        figure = style.figure(4.6, 3.4)
        axes = figure.add_subplot()
        cores = [cores_of(r) for r in results]
        perfect = [results[0]["rate"] * c / cores[0] / 1e6 for c in (min(cores), max(cores))]
        axes.plot((min(cores), max(cores)), perfect, color="#999999", lw=0.8, label="perfect")
        for colour, threads in zip(style.COLOURS * 9, sorted({r["threads"] for r in results}), strict=False):
            mine = [r for r in results if r["threads"] == threads]
            x, y = [cores_of(r) for r in mine], [r["rate"] / 1e6 for r in mine]
            bars = [r["rate"] * r["deviation"] / 1e6 for r in mine]
            axes.errorbar(
                x,
                y,
                bars,
                color=colour,
                marker="o",
                ms=4,
                lw=1.2,
                capsize=2,
                label=f"{threads} thread{'s' * (threads > 1)} each",
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(lambda value, place: f"{value:.3g}")
        axes.set_xticks(sorted(set(cores)), [str(c) for c in sorted(set(cores))])
        axes.set_xlabel("cores")
        axes.set_ylabel("million element updates a second")
        axes.set_title(f"{results[0]['cells']:,} cells")
        axes.legend(frameon=False)
        return style.save(figure, Path(path))
