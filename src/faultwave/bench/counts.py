"""Checks of the numbers of threads, steps and repeats of a benchmark."""

from __future__ import annotations

from faultwave.base.errors import Problems
from faultwave.base.processes.host import MAX_THREADS


def check_counts(problems: Problems, **counts: int | None) -> None:
    """Report options by name whose number is below 1, or above the OpenMP limit for ``threads``; None is skipped."""
    for name, number in counts.items():
        if number is not None and number < 1:
            problems.error(f"--{name}", f"is {number}", "at least 1")
        elif name == "threads" and number is not None and number > MAX_THREADS:
            problems.error("--threads", f"is {number}", f"1 to {MAX_THREADS}")


__all__ = ["check_counts"]
