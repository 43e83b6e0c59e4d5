"""Whether a disk holds what a run is going to write, before it starts."""

from __future__ import annotations

import shutil
from pathlib import Path

from faultwave.base.errors import Problems

ADVICE = "Raise the intervals, keep fewer checkpoints, write fewer fields, or choose another folder."


def check_disk(folder: str | Path, needed: float, problems: Problems) -> None:
    """An error where the disk of ``folder``, which need not be there yet, has less than ``needed`` bytes free."""
    place = Path(folder).absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if needed > free:
        what = (
            f"snapshots, seismograms and checkpoints need {needed / 2**30:.3g} GiB, {place} has {free / 2**30:.3g} free"
        )
        problems.error("output", what, advice=ADVICE)


__all__ = ["check_disk"]
