"""Figures of runs, drawn from result files only, and of plans."""

from faultwave.base.callable_module import make_callable
from faultwave.plot.plans import plot_model
from faultwave.plot.run import plot, plot_run

make_callable(__name__, plot)

__all__ = ["plot_model", "plot_run"]
