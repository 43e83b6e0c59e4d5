"""Where kernels run. ``make(name, precision)`` gives a backend; an absent one says what to install."""

from faultwave.backends.base import Backend, Buffer, make, make_stencils, names

__all__ = ["Backend", "Buffer", "make", "make_stencils", "names"]
