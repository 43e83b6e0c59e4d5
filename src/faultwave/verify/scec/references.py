"""Comparison with rupture times of another code, where its decks and results are available (see ``verify.decks``)."""

from __future__ import annotations

import numpy as np

from faultwave.output.results import load_results
from faultwave.output.trace import Trace
from faultwave.verify.case import Row, at_most
from faultwave.verify.decks import cases_folder
from faultwave.verify.scec.measure import Measured

LIMIT = 0.08
"""Largest relative difference of rupture times, for quick and full runs.

The decks have meshes of 1 km: at mirrored points of a symmetric nucleation their own times differ by 4.5 % (tpv5), and runs on finer
meshes rupture earlier than both.
"""


def against_reference(measured: Measured) -> list[Row]:
    """Return a row with the largest relative difference of rupture times on the main fault; none without a reference."""
    benchmark, folder = measured.benchmark, cases_folder()
    if not benchmark.reference or folder is None:
        return []
    results = folder / benchmark.reference / "reference-head"
    if not results.is_dir():
        return []
    fault = next(iter(measured.fine.ruptures.values()))
    worst = []
    for trace in load_results(results).traces["faultreceiver"].values():
        time = _rupture_time(trace)
        if time > 0.1 and np.isfinite(trace.location).all():
            s, d = fault.fault.places(trace.location[None])[0]
            worst.append(abs(fault.at(s, d) - time) / time)
    if not worst:
        return []
    label = (
        f"rupture times at {len(worst)} points against the deck '{benchmark.reference}', largest relative difference"
    )
    return [at_most(label, max(worst), LIMIT)]


def _rupture_time(trace: Trace) -> float:
    return float(trace.columns["RT"][-1]) if "RT" in trace.columns else 0.0
