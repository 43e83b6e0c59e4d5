"""Plane waves that rise from a horizontal plane, for the response of sites and basins: forces on all its points.

A force F S(t) per unit area radiates waves of velocity F S / (2 rho c) up and down, where c is the S speed for
horizontal and the P speed for vertical forces (Aki & Richards 2002, ch. 4, for one dimension); F = 2 rho c v yields the
velocity v S(t).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from faultwave.base.errors import collect_problems
from faultwave.case.settings.model import Case
from faultwave.case.settings.sources import Source
from faultwave.fd.capability import FdPlan, GridCapabilityPlan
from faultwave.fd.contexts import MaterialContext, Planning
from faultwave.fd.method.grid import HALF, SideKind
from faultwave.fd.method.scheme import LEVELS, Level
from faultwave.fd.method.stencils import VELOCITY
from faultwave.fd.operators.points import images
from faultwave.kernels.stencil import Injection
from faultwave.media.field import Field
from faultwave.media.homogenise import at_points
from faultwave.physics.sources.point import PointSource, Sources
from faultwave.physics.sources.spectrum import lowpassed_function
from faultwave.physics.sources.time_functions import TimeFunction, time_function

UNEVEN = 0.01
"""Relative variation of the impedance over the plane above which a wave that starts there is not plane."""
ALONG = 41
"""Number of points along x and y at which the material of the plane is examined."""


@dataclass(frozen=True)
class Wave:
    """Plane wave among the sources of a case, with its ``number`` there, its setting and its time function."""

    number: int
    setting: Source
    function: TimeFunction

    def force(self) -> PointSource:
        """Return a force with the time function, and thus the spectrum, of the wave."""
        velocity = np.array(self.setting.velocity)
        return PointSource(np.zeros(3), self.function, force=velocity, onset=self.setting.onset)


def plan(planning: Planning) -> RisingWaves | None:
    """Return the plane waves among the sources of the case, None if there are none."""
    case, found = planning.case, list[Wave]()
    for number, setting in enumerate(case.sources):
        if setting.kind == "plane-wave":
            with collect_problems(planning.problems):
                found.append(Wave(number, setting, _function(case, setting, number)))
    return RisingWaves(tuple(found)) if found else None


def _function(case: Case, setting: Source, number: int) -> TimeFunction:
    made = time_function(setting.time_function, f"sources[{number}].time_function")
    corner = case.source_lowpass
    return made if corner is None else lowpassed_function(made, corner, case.end_time - setting.onset)


@dataclass(frozen=True)
class RisingWaves(GridCapabilityPlan):
    """Plane waves of a case."""

    waves: tuple[Wave, ...]
    name = "plane_waves"

    @property
    def radiating(self) -> Sources:  # type: ignore[override]
        return Sources.of([wave.force() for wave in self.waves])

    @property
    def places(self) -> np.ndarray:
        return np.array([(0.0, 0.0, wave.setting.z) for wave in self.waves]).reshape(-1, 3)

    def select(self, numbers: np.ndarray) -> Self:
        return replace(self, waves=tuple(self.waves[n] for n in numbers))

    def check(self, checking: MaterialContext) -> Self:
        """Report plane waves that cannot start or would not leave the box, and warn if they do not remain plane."""
        sides, where = checking.sides, f"sources[{self.waves[0].number}]"
        if sides["z-"] != SideKind.ABSORBING:
            what = f"half of a plane wave propagates downwards, but z- is {sides['z-']}"
            checking.problems.error(where, what, "grid.boundaries: {z-: absorbing}")
        flanks = {sides[s] for s in ("x-", "x+", "y-", "y+")}
        if SideKind.RIGID in flanks:
            what = "a plane wave cannot move along rigid sides"
            checking.problems.error(where, what, "grid.boundaries: {x: periodic, y: periodic}")
        elif SideKind.ABSORBING in flanks:
            advice = "Periodic sides keep it plane: grid.boundaries: {x: periodic, y: periodic, z+: free-surface}."
            checking.problems.warn(where, "a plane wave is diffracted where it meets absorbing sides", advice=advice)
        with collect_problems(checking.problems):
            for wave in self.waves:
                _check_plane(wave, checking)
        return self

    def drive(self, plan: FdPlan) -> PlaneWaveInjector:
        return PlaneWaveInjector(plan, self.waves)


def _check_plane(wave: Wave, checking: MaterialContext) -> None:
    """Check the plane from which a wave starts."""
    (lower, upper), setting = (checking.placing.lower, checking.placing.upper), wave.setting
    where = f"sources[{wave.number}]"
    assert setting.z is not None  # the case requires it for a wave that starts from a plane
    if not lower[2] < setting.z < upper[2]:
        what = f"the plane z = {setting.z:g} m is not in the box"
        checking.problems.error(f"{where}.z", what, f"between {lower[2]:g} and {upper[2]:g} m")
        return
    relief = checking.placing.grid.relief
    if relief is not None and setting.z > relief.bottom - checking.placing.grid.spacing:
        what = f"z = {setting.z:g} m is in the curvilinear layer below the topography"
        checking.problems.error(f"{where}.z", what, f"below {relief.bottom - checking.placing.grid.spacing:.6g} m")
        return
    x, y = (a.ravel() for a in np.meshgrid(*(np.linspace(lower[k], upper[k], ALONG) for k in (0, 1))))
    half, carried = 0.5 * checking.placing.grid.spacing, (any(setting.velocity[:2]), bool(setting.velocity[2]))
    heights = np.clip([setting.z, setting.z - half, setting.z + half], lower[2], upper[2])
    planes = [impedances(checking.field, np.stack([x, y, np.full(len(x), z)], 1)) for z in heights]
    if carried[0] and not all(shear.all() for shear, _ in planes):  # it starts from the plane of points nearest to z
        what = f"there is fluid at or within half a spacing of z = {setting.z:g} m, which carries no S wave"
        checking.problems.error(f"{where}.velocity", what)
        return
    for impedance in (z for z, needed in zip(planes[0], carried, strict=True) if needed):
        change = float(np.ptp(impedance) / max(impedance.max(), 1e-300))
        if change > UNEVEN:
            what = f"the impedance in the plane z = {setting.z:g} m varies by {100 * change:.2g} %: a wave that starts there is not plane"
            checking.problems.warn(f"{where}.z", what, advice="Let it start where the material is uniform.")
            break


def speeds(field: Field, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the S and P speeds (n,) [m/s] at points (n, 3) [m]."""
    values = at_points(field, ["rho", "lambda", "mu"], points, np.ones(len(points), np.int64))
    return np.sqrt(values["mu"] / values["rho"]), np.sqrt((values["lambda"] + 2 * values["mu"]) / values["rho"])


