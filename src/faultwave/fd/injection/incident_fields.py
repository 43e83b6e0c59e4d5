"""Sources of incident fields: records of a box, H5DRM files and plane waves, with their checks before a run.

Stresses follow from the velocity gradients and the moduli of the rock, integrated over time.

They are exact in uniform rock, so that what leaks out of the box is due to the dispersion of the grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Json, Setting
from faultwave.case.settings.sources import H5drmAxes
from faultwave.fd.capability import FdPlan
from faultwave.fd.contexts import MaterialContext, PlacementContext
from faultwave.fd.injection.incident import Incident, RecordedWaves, at_places, gradients_at, in_time, times, unreached
from faultwave.fd.injection.incident_checks import (
    check_length,
    check_resolution,
    check_samples,
    dispersion,
    measure_record,
)
from faultwave.fd.injection.total_field import Points, TotalField, Update
from faultwave.fd.method.effective_medium import LIVES
from faultwave.fd.method.grid import HALF, Grid
from faultwave.fd.method.stencils import AXES, NORMAL, SHEAR, VELOCITY
from faultwave.fd.operators.points import MOMENT
from faultwave.media.field import Field
from faultwave.media.homogenise import at_points
from faultwave.observe.boxes import MATERIAL, VELOCITIES, BoxRecord, SourceSide, read_box_record
from faultwave.observe.h5drm import H5drmRecord, is_h5drm, read_h5drm
from faultwave.physics.sources.point import PointSource, Sources
from faultwave.physics.sources.time_functions import TimeFunction, time_function
from faultwave.physics.waves.plane_waves import PlaneWave, incoming, sent_back

if TYPE_CHECKING:
    from scipy import sparse


H5DRM_GRADIENTS = 2.0
"""Ratio of the errors of stresses, computed from gradients, to errors of velocities."""
H5DRM_PLANES = 4
"""Number of planes of nodes across a layer that the polynomials need."""


@dataclass(frozen=True)
class H5drmSource:
    """Source from an H5DRM file, whose box lies in the middle of its layers of nodes."""

    record: H5drmRecord
    radiating: Sources = Sources.of(())
    recorded: SourceSide = SourceSide.UNKNOWN

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        frame = self.record.frame
        grown = 0.5 * frame.spacing * np.array([1.0, 1.0, 0.0 if frame.open_top else 1.0])
        return frame.lower - 0.5 * frame.spacing, frame.upper + grown

    @property
    def identity(self) -> Sequence[Json]:
        frame = self.record.frame
        return ["h5drm", frame.spacing, frame.interval, self.record.samples]

    def check_reach(self, placing: PlacementContext, where: TotalField, points: Mapping[str, Points]) -> None:
        frame, grid, problems = self.record.frame, placing.grid, placing.problems
        if placing.case.attenuation is not None:
            what = "an H5DRM file has no stresses, which cannot be computed from velocities in attenuating rock"
            problems.error("injection.file", what, "a record of output.box", "Or remove attenuation.")
            return
        if frame.open_top != (where.top is not None) or (
            frame.open_top and abs(frame.upper[2] - grid.upper[2]) > 1e-3 * grid.spacing
        ):
            what = f"the uppermost nodes lie at z = {frame.upper[2]:g} m" + (
                ", which has none above" if frame.open_top else ""
            )
            problems.error(
                "injection.file", what, f"the free surface, {grid.upper[2]:g} m, or a box below it with six faces"
            )
            return
        nodes = self.record.nodes["v1"]
        missing = {name: at_places(nodes, _places(placing.grid, name, of)).missing for name, of in points.items()}
        total = sum(map(len, missing.values()))
        if total:
            name = next(n for n, of in missing.items() if len(of))
            x, y, z = _places(placing.grid, name, points[name][missing[name][:1]])[0]
            what = f"has no nodes around {total:,} points next to the faces, such as ({x:g}, {y:g}, {z:g})"
            allowed = f"{H5DRM_PLANES} planes of nodes or more across its layers, which are {frame.spacing:g} m apart"
            problems.error("injection.file", what, allowed, "Files of Faultwave have them with output.box.layers: 3.")

    def check(
        self, checking: MaterialContext, where: TotalField, points: Mapping[str, Points]
    ) -> Sequence[tuple[str, ...]]:
        ending = check_length(self.record, checking)
        found = measure_record(self.record)
        check_samples(found, self.record.frame.spacing, self.record.frame.interval, checking)
        frequencies = check_resolution(found, checking)
        what = "does not state the rock in which it was recorded"
        side = "Inside" if where.outward else "Outside"
        checking.problems.warn(
            "injection.file", what, advice=f"{side} of the box the rock should be that of this case."
        )
        return [
            ("from", f"{self.record.path.name}, H5DRM, interpolated from nodes {self.record.frame.spacing:g} m apart"),
            (
                "error of interpolation",
                f"about {100 * H5DRM_GRADIENTS * found.space:.2g} % in space, {100 * found.time:.2g} % in time",
            ),
            frequencies,
            *ending,
        ]

    def incident(self, plan: FdPlan, where: TotalField, points: Mapping[str, Points]) -> Incident:
        return Strained(self.record, plan, points)


def _places(grid: Grid, name: str, points: Points) -> np.ndarray:
    """Return the places (n, 3) [m] of points of the grid."""
    found = grid.place(points, HALF[name])
    found[:, 2] = np.minimum(found[:, 2], grid.upper[2])
    return np.asarray(found)


class Strained:
    """Velocities of a record, and stresses integrated from their gradients in elastic rock step by step."""

    def __init__(self, record: H5drmRecord, plan: FdPlan, listed: Mapping[str, Points]):
        self.record, self.step, nodes = record, plan.scheme.step, record.nodes["v1"]
        self.velocity = {
            n: at_places(nodes, _places(plan.scheme.grid, n, of)) for n, of in listed.items() if n in VELOCITY
        }
        self.moduli: dict[str, list[tuple[int, sparse.csr_array]]] = {}
        for name, points in ((n, of) for n, of in listed.items() if n not in VELOCITY):
            places = _places(plan.scheme.grid, name, points)
            values = at_points(plan.material, ["lambda", "mu"], places, np.ones(len(places), np.int64))
            self.moduli[name] = _stress(name, gradients_at(nodes, places), values["lambda"], values["mu"])
        self.stress = {name: np.zeros(len(listed[name])) for name in self.moduli}
        self.steps = 0

    def values(self, first: int, count: int) -> dict[str, np.ndarray]:
        """Return the values of steps by array (see ``Incident.values``).

        Steps before ``first`` are integrated on the way, from the beginning if later ones have been taken.
        """
        if first < self.steps:
            self.steps, self.stress = 0, {name: np.zeros_like(values) for name, values in self.stress.items()}
        while self.steps < first:
            self._strain(min(count, first - self.steps))
        motion = self._motion(first, count)
        found = {name: between.of(motion["uvw".index(name)]) for name, between in self.velocity.items()}
        return found | self._strain(count, motion)

    def _motion(self, first: int, count: int) -> list[np.ndarray]:
        """Return the velocities (count, nodes) in the middle of steps."""
        at = (times("u", first, count, self.step) - self.record.first["v1"]) / self.record.frame.interval
        return [in_time(self.record, name, at) for name in VELOCITIES]

    def _strain(self, count: int, motion: list[np.ndarray] | None = None) -> dict[str, np.ndarray]:
        """Take ``count`` steps and return the stresses (count, points) at the beginning of each."""
        motion, found = motion or self._motion(self.steps, count), {}
        for name, parts in self.moduli.items():
            rates = sum(((weights @ motion[k].T).T for k, weights in parts), start=np.zeros((1, 1)))
            series = self.stress[name] + self.step * np.cumsum(rates, 0)
            found[name] = np.concatenate([self.stress[name][None], series[:-1]])
            self.stress[name] = series[-1]
        self.steps += count
        return found


def _stress(
    name: str, slopes: Sequence[sparse.csr_array], lam: np.ndarray, mu: np.ndarray
) -> list[tuple[int, sparse.csr_array]]:
    """Return the weights that give the rate of a stress from each velocity component at the nodes.

    ``slopes`` are the weights of derivatives along x, y and z; ``lam`` and ``mu`` [Pa] the moduli at the points.
    """
    if name in SHEAR:
        a, b = (AXES.index(axis) for axis in SHEAR[name])
        return [(a, _scaled(mu, slopes[b])), (b, _scaled(mu, slopes[a]))]
    own = NORMAL.index(name)
    return [(k, _scaled(lam + 2.0 * mu * (k == own), slopes[k])) for k in range(3)]


def _scaled(factors: np.ndarray, weights: sparse.csr_array) -> sparse.csr_array:
    from scipy import sparse  # takes long to import, and few runs need it

    return sparse.csr_array(sparse.diags_array(factors) @ weights)


EVEN = 1e-6
"""Relative variation of the material next to the faces within which it counts as uniform."""


@dataclass(frozen=True)
class PlaneSource:
    """Source from the case's ``injection.plane_wave``."""

    setting: Setting
    function: TimeFunction
    recorded: SourceSide = SourceSide.UNKNOWN

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        raise AssertionError("a plane wave needs its box")

    @property
    def identity(self) -> Sequence[Json]:
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
                "is not supported in attenuating rock",
                "a file",
                "Record it with sources: plane-wave.",
            )
        values = _around_plane_wave(checking.field, grid, where, Update.of(case, checking.placing.order))
        for name, of in values.items():
            if np.ptp(of) > EVEN * np.abs(of).max():
                what = (
                    f"needs uniform rock, but {name} next to the faces of the box is {of.min():.6g} to {of.max():.6g}"
                )
                problems.error(
                    "injection.plane_wave",
                    what,
                    "the same rock at all faces; the interior may differ",
                    "Or use a file of another run.",
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
        return [("from", f"plane {kinds}, exact in rock; only the grid has errors")]

    def _check_begin(self, waves: Sequence[PlaneWave], checking: MaterialContext, where: TotalField) -> None:
        """Report an error if the wave reaches the box before the run begins."""
        grid = checking.placing.grid
        corner = (
            np.array(np.meshgrid(*([a, b] for a, b in zip(where.box.lo, where.box.hi, strict=True)))).reshape(3, -1).T
        )
        delays = [wave.delay + float((grid.place(corner) @ wave.slowness).min()) for wave in waves[:1]]
        before = -min(delays) - self.setting.onset
        if before > 0 and np.abs(self.function.value(np.linspace(0, before, 200))).max() > 0:
            what = f"the wave reaches the box {before:.4g} s before the run begins"
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
        values = _around_plane_wave(plan.material, grid, where, Update.of(plan.case, plan.scheme.order))
        waves = self.waves(values, grid.upper[2] if where.top is not None else None)
        moduli = float(values["lambda"].flat[0]), float(values["mu"].flat[0])
        return PlaneWaves(self, waves, moduli, grid, plan.scheme.step, points)


def _around_plane_wave(field: Field, grid: Grid, where: TotalField, update: Update) -> dict[str, np.ndarray]:
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


Rows = Sequence[tuple[str, ...]]
ALIKE = 0.01
"""Relative difference of materials that is reported; an error if more than half of the points exceed it."""
ROUNDED = 2e-3
"""Relative difference of coefficients at the points of the same grid, which may be stored in sixteen bits or not."""
SAME_ROCK = {
    False: "the same rock outside of the box; the interior may differ",
    True: "the same rock inside of the box; the surroundings may differ",
}
"""Allowed rock, by whether the total field is outside."""
NO_ROCK_INSIDE = "does not state the rock inside of its faces, which injection outward compares"
RECORD_AGAIN = "Record again with this version of Faultwave."
BAND = (
    "With attenuation, moduli depend on its band, which follows from the slowest rock: set "
    "attenuation.high in both cases."
)


class Source(Protocol):
    """Protocol of a source of incident waves, as the case defines it."""

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners [m] of the box of the source, for cases that give none."""

    @property
    def identity(self) -> Sequence[Json]:
        """Values that identify the source in a checkpoint, serialisable as JSON."""

    @property
    def radiating(self) -> Sources:
        """Time functions of the source, if it has any."""

    @property
    def recorded(self) -> SourceSide:
        """Side of the faces on which the sources of the waves are."""

    def check_reach(self, placing: PlacementContext, where: TotalField, points: Mapping[str, Points]) -> None:
        """Report errors for points whose incident field is unknown."""

    def check(self, checking: MaterialContext, where: TotalField, points: Mapping[str, Points]) -> Rows:
        """Report problems of material and duration, and return rows for ``faultwave plan``."""

    def incident(self, plan: FdPlan, where: TotalField, points: Mapping[str, Points]) -> Incident:
        """Return the waves at points of the grid."""


def source_of(setting: Setting) -> Source:
    """Return the source of incident waves of a case's ``injection``.

    Raises
    ------
    InputError
        If a file cannot be used.
    """
    if setting.plane_wave is not None:
        return plane_source(setting.plane_wave)
    if is_h5drm(setting.file):
        return H5drmSource(read_h5drm(setting.file, setting.h5drm or H5drmAxes.model_validate({})))
    if setting.h5drm is not None:
        raise InputError(Problem("injection.h5drm", f"{setting.file} is not an H5DRM file", "with H5DRM files only"))
    return RecordSource(read_box_record(setting.file))


@dataclass(frozen=True)
class RecordSource:
    """Source from a file of ``output.box``."""

    record: BoxRecord
    radiating: Sources = Sources.of(())

    @property
    def recorded(self) -> SourceSide:
        return self.record.frame.recorder.sources

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        return self.record.frame.lower, self.record.frame.upper

    @property
    def identity(self) -> Sequence[Json]:
        frame = self.record.frame
        return [frame.recorder.engine, frame.recorder.order, frame.spacing, frame.interval, self.record.samples]

    def _check_sources(self, placing: PlacementContext, where: TotalField) -> None:
        """Report an error if the sources of the record are on the side of the total field, a warning if they are on both."""
        side, problems = self.recorded, placing.problems
        wrong, right = (SourceSide.INSIDE, SourceSide.OUTSIDE)[:: -1 if where.outward else 1]
        if side == wrong:
            what = f"contains waves of sources {wrong} of its box"
            other = "inside" if where.outward else "outside"
            advice = f"Waves of sources {wrong} of the box need injection.total_field: {other}."
            problems.error("injection.file", what, f"sources {right} of the box", advice)
        elif side == SourceSide.BOTH:
            what = (
                "contains waves of sources near the faces of its box or on both sides, which injection cannot separate"
            )
            problems.warn("injection.file", what, f"sources {right} of the box")

    @property
    def _of_a_grid(self) -> bool:
        """True if the record is at the points of a grid rather than on a lattice."""
        return "b_x" in self.record.material

    def check_reach(self, placing: PlacementContext, where: TotalField, points: Mapping[str, Points]) -> None:
        frame, grid = self.record.frame, placing.grid
        self._check_sources(placing, where)
        if frame.open_top != (where.top is not None):
            said = ("reaches the free surface", "has an upper face")
            what = f"the box of the record {said[not frame.open_top]}, the injection box {said[where.top is None]}"
            placing.problems.error("injection", what, "the same for both")
            return
        if frame.open_top and abs(frame.upper[2] - grid.upper[2]) > 1e-6 * grid.spacing:
            what = f"the free surface of the record is at z = {frame.upper[2]:g} m, that of the grid at {grid.upper[2]:g} m"
            placing.problems.error("injection.file", what, "the same for both")
            return
        if self._of_a_grid and abs(frame.spacing / grid.spacing - 1.0) > 1e-9:
            what = f"was recorded at the points of a grid of {frame.spacing:g} m, and this one has {grid.spacing:g} m"
            advice = f"Record at a lattice: output.box.spacing, {grid.spacing:g} m or more, and interval."
            placing.problems.error("injection.file", what, "a record of the same grid, or of a lattice", advice)
            return
        if self._of_a_grid and frame.recorder.order != placing.order:
            what = f"was recorded by differences of order {frame.recorder.order}, which need other points"
            placing.problems.error("injection.file", what, f"grid.order: {frame.recorder.order}")
            return
        missing = unreached(self.record, grid, points)
        if missing:
            name, numbers = missing[0]
            x, y, z = grid.place(points[name][numbers[:1]], HALF[name])[0]
            total, of = sum(len(n) for _, n in missing), sum(map(len, points.values()))
            box = " x ".join(f"[{a:g}, {b:g}]" for a, b in zip(*self.box, strict=True))
            what = (
                f"the record has no points around {total:,} of {of:,} points next to the faces, such as "
                f"({x:g}, {y:g}, {z:g})"
            )
            placing.problems.error(
                "injection", what, f"faces at those of the record, {box} m", _advice(frame.spacing, grid.spacing)
            )

    def check(self, checking: MaterialContext, where: TotalField, points: Mapping[str, Points]) -> Rows:
        ending = check_length(self.record, checking)
        if checking.world.size == 1:  # of several processes, each finds the errors in what it reads
            self.record.check()
        waves = RecordedWaves(self.record, checking.placing.grid, checking.step, points)
        if waves.exact:
            _compare_same(self.record, checking, where)
            rows = [("from", f"{self.record.path.name}, exactly: the same points and steps")]
            if where.outward:
                rows.append(check_resolution(measure_record(self.record), checking))
            return [*rows, *ending]
        found = measure_record(self.record)
        check_samples(
            found, 0.0 if self._of_a_grid else self.record.frame.spacing, self.record.frame.interval, checking
        )
        frequencies = check_resolution(found, checking)
        reported = _compare(self.record, checking, where.outward)
        _tell_step(self.record, checking)
        early = dispersion(found, self.record.frame, checking)
        twice = (
            1 if self._of_a_grid or self.record.frame.recorder.engine != "fd" else 2
        )  # the record itself was interpolated
        rows = [
            ("from", f"{self.record.path.name}, interpolated from points {self.record.frame.spacing:g} m apart"),
            (
                "error of interpolation",
                f"about {100 * twice * found.space:.2g} % in space, {100 * found.time:.2g} % in time",
            ),
            frequencies,
        ]
        if early is not None:
            rows.append(
                (
                    "error of the record",
                    f"about {100 * early:.2g} % from dispersion of its grid up to {found.peak:.3g} s",
                )
            )
        return [*rows, *ending, *reported]

    def incident(self, plan: FdPlan, where: TotalField, points: Mapping[str, Points]) -> Incident:
        return RecordedWaves(self.record, plan.scheme.grid, plan.scheme.step, points)


def _advice(recorded: float, spacing: float) -> str:
    if recorded < spacing * (1 - 1e-6):
        return f"Its points are {recorded:g} m apart: record with a spacing of {spacing:g} m or more, so that its layer is thick enough."
    return ""


def _tell_step(record: BoxRecord, checking: MaterialContext) -> None:
    """Warn if only the time step prevents an exact injection of a record of the same grid."""
    frame = record.frame
    if abs(frame.interval / checking.step - 1) > 1e-9 and "b_x" in record.material:
        what = (
            f"its time steps are {frame.interval:.9g} s, those of this run {checking.step:.9g} s: waves are "
            "interpolated in time"
        )
        checking.problems.warn(
            "injection.file", what, advice=f"grid.step: {frame.interval!r} injects them exactly, if it is stable."
        )


# ---- comparison of the rock -----------------------------------------------------------------------------------------------


def _compare(record: BoxRecord, checking: MaterialContext, outward: bool) -> Rows:
    """Compare the rock next to the faces in the record and in the case, and return rows about differences.

    The rock on the side of the scattered field is compared, inside the box if the total field is ``outward``. If most of
    it differs, an error is reported.
    """
    reported, problems = list[tuple[str, ...]](), checking.problems
    if not record.material:
        problems.warn(
            "injection.file",
            "does not state the rock in which it was recorded",
            advice="The rock should be that of this case.",
        )
    for name in (name for name in MATERIAL if name in record.material):
        nodes, recorded = record.material[name]
        places = nodes.places()
        scattered = record.frame.inside(places) if outward else record.frame.outside(places)
        if not scattered.any():
            problems.error("injection.file", NO_ROCK_INSIDE, advice=RECORD_AGAIN)
            break
        places, recorded = places[scattered], recorded[scattered]
        here = at_points(checking.field, [name], places, np.ones(len(places), np.int64))[name]
        apart = _differences(recorded, here)
        share, worst = float((apart > ALIKE).mean()), int(apart.argmax())
        x, y, z = places[worst]
        what = (
            f"was recorded in other rock: {name} next to the faces differs by more than {100 * ALIKE:g} % at "
            f"{100 * share:.3g} % of the points, at ({x:g}, {y:g}, {z:g}) it was {recorded[worst]:.6g}, here "
            f"it is {here[worst]:.6g}"
        )
        if share > 0.5:
            problems.error("injection.file", what, SAME_ROCK[outward])
            break
        if share > 0:
            reported.append(
                (
                    f"{name} at the faces",
                    f"differs at {100 * share:.2g} % of the points, as interfaces do on other grids",
                )
            )
    return reported


def _compare_same(record: BoxRecord, checking: MaterialContext, where: TotalField) -> None:
    """Report an error if coefficients differ from the coefficients of a record that is injected exactly.

    Points with the scattered field are compared.
    """
    if checking.surveyed:
        return
    grid, box = checking.placing.grid, checking.box
    for name in (name for name in LIVES if name in record.material):
        nodes, recorded = record.material[name]
        offset = np.rint((nodes.origin - grid.first(HALF[LIVES[name]])) / grid.spacing).astype(int)
        points = (nodes.index + offset)[:, ::-1]
        scattered = ~where.total(points)
        if not scattered.any():
            checking.problems.error("injection.file", NO_ROCK_INSIDE, advice=RECORD_AGAIN)
            return
        mine = np.flatnonzero(((points >= box.lo) & (points < box.hi)).all(1) & scattered)
        whole = np.broadcast_to(checking.medium.coefficients[name], box.shape)
        here = np.asarray(whole[tuple((points[mine] - np.array(box.lo)).T)], float)
        wrong = np.flatnonzero(_differences(recorded[mine], here) > ROUNDED)
        if len(wrong):
            x, y, z = nodes.places()[mine[wrong[0]]]
            what = (
                f"was recorded in other rock: at {len(wrong):,} points next to the faces, such as ({x:g}, "
                f"{y:g}, {z:g}), {_WORDS[name]} was {recorded[mine[wrong[0]]]:.6g} and here it is "
                f"{here[wrong[0]]:.6g}"
            )
            advice = "" if checking.case.attenuation is None or checking.case.attenuation.high is not None else BAND
            checking.problems.error("injection.file", what, SAME_ROCK[where.outward], advice)
            return


_WORDS = {
    **dict.fromkeys(("b_x", "b_y", "b_z"), "one over density"), "lam": "lambda", "mu2": "twice mu",
    **dict.fromkeys(("mu_xy", "mu_xz", "mu_yz"), "mu"),
}  # fmt: skip


def _differences(recorded: np.ndarray, here: np.ndarray) -> np.ndarray:
    recorded = np.asarray(recorded, float)
    scale = np.maximum(np.abs(recorded), np.abs(here))
    return np.asarray(np.abs(recorded - here) / np.where(scale > 0, scale, 1.0))
