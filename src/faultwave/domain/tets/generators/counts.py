"""Memory check of a mesh before it is generated."""

from __future__ import annotations

from faultwave.base.errors import InputError, Problem
from faultwave.base.processes.memory import machine_memory

EACH = 1024.0
"""Approximate memory per cell of a mesher, or of topology and geometry of a mesh [bytes]."""


def check_count(count: float, where: str, advice: str) -> None:
    """Raise InputError at the setting ``where`` if about ``count`` cells do not fit into the memory of this machine."""
    memory = machine_memory()
    if memory is None or count * EACH <= memory:
        return
    what = f"asks for about {count:.2g} cells, which take {count * EACH / 2**30:.3g} GiB"
    allowed = f"some {memory / EACH:.2g} cells in the {memory / 2**30:.3g} GiB of this machine"
    raise InputError(Problem(where, what, allowed, advice))


__all__ = ["check_count"]
