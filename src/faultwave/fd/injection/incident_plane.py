"""Plane waves as incident fields, including the reflections from a free surface.

They are exact in uniform rock, so that what leaks out of the box is due to the dispersion of the grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Setting
from faultwave.fd.capability import FdPlan, MaterialContext, PlacementContext
from faultwave.fd.injection.incident import Incident, times
from faultwave.fd.injection.total_field import Points, TotalField, Update
from faultwave.fd.method.grid import HALF, Grid
from faultwave.fd.method.stencils import VELOCITY
from faultwave.fd.operators.points import MOMENT
from faultwave.media.field import Field
from faultwave.media.homogenise import at_points
from faultwave.observe.boxes.records import MATERIAL
from faultwave.physics.sources.point import PointSource, Sources
from faultwave.physics.sources.time_functions import TimeFunction, time_function
from faultwave.physics.waves.plane_waves import PlaneWave, incoming, sent_back

EVEN = 1e-6
"""Relative variation of the material next to the faces within which it counts as uniform."""


@dataclass(frozen=True)
class PlaneSource:
    """Source from the case's ``injection.plane_wave``."""

    setting: Setting
    function: TimeFunction

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        raise AssertionError("a plane wave is given with its box")

    @property
    def identity(self) -> Sequence[object]:
        s = self.setting
        return [s.mode, *s.direction, *(s.polarisation or ()), s.velocity, *s.reference, s.onset]

    @property
    def radiating(self) -> Sources:
        """Force with the time function, and hence the spectrum, of the wave."""
        force = np.array([self.setting.velocity, 0.0, 0.0])
        return Sources.of(
            [PointSource(np.zeros(3), self.function, force=force, onset=self.setting.onset, name="injection")]
        )

    def check_reach(self, placing: PlacementContext, where: TotalField, points: Mapping[str, Points]) -> None:
        """Accept all points, as a plane wave is defined everywhere."""

    def check(
        self, checking: MaterialContext, where: TotalField, points: Mapping[str, Points]
    ) -> Sequence[tuple[str, ...]]:
        grid, problems, case = checking.placing.grid, checking.problems, checking.case
        if case.attenuation is not None:
            problems.error(
                "injection.plane_wave",
                "is not built for rock that attenuates",
                "a file",
                "Record it with sources: plane-wave.",
            )
        values = _around(checking.field, grid, where, Update.of(case, checking.placing.order))
        for name, of in values.items():
            if np.ptp(of) > EVEN * np.abs(of).max():
                what = f"is of uniform rock, and {name} beside the faces of the box is {of.min():.6g} to {of.max():.6g}"
                problems.error(
                    "injection.plane_wave",
                    what,
                    "one rock at all faces; inside, it may differ",
                    "Or give a file of another run.",
                )
                return []
        try:
            waves = self.waves(values, grid.upper[2] if where.top is not None else None)
        except ValueError as error:
            problems.error("injection.plane_wave.direction", str(error), "a direction closer to the vertical")
            return []
        self._check_begin(waves, checking, where)
        kinds = f"{self.setting.mode} wave" + (
            f" and {len(waves) - 1} from the free surface" if where.top is not None else ""
        )
        return [("from", f"plane {kinds}, exact in rock; errors are those of the grid")]

    def _check_begin(self, waves: Sequence[PlaneWave], checking: MaterialContext, where: TotalField) -> None:
        """Report an error if the wave reaches the box before the run begins."""
        grid = checking.placing.grid
        corner = (
            np.array(np.meshgrid(*([a, b] for a, b in zip(where.box.lo, where.box.hi, strict=True)))).reshape(3, -1).T
        )
        delays = [wave.delay + float((grid.place(corner) @ wave.slowness).min()) for wave in waves[:1]]
        before = -min(delays) - self.setting.onset
        if before > 0 and np.abs(self.function.value(np.linspace(0, before, 200))).max() > 0:
            what = f"the wave is at the box {before:.4g} s before the run begins"
            checking.problems.error(
                "injection.plane_wave", what, f"an onset of {self.setting.onset + before:.4g} s or later"
            )

    def waves(self, values: Mapping[str, np.ndarray], surface: float | None) -> list[PlaneWave]:
        """Return all waves in the rock of ``values``, with reflections from a free surface at ``surface`` [m], if any."""
        rho, lam, mu = (float(values[name].flat[0]) for name in MATERIAL)
        s, modulus = self.setting, lam + 2.0 * mu
        if s.mode == "S":
            if mu == 0.0:
                raise ValueError("fluids carry no S wave")
            modulus = mu
        polarisation = None if s.mode == "P" else np.array(s.polarisation, float)
        first = incoming(
            np.array(s.direction), polarisation, s.velocity, float(np.sqrt(modulus / rho)), np.array(s.reference)
        )
        return [first] if surface is None else [first, *sent_back(first, rho, lam, mu, surface)]

    def incident(self, plan: FdPlan, where: TotalField, points: Mapping[str, Points]) -> Incident:
        grid = plan.scheme.grid
        values = _around(plan.material, grid, where, Update.of(plan.case, plan.scheme.order))
        waves = self.waves(values, grid.upper[2] if where.top is not None else None)
        moduli = float(values["lambda"].flat[0]), float(values["mu"].flat[0])
        return PlaneWaves(self, waves, moduli, grid, plan.scheme.step, points)


def _around(field: Field, grid: Grid, where: TotalField, update: Update) -> dict[str, np.ndarray]:
    """Return density and moduli next to the faces of the box."""
    places = grid.place(where.strip(update.reach))
    places[:, 2] = np.minimum(places[:, 2], grid.upper[2])
    return at_points(field, list(MATERIAL), places, np.ones(len(places), np.int64))


class PlaneWaves:
    """Sum of plane waves at points of a grid."""

    def __init__(
        self, source: PlaneSource, waves: Sequence[PlaneWave], moduli: tuple[float, float], grid: Grid, step: float,
        listed: Mapping[str, Points],
    ):  # fmt: skip
        self.source, self.step = source, step
        self.delays: dict[str, np.ndarray] = {}
        self.sizes: dict[str, np.ndarray] = {}
        for name, points in listed.items():
            places = grid.place(points, HALF[name])
            places[:, 2] = np.minimum(places[:, 2], grid.upper[2])
            self.delays[name] = np.stack([wave.delay + places @ wave.slowness for wave in waves])
            column = list(VELOCITY).index(name) if name in VELOCITY else MOMENT.index(name)
            of = [wave.motion if name in VELOCITY else wave.stress(*moduli) for wave in waves]
            self.sizes[name] = np.array([values[column] for values in of])

    def values(self, first: int, count: int) -> dict[str, np.ndarray]:
        """Return the values of steps by array (see ``Incident.values``)."""
        found, onset = {}, self.source.setting.onset
        for name, delays in self.delays.items():
            when = times(name, first, count, self.step)[:, None] - onset
            found[name] = np.zeros((count, delays.shape[1]))
            for size, delay in zip(self.sizes[name], delays, strict=True):
                if size:
                    found[name] += size * self.source.function.value(when - delay)
        return found


def plane_source(setting: Setting) -> PlaneSource:
    """Return the source of the case's ``injection.plane_wave``.

    Raises
    ------
    InputError
        If the time function is invalid or not finite.
    """
    where = "injection.plane_wave.time_function"
    made = time_function(setting.time_function, where)
    if not np.isfinite(made.value(np.linspace(0.0, 1.0, 11))).all():
        raise InputError(Problem(where, "is not finite"))
    return PlaneSource(setting, made)


__all__ = ["PlaneSource", "PlaneWaves", "plane_source"]
