"""Energy that a graphics processor has taken, where its driver counts it (NVML, Volta and later)."""

from __future__ import annotations

from typing import Any


def joules(backend: Any) -> float | None:
    """Return the energy of the whole board since its driver was loaded [J]; None if unknown (see ``why_not``)."""
    if why_not(backend):
        return None
    import pynvml

    try:
        pynvml.nvmlInit()
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(_handle(backend))) / 1e3
    except pynvml.NVMLError:
        return None


def why_not(backend: Any) -> str:
    """Return why a backend's energy cannot be measured; empty if no reason is known."""
    if backend.name != "cuda":
        return f"the driver of the backend '{backend.name}' is not asked for it"
    try:
        import pynvml  # noqa: F401
    except ImportError:
        return "pip install nvidia-ml-py"
    return ""


def _handle(backend: Any) -> Any:
    """Return the NVML handle of the board at the device's PCI bus address; NVML and CUDA number boards differently."""
    import pynvml

    return pynvml.nvmlDeviceGetHandleByPciBusId(backend.device.bus.encode())


__all__ = ["joules", "why_not"]
