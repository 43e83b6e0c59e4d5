"""One box of ``bench.size``, in a process of its own (``python -m``): what setting up, the first step and later ones take, and memory.

Reads what to do as JSON from its argument and prints the result as JSON.
"""

from __future__ import annotations

import json
import sys
import time as clock
from typing import Any

from faultwave.base.memory import peak_memory
from faultwave.bench.worker import MARK


def measure(case: dict[str, Any], steps: int, started: float) -> dict[str, Any]:
    """Step the case so many times after the first one, as a run does. ``started``: by the clock of the day, when the process was
    asked for."""
    from faultwave.dg import stepping
    from faultwave.run import simulate

    solver: Any = simulate(case, force=True).solver
    setup, held = clock.time() - started, peak_memory()
    found = [_advance(solver) for _ in range(1 + steps)]
    stepping.check(solver)  # keeps means of all cells, as every run does
    return {
        "cells": solver.plan.cells, "threads": solver.threads, "setup_s": setup, "first_step_s": found[0], "steps_s": found[1:],
        "setup_bytes": held, "bytes": peak_memory(),
    }  # fmt: skip


def _advance(solver: Any) -> float:
    """Seconds of a largest step."""
    begin = clock.perf_counter()
    solver.march.advance(solver.march.time + solver.march.longest)
    solver.backend.finish()
    return clock.perf_counter() - begin


if __name__ == "__main__":
    print(MARK + json.dumps(measure(**json.loads(sys.argv[1]))), flush=True)
