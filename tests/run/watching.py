"""A part of the tests' own that looks at a solver while it steps."""

from __future__ import annotations

from typing import Any

from faultwave.engine.capability import Callback, Capability


def watch(sim: Any, call: Callback) -> None:
    """Have ``call`` made in the steps of a simulation."""
    part = Capability()
    part.callbacks = (call,)
    sim.solver.parts["watch"] = part
    sim.solver.refresh_callbacks()
