"""MPI launcher of this Python environment or of the system."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

from faultwave.base.errors import BackendError


def need_mpi4py() -> None:
    """Raise BackendError without mpi4py, which every process would otherwise report by itself."""
    if importlib.util.find_spec("mpi4py") is None:
        raise BackendError("several processes need mpi4py: pip install 'faultwave[mpi]'")


def mpiexec() -> str:
    """Return the path of the MPI launcher, from this Python environment or else the system.

    Raises
    ------
    BackendError
        If there is none, or no mpi4py.
    """
    need_mpi4py()
    found = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if found is None:
        raise BackendError("no mpiexec was found: pip install 'faultwave[mpi]', or load your cluster's MPI")
    return found
