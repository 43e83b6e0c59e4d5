"""Child processes, isolated from the working folder and from MPI launchers."""

from __future__ import annotations

import os
import sys

PYTHON = (sys.executable, "-P")
"""Command prefix of Python children.

-P removes the working folder and the script's folder from the import path, where anybody could have placed a file named like an imported
module.
"""

LAUNCHERS = (
    "PMI_", "PMI2_", "PMIX_", "HYDI_", "HYDRA_", "MPI_LOCAL", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "OMPI_MCA_ess_", "OMPI_MCA_orte_",
    "PRTE_", "PALS_", "SLURM_",
)  # fmt: skip
"""Prefixes of environment variables by which a process recognises that an MPI launcher started it."""


def without_launcher() -> dict[str, str]:
    """Return the environment without variables of MPI launchers, since the child is not a process of the run.

    Python processes started by the child do not import from the working folder either.
    """
    return {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS)} | {"PYTHONSAFEPATH": "1"}
