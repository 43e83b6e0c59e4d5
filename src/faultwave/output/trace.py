"""Time series of receivers and results of a run, independent of the file format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

import numpy as np

from faultwave.base import wording
from faultwave.observe.dataset import Dataset

Kind = Literal["receiver", "faultreceiver"]
MAX_LISTED_TRACES = 20
"""Maximum number of traces listed in a notebook."""


@dataclass(frozen=True)
class Trace:
    """Time series of one receiver.

    Attributes
    ----------
    kind : str
        Receiver or fault receiver.
    number : int
        Number of the receiver, from 1.
    time : ndarray of shape (ns,)
        Times [s].
    columns : dict of str to ndarray of shape (ns,)
        Values by quantity.
    location : ndarray of shape (3,)
        Location [m].
    vectors : dict of str to ndarray of shape (3,)
        'normal', 'strike', 'dip' and 'initial_traction', if the file states them.
    geographic : tuple of float, optional
        Longitude, latitude and direction of the y axis, clockwise from true north [deg].
    units : mapping of str to str
        Units of the columns, if the file states them.
    station, network : str
        Codes.
    origin : datetime, optional
        UTC date and time of the start of the simulated time, None if unknown.
    relative_error : float, optional
        Estimated relative error of velocity, or of the electric field; None if it was not estimated.
    event : mapping
        Known properties of the earthquake, such as ``event_magnitude`` (see ``run.event``).
    """

    kind: Kind
    number: int
    time: np.ndarray
    columns: dict[str, np.ndarray]
    location: np.ndarray
    vectors: dict[str, np.ndarray] = field(default_factory=dict)
    geographic: tuple[float, float, float] | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    station: str = ""
    network: str = ""
    origin: datetime | None = None
    relative_error: float | None = None
    event: Mapping[str, object] = field(default_factory=dict)

    def __repr__(self) -> str:
        called = f" {self.network}.{self.station}" if self.station else ""
        return f"<Trace {self.kind} {self.number}{called}: {len(self.time)} samples of {', '.join(self.columns)}>"


@dataclass(frozen=True)
class Results:
    """Traces by kind and number (from 1) and the energies, if any, of the run ``prefix`` in ``folder``."""

    folder: Path
    prefix: str
    traces: Mapping[Kind, dict[int, Trace]]
    energies: Dataset | None

    def __repr__(self) -> str:
        counts = [f"{len(found)} {kind}{'s' * (len(found) != 1)}" for kind, found in self.traces.items()]
        return f"<Results {self.folder / self.prefix}: {', '.join([*counts, *['energies'] * (self.energies is not None)])}>"

    def _repr_html_(self) -> str:
        found = [trace for traces in self.traces.values() for trace in traces.values()]
        rows = [
            (t.kind, t.number, t.station, ", ".join(f"{x:.6g}" for x in t.location), len(t.time), ", ".join(t.columns))
            for t in found[:MAX_LISTED_TRACES]
        ]
        header = ("kind", "number", "station", "location [m]", "samples", "quantities")
        more = [f"and {len(found) - MAX_LISTED_TRACES} more"] if len(found) > MAX_LISTED_TRACES else []
        return wording.html_table(str(self.folder / self.prefix), rows, header) + wording.html_paragraphs(more)
