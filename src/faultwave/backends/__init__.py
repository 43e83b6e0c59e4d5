"""Execution of kernels: ``make(name, precision)`` returns a backend, or states which packages to install."""

from faultwave.backends.awaited import Awaited
from faultwave.backends.base import (
    Backend,
    Band,
    Buffer,
    JointSteps,
    Transfer,
    best,
    make,
    make_joint_steps,
    make_stencils,
    missing,
    names,
    on_host,
    plane_product,
    prepared,
    runs_stencils,
)
from faultwave.backends.copier import Part
from faultwave.backends.injector import Points

__all__ = [
    "Awaited",
    "Backend",
    "Band",
    "Buffer",
    "Part",
    "Points",
    "JointSteps",
    "Transfer",
    "best",
    "make_joint_steps",
    "make",
    "make_stencils",
    "missing",
    "names",
    "on_host",
    "plane_product",
    "prepared",
    "runs_stencils",
]
