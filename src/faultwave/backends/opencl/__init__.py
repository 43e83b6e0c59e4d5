"""Backend for OpenCL through pyopencl: any device with double precision, including CPUs."""

from faultwave.backends.device.backend import DeviceBackend
from faultwave.backends.opencl.runtime import backend, make_stencils, missing, rank

CAPABILITIES = DeviceBackend.capabilities

__all__ = ["CAPABILITIES", "backend", "make_stencils", "missing", "rank"]
