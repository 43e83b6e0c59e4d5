"""Reference backend: executes every kernel statement by statement with NumPy."""

from faultwave.backends.numpy.runtime import NumpyBackend as backend

ON_HOST = True


def rank() -> int:
    """Return the priority of this backend in the automatic choice: the lowest, as it is slow but always available."""
    return 1


__all__ = ["ON_HOST", "backend", "rank"]
