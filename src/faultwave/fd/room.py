"""Whether a run on a grid fits into memory and onto the disk, before it starts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.model import Case
from faultwave.comm import World
from faultwave.fd.fields import Window, disk_needed
from faultwave.fd.grid import Grid
from faultwave.fd.intensity import ANGLES
from faultwave.fd.points import RECORDED
from faultwave.fd.program import bytes_a_point, coefficients, fields
from faultwave.physics.waves import law

SAMPLES = 256
"""Of the growth of Arias intensity in a run, for the duration."""
SAMPLED, GROWTH = 4, 3
"""Copies at the end of a run: of samples of receivers, of the growth of Arias intensity."""


def main_memory() -> float:
    """Bytes of this machine's memory; infinite where it does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError, AttributeError):
        return float("inf")


def _number(case: Case) -> int:
    """Bytes of a number of the fields."""
    return 4 if case.numerics.precision == "single" else 8


def grid_bytes(case: Case, grid: Grid, world: World) -> float:
    """What one process holds of the grid."""
    attenuation = case.attenuation is not None
    stored = bytes_a_point(attenuation, case.numerics.precision)
    first = len(coefficients(attenuation)) * _number(case)  # coefficients twice at the start
    return float(grid.box.points * (1.1 * stored + first) / world.size)


def check_memory(case: Case, grid: Grid, world: World, problems: Problems) -> bool:
    """Whether the grid fits into memory."""
    needed, memory = grid_bytes(case, grid, world), main_memory()
    if needed > memory:
        nz, ny, nx = grid.shape
        problems.error(
            "grid", f"{nx} x {ny} x {nz} points need about {needed / 2**30:.1f} GiB, this machine has {memory / 2**30:.1f}",
            advice="Raise the spacing, lower the frequency or shrink the box.",
        )  # fmt: skip
    return needed <= memory


def samples(case: Case) -> int:
    """Of a receiver in time."""
    setting = case.output.receivers
    return 0 if setting is None else int(case.end_time / setting.interval + 1e-9) + 1


def series_bytes(case: Case, receivers: int, world: World) -> float:
    """What receivers need at the end of a run, on the first process: their own samples there, and those of all."""
    setting = case.output.receivers
    if setting is None:
        return 0.0
    numbers = float(receivers * len(RECORDED) * (4 if setting.rotation or setting.strain_rate else 1))
    return numbers * samples(case) * (_number(case) / world.size + SAMPLED * 8)


def maps_bytes(case: Case, surface: int, steps: int, world: World) -> float:
    """What maps of intensity of ``surface`` points need, on the first process."""
    setting = case.output.intensity
    if setting is None:
        return 0.0
    arrays = 11 + 3 * ANGLES + len(setting.periods) * (ANGLES + 6)
    return float(surface) * (arrays * _number(case) / world.size + GROWTH * 4 * min(SAMPLES, steps))


def check_observed(
    case: Case, grid: Grid, surface: int, receivers: int, steps: int, world: World, problems: Problems
) -> None:
    """Errors where what receivers and maps keep during a run of so many steps does not fit beside the grid."""
    memory, held = main_memory(), grid_bytes(case, grid, world)
    series, maps = series_bytes(case, receivers, world), maps_bytes(case, surface, steps, world)
    if held + series + maps <= memory:
        return
    beside = f"beside {held / 2**30:.3g} of the grid, this machine has {memory / 2**30:.3g}"
    if series >= maps:
        what = f"{receivers:,} receivers with {samples(case):,} samples need about {series / 2**30:.3g} GiB"
        problems.error("output.receivers", f"{what} {beside}", advice="Raise output.receivers.interval, or give fewer.")
    else:
        what = f"maps of {surface:,} points need about {maps / 2**30:.3g} GiB"
        problems.error("output.intensity", f"{what} {beside}", advice="Raise the spacing, or give fewer periods.")


def check_disk(
    case: Case, grid: Grid, lower: np.ndarray, upper: np.ndarray, window: Window | None, receivers: int, problems: Problems
) -> None:  # fmt: skip
    """Snapshots, seismograms and checkpoints must fit on the disk that they go to."""
    out, nx_ny = case.output, np.round((upper - lower) / grid.spacing).astype(int)[:2].tolist()
    needed = disk_needed(case, law(case.law), grid, window, (nx_ny[0], nx_ny[1]))
    if out.receivers is not None:
        columns = len(RECORDED) + 3 * out.receivers.rotation + 6 * out.receivers.strain_rate
        needed += 8.0 * columns * receivers * samples(case)
    if out.checkpoint is not None:
        needed += (
            (out.checkpoint.keep + 1.0) * len(fields(case.attenuation is not None)) * _number(case) * grid.box.points
        )
    place = Path(out.folder).absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if needed > free:
        problems.error(
            "output", f"snapshots, seismograms and checkpoints need {needed / 2**30:.3g} GiB, {place} has {free / 2**30:.3g} free",
            advice="Raise the intervals, keep fewer checkpoints, write fewer fields, or choose another folder.",
        )  # fmt: skip
