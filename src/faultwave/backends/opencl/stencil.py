"""Stencil programs on OpenCL devices (see ``device.stencil``)."""

from __future__ import annotations

from faultwave.backends.device.stencil_runner import DeviceStencilRunner
from faultwave.backends.opencl.runtime import device, missing
from faultwave.base.errors import BackendError
from faultwave.kernels.stencil import Program


class StencilRunner(DeviceStencilRunner):
    """Runner of grid programs on OpenCL devices."""

    def __init__(self, program: Program, precision: str, threads: int | None = None, place: int = 0):
        """Prepare a program; ``threads`` is ignored, and processes use similar devices in cyclic order of their number ``place``."""
        if why := missing():
            raise BackendError(why)
        super().__init__(program, precision, device(place))
