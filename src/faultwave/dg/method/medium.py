"""Check for the single lossless medium that incident waves, ports and far fields need."""

from __future__ import annotations

import numpy as np

from faultwave.physics.waves.law import LAYER


def single_medium(material: dict[str, np.ndarray], cells: np.ndarray) -> dict[str, float] | str:
    """Return the parameters of the electromagnetic medium that all of ``cells`` share, or the end of an error sentence."""
    values = {name: v[cells] for name, v in material.items()}
    if any(np.any(values[name] > 0) for name in LAYER[:3] if name in values):
        return "lies in the matched layer"
    own = {name: v for name, v in values.items() if name not in LAYER}
    mixed = [name for name, v in own.items() if np.ptp(v) > 1e-9 * np.abs(v).max()]
    if mixed:
        return f"varies ({', '.join(mixed)})"
    if np.any(own["conductivity"] > 0):
        return "has losses"
    return {name: float(v[0]) for name, v in own.items()}


__all__ = ["single_medium"]
