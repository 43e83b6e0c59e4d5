"""Check that the requested backend exists and can run on this machine."""

from __future__ import annotations

from typing import Any

from faultwave import backends
from faultwave.base.errors import Problems, suggest

DIRECT_NEEDS_DEVICE = (
    "direct is for devices, and this backend computes in the host's memory, where MPI takes messages from as it is"
)


def check_backend(numerics: Any, known: list[str], problems: Problems) -> None:
    """Check that the requested backend is known, can run here and supports the requested halo path.

    Parameters
    ----------
    numerics : Numerics
        Numerical settings of the case; ``backend`` and ``halo`` are read.
    known : list of str
        Names of the backends that the engine supports.
    problems : Problems
        Collects an error if the backend is unknown or unavailable, or if ``halo: direct`` is requested on a host backend.
    """
    name = numerics.backend
    if name == "auto":
        return
    if name not in known:
        allowed = [*known, "auto"]
        problems.error("numerics.backend", f"'{name}' does not exist", ", ".join(allowed), suggest(name, allowed))
    elif why := backends.missing(name):
        problems.error("numerics.backend", why)
    elif numerics.halo == "direct" and backends.on_host(name):
        problems.error("numerics.halo", DIRECT_NEEDS_DEVICE, "auto, host")
