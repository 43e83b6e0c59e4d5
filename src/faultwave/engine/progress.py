"""Progress of a run as it is reported to the user."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Progress of a run.

    Attributes
    ----------
    time, end_time : float
        Simulated time and end time [s].
    updates : int
        Cell or grid-point updates so far.
    rate : float
        Updates per second.
    eta : float
        Estimated time left [s].
    """

    time: float
    end_time: float
    updates: int
    rate: float
    eta: float
