"""Stencil programs on AMD GPUs (see ``device.stencil``)."""

from __future__ import annotations

from faultwave.backends.device import with_cupy
from faultwave.backends.device.stencil_runner import DeviceStencilRunner
from faultwave.kernels.stencil import Program


class StencilRunner(DeviceStencilRunner):
    """Runner of grid programs on AMD devices."""

    def __init__(self, program: Program, precision: str, threads: int | None = None, place: int = 0):
        """Prepare a program; ``threads`` is ignored, and processes use devices in cyclic order of their number ``place``."""
        super().__init__(program, precision, with_cupy.device("hip", place))
