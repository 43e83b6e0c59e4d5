"""Stencils on NVIDIA's processors; see ``device.stencil``."""

from __future__ import annotations

from faultwave.backends.device import with_cupy
from faultwave.backends.device.stencil_runner import DeviceStencilRunner
from faultwave.kernels.stencil import Program


class StencilRunner(DeviceStencilRunner):
    def __init__(self, program: Program, precision: str, threads: int | None = None, place: int = 0):
        """``threads``: of no meaning here; the device has its own. ``place``: which device, counted round."""
        super().__init__(program, precision, with_cupy.device("cuda", place))
