"""Sources of incident fields, namely records of a box, H5DRM files and plane waves, with their checks before a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Setting
from faultwave.case.settings.sources import H5drmAxes
from faultwave.fd.capability import FdPlan, MaterialContext, PlacementContext
from faultwave.fd.injection.incident import Incident, RecordedWaves, unreached
from faultwave.fd.injection.incident_checks import check_length, check_samples
from faultwave.fd.injection.incident_error import dispersion, look
from faultwave.fd.injection.incident_h5drm import H5drmSource
from faultwave.fd.injection.incident_plane import plane_source
from faultwave.fd.injection.total_field import Points, TotalField
from faultwave.fd.method.effective_medium import LIVES
from faultwave.fd.method.grid import HALF
from faultwave.media.homogenise import at_points
from faultwave.observe.boxes.h5drm import is_h5drm, read_h5drm
from faultwave.observe.boxes.records import MATERIAL, BoxRecord, read_box_record
from faultwave.physics.sources.point import Sources

Rows = Sequence[tuple[str, ...]]
ALIKE = 0.01
"""Relative difference of materials that is reported; an error if more than half of the points exceed it."""
ROUNDED = 2e-3
"""Relative difference of coefficients at the points of the same grid, which may be stored in sixteen bits or not."""
SAME_ROCK = "the same rock outside of the box; inside, it may differ"
BAND = "With attenuation moduli depend on its band, which follows from the slowest rock: give attenuation.high in both cases."


class Source(Protocol):
    """Protocol of a source of incident waves, as the case defines it."""

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners [m] of the box of the source, for cases that give none."""

    @property
    def identity(self) -> Sequence[object]:
        """Values that identify the source in a checkpoint, serialisable as JSON."""

    @property
    def radiating(self) -> Sources:
        """Time functions of the source, if it has any."""

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
        raise InputError(Problem("injection.h5drm", f"{setting.file} is no H5DRM file", "with H5DRM files only"))
    return RecordSource(read_box_record(setting.file))


@dataclass(frozen=True)
class RecordSource:
    """Source from a file of ``output.box``."""

    record: BoxRecord
    radiating: Sources = Sources.of(())

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        return self.record.frame.lower, self.record.frame.upper

    @property
    def identity(self) -> Sequence[object]:
        frame = self.record.frame
        return [frame.recorder.engine, frame.recorder.order, frame.spacing, frame.interval, self.record.samples]

    @property
    def _of_a_grid(self) -> bool:
        """True if the record is at the points of a grid rather than on a lattice."""
        return "b_x" in self.record.material

    def check_reach(self, placing: PlacementContext, where: TotalField, points: Mapping[str, Points]) -> None:
        frame, grid = self.record.frame, placing.grid
        if frame.open_top != (where.top is not None):
            said = ("reaches the free surface", "has an upper face")
            what = f"the box of the record {said[not frame.open_top]}, that of injection {said[where.top is None]}"
            placing.problems.error("injection", what, "the same of both")
            return
        if frame.open_top and abs(frame.upper[2] - grid.upper[2]) > 1e-6 * grid.spacing:
            what = f"the free surface of the record is at z = {frame.upper[2]:g} m, that of the grid at {grid.upper[2]:g} m"
            placing.problems.error("injection.file", what, "the same of both")
            return
        if self._of_a_grid and abs(frame.spacing / grid.spacing - 1.0) > 1e-9:
            what = f"was recorded at the points of a grid of {frame.spacing:g} m, and this one has {grid.spacing:g} m"
            advice = f"Record at a lattice: output.box.spacing, {grid.spacing:g} m or more, and interval."
            placing.problems.error("injection.file", what, "a record of the same grid, or of a lattice", advice)
            return
        if self._of_a_grid and frame.recorder.order != placing.order:
            what = f"was recorded by differences of order {frame.recorder.order}, which ask for other points"
            placing.problems.error("injection.file", what, f"grid.order: {frame.recorder.order}")
            return
        missing = unreached(self.record, grid, points)
        if missing:
            name, numbers = missing[0]
            x, y, z = grid.place(points[name][numbers[:1]], HALF[name])[0]
            total, of = sum(len(n) for _, n in missing), sum(map(len, points.values()))
            box = " x ".join(f"[{a:g}, {b:g}]" for a, b in zip(*self.box, strict=True))
            what = f"the record has nothing around {total:,} of {of:,} points beside the faces, such as ({x:g}, {y:g}, {z:g})"
            placing.problems.error(
                "injection", what, f"faces at those of the record, {box} m", _advice(frame.spacing, grid.spacing)
            )

    def check(self, checking: MaterialContext, where: TotalField, points: Mapping[str, Points]) -> Rows:
        check_length(self.record, checking)
        if checking.world.size == 1:  # of several processes, each finds the errors in what it reads
            self.record.check()
        waves = RecordedWaves(self.record, checking.placing.grid, checking.step, points)
        if waves.exact:
            _compare_same(self.record, checking)
            return [("from", f"{self.record.path.name}, exactly: the same points and steps")]
        found = look(self.record)
        check_samples(
            found, 0.0 if self._of_a_grid else self.record.frame.spacing, self.record.frame.interval, checking
        )
        reported = _compare(self.record, checking)
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
        ]
        if early is not None:
            rows.append(
                ("error of the record", f"about {100 * early:.2g} % by its grid's dispersion up to {found.peak:.3g} s")
            )
        return [*rows, *reported]

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
        what = f"its steps were {frame.interval:.9g} s, those of this run are {checking.step:.9g} s: waves are interpolated in time"
        checking.problems.warn(
            "injection.file", what, advice=f"grid.step: {frame.interval!r} lets them in exactly, if it is stable."
        )


