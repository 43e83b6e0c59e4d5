"""Backend for OpenCL through pyopencl: any device with double precision, including CPUs."""

from faultwave.backends.opencl.runtime import backend, missing, rank

__all__ = ["backend", "missing", "rank"]
