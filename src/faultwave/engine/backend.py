"""Whether the backend a case asks for exists and can run here."""

from __future__ import annotations

from typing import Any

from faultwave import backends
from faultwave.base.errors import Problems, suggest

ON_HOST = (
    "direct is for devices, and this backend computes in the host's memory, where MPI takes messages from as it is"
)


def check_backend(numerics: Any, known: list[str], problems: Problems) -> None:
    """Whether the backend exists among those ``known`` and can run here, and can send messages as asked."""
    name = numerics.backend
    if name == "auto":
        return
    if name not in known:
        allowed = [*known, "auto"]
        problems.error("numerics.backend", f"'{name}' does not exist", ", ".join(allowed), suggest(name, allowed))
    elif why := backends.missing(name):
        problems.error("numerics.backend", why)
    elif numerics.halo == "direct" and backends.on_host(name):
        problems.error("numerics.halo", ON_HOST, "auto, host")