# ---- comparison of the rock -----------------------------------------------------------------------------------------------


def _compare(record: BoxRecord, checking: MaterialContext) -> Rows:
    """Compare the rock next to the faces in the record and in the case, and return rows about differences.

    If most of it differs, an error is reported.
    """
    reported, problems = list[tuple[str, ...]](), checking.problems
    if not record.material:
        problems.warn(
            "injection.file", "does not say what rock it was recorded in", advice="It should be that of this case."
        )
    for name in (name for name in MATERIAL if name in record.material):
        nodes, recorded = record.material[name]
        outside = record.frame.outside(nodes.places())
        places, recorded = nodes.places()[outside], recorded[outside]
        here = at_points(checking.field, [name], places, np.ones(len(places), np.int64))[name]
        apart = _differences(recorded, here)
        share, worst = float((apart > ALIKE).mean()), int(apart.argmax())
        x, y, z = places[worst]
        what = (
            f"was recorded in other rock: {name} beside the faces differs by more than {100 * ALIKE:g} % at {100 * share:.3g} % of "
            f"the points, at ({x:g}, {y:g}, {z:g}) it was {recorded[worst]:.6g}, here it is {here[worst]:.6g}"
        )
        if share > 0.5:
            problems.error("injection.file", what, SAME_ROCK)
            break
        if share > 0:
            reported.append(
                (
                    f"{name} at the faces",
                    f"differs at {100 * share:.2g} % of the points, as interfaces do on other grids",
                )
            )
    return reported


def _compare_same(record: BoxRecord, checking: MaterialContext) -> None:
    """Report an error if coefficients differ from the coefficients of a record that is injected exactly."""
    if checking.surveyed:
        return
    grid, box = checking.placing.grid, checking.box
    for name in (name for name in LIVES if name in record.material):
        nodes, recorded = record.material[name]
        offset = np.rint((nodes.origin - grid.first(HALF[LIVES[name]])) / grid.spacing).astype(int)
        points = (nodes.index + offset)[:, ::-1]
        mine = np.flatnonzero(((points >= box.lo) & (points < box.hi)).all(1))
        whole = np.broadcast_to(checking.medium.coefficients[name], box.shape)
        here = np.asarray(whole[tuple((points[mine] - np.array(box.lo)).T)], float)
        wrong = np.flatnonzero(_differences(recorded[mine], here) > ROUNDED)
        if len(wrong):
            x, y, z = nodes.places()[mine[wrong[0]]]
            what = (
                f"was recorded in other rock: at {len(wrong):,} points beside the faces, such as ({x:g}, {y:g}, {z:g}), {_WORDS[name]} was "
                f"{recorded[mine[wrong[0]]]:.6g} and here it is {here[wrong[0]]:.6g}"
            )
            advice = "" if checking.case.attenuation is None or checking.case.attenuation.high is not None else BAND
            checking.problems.error("injection.file", what, SAME_ROCK, advice)
            return


_WORDS = {
    **dict.fromkeys(("b_x", "b_y", "b_z"), "one over density"), "lam": "lambda", "mu2": "twice mu",
    **dict.fromkeys(("mu_xy", "mu_xz", "mu_yz"), "mu"),
}  # fmt: skip


def _differences(recorded: np.ndarray, here: np.ndarray) -> np.ndarray:
    recorded = np.asarray(recorded, float)
    scale = np.maximum(np.abs(recorded), np.abs(here))
    return np.asarray(np.abs(recorded - here) / np.where(scale > 0, scale, 1.0))


__all__ = ["RecordSource", "Source", "source_of"]
