"""Table of one graphics processor: proxies and a whole run, compared with target rates, in one call."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast

from faultwave import backends
from faultwave.base.errors import Problems, suggest
from faultwave.base.types import Settings
from faultwave.bench.problem import SMALLEST, Setting
from faultwave.bench.proxy import facts
from faultwave.bench.results import Files, Measured, check_counts
from faultwave.bench.table import apart

if TYPE_CHECKING:
    from faultwave.dg.solver import Solver

FORMAT = "faultwave-bench-device-1"
CELLS, FEW = 524_288, 4_096
FINE = 160.0
"""Edge length [m] on the fault for a TPV5 of more than half a million cells."""
WARM, MEASURED = 0.3, 1.0
"""Simulated time [s] before the measurement and during it."""


@dataclass(frozen=True)
class Aim:
    """Proxy and its target: a rate [updates/s], or a multiple (``times``) of the rate of order 4 in double precision."""

    order: int
    precision: str
    cells: int
    rate: float = 0.0
    times: float = 0.0


def aims(cells: int, few: int) -> list[Aim]:
    """Return the proxies to measure; order 4 in double precision comes first, because others are compared with it."""
    first = [Aim(4, "double", cells, 150e6), Aim(6, "double", cells, 45e6), Aim(4, "single", cells, times=1.8)]
    others = [Aim(o, p, cells) for p in ("double", "single") for o in (2, 3, 5, 6) if (o, p) != (6, "double")]
    return [*first, Aim(4, "double", few, times=0.4), *others]


@dataclass(frozen=True)
class Plan:
    """Settings of the table.

    Attributes
    ----------
    backend : str
    cells, few : int
        Number of cells of the proxies and of the small proxy.
    size : float
        Edge length [m] of the elements on TPV5's fault.
    steps : int, optional
        Steps per repeat; None for the proxy's default.
    repeats : int
    orders : tuple of int, optional
        Orders to measure; None for all.
    """

    backend: str
    cells: int = CELLS
    few: int = FEW
    size: float = FINE
    steps: int | None = None
    repeats: int = 5
    orders: tuple[int, ...] | None = None


def check(plan: Plan, files: Files) -> None:
    """Check the settings before anything is measured; raise InputError with all problems."""
    problems = Problems()
    devices = [name for name in backends.names() if not backends.on_host(name)]
    if plan.backend not in devices:
        what = f"'{plan.backend}' is not a backend of graphics processors"
        problems.error("--backend", what, ", ".join(devices), suggest(plan.backend, devices))
    elif why := backends.missing(plan.backend):
        problems.error("--backend", why)
    for option, cells in (("--cells", plan.cells), ("--few", plan.few)):
        if cells < SMALLEST:
            problems.error(option, f"is {cells}", f"at least {SMALLEST}")
    _check_orders(plan, problems)
    check_counts(problems, steps=plan.steps, repeats=plan.repeats)
    for found in _tpv5(plan.size)[1].errors:
        problems.error("--size", found.what, found.allowed, found.advice)
    problems.extend(files.problems("device"))
    problems.raise_errors()


def _check_orders(plan: Plan, problems: Problems) -> None:
    if plan.orders is None:
        return
    known = sorted({aim.order for aim in aims(plan.cells, plan.few)})
    if unknown := [order for order in plan.orders if order not in known]:
        problems.error("--order", f"{', '.join(map(str, unknown))} is not measured", ", ".join(map(str, known)))
    if 4 not in plan.orders:
        problems.error(
            "--order",
            f"{', '.join(map(str, plan.orders))} does not include 4, with which the others are compared",
            "a list that includes 4",
        )


def measure(plan: Plan, say: Callable[[str], None]) -> Measured:
    """Measure all proxies, each in its own process, and then the run; return plain data."""
    proxies = []
    for aim in aims(plan.cells, plan.few):
        if plan.orders is not None and aim.order not in plan.orders:
            continue
        say(f"order {aim.order}, {aim.precision}, {aim.cells:,} cells")
        s = Setting(
            "elastic", aim.order, aim.precision, aim.cells, plan.steps, backend=plan.backend, repeats=plan.repeats
        )
        proxies.append({"aim": asdict(aim), **apart(s)})
    say("TPV5")
    return {
        "format": FORMAT,
        **facts(),
        "backend": plan.backend,
        "proxies": proxies,
        "run": tpv5(plan.backend, plan.size),
    }


def tpv5(backend: str, size: float) -> Measured:
    """Run the example TPV5 at order 4 with local time stepping and all outputs; return cells, clusters and the rate of time stepping."""
    from faultwave.run import simulate

    case, problems = _tpv5(size)
    problems.raise_errors()
    with tempfile.TemporaryDirectory(prefix="faultwave-bench-") as folder:
        sim = simulate(case, order=4, backend=backend, output=f"{folder}/tpv5")
        sim.run(until=WARM, write=False)  # records what is replayed later
        solver = cast("Solver", sim.solver)
        before, stepping = solver.updates, sim.wall["stepping"]
        sim.run(until=WARM + MEASURED)
        spent = sim.wall["stepping"] - stepping
    recorded = [r for r in solver.replays.made.values() if r is not None]
    return {
        "cells": solver.plan.cells, "clusters": len(solver.plan.clustering.steps), "seconds": spent,
        "updates_per_second": (solver.updates - before) / spent, "steps_replayed": solver.replays.replayed,
        "launches": recorded[-1].recording.launches if recorded else None,
        "stages": recorded[-1].recording.stages if recorded else None,
        "updates_a_replay": recorded[-1].updates if recorded else None,
    }  # fmt: skip


def _tpv5(size: float) -> tuple[Settings, Problems]:
    """Return the example with elements of ``size`` [m] on the fault, and its problems."""
    from faultwave.case.load import load_case

    settings, problems = load_case("tpv5")
    problems.raise_errors()
    assert settings is not None  # it is None only where there are errors
    case: Settings = settings.model_dump(mode="json", exclude_unset=True)
    case["mesh"]["generate"]["size"] = size
    return case, load_case(case)[1]


def markdown(found: Measured) -> str:
    """Return date, machine, and a table with a row for each proxy and the run, with rates and targets."""
    proxies = found["proxies"]
    first, base = proxies[0], proxies[0]["updates_per_second"]
    lines = [
        f"{found['date'][:10]}, {first['runs_on']}, Faultwave {found['versions']['faultwave']}. Copy {1e-9 * first['copy_bandwidth']:,.0f} "
        f"GB/s, multiply-add {1e-9 * first['peak_flops']:,.0f} GFLOP/s in double precision, measured in the same run; medians of "
        f"{first['setting']['repeats']} repeats.",
        "",
        "| | M updates/s | wanted | of copy | useful, of peak | bytes an update | updates/J | spread |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    for p in proxies:
        aim = p["aim"]
        wanted = aim["rate"] or aim["times"] * base
        joule = f"{p['updates_per_joule']:,.0f}" if p["updates_per_joule"] else ""
        lines.append(
            f"| order {aim['order']}, {aim['precision']}, {p['cells']:,} cells | {1e-6 * p['updates_per_second']:,.2f} | "
            f"{f'{1e-6 * wanted:,.0f}' if aim['rate'] else f'{1e-6 * wanted:,.2f}' if wanted else ''} | {100 * p['copy_fraction']:.0f} % | "
            f"{100 * p['peak_fraction']:.0f} % | {p['bytes_per_update']:,.0f} | {joule} | {100 * p['updates_per_second_spread']:.0f} % |"
        )
    run = found["run"]
    share = f"| TPV5, order 4, {run['cells']:,} cells, {run['clusters']} clusters, outputs on | {1e-6 * run['updates_per_second']:,.2f} | "
    lines.append(f"{share}{1e-6 * 0.7 * base:,.2f} | | | | | |")
    if run["launches"]:
        lines += [
            "",
            f"A replay of the run: {run['launches']:,} launches in {run['stages']:,} stages, {run['updates_a_replay']:,} updates.",
        ]
    return "\n".join(lines)
