"""Ground motion on the surface while the waves pass: what moves, its peaks and its intensity, without storing time series.

Everything here is stencils on the plane of the free surface, at the centres of its cells. Peaks are taken for horizontal
motion turned to ``ANGLES`` directions, of which RotD50 is the median (Boore 2010). Spectral accelerations are those of
damped oscillators, advanced exactly for acceleration that is linear between steps (Nigam & Jennings 1969).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.fd.points import hermite
from faultwave.fd.program import VELOCITY_LEVEL, Observer, above
from faultwave.kernels import math
from faultwave.kernels.stencil import Axis, Box, Launch, Layout, Point, Stencil

GRAVITY = 9.80665
ANGLES = 18
COMPONENTS = ("1", "2", "3")
_VALUES, _SLOPE, _, _ = hermite(np.zeros(1))
UP = tuple(enumerate(_VALUES[0, ::-1].tolist(), 1))
"""Planes below that above the surface, and their weights, which make a horizontal velocity on it; they lie 0.5, 1.5 and 2.5 points deep."""
LEAN = float(_SLOPE[0])
"""Weight of its slope there: that of no shear traction, minus the slope of w along the surface."""
ALONG = ((-2, 1.0 / 12), (-1, -8.0 / 12), (1, 8.0 / 12), (2, -1.0 / 12))
"""Weights that make the slope at a point of those around it, fourth order."""

BETWEEN = ((-2, -1.0 / 16), (-1, 9.0 / 16), (0, 9.0 / 16), (1, -1.0 / 16))
"""Weights of the points around a cell's centre, half an edge off it."""
BEHIND = 2
"""Rows that the surface stays behind: it reads so many ahead."""


def motion(points: Box, step: float) -> Observer:
    """Of the surface above a box of points: velocity v1 v2 v3, displacement u1 u2 u3, acceleration a1 a2 a3 and the largest horizontal
    speed PGV."""
    box = above(points)

    def function(p: Point) -> dict[str, Any]:
        def at_surface(name: str, axis: Axis) -> Any:
            below = sum(
                weight * sum(share * p.at(name, z=-plane, **{axis: n}) for n, share in BETWEEN) for plane, weight in UP
            )
            return below - sum(LEAN * share * p.at("w", z=-1, **{axis: n}) for n, share in ALONG)

        now = (at_surface("u", "x"), at_surface("v", "y"), p.at("w", z=-1))
        result: dict[str, Any] = {}
        for c, v in zip(COMPONENTS, now, strict=True):
            result[f"surface_a{c}"] = p.scalar("per_step") * (v - p.at(f"surface_v{c}"))
            result[f"surface_v{c}"] = v
            result[f"surface_u{c}"] = p.at(f"surface_u{c}") + p.scalar("step") * v
        result["surface_peak"] = math.maximum(p.at("surface_peak"), math.sqrt(now[0] * now[0] + now[1] * now[1]))
        return result

    names = [f"surface_{q}{c}" for q in "vua" for c in COMPONENTS] + ["surface_peak"]
    layout = Layout(box, group="surface", halo=0)
    launch = Launch(Stencil("surface_motion", function), box, lag=BEHIND)
    return Observer(dict.fromkeys(names, layout), [(VELOCITY_LEVEL, launch)], {"step": step, "per_step": 1.0 / step})


@dataclass(frozen=True)
class Intensity:
    """Which maps: ``periods`` [s] and ``damping`` of the oscillators."""

    periods: tuple[float, ...]
    damping: float

    @property
    def peaks(self) -> tuple[str, ...]:
        """Peaks kept for every direction: acceleration, velocity, displacement, oscillators."""
        return ("PGA", "PGV", "PGD", *(f"SA{n}" for n in range(len(self.periods))))


def peak(name: str, angle: int) -> str:
    """Array of a peak in one direction."""
    return f"{name}_{angle}"


def intensity(points: Box, step: float, asked: Intensity) -> list[Observer]:
    """Peaks in every direction, oscillators and the integral of squared horizontal acceleration; after ``motion``."""
    box = above(points)
    observers = [
        _peaks(box, "PGA", "surface_a"),
        _peaks(box, "PGV", "surface_v"),
        _peaks(box, "PGD", "surface_u"),
        _arias(box, step),
    ]
    for n, period in enumerate(asked.periods):
        observers += [_oscillator(box, n, period, asked.damping, step), _peaks(box, f"SA{n}", f"oscillator{n}_x")]
    return observers


