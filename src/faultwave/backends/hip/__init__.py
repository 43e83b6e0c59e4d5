"""Backend for AMD GPUs: HIP compiled at run time."""

from faultwave.backends.device.backend import DeviceBackend
from faultwave.backends.hip.runtime import backend, make_stencils, missing, rank

CAPABILITIES = DeviceBackend.capabilities

__all__ = ["CAPABILITIES", "backend", "make_stencils", "missing", "rank"]
