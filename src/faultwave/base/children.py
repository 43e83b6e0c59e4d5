"""Child processes of ours: they import nothing from the folder the user stands in, and know of no MPI launcher."""

from __future__ import annotations

import os
import sys

PYTHON = (sys.executable, "-P")
"""Begins the command of a child that runs Python: -P keeps the working folder and the script's own off the path of imports, where
anybody could have put a file named like a module that the child asks for."""

LAUNCHERS = (
    "PMI_", "PMI2_", "PMIX_", "HYDI_", "HYDRA_", "MPI_LOCAL", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "OMPI_MCA_ess_", "OMPI_MCA_orte_",
    "PRTE_", "PALS_", "SLURM_",
)  # fmt: skip
"""How names begin in the environment by which a process knows that it was launched."""


def without_launcher() -> dict[str, str]:
    """The environment without what an MPI launcher put there: the child is no process of a run. Python's children of the child
    import nothing from the working folder either."""
    return {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS)} | {"PYTHONSAFEPATH": "1"}
