"""What one receiver recorded, whatever file it stands in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

Kind = Literal["receiver", "faultreceiver"]


@dataclass(frozen=True)
class Trace:
    """What one receiver recorded: time (ns,) [s], columns (ns,) by quantity name, location (3,) [m].

    vectors holds 'normal', 'strike', 'dip' and 'initial_traction' (3,) where the file states them, geographic longitude,
    latitude and the direction of the y axis, clockwise from true north [deg].
    """

    kind: Kind
    number: int
    time: np.ndarray
    columns: dict[str, np.ndarray]
    location: np.ndarray
    vectors: dict[str, np.ndarray] = field(default_factory=dict)
    geographic: tuple[float, float, float] | None = None
