"""Pictures from files only; a live run is never needed."""

from faultwave.base.callable_module import make_callable
from faultwave.plot.run import plot_run

make_callable(__name__, plot_run)

__all__ = ["plot_run"]
