"""Balance of work between the processes of a run, and cost of its time clusters, from the time that each has measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.base.types import Settings
from faultwave.comm import World


@dataclass(frozen=True)
class ProcessWork:
    """Time that a process has spent in the steps of a run.

    Attributes
    ----------
    busy, waited : float
        Time in which it worked, and in which it waited for other processes [s].
    cluster_busy : tuple of float
        Time spent on each time cluster [s], the fastest first; empty where it cannot be measured on the host.
    cluster_updates : tuple of int
        Cell updates of each time cluster.
    """

    busy: float
    waited: float
    cluster_busy: tuple[float, ...] = ()
    cluster_updates: tuple[int, ...] = ()


@dataclass(frozen=True)
class Balance:
    """Balance of a run.

    Attributes
    ----------
    busy, waited : ndarray, shape (processes,)
        Time in which each process worked and waited [s].
    cluster_busy : ndarray, shape (processes, clusters)
        Time spent on each time cluster [s].
    cluster_updates : ndarray, shape (processes, clusters)
        Cell updates.
    """

    busy: np.ndarray
    waited: np.ndarray
    cluster_busy: np.ndarray
    cluster_updates: np.ndarray

    @property
    def clusters(self) -> int:
        """Number of time clusters."""
        return self.cluster_busy.shape[1]

    def seconds_per_update(self) -> np.ndarray:
        """Return the time of a process for a cell update in each time cluster [s]."""
        return np.asarray(self.cluster_busy.sum(0) / np.maximum(self.cluster_updates.sum(0), 1))

    def cluster_imbalance(self) -> np.ndarray:
        """Return the imbalance of each time cluster between the processes."""
        return np.array([imbalance(busy) for busy in self.cluster_busy.T])

    def manifest(self) -> Settings:
        """Return the entry of the manifest; times in seconds, by process and by time cluster."""
        entry: Settings = {
            "imbalance": imbalance(self.busy),
            "busy_s": self.busy.round(6).tolist(),
            "waiting_s": self.waited.round(6).tolist(),
        }
        if self.clusters:
            entry["clusters"] = {
                "busy_s": self.cluster_busy.sum(0).round(6).tolist(),
                "imbalance": self.cluster_imbalance().tolist(),
                "updates": self.cluster_updates.sum(0).tolist(),
                "seconds_per_update": self.seconds_per_update().tolist(),
            }
        return entry

    def lines(self) -> list[str]:
        """Return the lines of the run's summary; none for a single process with a single time cluster."""
        found = []
        if len(self.busy) > 1:
            most = int(self.busy.argmax())
            found.append(
                f"{len(self.busy)} processes: busy {self.busy.mean():.3g} s on average, {self.busy[most]:.3g} s at most "
                f"(process {most}, imbalance {imbalance(self.busy):.2f}); waiting {self.waited.mean():.3g} s on average, "
                f"{self.waited.max():.3g} s at most"
            )
        if self.clusters > 1:
            each = ", ".join(f"{1e9 * seconds:.3g}" for seconds in self.seconds_per_update())
            line = f"{self.clusters} time clusters, the fastest first: busy {_listed(self.cluster_busy.sum(0))} s; {each} ns/update"
            if len(self.busy) > 1:
                line += f"; imbalance {', '.join(f'{x:.2f}' for x in self.cluster_imbalance())}"
            found.append(line)
        return found


def _listed(seconds: np.ndarray) -> str:
    return ", ".join(f"{x:.3g}" for x in seconds)


def imbalance(busy: np.ndarray) -> float:
    """Return the largest of several times divided by their mean, 1 if all are 0."""
    mean = float(busy.mean())
    return float(busy.max()) / mean if mean > 0 else 1.0


def gather_balance(work: ProcessWork, world: World) -> Balance | None:
    """Return the balance of a run on the first process, None on the others (collective)."""
    found = world.gather(work)
    if found is None:
        return None
    return Balance(
        np.array([w.busy for w in found]),
        np.array([w.waited for w in found]),
        np.array([w.cluster_busy for w in found]),
        np.array([w.cluster_updates for w in found]),
    )
