"""Check that the disk can hold the output of a run before the run starts."""

from __future__ import annotations

import shutil
from pathlib import Path

from faultwave.base.errors import Problems

WHAT = "snapshots, seismograms and checkpoints need"
OVERHEAD = 1 << 17
"""Disk space [bytes] of the tables, coordinates and names in all files of a run."""
ADVICE = "Raise the intervals, keep fewer checkpoints, write fewer fields, or choose another folder."


def check_disk(folder: str | Path, needed: float, problems: Problems, what: str = WHAT, advice: str = ADVICE) -> None:
    """Report an error if the disk of a folder has less free space than the output needs.

    Parameters
    ----------
    folder : str or Path
        Output folder; it need not exist yet.
    needed : float
        Size of all output [bytes].
    problems : Problems
        Collects the error.
    what, advice : str
        Beginning of the message, with its verb, and the remedy.
    """
    place = Path(folder).absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if needed > free:
        text = f"{what} {needed / 2**30:.3g} GiB, {place} has {free / 2**30:.3g} free"
        problems.error("output", text, advice=advice)


__all__ = ["OVERHEAD", "check_disk"]
