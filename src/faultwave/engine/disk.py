"""Check that the disk can hold the output of a run before the run starts."""

from __future__ import annotations

import shutil
from pathlib import Path

from faultwave.base.errors import Problems

ADVICE = "Raise the intervals, keep fewer checkpoints, write fewer fields, or choose another folder."


def check_disk(folder: str | Path, needed: float, problems: Problems) -> None:
    """Report an error if the disk of a folder has less free space than the output needs.

    Parameters
    ----------
    folder : str or Path
        Output folder; it need not exist yet.
    needed : float
        Size of all output [bytes].
    problems : Problems
        Collects the error.
    """
    place, free = free_space(folder)
    if needed > free:
        what = (
            f"snapshots, seismograms and checkpoints need {needed / 2**30:.3g} GiB, {place} has {free / 2**30:.3g} free"
        )
        problems.error("output", what, advice=ADVICE)


def free_space(folder: str | Path) -> tuple[Path, int]:
    """Return the closest existing parent of a folder (or itself) and the free space [bytes] of its disk."""
    place = Path(folder).absolute()
    while not place.exists():
        place = place.parent
    return place, shutil.disk_usage(place).free


__all__ = ["check_disk", "free_space"]