def _peaks(box: Box, name: str, of: str) -> Observer:
    turns = np.pi * np.arange(ANGLES) / ANGLES

    def function(p: Point) -> dict[str, Any]:
        a, b = p.at(f"{of}1"), p.at(f"{of}2")
        return {
            peak(name, n): math.maximum(p.at(peak(name, n)), math.abs(float(np.cos(t)) * a + float(np.sin(t)) * b))
            for n, t in enumerate(turns)
        }

    layout = Layout(box, group=f"peaks {name}", halo=0)
    launch = Launch(Stencil(f"peaks_{name}", function), box, lag=BEHIND)
    return Observer({peak(name, n): layout for n in range(ANGLES)}, [(VELOCITY_LEVEL, launch)])


def _arias(box: Box, step: float) -> Observer:
    """Both horizontal components: pi / (2 g) times the integral of acceleration squared (Arias 1970)."""

    def function(p: Point) -> dict[str, Any]:
        a, b = p.at("surface_a1"), p.at("surface_a2")
        return {"arias": p.at("arias") + p.scalar("arias_factor") * (a * a + b * b)}

    launch = Launch(Stencil("arias", function), box, lag=BEHIND)
    return Observer(
        {"arias": Layout(box, halo=0)}, [(VELOCITY_LEVEL, launch)], {"arias_factor": np.pi / (2 * GRAVITY) * step}
    )


def oscillator(period: float, damping: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """A (2, 2) and B (2, 2) of (x, x')(t + dt) = A (x, x')(t) + B (a(t), a(t + dt)) of x'' + 2 d w x' + w^2 x = -a."""
    w = 2 * np.pi / period
    system = np.zeros((4, 4))
    system[0, 1], system[1, 0], system[1, 1] = 1.0, -w * w, -2 * damping * w
    system[1, 2], system[2, 3] = -1.0, 1.0 / step  # a and its slope
    from scipy.linalg import expm

    e = expm(system * step)
    return e[:2, :2], np.stack([e[:2, 2] - e[:2, 3], e[:2, 3]], 1)


def _oscillator(box: Box, n: int, period: float, damping: float, step: float) -> Observer:
    a, b = oscillator(period, damping, step)
    numbers = {f"o{n}_{m}{i}{j}": float(t[i, j]) for m, t in (("a", a), ("b", b)) for i in (0, 1) for j in (0, 1)}

    def function(p: Point) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for c in COMPONENTS[:2]:
            x, v, old, new = (
                p.at(name)
                for name in (f"oscillator{n}_x{c}", f"oscillator{n}_v{c}", f"oscillator{n}_a{c}", f"surface_a{c}")
            )

            def row(i: int, x: Any = x, v: Any = v, old: Any = old, new: Any = new) -> Any:
                s = [p.scalar(f"o{n}_{m}{i}{j}") for m in "ab" for j in (0, 1)]
                return s[0] * x + s[1] * v + s[2] * old + s[3] * new

            result |= {f"oscillator{n}_x{c}": row(0), f"oscillator{n}_v{c}": row(1), f"oscillator{n}_a{c}": new}
        return result

    layout = Layout(box, group=f"oscillator {n}", halo=0)
    names = [f"oscillator{n}_{q}{c}" for q in "xva" for c in COMPONENTS[:2]]
    launch = Launch(Stencil(f"oscillator{n}", function), box, lag=BEHIND)
    return Observer(dict.fromkeys(names, layout), [(VELOCITY_LEVEL, launch)], numbers)


def duration(times: Sequence[float], arias: np.ndarray, low: float = 0.05, high: float = 0.95) -> np.ndarray:
    """Time (ny, nx) [s] between ``low`` and ``high`` of the final value of ``arias`` (times, ny, nx); 0 where nothing moved."""
    t = np.asarray(times, float)
    final = arias[-1]
    share = arias / np.where(final > 0, final, 1.0)

    def crossing(level: float) -> np.ndarray:
        after = np.argmax(share >= level, axis=0)
        before = np.maximum(after - 1, 0)
        a, b = (np.take_along_axis(share, k[None], 0)[0] for k in (before, after))
        part = np.where(b > a, (level - a) / np.where(b > a, b - a, 1.0), 0.0)
        return np.asarray(t[before] + part * (t[after] - t[before]))

    return np.where(final > 0, crossing(high) - crossing(low), 0.0)
