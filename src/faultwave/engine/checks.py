"""Checks before a run that the requested backend can run on this machine and that the disk can hold the output."""

from __future__ import annotations

import shutil
from pathlib import Path

from faultwave import backends
from faultwave.base.errors import Problems, suggest
from faultwave.base.files.paths import existing_folder
from faultwave.base.types import Setting

DIRECT_NEEDS_DEVICE = (
    "'direct' requires a device, and this backend computes in the host's memory, from which MPI sends without a copy"
)


def check_backend(numerics: Setting, known: list[str], problems: Problems) -> None:
    """Check that the requested backend is known, can run here and supports the requested halo path.

    Parameters
    ----------
    numerics : Numerics
        Numerical settings of the case; ``backend`` and ``halo`` are read.
    known : list of str
        Names of the backends that the engine supports.
    problems : Problems
        Collects an error if the backend is unknown or unavailable, or if ``halo: direct`` is requested on a host backend.
    """
    name = numerics.backend
    if name == "auto":
        return
    if name not in known:
        allowed = [*known, "auto"]
        exists = name in backends.names()
        what = f"'{name}' cannot run this engine" if exists else f"'{name}' does not exist"
        problems.error("numerics.backend", what, ", ".join(allowed), "" if exists else suggest(name, allowed))
    elif why := backends.missing(name):
        problems.error("numerics.backend", why)
    elif numerics.halo == "direct" and backends.on_host(name):
        problems.error("numerics.halo", DIRECT_NEEDS_DEVICE, "auto, host")


OUTPUT_NEEDS = "snapshots, seismograms and checkpoints need"
OUTPUT_OVERHEAD = 1 << 17
"""Disk space [bytes] of the tables, coordinates and names in all files of a run."""
OUTPUT_ADVICE = "Increase the intervals, keep fewer checkpoints, write fewer fields, or choose another folder."


def check_disk(
    folder: str | Path, needed: float, problems: Problems, what: str = OUTPUT_NEEDS, advice: str = OUTPUT_ADVICE
) -> None:
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
    place = existing_folder(Path(folder).absolute())
    free = shutil.disk_usage(place).free
    if needed > free:
        text = f"{what} {needed / 2**30:.3g} GiB, {place} has {free / 2**30:.3g} free"
        problems.error("output", text, advice=advice)
