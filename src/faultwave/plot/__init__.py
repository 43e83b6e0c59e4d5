"""Pictures from files only; a live run is never needed."""

from faultwave.plot.run import plot_run

__all__ = ["plot_run"]
