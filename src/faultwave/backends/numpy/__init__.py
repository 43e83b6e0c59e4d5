"""The reference: every kernel executed statement by statement with NumPy."""

from faultwave.backends.numpy.runtime import NumpyBackend as backend

ON_HOST = True


def rank() -> int:
    """Slow, but always there."""
    return 1


__all__ = ["ON_HOST", "backend", "rank"]
