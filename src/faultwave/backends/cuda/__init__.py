"""Backend for NVIDIA GPUs: CUDA C++ compiled at run time."""

from faultwave.backends.cuda.runtime import backend, missing, rank

__all__ = ["backend", "missing", "rank"]
