"""Backend for AMD GPUs: HIP compiled at run time."""

from faultwave.backends.hip.runtime import backend, missing, rank

__all__ = ["backend", "missing", "rank"]
