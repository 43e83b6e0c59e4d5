"""Section on the estimated errors of seismograms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from faultwave.observe.error_estimates import percent
from faultwave.output.trace import Trace
from faultwave.report.blocks import Section, Table
from faultwave.report.figures import length_unit
from faultwave.report.loaded import Run

ORDER = 45
SHOWN = 100
"""Maximum number of receivers shown, the ones with the largest errors."""


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    """Yield the sections on estimated errors."""
    known = [t for t in run.results.traces.get("receiver", {}).values() if np.isfinite(_error(t))]
    if not known:
        return
    scale, unit = length_unit(np.array([t.location for t in known]))
    worst = sorted(known, key=_error, reverse=True)[:SHOWN]
    rows = [
        (
            str(t.number),
            ".".join(word for word in (t.network, t.station) if word),
            ", ".join(f"{scale * x:.6g}" for x in t.location),
            percent(_error(t)),
        )
        for t in worst
    ]
    title = f"Estimated relative errors of seismograms [%], from {run.manifest.get('estimated_errors', {}).get('from', 'coarser runs')}"
    errors = [_error(t) for t in known]
    rows.insert(0, ("all", "", "median and largest", f"{percent(np.median(errors))} and {percent(max(errors))}"))
    yield Section("Errors", [Table(title, ("receiver", "station", f"place [{unit}]", "velocity"), rows)])


def _error(trace: Trace) -> float:
    return np.nan if trace.relative_error is None else trace.relative_error
