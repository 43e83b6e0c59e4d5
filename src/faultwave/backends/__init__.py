"""Where kernels run. ``make(name, precision)`` gives a backend; an absent one says what to install."""

from faultwave.backends.awaited import Awaited
from faultwave.backends.base import Backend, Buffer, best, make, make_stencils, missing, names, on_host, runs_stencils
from faultwave.backends.copier import Part
from faultwave.backends.injector import Points

__all__ = [
    "Awaited",
    "Backend",
    "Buffer",
    "Part",
    "Points",
    "best",
    "make",
    "make_stencils",
    "missing",
    "names",
    "on_host",
    "runs_stencils",
]
