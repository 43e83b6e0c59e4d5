"""Plan of an inversion: every problem at once, before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problem, Problems
from faultwave.base.projection import Projection
from faultwave.campaign.batches import PointFinder
from faultwave.campaign.tensors import TensorFile
from faultwave.case.settings_file import Where
from faultwave.inversion.assembly import SourceModel
from faultwave.inversion.data_plan import DataPlan, check_ends, check_noise, read_data, read_tensors
from faultwave.inversion.fault import Fault, read_fault
from faultwave.inversion.nonnegative import MOST
from faultwave.inversion.settings import InversionSettings, SlipSettings

DENSE = 10_000
"""Largest number of data for which a Cholesky factor is the default."""
ABOVE = 1e3
"""Largest height of the hypocentre above the highest subfault [m]."""


@dataclass(frozen=True)
class InversionPlan(DataPlan):
    """Plan of an inversion for slip.

    Attributes
    ----------
    fault : Fault
        Subfaults.
    sources : SourceModel
        Sources of unit slip.
    warnings : tuple of Problem
        Possible mistakes.
    """

    fault: Fault
    sources: SourceModel
    warnings: tuple[Problem, ...]

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return self.sources.windows * self.sources.potency.shape[1] * len(self.fault)

    @property
    def searched(self) -> tuple[str, ...]:
        """Settings that the evidence determines."""
        slip = self.inversion.kinematic
        chosen = {
            "amplitude": slip.amplitude,
            "correlation_length": slip.correlation_length,
            "noise": self.inversion.noise_scale,
        }
        return tuple(name for name, value in chosen.items() if value == "auto")

    @property
    def dense(self) -> bool:
        """True if the solution is by a Cholesky factor."""
        solver = self.inversion.solver
        return self.size <= DENSE if solver == "auto" else solver == "cholesky"

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of ``faultwave invert --dry-run``."""
        memory = (
            8.0 * self.size**2 * (3 if self.searched else 2)
            if self.dense
            else 8.0 * (self.samples * self.window.count + len(self.offsets) ** 2)
        )
        return [
            ("subfaults", f"{len(self.fault):,}, segments: {len(self.fault.segments)}"),
            ("parameters", f"{self.parameters:,} in {self.sources.windows} time windows"),
            *self.data_rows(),
            ("estimated", ", ".join(self.searched) or "nothing but slip"),
            ("solver", "Cholesky factor" if self.dense else "conjugate gradients"),
            ("memory", f"{memory / 2**20:,.0f} MiB"),
            ("folder", str(self.inversion.results)),
        ]


def make_plan(inversion: InversionSettings, where: Where) -> InversionPlan:
    """Check an inversion and return its plan.

    Raises
    ------
    InputError
        With every problem found.
    """
    problems = Problems()
    sites, projection = read_tensors(inversion, where, problems)
    fault = read_fault(inversion.kinematic, projection, where, problems)
    data = read_data(inversion, sites, projection, where, problems)
    if fault is None:
        problems.raise_errors()
        raise AssertionError
    _check_hypocentre(inversion, fault, projection, where, problems)
    sources = make_sources(inversion.kinematic, fault, projection)
    for file in data.files:
        _check_points(inversion, sources, file, where, problems)
    check_ends(data, sources, where, problems)
    found = InversionPlan(**vars(data), fault=fault, sources=sources, warnings=problems.warnings)
    _check_solver(found, where, problems)
    problems.raise_errors()
    check_noise(found, where, problems)
    problems.raise_errors()
    return found


def make_sources(slip: SlipSettings, fault: Fault, projection: Projection) -> SourceModel:
    """Return the sources of unit slip on a fault."""
    potency = fault.column("potency")[:, : 2 if slip.across else 1]
    onset = fault.onsets(slip, projection)
    steps = 0.5 * slip.window_duration * np.arange(slip.windows)
    return SourceModel(fault.column("location"), potency, fault.column("modulus"), onset, steps, slip.window_duration)


def _check_hypocentre(
    inversion: InversionSettings, fault: Fault, projection: Projection, where: Where, problems: Problems
) -> None:
    """Check that the hypocentre is near the fault: a wrong sign of its depth or longitude is a common mistake."""
    z = float(np.asarray(inversion.kinematic.hypocentre, float)[2])
    if z > (top := float(fault.column("location")[:, 2].max())) + ABOVE:
        what = f"slip.hypocentre is {z - top:,.0f} m above the highest subfault"
        problems.error(where(("slip", "hypocentre")), what, f"up to {ABOVE:,.0f} m", "z is negative below sea level.")
    nearest, largest = float(fault.distances(inversion.kinematic, projection).min()), max(1e3, *fault.extent())
    if not nearest <= largest:
        what = f"slip.hypocentre is {nearest:,.0f} m away from the nearest subfault"
        advice = "It is longitude, latitude and z, which is negative below sea level."
        problems.error(where(("slip", "hypocentre")), what, f"up to {largest:,.0f} m", advice)


def _check_points(
    inversion: InversionSettings, sources: SourceModel, file: TensorFile, where: Where, problems: Problems
) -> None:
    finder = PointFinder(file)
    place = where(("slip", "faults" if inversion.kinematic.faults else "planes"))
    _, distance = finder.nearest(sources.location)
    if (far := distance > inversion.nearest).any():
        what = f"{far.sum():,} subfaults are up to {distance.max():.4g} m away from the points of {file.path}"
        advice = "Compute the tensors at the subfaults, or increase nearest."
        problems.error(place, what, f"up to {inversion.nearest:g} m (nearest)", advice)
    if file.lame is None and np.isnan(sources.modulus).any():
        what = f"subfaults have no vs and density, and {file.path} does not contain the material"
        problems.error(place, what, advice="Compute the tensors with this version.")


def _check_solver(plan: InversionPlan, where: Where, problems: Problems) -> None:
    extent, lengths = plan.fault.extent(), plan.inversion.kinematic.correlation_length
    if plan.searched and not plan.dense:
        what = f"{', '.join(plan.searched)} cannot be estimated from {plan.size:,} data with conjugate gradients"
        problems.error(where(("solver",)), what, "cholesky", "Set numbers instead of auto, or use fewer data.")
    if plan.inversion.kinematic.nonnegative and plan.parameters > MOST:
        what = f"slip.nonnegative: the {plan.parameters:,} parameters of slip are too many"
        advice = "Use fewer subfaults or windows, or across: 0."
        problems.error(where(("slip", "nonnegative")), what, f"up to {MOST:,}", advice)
    if lengths != "auto" and max(lengths) > 20 * max(*extent, 1.0):
        what = f"slip.correlation_length is {max(lengths):.4g} m, far larger than the fault"
        problems.error(where(("slip", "correlation_length")), what, f"up to {20 * max(*extent, 1.0):.4g} m")
