"""Point sources: moments, forces and slip anywhere in the box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from faultwave.base.collect import collected
from faultwave.case.model import Case
from faultwave.fd.half_precision import Units, rounded_at
from faultwave.fd.operator import kept_units
from faultwave.fd.part import Checking, FdPlan, GridPart, Placing, Planning
from faultwave.fd.points import MOMENT, held, images, near, reading, stretches
from faultwave.fd.program import STRESS_LEVEL, VELOCITY_LEVEL, Scheme
from faultwave.fd.stencils import VELOCITY
from faultwave.kernels.stencil import Box, Injection
from faultwave.media.homogenise import at_points
from faultwave.observe.model import Marks
from faultwave.physics.sources.load import load_sources
from faultwave.physics.sources.lowpass import lowpassed
from faultwave.physics.sources.outside import tell_outside
from faultwave.physics.sources.point import PointSource, shears
from faultwave.physics.sources.released import magnitude, moment_of

BLOCK = 512
"""Steps whose amplitudes are computed together."""
REACH = 2.0
"""Spacings within which a source pushes points."""


def plan(planning: Planning) -> PointSources | None:
    """The sources of the case; None where there are none."""
    case = planning.case
    found: tuple[PointSource, ...] = ()
    with collected(planning.problems):
        found = tuple(load_sources(case.sources, projection=case.projection, warned=planning.problems))
    corner = None if case.grid is None else case.grid.lowpass
    found = tuple(lowpassed(s, corner, case.end_time) for s in found)
    return PointSources(case, found) if found else None


@dataclass(frozen=True)
class PointSources(GridPart):
    """``source_material`` (n, 3): lambda, mu and rho at each."""

    case: Case
    sources: tuple[PointSource, ...]
    source_material: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    name = "sources"

    @property
    def radiating(self) -> tuple[PointSource, ...]:  # type: ignore[override]
        return self.sources

    def placed(self, placing: Placing) -> Self:
        given = np.array([s.location for s in self.sources], float)
        places = placing.located(given, "sources")
        sources = self.sources
        if places is not given:
            sources = tuple(replace(s, location=p) for s, p in zip(sources, places, strict=True))
        allowed = f"a point in {placing.box} m"
        tell_outside(sources, placing.outside(places), "box", placing.problems, allowed, placing.above)
        return replace(self, sources=sources)

    def checked(self, checking: Checking) -> Self:
        points, material = np.array([s.location for s in self.sources], float), np.zeros((0, 3))
        with collected(checking.problems):
            _check_moments(self.sources, checking)
            values = at_points(checking.field, ["lambda", "mu", "rho"], points, np.ones(len(points), np.int64))
            material = np.stack([values["lambda"], values["mu"], values["rho"]], 1)
        return replace(self, source_material=material)

    def drive(self, plan: FdPlan) -> PointDrive:
        units = kept_units(plan.medium, plan.case.numerics.precision, plan.shared)
        box = plan.shared.subdomain.box if plan.shared else None
        made, moduli = plan.medium.coefficients, self.source_material[:, :2]
        return PointDrive(plan.scheme, self.sources, moduli, made, box, units)

    def report(self, plan: FdPlan) -> Mapping[str, Sequence[tuple[str, ...]]]:
        """How many, their moment, and when they act."""
        end = self.case.end_time
        moment = moment_of(self.sources, self.source_material[:, :2], end)
        forces = sum(bool(s.force.any()) for s in self.sources)
        rows = [("number", f"{len(self.sources):,}" + (f", {forces:,} of them forces" if forces else ""))]
        if moment > 0:
            rows.append(("moment within the run", f"{moment:.4g} N m, Mw {magnitude(moment):.2f}"))
        corner = None if self.case.grid is None else self.case.grid.lowpass
        if corner is not None:
            rows.append(("low-pass", f"{corner:g} Hz, delays by {0.416 / corner:.3g} s"))
        first, last = min(s.onset for s in self.sources), max(s.onset + s.function.end for s in self.sources)
        return {"sources": [*rows, ("they act", f"from {first:g} s to {last:.4g} s, the run ends at {end:g} s")]}

    def shapes(self, plan: Any) -> tuple[Marks, ...]:
        return (Marks(self.name, np.array([s.location for s in self.sources], float).reshape(-1, 3)),)


def _check_moments(sources: Sequence[PointSource], checking: Checking) -> None:
    """Errors of moments that shear in or beside a fluid: stress that is left where nothing relaxes it pushes for ever."""
    shearing = [s for s in sources if s.potency.any() or shears(s.moment)]
    if not shearing:
        return
    spacing, box = checking.placing.grid.spacing, (checking.placing.lower, checking.placing.upper)
    offsets = [sign * share * REACH * spacing * axis for axis in np.eye(3) for share in (0.5, 1.0) for sign in (-1, 1)]
    around = np.array([np.zeros(3), *offsets])
    grid = checking.placing.grid
    flat = grid.down(np.array([s.location for s in shearing], float))
    places = grid.up(np.clip(flat[:, None] + around, *box).reshape(-1, 3))
    modulus = at_points(checking.field, ["mu"], places, np.ones(len(places), np.int64))["mu"].reshape(-1, len(around))
    for source, beside in zip(shearing, (modulus == 0).any(1), strict=True):
        if beside:
            x, y, z = source.location
            checking.problems.error(
                f"source {source.name} at ({x:g}, {y:g}, {z:g})", f"is a moment that shears in a fluid or within {REACH:g} points of one",
                f"a place {REACH * spacing:g} m or more from fluids", "Or use engine: dg, or give the fluid a shear speed.",
            )  # fmt: skip


class PointDrive:
    """Point sources as injections, and their amplitudes: means of the time functions over each step.

    A stress gets -(moment) S / h^3, a velocity force S / (rho h^3), rho that of its point of the grid, each times the step
    (Graves 1996); beside the free surface cells weigh what the scheme's energy gives them, below a topography so much more as they are
    stretched, which the grid's one over density knows.
    """

    def __init__(
        self, scheme: Scheme, sources: Sequence[PointSource], moduli: np.ndarray, coefficients: Mapping[str, np.ndarray],
        box: Box | None = None, units: Units | None = None,
    ):  # fmt: skip
        """``moduli`` (n, 2): lambda and mu at each source, for those given by slip; ``coefficients``: the medium's. ``box``: of all they
        do, only what is done to its points, whose coefficients are given. ``units``: where coefficients are kept in sixteen bits, those
        they are counted in; forces then push what the grid keeps, as reciprocity needs."""
        self.scheme, self.box, self.units = scheme, box or scheme.grid.box, units
        if box is not None and len(sources):
            here = near(scheme, box, np.array([s.location for s in sources], float).reshape(-1, 3))
            sources, moduli = [s for s, n in zip(sources, here, strict=True) if n], moduli[here]
        self.sources = tuple(sources)
        self.injections: list[Injection] = []
        self._kept: dict[int, np.ndarray] = {}
        if not self.sources:
            return
        points = np.array([s.location for s in self.sources], float).reshape(-1, 3)
        scale = scheme.step / scheme.grid.spacing**3
        moments = np.array([s.moment_tensor(*m) for s, m in zip(self.sources, moduli, strict=True)])
        forces = np.array([s.force for s in self.sources])
        for column, name in enumerate(MOMENT):
            self._add(name, STRESS_LEVEL, points, -scale * moments[:, column])
        for column, name in enumerate(VELOCITY):
            self._add(name, VELOCITY_LEVEL, points, scale * forces[:, column], coefficients)

    @property
    def count(self) -> int:
        """Sources that push points of this process."""
        return len(self.sources)

    def _add(
        self, name: str, level: int, points: np.ndarray, strength: np.ndarray,
        coefficients: Mapping[str, np.ndarray] | None = None,
    ) -> None:  # fmt: skip
        acting = np.flatnonzero(strength)
        if not len(acting):
            return
        s = reading(self.scheme, name, points[acting])
        size = held(self.scheme, name, s.points[..., 0])
        if coefficients is None and self.scheme.grid.relief is not None:
            size = size * stretches(self.scheme.grid, name, s.points)
        weights = (s.value * strength[acting, None] / size).reshape(-1)
        numbers = np.repeat(acting, s.value.shape[1])
        which, places = images(self.scheme, self.box, s.points.reshape(-1, 3))
        weights, numbers = weights[which], numbers[which]
        if coefficients is not None:
            weights = weights * self._buoyancy(coefficients, f"b_{VELOCITY[name]}", places)
        some = weights != 0
        self.injections.append(Injection(level, name, places[some], weights[some], numbers[some]))

    def _buoyancy(self, coefficients: Mapping[str, np.ndarray], name: str, places: np.ndarray) -> np.ndarray:
        """One over density as the grid keeps it at points (n, 3) of the box."""
        whole = np.broadcast_to(coefficients[name], self.scheme.filled(self.box).shape)
        values = np.asarray(whole[tuple((places - np.array(self.box.lo)).T)], float)
        if self.units is None:
            return values
        unit, number = self.units.of(name), list(coefficients).index(name)
        return unit * rounded_at(values / unit, places % np.array(self.scheme.grid.shape), number)

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """As of every ``Drive``."""
        parts = []
        for block in range(first // BLOCK, (first + steps - 1) // BLOCK + 1):
            if block not in self._kept:
                self._kept = {block: self._block(block)}  # time functions of many sources are slow one step at a time
            low, high = max(first - block * BLOCK, 0), min(first + steps - block * BLOCK, BLOCK)
            parts.append(self._kept[block][:, low:high])
        return np.concatenate(parts, 1)

    def _block(self, block: int) -> np.ndarray:
        dt, result = self.scheme.step, np.zeros((2, BLOCK, max(1, len(self.sources))))
        edges = (block * BLOCK + np.arange(BLOCK + 1)) * dt
        for n, source in enumerate(self.sources):
            if source.force.any():
                result[VELOCITY_LEVEL, :, n] = source.integral(edges[:-1] - 0.5 * dt, edges[1:] - 0.5 * dt) / dt
            if source.moment.any() or source.potency.any():
                result[STRESS_LEVEL, :, n] = source.integral(edges[:-1], edges[1:]) / dt
        return result


__all__ = ["PointDrive", "PointSources", "plan"]
