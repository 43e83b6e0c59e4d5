"""Detection of unstable growth: the end of the sources, exponential growth after it, and the explanation of an unstable run.

Each engine bounds the energy of its waves by what its sources have given (``dg/capabilities/growth.py``,
``fd/checks/instability_monitor.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from faultwave.physics.sources.point import PointSource, Sources
from faultwave.physics.sources.time_functions import pieces

SILENT, INTERVALS = 1e-6, 256
"""Relative strength below which a source is silent, and number of intervals of the run in which strength is evaluated."""
SPANS, TENFOLD, LEAST = 4, 10.0, 3
"""Number of growing time spans, growth of each, and fewest checks in one."""
TOO_LARGE = "sources or initial values far larger than intended: check their units"
"""The least likely cause of an unstable run."""


def end_of_sources(sources: Iterable[PointSource], end: float) -> float:
    """Return the time [s] after which no source acts until ``end`` [s].

    Each source is compared with its own largest strength, because sources of different kinds have different units.
    """
    edges, acting = np.linspace(0.0, end, INTERVALS + 1), np.zeros(INTERVALS, bool)
    table = Sources.of(sources)
    for piece in pieces(len(table), INTERVALS):
        strength = np.abs(np.diff(table.released(edges, np.arange(len(table))[piece]), axis=1))
        acting |= (strength > SILENT * strength.max(1, keepdims=True)).any(0)
    return float(edges[1:][acting].max(initial=0.0))


def grows(squares: Sequence[float]) -> bool:
    """Return True if sums of squares of consecutive checks without active sources grew exponentially."""
    for length in range(LEAST, len(squares) // SPANS + 1):
        spans = np.reshape(squares[-SPANS * length :], (SPANS, length)).max(1)
        if spans[0] > 0 and (spans[1:] > TENFOLD * spans[:-1]).all():
            return True
    return False


def explanation(time: float, wrong: str, details: Sequence[str], causes: Sequence[str], progress: str = "") -> str:
    """Return the message of a run that became unstable.

    Parameters
    ----------
    time : float
        Simulated time of the detection [s].
    wrong : str
        Reason.
    details : sequence of str
        Lines on the place and the state there.
    causes : sequence of str
        Likely causes, the most likely first.
    progress : str
        Further words on the time, such as the number of steps.
    """
    numbered = [f"  {n}. {cause}" for n, cause in enumerate([*causes, TOO_LARGE], 1)]
    first = f"the run blew up before t = {time:g} s{progress}: {wrong}"
    return "\n".join([first, *details, "likely causes, in order:", *numbered])
