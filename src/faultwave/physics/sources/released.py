"""How much of the sources falls into the time of a run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from faultwave.base.errors import Problems
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.sampled import pieces
from faultwave.physics.sources.table import Sources

PARTS = 400  # of a source's duration, in which it is weighed
LOST = 0.01
"""Share of a source beyond which it is missed."""
NAMED = 3  # sources in a warning


def shares_within(sources: Iterable[PointSource], end_time: float) -> np.ndarray:
    """(n,) parts of the integral of abs(S) that fall into [0, end_time] [s]; 1 where S is nothing."""
    table = Sources.of(sources)
    shares = np.ones(len(table))
    beyond = np.flatnonzero((table.onset < 0) | (table.end > end_time))
    for piece in pieces(len(beyond), PARTS):
        some = beyond[piece]
        edges = np.linspace(table.onset[some], table.end[some], PARTS + 1, axis=1)
        whole, inside = (
            np.abs(np.diff(table.released(t, some), axis=1)).sum(1) for t in (edges, np.clip(edges, 0.0, end_time))
        )
        after = table.onset[some] >= end_time  # also onsets so late that a duration beside them is lost to rounding
        shares[some] = np.where(whole > 0, inside / np.where(whole > 0, whole, 1.0), np.where(after, 0.0, 1.0))
    return shares


def check_time(sources: Iterable[PointSource], end_time: float, problems: Problems, where: str = "sources") -> None:
    """A warning where sources, given at ``where`` in the case, act before the run or after it."""
    table = Sources.of(sources)
    shares = shares_within(table, end_time)
    lost = np.flatnonzero(shares < 1.0 - LOST)
    if not len(lost):
        return
    worst = lost[np.argsort(shares[lost], kind="stable")][:NAMED]
    named = ", ".join(f"{table.names[k]} with onset {table.onset[k]:g} s: {100 * (1 - shares[k]):.3g} %" for k in worst)
    more = ", ..." if len(lost) > NAMED else ""
    problems.warn(
        where,
        f"{len(lost)} of {len(table)} act outside of the run, 0 to {end_time:g} s, and lose that part ({named}{more})",
        advice="Shift them by their onset, or raise end_time.",
    )


def check_representable(
    sources: Iterable[PointSource], precision: str, problems: Problems, where: str = "sources"
) -> None:
    """Report forces [N] and moments [N m] that overflow the ``precision`` of a run, which would then hold infinite numbers."""
    table = Sources.of(sources)
    if not len(table):
        return
    largest = float(np.finfo(np.float32 if precision == "single" else np.float64).max)
    sizes = np.max([np.abs(a).max(1, initial=0.0) for a in (table.force, table.moment, table.potency)], axis=0)
    bad = np.flatnonzero(~(sizes <= largest))
    if len(bad):
        k = int(bad[np.argmax(sizes[bad])])
        what = f"{table.names[k]} is {sizes[k]:g}, which {precision} precision cannot represent"
        problems.error(where, what, f"up to {largest:.3g} in {precision} precision", "Is a unit or an exponent wrong?")


def moment_of(sources: Iterable[PointSource], moduli: np.ndarray, end_time: float) -> float:
    """Largest scalar moment [N m] that the sources reach together within a run; ``moduli`` (n, 2): lambda and mu [Pa] at each.

    sqrt(M:M / 2) of their sum (Silver & Jordan 1982): the largest, since a wavelet has none in the end.
    """
    times, table = np.linspace(0.0, end_time, 201), Sources.of(sources)
    total, tensors = np.zeros((len(times), 6)), table.moment_tensors(*moduli.T)
    for piece in pieces(len(table), len(times)):
        until = table.released(times, np.arange(len(table))[piece])
        total += (until - until[:, :1]).T @ tensors[piece]
    return float(np.sqrt(((total[:, :3] ** 2).sum(1) + 2 * (total[:, 3:] ** 2).sum(1)) / 2).max())
