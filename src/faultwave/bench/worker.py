"""Measurement of a case on several processes; each of them runs this module under a launcher (``python -m``).

Reads its task as JSON from the argument and prints the result as JSON on the first process.
"""

from __future__ import annotations

import json
import sys
import time as clock
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from faultwave.base.errors import FaultwaveError
from faultwave.base.types import Settings
from faultwave.bench.results import Measured

if TYPE_CHECKING:
    from faultwave.comm import World
    from faultwave.dg.solver import Solver
    from faultwave.run.session import Session

MARK = "faultwave-measured:"


def measure(case: Settings | str, overrides: Settings, seconds: float, repeats: int, delay: float = 0.0) -> Measured:
    """Step the case without output on all processes together, ``repeats`` times for about ``seconds``.

    ``delay`` [s] is the time by which every message is delivered late in every second repeat.
    """
    from faultwave.run import simulate

    started = clock.perf_counter()
    sim = simulate(case, force=True, **overrides)
    solver, world = cast("Solver", sim.solver), sim.world
    march, exchange = solver.march, solver.messages.exchange
    world.wait()
    ready = clock.perf_counter() - started

    def advance(steps: int) -> float:
        world.wait()
        begin = clock.perf_counter()
        for _ in range(steps):
            solver.advance(march.time + march.longest)
        solver.backend.finish()
        world.wait()
        return clock.perf_counter() - begin

    advance(1)  # warms caches, kernels and the friction state
    steps = world.broadcast(max(1, round(seconds / max(advance(1), 1e-6))))
    found = []
    for i in range(repeats):
        if exchange:
            exchange.delay = (lambda: delay) if delay and i % 2 else None
        found.append(_one(solver, world, solver.updates_share, advance, steps))
    sent = world.gather(dict(exchange.sent) if exchange else {})
    calls = world.gather({**exchange.calls, "wait": [0, _spent(solver)[0]]} if exchange else {})
    return {
        "cells": int(sim.plan.clustering.histogram.sum()), "processes": world.size, "threads": solver.backend.threads,
        "setup_s": ready, "simulated_s": steps * march.longest, "end_time": sim.case.end_time, "repeats": found, "sent": sent,
        "progress": sim.case.numerics.progress, "halo": sim.solver.halo or "", "calls": calls, **_flops(sim), "steps": steps * repeats + 2,
        "largest_step": march.longest,
    }  # fmt: skip


def _flops(sim: Session) -> dict[str, float]:
    """Return the flops per cell update of the kernels and the fewest that are known to suffice."""
    from faultwave.bench.rooflines.minimal_flops import useful_flops
    from faultwave.dg.operators import kernels
    from faultwave.kernels.count import cost

    numerics, form = sim.case.numerics, cast("Solver", sim.solver).operator.form
    if numerics.integrator != "ader":
        return {}
    executed = cost(kernels.correct_and_predict(form)).flops
    useful, _ = useful_flops(sim.case.law, numerics.order, executed)
    return {"flops_per_update": executed, "useful_flops_per_update": useful}


def _one(solver: Solver, world: World, share: float, advance: Callable[[int], float], steps: int) -> dict[str, float]:
    updates, used = solver.updates, clock.process_time()
    waited, packing = _spent(solver)
    wall = advance(steps)
    used = clock.process_time() - used
    after, packed = _spent(solver)
    waited, packed, busiest = world.largest([after - waited, packed - packing, used - (after - waited)])
    return {
        "wall_s": wall, "updates_per_second": (solver.updates - updates) * share / wall, "exposed_s": waited, "packing_s": packed,
        "processor_s": busiest,
    }  # fmt: skip


def _spent(solver: Solver) -> tuple[float, float]:
    """Return the time [s] so far spent waiting for other processes, and copying and sending."""
    exchange, march = solver.messages.exchange, solver.march
    return march.waited + (exchange.waited if exchange else 0.0), exchange.seconds if exchange else 0.0


if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    try:
        result = measure(**request)
    except FaultwaveError as error:
        sys.exit(str(error))
    from faultwave.comm import world

    if world().first:
        print(MARK + json.dumps(result), flush=True)
