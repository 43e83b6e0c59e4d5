"""Where kernels run. ``make(name, precision)`` gives a backend; an absent one says what to install."""

from faultwave.backends.base import Backend, Buffer, make, names

__all__ = ["Backend", "Buffer", "make", "names"]
