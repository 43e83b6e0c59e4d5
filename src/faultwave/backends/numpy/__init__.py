"""The reference: every kernel executed statement by statement with NumPy."""

from faultwave.backends.numpy.runtime import NumpyBackend as backend

__all__ = ["backend"]
