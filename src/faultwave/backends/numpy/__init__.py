"""The reference: every kernel executed statement by statement with NumPy."""

from faultwave.backends.numpy.runtime import NumpyBackend as backend


def rank() -> int:
    """Slow, but always there."""
    return 1


__all__ = ["backend", "rank"]
