"""Warnings about cases that can run and record nothing."""

from __future__ import annotations

from faultwave.base.errors import Problems
from faultwave.case.model import Case

SAMPLED = ("receivers", "fault_receivers", "fault", "surface", "volume", "energies")
"""Outputs with an interval."""


def doubt_case(case: Case) -> Problems:
    """Outputs whose interval is longer than the run."""
    problems = Problems()
    for name in SAMPLED:
        interval = getattr(getattr(case.output, name), "interval", None)
        if interval is not None and interval > case.end_time * (1 + 1e-9):
            what = f"{interval:g} s is longer than the run of {case.end_time:g} s: one sample, at its start"
            problems.warn(f"output.{name}.interval", what, f"up to {case.end_time:g} s")
    return problems


__all__ = ["doubt_case"]
