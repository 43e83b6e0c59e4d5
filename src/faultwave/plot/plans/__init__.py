"""Figures of a plan, before anything is run, drawn by every module here that has a function ``draw``.

Modules of other packages register by the entry point group ``faultwave.plot.plans``.
"""

from __future__ import annotations

from pathlib import Path

from faultwave.base.errors import Problems
from faultwave.base.registry import modules
from faultwave.observe.model import Model
from faultwave.output.atomic import translate_os_errors
from faultwave.plot import style
from faultwave.plot.style import Look, Pictures, changed_look, checked_look

OF_RESULTS = ("field", "time", "log", "stations")
"""Options that apply to figures of results only."""


def plot_model(model: Model, out: str | Path, look: Look | None = None, **changes: object) -> Pictures:
    """Draw a planned run into the folder ``out`` and return the figures written; raise InputError for invalid options.

    The figures are, as far as they apply: map, vertical sections and profiles of the material, faults with their loads, resolution,
    clusters of time steps, coverage of velocity models. The options format, dpi, axes are described at ``faultwave.plot``.
    """
    look = changed_look(look, changes)
    problems = Problems()
    for name in OF_RESULTS:
        if getattr(look, name) != getattr(Look(), name):
            problems.error(name, "is for pictures of results; a plan has none yet", "format, dpi, axes")
    options = checked_look(look, model.axes, problems)
    problems.raise_errors()
    target = Path(out)
    with translate_os_errors(target):
        target.mkdir(parents=True, exist_ok=True)
    with style.drawn_with(options), style.house():
        found = [module.draw for module in modules("faultwave.plot.plans", "faultwave.plot.plans")]
        return Pictures(path for draw in found if (path := draw(model, target)) is not None)


__all__ = ["plot_model"]
