"""Profiles of the absorbing sides: convolutional perfectly matched layers and sponges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

REFLECTION = 1e-5
POWER = 2.0


@dataclass(frozen=True)
class Absorber:
    """``kind``, ``width`` in points; the layer's own frequency [Hz] is about the lowest that matters."""

    kind: Literal["cpml", "sponge"]
    width: int
    frequency: float = 1.0
    strength: float = 0.95  # of a sponge: factor of a step at its outer edge
    along: float = 0.0  # damping of all motion in a layer over that across it


def stable_along(contrast: float) -> float:
    """``along`` that keeps a layer stable for 10^5 steps at this ratio of fastest P to slowest S speed, free surface included.

    Found by trial (verification fd-absorbing): waves guided by soft layers grow in plain layers; with 0.02 none did, up to
    a ratio of 34, and layers still send back less than -50 dB.
    """
    return float(np.clip(0.02 * (contrast - 3.0) / 3.0, 0.0, 0.02))


def depths(count: int, width: int, low: bool, high: bool, half: bool) -> np.ndarray:
    """How deep (0 to 1) in the layers at the absorbing ends of an axis each of ``count`` centres (or half points) is."""
    x = np.arange(count) + (1.0 if half else 0.5)
    depth = np.zeros(count)
    if low:
        depth = np.maximum(depth, (width - x) / width)
    if high:
        depth = np.maximum(depth, (x - (count - width)) / width)
    return depth


def cpml(depth: np.ndarray, thickness: float, speed: float, frequency: float, step: float) -> tuple[np.ndarray, ...]:
    """Coefficients b and a of psi' = b psi + a d at points of relative ``depth`` in a layer of ``thickness`` [m].

    Komatitsch & Martin (2007), eqs 23-25: damping grows with the square of the depth to ``speed`` (3 ln 1/R) / (2 thickness),
    alpha falls from pi ``frequency`` to zero, kappa is 1. Where depth is 0 both are zero.
    """
    inside = depth > 0
    damping = _damping(depth, thickness, speed)
    alpha = np.pi * frequency * (1 - depth)
    b = np.exp(-(damping + alpha) * step)
    a = damping / np.where(inside, damping + alpha, 1.0) * (b - 1)
    return np.where(inside, b, 0.0), np.where(inside, a, 0.0)


def _damping(depth: np.ndarray, thickness: float, speed: float) -> np.ndarray:
    return (POWER + 1) * speed * np.log(1 / REFLECTION) / (2 * thickness) * depth**POWER


def along(depth: np.ndarray, thickness: float, speed: float, share: float, step: float) -> np.ndarray:
    """Factor of every step on all fields in a layer: a ``share`` of its damping, in all directions."""
    return np.exp(-share * step * _damping(depth, thickness, speed))


def sponge(depth: np.ndarray, width: int, strength: float) -> np.ndarray:
    """Factor of every step at points of relative ``depth`` (Cerjan et al. 1985): exp(-(a n)^2), n points into the sponge."""
    return np.exp(np.log(strength) * depth**2) if width else np.ones_like(depth)
