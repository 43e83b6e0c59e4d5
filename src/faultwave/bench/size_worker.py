"""Measurement of one box of ``bench.size`` in its own process (``python -m``): set-up, first step, later steps, and memory.

Reads its task as JSON from the argument and prints the result as JSON.
"""

from __future__ import annotations

import json
import sys
import time as clock
from typing import TYPE_CHECKING, cast

from faultwave.base.processes.host import peak_memory
from faultwave.base.types import Settings
from faultwave.bench.results import Measured
from faultwave.bench.worker import MARK

if TYPE_CHECKING:
    from faultwave.dg.solver import Solver

REPEATS = 3


def measure(case: Settings, steps: int, started: float) -> Measured:
    """Step the case once, then ``REPEATS`` times ``steps`` steps without a break, as a run does between two outputs.

    ``started`` is the wall-clock time [s since the epoch] at which the process was requested.
    """
    from faultwave.run import simulate

    solver = cast("Solver", simulate(case, force=True).solver)
    setup, held = clock.time() - started, peak_memory()
    first = _advance(solver, 1)
    found = [_advance(solver, steps) for _ in range(REPEATS)]
    solver.monitor.check(solver.world, solver.time)  # keeps means of all cells, as every run does
    return {
        "cells": solver.plan.cells, "threads": solver.threads, "setup_s": setup, "first_step_s": first, "steps_s": found,
        "setup_bytes": held, "bytes": peak_memory(),
    }  # fmt: skip


def _advance(solver: Solver, steps: int) -> float:
    """Return the time [s] per largest step over ``steps`` consecutive steps.

    Correction and prediction are one pass between two steps, but not before the first and after the last.
    """
    begin = clock.perf_counter()
    solver.advance(solver.march.time + steps * solver.march.longest)
    solver.backend.finish()
    return (clock.perf_counter() - begin) / steps


if __name__ == "__main__":
    print(MARK + json.dumps(measure(**json.loads(sys.argv[1]))), flush=True)
