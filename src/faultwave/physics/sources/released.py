"""How much of the sources falls into the time of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.base.errors import Problems
from faultwave.physics.sources.point import PointSource

PARTS = 400  # of a source's duration, in which it is weighed
LOST = 0.01
"""Share of a source beyond which it is missed."""
NAMED = 3  # sources in a warning


def share_within(source: PointSource, end_time: float) -> float:
    """Part of the integral of abs(S) that falls into [0, end_time] [s]; 1 where S is nothing."""
    first, last = source.onset, source.onset + source.function.end
    if first >= 0 and last <= end_time:
        return 1.0
    edges = np.linspace(first, last, PARTS + 1)
    inner = np.clip(edges, 0.0, end_time)
    whole = float(np.abs(source.integral(edges[:-1], edges[1:])).sum())
    inside = float(np.abs(source.integral(inner[:-1], inner[1:])).sum())
    return inside / whole if whole > 0 else 1.0


def check_time(sources: Sequence[PointSource], end_time: float, problems: Problems, where: str = "sources") -> None:
    """A warning where sources, given at ``where`` in the case, act before the run or after it."""
    shares = np.array([share_within(s, end_time) for s in sources])
    lost = np.flatnonzero(shares < 1.0 - LOST)
    if not len(lost):
        return
    worst = lost[np.argsort(shares[lost], kind="stable")][:NAMED]
    named = ", ".join(
        f"{sources[k].name} with onset {sources[k].onset:g} s: {100 * (1 - shares[k]):.3g} %" for k in worst
    )
    more = ", ..." if len(lost) > NAMED else ""
    problems.warn(
        where,
        f"{len(lost)} of {len(sources)} act outside of the run, 0 to {end_time:g} s, and lose that part ({named}{more})",
        advice="Shift them by their onset, or raise end_time.",
    )


def moment_of(sources: Sequence[PointSource], moduli: np.ndarray, end_time: float) -> float:
    """Largest scalar moment [N m] that the sources reach together within a run; ``moduli`` (n, 2): lambda and mu [Pa] at each.

    sqrt(M:M / 2) of their sum (Silver & Jordan 1982): the largest, since a wavelet has none in the end.
    """
    times = np.linspace(0.0, end_time, 201)
    total = np.zeros((len(times), 6))
    for source, (lam, mu) in zip(sources, moduli, strict=True):
        total += np.outer(source.integral(0.0, times), source.moment_tensor(lam, mu))
    return float(np.sqrt(((total[:, :3] ** 2).sum(1) + 2 * (total[:, 3:] ** 2).sum(1)) / 2).max())


def magnitude(moment: float) -> float:
    """Moment magnitude of a scalar moment [N m] (Hanks & Kanamori 1979, as IASPEI rounds it)."""
    return float((np.log10(moment) - 9.1) / 1.5)
