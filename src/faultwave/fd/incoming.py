"""Plane waves that rise from a horizontal plane: forces on all its points, as for the response of sites and basins.

A force F S(t) a unit of area radiates waves of velocity F S / (2 rho c) up and down, c being the S speed for horizontal and the P speed for
vertical forces (Aki & Richards 2002, ch. 4, for one dimension); F = 2 rho c v makes the velocity v S(t).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.model import Case
from faultwave.fd.grid import HALF, SideKind
from faultwave.fd.halves import Units
from faultwave.fd.points import Sources, images
from faultwave.fd.program import VELOCITY_LEVEL, Scheme
from faultwave.fd.stencils import VELOCITY
from faultwave.kernels.stencil import Box, Injection
from faultwave.media.field import Field
from faultwave.media.homogenise import at_points
from faultwave.physics.sources.lowpass import lowpassed_function
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import time_function

UNEVEN = 0.01
"""Relative change of impedance over the plane above which a wave that starts there is not plane."""
ALONG = 41
"""Points along x and y at which the material of the plane is looked at."""


def plane_waves(case: Case) -> list[tuple[int, Any]]:
    """Plane waves among a case's sources, with their numbers."""
    return [(n, s) for n, s in enumerate(case.sources) if s.kind == "plane-wave"]


def check_plane_waves(
    case: Case, field: Field, lower: np.ndarray, upper: np.ndarray, sides: dict[str, SideKind], problems: Problems
) -> None:
    """Errors where a plane wave cannot start or would not leave, warnings where it does not stay plane."""
    waves = plane_waves(case)
    if not waves:
        return
    where = f"sources[{waves[0][0]}]"
    if sides["z-"] != "absorbing":
        what = f"half of a plane wave goes down, and z- is {sides['z-']}"
        problems.error(where, what, "grid.boundaries: {z-: absorbing}")
    flanks = {sides[s] for s in ("x-", "x+", "y-", "y+")}
    if "rigid" in flanks:
        problems.error(
            where, "a plane wave cannot move along rigid sides", "grid.boundaries: {x: periodic, y: periodic}"
        )
    elif "absorbing" in flanks:
        advice = "Sides that are periodic keep it plane: grid.boundaries: {x: periodic, y: periodic, z+: free-surface}."
        problems.warn(where, "a plane wave is diffracted where it meets absorbing sides", advice=advice)
    x, y = (a.ravel() for a in np.meshgrid(*(np.linspace(lower[k], upper[k], ALONG) for k in (0, 1))))
    for number, wave in waves:
        if not lower[2] < wave.z < upper[2]:
            what = f"the plane z = {wave.z:g} m is not in the box"
            problems.error(f"sources[{number}].z", what, f"between {lower[2]:g} and {upper[2]:g} m")
            continue
        shear, pressure = speeds(field, np.stack([x, y, np.full(len(x), wave.z)], 1))
        if not shear.all() and any(wave.velocity[:2]):
            problems.error(
                f"sources[{number}].velocity", f"there is fluid at z = {wave.z:g} m, which carries no S wave"
            )
            continue
        for speed in (shear, pressure):
            change = float(np.ptp(speed) / max(speed.max(), 1e-300))
            if change > UNEVEN:
                what = f"the material of the plane z = {wave.z:g} m varies by {100 * change:.2g} %: a wave that starts there is not plane"
                problems.warn(f"sources[{number}].z", what, advice="Let it start where the material is even.")
                break


def speeds(field: Field, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """S and P speed [m/s] at points (n, 3)."""
    values = at_points(field, ["rho", "lambda", "mu"], points, np.ones(len(points), np.int64))
    return np.sqrt(values["mu"] / values["rho"]), np.sqrt((values["lambda"] + 2 * values["mu"]) / values["rho"])


def heard(case: Case) -> list[PointSource]:
    """A force of each plane wave's time function, whose spectrum is the wave's."""
    return [
        PointSource(np.zeros(3), _function(case, s, n), force=np.array(s.velocity), onset=s.onset)
        for n, s in plane_waves(case)
    ]


def _function(case: Case, wave: Any, number: int) -> Any:
    made = time_function(wave.time_function, f"sources[{number}].time_function")
    corner = None if case.grid is None else case.grid.lowpass
    return made if corner is None else lowpassed_function(made, corner, case.end_time - wave.onset)


class SourcesAndPlanes(Sources):
    """Point sources, and plane waves as one more source for each component that moves."""

    def __init__(
        self, scheme: Scheme, sources: Sequence[PointSource], moduli: np.ndarray, coefficients: Any, box: Box | None,
        case: Case, field: Field, lower: np.ndarray, upper: np.ndarray, units: Units | None = None,
    ):  # fmt: skip
        """``field``: the material, read at the planes' points within [lower, upper] (3,) [m]."""
        super().__init__(scheme, sources, moduli, coefficients, box, units)
        self._rising: list[PointSource] = []
        for number, wave in plane_waves(case):
            for axis, name in enumerate(VELOCITY):
                if wave.velocity[axis]:
                    self._rise(name, axis, wave, _function(case, wave, number), field, lower, upper)

    def _rise(
        self, name: str, axis: int, wave: Any, function: Any, field: Field, lower: np.ndarray, upper: np.ndarray
    ) -> None:
        """Velocity v S(t - (z - z0) / c) above the plane of points that is nearest to z0."""
        grid = self.scheme.grid
        nz, ny, nx = grid.shape
        origin = grid.first(HALF[name])
        plane = int(np.clip(round((wave.z - origin[2]) / grid.spacing), 0, nz - 1))
        places = np.stack(np.meshgrid([plane], np.arange(ny), np.arange(nx), indexing="ij"), -1).reshape(-1, 3)
        which, inside = images(self.scheme, self.box, places)
        at = np.clip(grid.place(places[which], HALF[name]), lower, upper)
        speed = speeds(field, at)[axis == 2] if len(at) else np.zeros(0)
        height = origin[2] + grid.spacing * plane
        middle = np.array([[*(0.5 * (lower + upper))[:2], np.clip(height, lower[2], upper[2])]])
        onset = wave.onset + (height - wave.z) / float(speeds(field, middle)[axis == 2][0])
        # dt / (rho h^3) times the force 2 rho c v h^2 of a point
        weights = 2.0 * self.scheme.step / grid.spacing * wave.velocity[axis] * speed
        number = max(1, len(self.sources)) + len(self._rising)
        self._rising.append(PointSource(np.zeros(3), function, force=np.ones(3), onset=onset))
        self.injections.append(Injection(VELOCITY_LEVEL, name, inside, weights, np.full(len(inside), number)))

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """As of point sources, with the plane waves' behind them."""
        points = super().amplitudes(first, steps)
        if not self._rising:
            return points
        dt = self.scheme.step
        edges = (first + np.arange(steps + 1) - 0.5) * dt
        waves = np.zeros((points.shape[0], steps, len(self._rising)))
        for n, wave in enumerate(self._rising):
            waves[VELOCITY_LEVEL, :, n] = wave.integral(edges[:-1], edges[1:]) / dt
        return np.concatenate([points, waves], 2)


__all__ = ["SourcesAndPlanes", "check_plane_waves", "heard", "plane_waves"]
