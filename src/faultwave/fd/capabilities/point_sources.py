"""Point sources anywhere in the box: moments, forces and slip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from faultwave.base.errors import collect_problems
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.fd.capability import FdPlan, GridCapabilityPlan
from faultwave.fd.contexts import MaterialContext, PlacementContext, Planning
from faultwave.fd.method.effective_medium import Units, rounded_at
from faultwave.fd.method.scheme import LEVELS, Level, Scheme
from faultwave.fd.method.stencils import VELOCITY
from faultwave.fd.operators.operator import storage_units
from faultwave.fd.operators.points import MOMENT, images, interpolation_stencils, near, norm_weights, vertical_stretch
from faultwave.fd.operators.resources import Memory
from faultwave.fd.operators.time_dispersion import removes, stored_source_steps
from faultwave.kernels.stencil import Box, Injection
from faultwave.media.homogenise import at_points
from faultwave.observe.model import Marks
from faultwave.physics.sources.acting import acting_row, moments_of, report_no_pores, report_outside
from faultwave.physics.sources.load import load_sources
from faultwave.physics.sources.point import Sources, shears
from faultwave.physics.sources.spectrum import DELAY, lowpassed, warn_corner_frequency
from faultwave.physics.sources.time_functions import pieces

BLOCK, MAX_STORED_AMPLITUDES = 512, 1 << 23
"""Number of steps whose amplitudes are computed together, and limit of the stored values."""
REACH = 2.0
"""Distance in spacings within which a source acts on grid points."""


def plan(planning: Planning) -> PointSources | None:
    """Return the point sources of the case, None if there are none."""
    case = planning.case
    found = Sources.of(())
    with collect_problems(planning.problems):
        found = load_sources(case.sources, projection=case.projection, warned=planning.problems)
    report_no_pores(found, "rock on a grid", planning.problems)
    if case.source_lowpass is not None and not case.sources:
        planning.problems.warn("numerics.source_lowpass", "has no effect: the case has no sources")
    warn_corner_frequency(case.source_lowpass, case.end_time, planning.problems)
    with collect_problems(planning.problems):
        found = lowpassed(found, case.source_lowpass, case.end_time)
    return PointSources(case, found) if len(found) else None


@dataclass(frozen=True)
class PointSources(GridCapabilityPlan):
    """Point sources of a case.

    Attributes
    ----------
    case : Case
    sources : Sources
    source_material : ndarray (n, 3)
        Lambda, mu and rho at each source.
    """

    case: Case
    sources: Sources
    source_material: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    name = "sources"

    @property
    def radiating(self) -> Sources:  # type: ignore[override]
        return self.sources

    @property
    def places(self) -> np.ndarray:
        return self.sources.location

    @property
    def forced(self) -> np.ndarray:
        return np.asarray(self.sources.force.any(1))

    def select(self, numbers: np.ndarray) -> Self:
        return replace(self, sources=self.sources.chosen(numbers), source_material=self.source_material[numbers])

    def locate(self, placing: PlacementContext) -> Self:
        places = placing.located(self.sources.location, "sources")
        sources = replace(self.sources, location=places)
        allowed = f"a point in {placing.box} m"
        report_outside(
            sources, placing.outside(places), "box", placing.problems, allowed,
            lambda place: placing.above(place, "sources"), placing.exchanged,
        )  # fmt: skip
        return replace(self, sources=sources)

    def check(self, checking: MaterialContext) -> Self:
        points, material = self.sources.location, np.zeros((0, 3))
        with collect_problems(checking.problems):
            _check_moments(self.sources, checking)
            values = at_points(checking.field, ["lambda", "mu", "rho"], points, np.ones(len(points), np.int64))
            material = np.stack([values["lambda"], values["mu"], values["rho"]], 1)
        return replace(self, source_material=material)

    def memory(self, steps: int, world: World) -> Memory | None:
        """Return the memory of the amplitudes of the whole run, needed to remove time dispersion.

        All sources may lie in the box of one process.
        """
        if not removes(self.case):
            return None
        moments = self.sources.moment.any(1) | self.sources.potency.any(1)
        numbers = int(moments.sum() + self.sources.force.any(1).sum())
        what = f"{len(self.sources):,} sources in {steps:,} steps, corrected for time dispersion,"
        advice = "Set grid.time_dispersion: keep, or use fewer sources."
        return Memory(8.0 * numbers * stored_source_steps(steps), "grid.time_dispersion", what, advice)

    def drive(self, plan: FdPlan) -> PointSourceInjector:
        units = storage_units(plan.medium, plan.case.numerics.precision, plan.partition)
        box = plan.partition.subdomain.box if plan.partition else None
        made, moduli = plan.medium.coefficients, self.source_material[:, :2]
        return PointSourceInjector(plan.scheme, self.sources, moduli, made, box, units)

    def report(self, plan: FdPlan) -> Mapping[str, Sequence[tuple[str, ...]]]:
        """Return number, moment and active time of the sources."""
        end = self.case.end_time
        forces = int(self.sources.force.any(1).sum())
        rows = [("number", f"{len(self.sources):,}" + (f", {forces:,} of them forces" if forces else ""))]
        tensors = self.sources.moment_tensors(*self.source_material[:, :2].T)
        rows += moments_of(self.sources, tensors, end).rows()
        corner = self.case.source_lowpass
        if corner is not None:
            rows.append(("low-pass", f"{corner:g} Hz, delays by {DELAY / corner:.3g} s"))
        return {"sources": [*rows, acting_row(self.sources, end)]}

    def shapes(self, plan: FdPlan) -> tuple[Marks, ...]:
        return (Marks(self.name, np.asarray(self.sources.location, float).reshape(-1, 3)),)


def _check_moments(sources: Sources, checking: MaterialContext) -> None:
    """Report an error for moments with shear in or near a fluid.

    They would leave shear stress where nothing relaxes it, which would drive the grid for ever.
    """
    shearing = sources.chosen(sources.potency.any(1) | shears(sources.moment))
    if not len(shearing):
        return
    placing = checking.placing
    grid, box = placing.grid, (placing.lower, placing.upper)
    flat = grid.down(shearing.location)
    spacing = np.array([block.grid.spacing for block in placing.blocks])[placing.block_at(flat[:, 2])]
    offsets = [sign * share * REACH * axis for axis in np.eye(3) for share in (0.5, 1.0) for sign in (-1, 1)]
    around = np.array([np.zeros(3), *offsets])
    places = grid.up(np.clip(flat[:, None] + spacing[:, None, None] * around, *box).reshape(-1, 3))
    modulus = at_points(checking.field, ["mu"], places, np.ones(len(places), np.int64))["mu"].reshape(-1, len(around))
    for n in np.flatnonzero((modulus == 0).any(1)):
        x, y, z = shearing.location[n]
        checking.problems.error(
            f"source {shearing.names[n]} at ({x:g}, {y:g}, {z:g})",
            f"is a shear moment in a fluid or within {REACH:g} points of one",
            f"a location at least {REACH * spacing[n]:g} m from fluids", "Or use engine: dg, or assign a shear speed to the fluid.",
        )  # fmt: skip


class PointSourceInjector:
    """Point sources as injections, with amplitudes that are means of the time functions over each step.

    A stress receives -(moment) S / h^3 and a velocity force S / (rho h^3), with rho of its grid point, each times the
    step (Graves 1996). Near the free surface cells have the weights of the scheme's energy norm; below a topography
    their volume is multiplied by their stretch, which the grid's inverse density includes.
    """

    def __init__(
        self, scheme: Scheme, sources: Sources, moduli: np.ndarray, coefficients: Mapping[str, np.ndarray],
        box: Box | None = None, units: Units | None = None,
    ):  # fmt: skip
        """Prepare the injections.

        Parameters
        ----------
        scheme : Scheme
        sources : Sources
        moduli : ndarray (n, 2)
            Lambda and mu at each source, for sources given by slip.
        coefficients : mapping of str to ndarray
            Coefficients of the medium in ``box``.
        box : Box, optional
            Box of this process; sources act on its points only.
        units : Units, optional
            Units of coefficients stored in sixteen bits. Forces then use the rounded values, as reciprocity requires.
        """
        self.scheme, self.box, self.units = scheme, box or scheme.grid.box, units
        if box is not None and len(sources):
            here = near(scheme, box, sources.location)
            sources, moduli = sources.chosen(here), moduli[here]
        self.sources = sources
        self.injections: list[Injection] = []
        self._block = max(1, min(BLOCK, MAX_STORED_AMPLITUDES // (LEVELS * max(1, len(sources)))))
        self._cached: dict[int, np.ndarray] = {}
        if not len(sources):
            return
        points = sources.location
        scale = scheme.step / scheme.grid.spacing**3
        moments, forces = sources.moment_tensors(*moduli.T), sources.force
        for column, name in enumerate(MOMENT):
            self._add(name, Level.STRESS, points, -scale * moments[:, column])
        for column, name in enumerate(VELOCITY):
            self._add(name, Level.VELOCITY, points, scale * forces[:, column], coefficients)

    @property
    def count(self) -> int:
        """Number of sources that act on points of this process."""
        return len(self.sources)

    def _add(
        self, name: str, level: int, points: np.ndarray, strength: np.ndarray,
        coefficients: Mapping[str, np.ndarray] | None = None,
    ) -> None:  # fmt: skip
        acting = np.flatnonzero(strength)
        parts = []
        for piece in pieces(
            len(acting), self.scheme.order**3
        ):  # in pieces, because intermediate arrays are much larger than the result
            some = acting[piece]
            places, weights, which = self._spread(name, points[some], strength[some], coefficients)
            parts.append((places, weights, some[which]))
        if parts:
            self.injections.append(Injection(level, name, *(np.concatenate(p) for p in zip(*parts, strict=True))))

    def _spread(
        self, name: str, points: np.ndarray, strength: np.ndarray, coefficients: Mapping[str, np.ndarray] | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the points (m, 3) of the box on which sources act, the weights (m,) and the source indices (m,)."""
        s = interpolation_stencils(self.scheme, name, points)
        size = norm_weights(self.scheme, name, s.points[..., 0])
        if coefficients is None and self.scheme.grid.relief is not None:
            size = size * vertical_stretch(self.scheme.grid, name, s.points)
        weights = (s.value * strength[:, None] / size).reshape(-1)
        which, places = images(self.scheme, self.box, s.points.reshape(-1, 3))
        weights, numbers = weights[which], which // s.value.shape[1]
        if coefficients is not None:
            weights = weights * self._buoyancy(coefficients, f"b_{VELOCITY[name]}", places)
        some = weights != 0
        return places[some], weights[some], numbers[some]

    def _buoyancy(self, coefficients: Mapping[str, np.ndarray], name: str, places: np.ndarray) -> np.ndarray:
        """Return the inverse density as stored by the grid at points (n, 3) of the box."""
        box = self.scheme.filled(self.box)
        whole = np.broadcast_to(coefficients[name], box.shape)
        values = np.asarray(whole[tuple((places - np.array(box.lo)).T)], float)
        if self.units is None:
            return values
        unit, number = self.units.of(name), list(coefficients).index(name)
        return unit * rounded_at(values / unit, places % np.array(self.scheme.grid.shape), number)

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """Return amplitudes (levels, steps, count) (see ``Drive``)."""
        parts = []
        size = self._block
        for block in range(first // size, (first + steps - 1) // size + 1):
            if block not in self._cached:
                self._cached = {block: self._means(block * size)}  # computing one step at a time is slow
            low, high = max(first - block * size, 0), min(first + steps - block * size, size)
            parts.append(self._cached[block][:, low:high])
        return np.concatenate(parts, 1)

    def _means(self, first: int) -> np.ndarray:
        """Return the means (levels, block, n) of S over the steps from ``first`` on."""
        return mean_amplitudes(self.sources, self.scheme.step, first, self._block)


def mean_amplitudes(sources: Sources, step: float, first: int, steps: int) -> np.ndarray:
    """Return the means (levels, steps, n) of the time functions of sources over the steps from ``first`` on.

    Means of forces are centred at the times of the velocities. A source acts on stresses, on velocities or on both.
    """
    edges = (first + np.arange(steps + 1)) * step
    found = np.zeros((LEVELS, steps, max(1, len(sources))))
    pushed = {Level.VELOCITY: sources.force.any(1), Level.STRESS: sources.moment.any(1) | sources.potency.any(1)}
    for level, some in pushed.items():
        times = edges - (0.5 * step if level == Level.VELOCITY else 0.0)
        found[level][:, some] = np.diff(sources.released(times, np.flatnonzero(some)), axis=1).T / step
    return found
