"""Function ``faultwave.plot``: figures of the results in a run folder, or of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from faultwave.base.errors import InputError, Problem
from faultwave.observe.model import Model
from faultwave.plot.plans import plot_model
from faultwave.plot.run import Look, Pictures, plot_run


class CapabilityPlan(Protocol):
    """Interface of the result of ``faultwave.plan``."""

    @property
    def case(self) -> Any: ...

    @property
    def model(self) -> Model: ...


def plot(
    folder: str | Path | CapabilityPlan,
    out: str | Path | None = None,
    look: Look | None = None,
    *,
    prefix: str | None = None,
    **asked: object,
) -> Pictures:
    """Draw the results of a run, or a plan returned by ``faultwave.plan``, and return the figures written.

    Parameters
    ----------
    folder : str, Path or CapabilityPlan
        Run folder, or a plan.
    out : str or Path, optional
        Folder of the figures, by default the run folder, or PREFIX-plan for a plan.
    look : Look, optional
        All of the options below in one record.
    prefix : str, optional
        Prefix of the run's files.
    **asked
        Options. field: draw only maps of this field of the snapshots ('v3', 'PGV', 'slip', 'speed' for the horizontal ground speed, ...);
        time: use the nearest snapshot, in seconds or as a text with a unit, by default the last; format: 'png', 'pdf' or 'svg'; dpi;
        log: logarithmic colours on maps; stations: codes or numbers of the receivers to draw, with their codes on maps, default all;
        axes: labels of x, y and z, default east, north and up if the case's projection implies it. For a plan only format, dpi and axes.

    Raises
    ------
    InputError
        If the folder contains nothing to draw, or an option is invalid.
    """
    if isinstance(folder, str | Path):
        return plot_run(folder, out, look, prefix=prefix, **asked)
    if not hasattr(folder, "model"):
        what = f"{folder!r} of type {type(folder).__name__} is nothing to draw"
        raise InputError(Problem("plot", what, "the folder of a run, or what faultwave.plan returned"))
    target = Path(f"{folder.case.output.prefix}-plan") if out is None else Path(out)
    return plot_model(folder.model, target, look, **asked)


__all__ = ["plot"]
