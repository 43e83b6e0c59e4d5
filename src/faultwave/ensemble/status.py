"""Progress of an ensemble: members done, failed and running, rate and time left, read from its folder at any time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from faultwave.base.errors import InputError, Problem
from faultwave.base.progress import duration
from faultwave.ensemble.folder import EnsembleFolder, Record

RECENT = 20
"""Smallest number of members from whose ends the rate is computed, if as many have ended."""


@dataclass(frozen=True)
class EnsembleStatus:
    """State of an ensemble.

    Attributes
    ----------
    members, done, failed, running : int
        Number of all members, and of those in each state.
    rate : float
        Members per second.
    reasons : tuple of (int, str)
        Failed members with the reason.
    """

    members: int
    done: int
    failed: int
    running: int
    rate: float
    reasons: tuple[tuple[int, str], ...] = ()

    @property
    def missing(self) -> int:
        """Number of members that are neither done nor failed."""
        return max(0, self.members - self.done - self.failed)

    @property
    def eta(self) -> float:
        """Time left [s], infinite if unknown."""
        if not self.missing:
            return 0.0
        return self.missing / self.rate if self.rate > 0 else math.inf

    def __str__(self) -> str:
        counts = f"{self.done:,} of {self.members:,} members done, {self.failed:,} failed, {self.running:,} running"
        if not self.missing:
            return counts
        left = f"; {duration(self.eta)} left" if self.rate > 0 else ""
        speed = f"; {self.rate * 3600:.3g} members per hour" if self.rate > 0 else ""
        return counts + speed + left


def read_status(folder: str | Path) -> EnsembleStatus:
    """Return the state of the ensemble in a folder.

    Raises
    ------
    InputError
        If the folder holds no ensemble.
    """
    found = EnsembleFolder(folder)
    about = found.identity()
    if "members" not in about:
        raise InputError(
            Problem(str(folder), "holds no ensemble", advice="Name the folder of a study: its setting folder.")
        )
    digests = [str(d) for d in about.get("digests", [])]
    records = [r for r in found.records() if r.member < len(digests) and r.digest == digests[r.member]]
    failed = [r for r in records if r.status == "failed"]
    return EnsembleStatus(
        int(about["members"]), len(records) - len(failed), len(failed), len(found.running()),
        recent_rate(records), tuple((r.member, r.reason) for r in failed),
    )  # fmt: skip


def recent_rate(records: Sequence[Record]) -> float:
    """Return the number of members per second, from the latest ends without a long pause before them; 0 if unknown."""
    ends = sorted((r.finished, r.seconds) for r in records if r.finished > 0)
    if not ends:
        return 0.0
    latest = [ends[-1]]
    for end in reversed(ends[:-1]):
        if latest[-1][0] - end[0] > 2 * max(latest[-1][1], end[1]) + 60 and len(latest) > 1:
            break  # before an interruption
        latest.append(end)
        if len(latest) > RECENT and time.time() - end[0] > 600:
            break
    begin = min(end - seconds for end, seconds in latest)
    return len(latest) / max(ends[-1][0] - begin, 1e-3)
