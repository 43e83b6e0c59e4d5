"""Checks, before a run on a grid starts, that it fits into memory and onto the disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faultwave.base.errors import Problems
from faultwave.base.precision import number_bytes
from faultwave.base.processes.host import machine_memory
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.engine import checks
from faultwave.fd.method.curvilinear_layer import MEANS
from faultwave.fd.method.grid import Grid
from faultwave.fd.method.program import coefficients, fields, point_nbytes


@dataclass(frozen=True)
class Memory:
    """Memory that a capability needs on the first process.

    Attributes
    ----------
    nbytes : float
        Memory [bytes].
    where : str
        Setting at which a shortage is reported.
    what : str
        Name of the data, for messages.
    advice : str
        Remedy, for messages.
    """

    nbytes: float
    where: str
    what: str
    advice: str


def grid_bytes(case: Case, grids: Sequence[Grid], world: World) -> float:
    """Return the memory [bytes] that one process needs for the grid."""
    attenuation = case.attenuation is not None
    stored = point_nbytes(attenuation, case.numerics.precision)
    first = len(coefficients(attenuation)) * number_bytes(case.numerics.precision)  # coefficients twice at the start
    needed = 0.0
    for grid in grids:
        across = 0 if grid.relief is None else len(MEANS) * number_bytes(case.numerics.precision)
        needed += float(grid.box.points * (1.1 * (stored + across) + first) / world.size)
    return needed


def check_memory(case: Case, grids: Sequence[Grid], world: World, problems: Problems) -> bool:
    """Report an error if the grid, all blocks together, does not fit into memory; return True if it fits."""
    needed, memory = grid_bytes(case, grids, world), machine_memory() or float("inf")
    if needed > memory:
        sizes = " and ".join(" x ".join(map(str, grid.shape[::-1])) for grid in grids)
        problems.error(
            "grid", f"{sizes} points need about {needed / 2**30:.6g} GiB, this machine has {memory / 2**30:.1f}",
            advice="Raise the spacing, lower the frequency or shrink the box.",
        )  # fmt: skip
    return needed <= memory


def check_stored_output(
    case: Case, grids: Sequence[Grid], world: World, retained: Sequence[Memory], problems: Problems
) -> None:
    """Report an error if the data that capabilities store during a run do not fit into memory in addition to the grid.

    The largest of them is named.
    """
    memory, held = machine_memory() or float("inf"), grid_bytes(case, grids, world)
    if not retained or held + sum(part.nbytes for part in retained) <= memory:
        return
    largest = max(retained, key=lambda part: part.nbytes)
    adjacent = f"in addition to {held / 2**30:.3g} of the grid, this machine has {memory / 2**30:.3g}"
    what = f"{largest.what} need about {largest.nbytes / 2**30:.3g} GiB {adjacent}"
    problems.error(largest.where, what, advice=largest.advice)


def disk_needed(case: Case, written: float, checkpoint: float) -> float:
    """Return the disk space [bytes] of a run.

    Parameters
    ----------
    case : Case
    written : float
        Output of the capabilities [bytes].
    checkpoint : float
        Size of a checkpoint [bytes]. The stored ones count, and one that is being written.
    """
    retained = case.output.checkpoint
    return written + checks.OUTPUT_OVERHEAD + (0.0 if retained is None else (retained.keep + 1.0) * checkpoint)


def check_disk(case: Case, grids: Sequence[Grid], written: float, problems: Problems) -> None:
    """Report an error if the files of a run do not fit on the disk, before the material is known.

    ``written`` is the output of the capabilities [bytes]; checkpoints are estimated from the wave fields alone.
    """
    numbers = len(fields(case.attenuation is not None)) * sum(grid.box.points for grid in grids)
    checks.check_disk(
        case.output.folder, disk_needed(case, written, float(numbers * number_bytes(case.numerics.precision))), problems
    )