def impedances(field: Field, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the S and P impedances (n,) [kg/(m^2 s)] at points (n, 3) [m]."""
    values = at_points(field, ["rho", "lambda", "mu"], points, np.ones(len(points), np.int64))
    return np.sqrt(values["mu"] * values["rho"]), np.sqrt((values["lambda"] + 2 * values["mu"]) * values["rho"])


class PlaneWaveInjector:
    """Source injector of plane waves, with one source for each nonzero component of each wave."""

    def __init__(self, plan: FdPlan, waves: tuple[Wave, ...]):
        self.plan = plan
        self.injections: list[Injection] = []
        self.rising: list[PointSource] = []
        for wave in waves:
            for axis, name in enumerate(VELOCITY):
                if wave.setting.velocity[axis]:
                    self._rise(name, axis, wave)

    @property
    def count(self) -> int:
        """Number of nonzero components of all waves."""
        return len(self.rising)

    def _rise(self, name: str, axis: int, wave: Wave) -> None:
        """Add a velocity v S(t - (z - z0) / c) above the plane of points nearest to z0."""
        plan, setting = self.plan, wave.setting
        grid, lower, upper = plan.scheme.grid, plan.lower, plan.upper
        nz, ny, nx = grid.shape
        lowest = grid.first(HALF[name])[2]
        plane = int(np.clip(round((setting.z - lowest) / grid.spacing), 0, nz - 1))
        points = np.stack(np.meshgrid([plane], np.arange(ny), np.arange(nx), indexing="ij"), -1).reshape(-1, 3)
        which, inside = images(plan.scheme, plan.box, points)
        at = np.clip(grid.place(points[which], HALF[name]), lower, upper)
        speed = speeds(plan.material, at)[axis == 2] if len(at) else np.zeros(0)
        height = lowest + grid.spacing * plane
        middle = np.array([[*(0.5 * (lower + upper))[:2], np.clip(height, lower[2], upper[2])]])
        onset = setting.onset + (height - setting.z) / float(speeds(plan.material, middle)[axis == 2][0])
        # dt / (rho h^3) times the force 2 rho c v h^2 of a point
        weights = 2.0 * plan.scheme.step / grid.spacing * setting.velocity[axis] * speed
        number = np.full(len(inside), len(self.rising))
        self.rising.append(PointSource(np.zeros(3), wave.function, force=np.ones(3), onset=onset))
        self.injections.append(Injection(Level.VELOCITY, name, inside, weights, number))

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """Return amplitudes (levels, steps, count) (see ``Drive``)."""
        dt = self.plan.scheme.step
        edges = (first + np.arange(steps + 1) - 0.5) * dt
        found = np.zeros((LEVELS, steps, len(self.rising)))
        for n, wave in enumerate(self.rising):
            found[Level.VELOCITY, :, n] = wave.integral(edges[:-1], edges[1:]) / dt
        return found
