"""Backend for NVIDIA GPUs: CUDA C++ compiled at run time."""

from faultwave.backends.cuda.runtime import backend, make_stencils, missing, rank
from faultwave.backends.device.backend import DeviceBackend

CAPABILITIES = DeviceBackend.capabilities

__all__ = ["CAPABILITIES", "backend", "make_stencils", "missing", "rank"]
