"""Backend 'cuda'; ``device.with_cupy`` contains the common code of 'cuda' and 'hip'."""

from __future__ import annotations

from faultwave.backends.device import with_cupy
from faultwave.backends.device.backend import DeviceBackend
from faultwave.backends.device.stencil_runner import DeviceStencilRunner
from faultwave.kernels.stencil import Program


def missing() -> str:
    """Return why this backend cannot run here and what to install; empty if it can."""
    return with_cupy.missing("cuda")


def rank() -> int:
    """Return the priority of this backend in the automatic choice, the highest where it can run."""
    return 0 if missing() else 5


def backend(precision: str = "double", threads: int | None = None, place: int = 0) -> DeviceBackend:
    """Return the backend; ``threads`` is ignored, and processes use devices in cyclic order of their number ``place``."""
    return with_cupy.backend("cuda", precision, place)


def make_stencils(program: Program, precision: str, threads: int | None = None, place: int = 0) -> DeviceStencilRunner:
    """Prepare a stencil program; ``threads`` is ignored, and processes use devices in cyclic order of their number ``place``."""
    return DeviceStencilRunner(program, precision, with_cupy.device("cuda", place))
