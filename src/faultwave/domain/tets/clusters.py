"""Clustered local time stepping: assignment of cells to time step clusters (Breuer & Heinecke 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problems
from faultwave.domain.tets.mesh import Floats, Integers


@dataclass(frozen=True)
class Clustering:
    """Cluster of every cell, fastest first.

    Attributes
    ----------
    cluster : (nc,) array
        Cluster of each cell.
    steps : (k,) array
        Time step of each cluster [s].
    wiggle : float
        Factor on the smallest stable step.
    histogram : (k,) array
        Number of cells in each cluster.
    speedup : float
        Cell updates, weighted by cost, of global stepping at the smallest step, divided by the same for this clustering.
    ratios : (k,) array
        Number of steps of each cluster per step of the next one (1 for the last).
    """

    cluster: Integers
    steps: Floats
    wiggle: float
    histogram: Integers
    speedup: float
    ratios: Integers


@dataclass(frozen=True)
class Wiggle:
    """Factors to try on the smallest stable step: from 1 down to ``minimum`` in steps of ``step``."""

    minimum: float = 1.0
    step: float = 0.01


class Elsewhere(Protocol):
    """Interface to the cells of the mesh in other processes."""

    def least(self, value: float) -> float:
        """Return the smallest value over all processes."""

    def most(self, value: float) -> float:
        """Return the largest value over all processes."""

    def total(self, counts: Integers) -> Integers:
        """Return the sums over all processes."""

    def lower(self, cluster: Integers) -> bool:
        """Lower clusters (nc,) in place to at most one above their neighbours in other processes; return True if any changed."""


class Nowhere:
    """Implementation for meshes in a single process."""

    def least(self, value: float) -> float:
        return value

    most = least

    def total(self, counts: Integers) -> Integers:
        return counts

    def lower(self, cluster: Integers) -> bool:
        return False


def assign_clusters(
    dt: Floats,
    neighbours: Integers,
    fault: NDArray[np.bool_],
    rates: tuple[int, ...] = (2,),
    wiggle: Wiggle = Wiggle(),
    maximum: int | None = None,
    cost: Floats | None = None,
    elsewhere: Elsewhere | None = None,
) -> Clustering:
    """Assign every cell to the slowest cluster that its stable step allows.

    Neighbours are at most one cluster apart, the two cells of a fault face in the same cluster. The base step is wiggle
    * min dt, with the factor of lowest cost of ``wiggle``.

    Parameters
    ----------
    dt : (nc,) array
        Stable time step of each cell [s].
    neighbours : (nc, 4) array
        Cell across each face, -1 if none.
    fault : (nc, 4) array of bool
        True for fault faces.
    rates
        Ratios between consecutive clusters, of which the last repeats; a final 1 ends the sequence; (1,) is global time
        stepping.
    wiggle
        Factors to try.
    maximum
        Largest number of clusters.
    cost : (nc,) array, optional
        Cost of one update of each cell, equal by default; integers if some cells are ``elsewhere``.
    elsewhere
        Cells of other processes; histogram and speedup include them.

    Raises
    ------
    InputError
        For impossible settings.
    """
    _check(dt, rates, wiggle, maximum)
    elsewhere = elsewhere or Nowhere()
    weights = np.ones(len(dt)) if cost is None else np.asarray(cost, float)
    smallest, largest = elsewhere.least(float(dt.min())), elsewhere.most(float(dt.max()))
    whole = float(elsewhere.total(np.array([weights.sum()]))[0])
    best: Clustering | None = None
    for factor in _factors(wiggle):
        trial = _assign(dt, neighbours, fault, rates, factor * smallest, largest, maximum, elsewhere)
        steps, ratios = _ladder(rates, factor * smallest, int(elsewhere.most(float(trial.max()))) + 1)
        histogram = elsewhere.total(np.bincount(trial, minlength=len(steps)))
        load = elsewhere.total(np.bincount(trial, weights, minlength=len(steps)))
        speedup = float(whole / smallest / (load / steps).sum())
        if best is None or speedup > best.speedup:
            best = Clustering(trial, steps, float(factor), histogram, speedup, ratios)
    assert best is not None
    return best


def _check(dt: Floats, rates: tuple[int, ...], wiggle: Wiggle, maximum: int | None) -> None:
    problems = Problems()
    where = "numerics.clustering"
    if not rates or any(r < 1 for r in rates) or any(r == 1 for r in rates[:-1]):
        problems.error(f"{where}.rates", f"{list(rates)}", "whole numbers of at least 2; a final 1 ends the list")
    elif not 0 < wiggle.minimum <= 1 or (wiggle.minimum < 1 and wiggle.minimum * rates[0] <= 1):
        bound = "1" if rates[0] == 1 else f"more than 1/{rates[0]}, at most 1"
        problems.error(f"{where}.wiggle_minimum", f"{wiggle.minimum}", bound)
    if wiggle.step <= 0:
        problems.error(f"{where}.wiggle_step", f"{wiggle.step}", "a positive number")
    if maximum is not None and maximum < 1:
        problems.error(f"{where}.maximum", f"{maximum}", "at least 1 cluster")
    if len(dt) == 0 or not (np.isfinite(dt) & (dt > 0)).all():
        bad = np.flatnonzero(~(np.isfinite(dt) & (dt > 0)))[:10].tolist()
        problems.error("time step", f"cells {bad} have no positive, finite time step")
    if problems.errors:
        raise InputError(problems.errors)


def _factors(wiggle: Wiggle) -> Floats:
    """Return candidates from 1 downwards, so that the largest base step wins among equal ones."""
    count = int(np.floor((1 - wiggle.minimum) / wiggle.step + 1e-9))
    return np.asarray(1 - wiggle.step * np.arange(count + 1), np.float64)


def _ladder(rates: tuple[int, ...], base: float, count: int) -> tuple[Floats, Integers]:
    """Return steps and ratios of the first ``count`` clusters."""
    ratios = np.array([rates[min(i, len(rates) - 1)] for i in range(count)], np.int64)
    ratios[-1] = 1
    return base * np.cumprod(np.append(1, ratios[:-1])), ratios


def _assign(
    dt: Floats, neighbours: Integers, fault: NDArray[np.bool_], rates: tuple[int, ...], base: float, largest: float,
    maximum: int | None, elsewhere: Elsewhere,
) -> Integers:  # fmt: skip
    bounds = [base]
    while bounds[-1] <= largest:
        rate = rates[min(len(bounds) - 1, len(rates) - 1)]
        if rate == 1 or len(bounds) == maximum:
            break
        bounds.append(base * round(bounds[-1] / base) * rate)
    # The tolerance makes the cluster of a step that equals a multiple of the base step independent of rounding.
    cluster = np.searchsorted(np.array(bounds), dt * (1 + 1e-9), side="right") - 1
    cluster = np.maximum(cluster, 0)
    _normalise(cluster, neighbours, fault)
    while elsewhere.lower(cluster):
        _normalise(cluster, neighbours, fault)
    return cluster.astype(np.int64)


def _normalise(cluster: Integers, neighbours: Integers, fault: NDArray[np.bool_]) -> None:
    """Lower clusters, in place, until neighbours differ by at most one and fault faces by none.

    Only fast clusters lower their neighbours, so one sweep from fast to slow suffices: after cluster k has been
    processed, no later step can lower a cell to k. The slowest cluster has none to lower.
    """
    for level in range(int(cluster.max())):
        active = np.flatnonzero(cluster == level)
        while len(active):
            near = neighbours[active]
            across = near[(near >= 0) & fault[active]]
            joined = np.unique(across[cluster[across] > level])
            cluster[joined] = level
            adjacent = near[near >= 0]
            adjacent = adjacent[cluster[adjacent] > level + 1]
            cluster[adjacent] = level + 1
            active = joined
