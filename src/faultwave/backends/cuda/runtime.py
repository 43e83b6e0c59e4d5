"""The backend 'cuda'; what it shares with its sister is in ``device.with_cupy``."""

from __future__ import annotations

from faultwave.backends.device import with_cupy
from faultwave.backends.device.backend import DeviceBackend


def missing() -> str:
    """Why this backend cannot run here, and what to install; empty where it can."""
    return with_cupy.missing("cuda")


def rank() -> int:
    """First where it can run."""
    return 0 if missing() else 5


def backend(precision: str = "double", threads: int | None = None, place: int = 0) -> DeviceBackend:
    """``threads``: of no meaning here; the device has its own. ``place``: which device, counted round."""
    return with_cupy.backend("cuda", precision, place)


__all__ = ["backend", "missing", "rank"]
