"""Generated C with explicit vectors of items and OpenMP.

The stencils of the fd engine are imported where they are used, so that runs of the dg engine start without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from faultwave.backends.cpu.compile import missing
from faultwave.backends.cpu.runtime import CpuBackend as backend

if TYPE_CHECKING:
    from faultwave.backends.base import Band, JointSteps, Transfer
    from faultwave.kernels.stencil import Program, Runner

CAPABILITIES = backend.capabilities


def rank() -> int:
    """Return the priority of this backend in ``best``; it can run on every machine with a C compiler."""
    return 0 if missing() else 2


def make_stencils(program: Program, precision: str, threads: int | None = None, place: int = 0) -> Runner:
    """Prepare a stencil program; parameters as for ``backends.make_stencils``."""
    from faultwave.backends.cpu.stencil import StencilRunner

    return StencilRunner(program, precision, threads, place)


def plane_product(rows: Band, columns: Band, values: np.ndarray, into: np.ndarray) -> Callable[[], None]:
    """Return the product of matrices and a plane; parameters as for ``backends.plane_product``."""
    from faultwave.backends.cpu import planes

    return planes.plane_product(rows, columns, values, into)


def make_joint_steps(
    runners: Sequence[Runner], rows: Sequence[int], transfers: Sequence[Sequence[Transfer]]
) -> JointSteps:
    """Return joint steps of programs of this backend; parameters as for ``backends.MakeJointSteps``."""
    from faultwave.backends.cpu.joint import JointSteps as CpuJointSteps
    from faultwave.backends.cpu.stencil import StencilRunner

    return CpuJointSteps(cast("Sequence[StencilRunner]", runners), rows, transfers)


__all__ = ["CAPABILITIES", "backend", "make_joint_steps", "make_stencils", "missing", "plane_product", "rank"]
