"""What a run tells while it goes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """State of a run: simulated and final time [s], element updates so far and per second, seconds left."""

    time: float
    end_time: float
    updates: int
    rate: float
    eta: float
