"""Small seas: a box of water ten deep in units of its depth, pressure-free at its sides, with gravity on top and a rigid floor."""

from __future__ import annotations

from typing import Any

import numpy as np

GRAVITY, SPEED, WIDTH = 9.81e-3, 1.5, 10.0
MODES = {0: (0.4433813749, 0.0425599573), 1: (1.5733628062, 2.4523337594)}
"""Vertical wavenumber and angular frequency."""


ROUGH = {"perturb": 0.3, "seed": 1, "cells": [4, 4, 2]}
"""A box whose sea surface belongs to cells of three different time steps."""


def ocean(mode: int, elastic: bool = False) -> Any:
    """The mode as a function of points and time; see docs/theory/sea.md."""
    k, (kz, w) = np.pi / WIDTH, MODES[mode]
    b = GRAVITY * kz / w**2
    first, second, sign = (np.sinh, np.cosh, 1.0) if mode == 0 else (np.sin, np.cos, -1.0)

    def field(x: np.ndarray, t: float) -> np.ndarray:
        a, c, z = k * x[:, 0], k * x[:, 1], kz * x[:, 2]
        shape, slope = first(z) + b * second(z), second(z) + sign * b * first(z)
        stress = -np.sin(a) * np.sin(c) * np.sin(w * t) * shape
        still = np.cos(w * t) / w
        v = np.array(
            [k * np.cos(a) * np.sin(c) * shape, k * np.sin(a) * np.cos(c) * shape, kz * np.sin(a) * np.sin(c) * slope]
        )
        if not elastic:
            return np.stack([stress, *(still * v)], 1)
        none = np.zeros_like(stress)
        return np.stack([stress, stress, stress, none, none, none, *(still * v)], 1)

    return field


def height(mode: int, x: np.ndarray, t: float) -> np.ndarray:
    """Of the sea at places (n, 2 or 3)."""
    k, (kz, w) = np.pi / WIDTH, MODES[mode]
    return kz / w**2 * np.sin(k * x[:, 0]) * np.sin(k * x[:, 1]) * np.sin(w * t)


def sea(
    n: int = 4, order: int = 3, end_time: float = 5.0, law: str = "acoustic", rates: tuple[int, ...] = (1,), **more: Any
) -> dict[str, Any]:
    """A case with n bricks along the sides."""
    medium = {"rho": 1.0, "lambda": SPEED**2} | ({} if law == "acoustic" else {"mu": 0.0})
    box = {
        "shape": "box", "cells": [n, n, max(1, n // 4)], "lower": [0, 0, -1], "upper": [WIDTH, WIDTH, 0],
        "boundaries": {"x": "free-surface", "y": "free-surface", "z-": "rigid", "z+": "gravity"},
        **more.pop("box", {}),
    }  # fmt: skip
    numerics = {"order": order, "clustering": {"rates": list(rates)}, "threads": 1, **more.pop("numerics", {})}
    return {
        "law": law, "end_time": end_time, "gravity": GRAVITY, "mesh": {"generate": box}, "material": {"constant": medium},
        "numerics": numerics, **more,
    }  # fmt: skip
