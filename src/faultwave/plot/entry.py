"""``faultwave.plot``: pictures of a run's folder, or of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from faultwave.base.errors import InputError, Problem
from faultwave.observe.model import Model
from faultwave.plot.plans import plot_model
from faultwave.plot.run import Look, Pictures, plot_run


class Planned(Protocol):
    """What ``faultwave.plan`` gives."""

    @property
    def case(self) -> Any: ...

    @property
    def model(self) -> Model: ...


def plot(
    folder: str | Path | Planned,
    out: str | Path | None = None,
    look: Look | None = None,
    *,
    prefix: str | None = None,
    **asked: Any,
) -> Pictures:
    """Draw what the files of a run hold, or, given what ``faultwave.plan`` returned, what will be run; returns the pictures written.

    A run's pictures go into its folder, a plan's into PREFIX-plan, unless ``out`` is given. field: only maps of this field ('v3', 'PGV',
    'slip', 'speed' for the horizontal ground speed, ...) of the snapshots; time: at the snapshot nearest to it, seconds or a text with a
    unit, else the last; format: 'png', 'pdf' or 'svg'; dpi; log: logarithmic colours on maps; stations: codes or numbers of the receivers
    that are drawn, with their codes on maps, default all; axes: what x, y and z are called, default east, north and up where the case's
    projection says so. ``look`` holds the same in one record. Of a plan there are format, dpi and axes.
    Raises InputError for a folder without anything to draw and for unknown words.
    """
    if isinstance(folder, str | Path):
        return plot_run(folder, out, look, prefix=prefix, **asked)
    if not hasattr(folder, "model"):
        what = f"{folder!r} of type {type(folder).__name__} is nothing to draw"
        raise InputError(Problem("plot", what, "the folder of a run, or what faultwave.plan returned"))
    target = Path(f"{folder.case.output.prefix}-plan") if out is None else Path(out)
    return plot_model(folder.model, target, look, **asked)


__all__ = ["plot"]
