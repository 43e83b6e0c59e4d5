"""Whether a run on a grid fits into memory and onto the disk, before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faultwave.base.errors import Problems
from faultwave.base.memory import machine_memory
from faultwave.case.model import Case
from faultwave.comm import World
from faultwave.engine import disk
from faultwave.fd.cap import MEANS
from faultwave.fd.grid import Grid
from faultwave.fd.program import bytes_a_point, coefficients, fields


@dataclass(frozen=True)
class Memory:
    """``what`` needs so many bytes on the first process; reported at the setting ``where``."""

    nbytes: float
    where: str
    what: str
    advice: str


def number_bytes(case: Case) -> int:
    """Bytes of a number of the fields."""
    return 4 if case.numerics.precision == "single" else 8


def grid_bytes(case: Case, grids: Sequence[Grid], world: World) -> float:
    """What one process holds of the grid."""
    attenuation = case.attenuation is not None
    stored = bytes_a_point(attenuation, case.numerics.precision)
    first = len(coefficients(attenuation)) * number_bytes(case)  # coefficients twice at the start
    needed = 0.0
    for grid in grids:
        across = 0 if grid.relief is None else len(MEANS) * number_bytes(case)
        needed += float(grid.box.points * (1.1 * (stored + across) + first) / world.size)
    return needed


def check_memory(case: Case, grids: Sequence[Grid], world: World, problems: Problems) -> bool:
    """Whether the grid, or all its blocks, fit into memory."""
    needed, memory = grid_bytes(case, grids, world), machine_memory() or float("inf")
    if needed > memory:
        sizes = " and ".join(" x ".join(map(str, grid.shape[::-1])) for grid in grids)
        problems.error(
            "grid", f"{sizes} points need about {needed / 2**30:.1f} GiB, this machine has {memory / 2**30:.1f}",
            advice="Raise the spacing, lower the frequency or shrink the box.",
        )  # fmt: skip
    return needed <= memory


def check_kept(case: Case, grids: Sequence[Grid], world: World, kept: Sequence[Memory], problems: Problems) -> None:
    """An error where what parts keep during a run does not fit beside the grid; the largest is reported."""
    memory, held = machine_memory() or float("inf"), grid_bytes(case, grids, world)
    if not kept or held + sum(part.nbytes for part in kept) <= memory:
        return
    largest = max(kept, key=lambda part: part.nbytes)
    beside = f"beside {held / 2**30:.3g} of the grid, this machine has {memory / 2**30:.3g}"
    what = f"{largest.what} need about {largest.nbytes / 2**30:.3g} GiB {beside}"
    problems.error(largest.where, what, advice=largest.advice)


OVERHEAD = 1 << 17
"""Bytes of the tables, coordinates and names of all files of a run."""


def disk_needed(case: Case, written: float, checkpoint: float) -> float:
    """Return the bytes that a run takes on the disk: ``written`` by parts, and of checkpoints of so many bytes each, those kept and one
    that is being written."""
    kept = case.output.checkpoint
    return written + OVERHEAD + (0.0 if kept is None else (kept.keep + 1.0) * checkpoint)


def check_disk(case: Case, grids: Sequence[Grid], written: float, problems: Problems) -> None:
    """Report a run whose files do not fit on the disk that they go to, before the material is known: ``written`` [bytes] by parts, and
    waves in checkpoints."""
    numbers = len(fields(case.attenuation is not None)) * sum(grid.box.points for grid in grids)
    disk.check_disk(case.output.folder, disk_needed(case, written, float(numbers * number_bytes(case))), problems)


__all__ = ["Memory", "check_disk", "check_kept", "check_memory", "disk_needed", "grid_bytes", "number_bytes"]
