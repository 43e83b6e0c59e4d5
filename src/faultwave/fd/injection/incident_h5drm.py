"""Incident waves of H5DRM files, which hold velocities only.

Stresses follow from the velocity gradients and the moduli of the rock, integrated over time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.fd.capability import FdPlan, MaterialContext, PlacementContext
from faultwave.fd.injection.incident import Incident, at_places, gradients_at, in_time, times
from faultwave.fd.injection.incident_checks import check_length, check_samples
from faultwave.fd.injection.incident_error import look
from faultwave.fd.injection.total_field import Points, TotalField
from faultwave.fd.method.grid import HALF
from faultwave.fd.method.stencils import AXES, NORMAL, SHEAR, VELOCITY
from faultwave.media.homogenise import at_points
from faultwave.observe.boxes.h5drm import H5drmRecord
from faultwave.observe.boxes.records import VELOCITIES
from faultwave.physics.sources.point import Sources

if TYPE_CHECKING:
    from scipy import sparse

GRADIENTS = 2.0
"""Ratio of the errors of stresses, computed from gradients, to errors of velocities."""
PLANES = 4
"""Number of planes of nodes across a layer that the polynomials need."""


@dataclass(frozen=True)
class H5drmSource:
    """Source from an H5DRM file, whose box lies in the middle of its layers of nodes."""

    record: H5drmRecord
    radiating: Sources = Sources.of(())

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        frame = self.record.frame
        grown = 0.5 * frame.spacing * np.array([1.0, 1.0, 0.0 if frame.open_top else 1.0])
        return frame.lower - 0.5 * frame.spacing, frame.upper + grown

    @property
    def identity(self) -> Sequence[object]:
        frame = self.record.frame
        return ["h5drm", frame.spacing, frame.interval, self.record.samples]

    def check_reach(self, placing: PlacementContext, where: TotalField, points: Mapping[str, Points]) -> None:
        frame, grid, problems = self.record.frame, placing.grid, placing.problems
        if placing.case.attenuation is not None:
            what = "an H5DRM file has no stresses, which are not made of velocities in rock that attenuates"
            problems.error("injection.file", what, "a record of output.box", "Or leave out attenuation.")
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
        missing = {name: at_places(nodes, _places(placing, name, of)).missing for name, of in points.items()}
        total = sum(map(len, missing.values()))
        if total:
            name = next(n for n, of in missing.items() if len(of))
            x, y, z = _places(placing, name, points[name][missing[name][:1]])[0]
            what = f"has no nodes around {total:,} points beside the faces, such as ({x:g}, {y:g}, {z:g})"
            allowed = f"{PLANES} planes of nodes or more across its layers, which are {frame.spacing:g} m apart"
            problems.error("injection.file", what, allowed, "Files of Faultwave have them with output.box.layers: 3.")

    def check(
        self, checking: MaterialContext, where: TotalField, points: Mapping[str, Points]
    ) -> Sequence[tuple[str, ...]]:
        check_length(self.record, checking)
        found = look(self.record)
        check_samples(found, self.record.frame.spacing, self.record.frame.interval, checking)
        what = "does not say what rock it was recorded in"
        checking.problems.warn("injection.file", what, advice="Outside of the box it should be that of this case.")
        return [
            ("from", f"{self.record.path.name}, H5DRM, interpolated from nodes {self.record.frame.spacing:g} m apart"),
            (
                "error of interpolation",
                f"about {100 * GRADIENTS * found.space:.2g} % in space, {100 * found.time:.2g} % in time",
            ),
        ]

    def incident(self, plan: FdPlan, where: TotalField, points: Mapping[str, Points]) -> Incident:
        return Strained(self.record, plan, points)


def _places(placing: Any, name: str, points: Points) -> np.ndarray:
    """Return the places (n, 3) [m] of points of the grid."""
    grid = placing.grid if hasattr(placing, "grid") else placing.scheme.grid
    found = grid.place(points, HALF[name])
    found[:, 2] = np.minimum(found[:, 2], grid.upper[2])
    return np.asarray(found)


class Strained:
    """Velocities of a record, and stresses integrated from their gradients in elastic rock step by step."""

    def __init__(self, record: H5drmRecord, plan: FdPlan, listed: Mapping[str, Points]):
        self.record, self.step, nodes = record, plan.scheme.step, record.nodes["v1"]
        self.velocity = {n: at_places(nodes, _places(plan, n, of)) for n, of in listed.items() if n in VELOCITY}
        self.moduli: dict[str, list[tuple[int, sparse.csr_array]]] = {}
        for name, points in ((n, of) for n, of in listed.items() if n not in VELOCITY):
            places = _places(plan, name, points)
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


__all__ = ["H5drmSource", "Strained"]
