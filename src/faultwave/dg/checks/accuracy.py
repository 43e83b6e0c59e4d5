"""Accuracy of a planned run: frequencies that the mesh resolves, and the error of single precision."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from faultwave.case.settings.model import Case
from faultwave.dg.method.attenuation import attenuates
from faultwave.engine.capability import CapabilityPlan
from faultwave.engine.precision import ERROR_BY_ORDER, PERMANENT_ERROR, PERMANENT_ERROR_OF_FAULTS, Estimate
from faultwave.physics.friction import laws
from faultwave.physics.sources.time_functions import ricker_duration
from faultwave.physics.waves import Law

if TYPE_CHECKING:
    from faultwave.base.errors import Problems
    from faultwave.domain import tets

    class MeshInPlan(Protocol):
        """Mesh, law and case, which a finished plan and a plan in the making have in common."""

        @property
        def case(self) -> Case: ...
        @property
        def law(self) -> Law: ...
        @property
        def mesh(self) -> tets.Mesh: ...
        @property
        def geometry(self) -> tets.Geometry: ...
        @property
        def material(self) -> dict[str, np.ndarray]: ...

    class MeshInPlanning(MeshInPlan, Protocol):
        """Plan in the making, which collects problems."""

        @property
        def problems(self) -> Problems: ...


COSTLY = 20.0
"""Factor by which steps shrink from which a good conductor should become a wall."""


def resolved_frequency(law: Law, material: dict[str, np.ndarray], edge: np.ndarray, order: int) -> np.ndarray:
    """Return the frequency (nc,) [Hz] at which the slowest wave has 10 points per wavelength.

    ``edge`` (nc,) is the edge length of the cells [m]; edge / order is then a tenth of the wavelength.
    """
    return np.asarray(slowest_speed(law, material) * order / edge / 10.0)


def lowest_resolved(plan: MeshInPlan) -> float:
    """Return the frequency [Hz] that every cell of a plan resolves, inf if there is none; see ``resolved_frequency``."""
    geometry = plan.geometry
    inner = within_region(plan.case, geometry.centroids)
    found = resolved_frequency(plan.law, plan.material, edge_length(geometry.volume), plan.case.numerics.order)
    return float(found[inner].min(initial=np.inf))


def slowest_speed(law: Law, material: dict[str, np.ndarray]) -> np.ndarray:
    """Return the speed (nc,) [m/s] of the slowest wave: S waves where they exist."""
    slow = law.speed(material)
    moduli = law.moduli(material)
    if "mu" in moduli:
        shear = np.sqrt(moduli["mu"] / law.density(material))
        slow = np.where(shear > 0, shear, slow)
    return np.asarray(slow)


def highest_frequency(case: Case, parts: Iterable[CapabilityPlan]) -> float | None:
    """Return the highest frequency [Hz] that mesh, capabilities, currents and incident waves of a case state; None if none does."""
    built = getattr(case.mesh, "build", None)
    found = [p.requirements.frequency for p in parts if p.requirements.frequency is not None]
    if built is not None and built.frequency is not None:
        found.append(built.frequency)
    for function in [c.time_function for c in case.currents] + [w.time_function for w in case.incident]:
        if function.kind == "burst":
            found.append(function.frequency + 0.5 / function.duration)
        elif function.kind == "ricker":
            found.append(2.5 / ricker_duration(function))
    return max(found, default=None)


IN_METRES = "Is the geometry in metres? mesh.scaling converts other units."
FEW_CROSSINGS = 0.05
"""Number of crossings of the mesh by the fastest wave below which the unit of length is doubted."""
SMALL = 0.02
"""Size of a mesh in wavelengths below which its unit of length is doubted."""


def within_region(case: Case, centroids: np.ndarray) -> np.ndarray:
    """Return the cells (n,) whose waves are to be resolved: all except cells added by ``mesh.build.reflections_after``."""
    built = getattr(case.mesh, "build", None)
    if built is None or not built.reflections_after:
        return np.ones(len(centroids), bool)
    low, high = np.array([*built.lower, -built.depth]), np.array([*built.upper, np.inf])
    return np.asarray(((centroids >= low) & (centroids <= high)).all(1))


def in_wavelengths(planning: MeshInPlan, frequency: float) -> tuple[float, float]:
    """Return the size of the mesh and its longest edge in the region, in wavelengths.

    ``planning`` has case, law, material, mesh and geometry.
    """
    wavelength = planning.law.speed(planning.material) / frequency
    size = np.ptp(planning.mesh.vertices, axis=0).max()
    longest = edge_length(planning.geometry.volume) / wavelength
    inner = within_region(planning.case, planning.geometry.centroids)
    return float(size / np.median(wavelength)), float(longest[inner].max())


def warn_size(planning: MeshInPlanning, parts: Iterable[CapabilityPlan]) -> None:
    """Warn if the mesh is a small part of a wavelength, an edge is too many of them, or no wave propagates far in the mesh."""
    case, problems = planning.case, planning.problems
    frequency, order = highest_frequency(case, parts), case.numerics.order
    if case.mesh.build is not None:
        return
    if frequency is None:
        if (times := crossings(planning)) < FEW_CROSSINGS:
            what = f"the fastest wave crosses {100 * times:.2g} % of it until {case.end_time:g} s"
            advice = (
                "Is the geometry in metres? mesh.scaling converts: 0.001 for millimetres. Or should the run end later?"
            )
            problems.warn("mesh", what, f"at least {100 * FEW_CROSSINGS:g} %", advice)
        return
    across, longest = in_wavelengths(planning, frequency)
    if across < SMALL or longest > order / 4:
        what = f"the mesh has {across:.3g} wavelengths at {frequency:.4g} Hz, and its longest edge {longest:.2g}"
        advice = "Smaller edges, or a higher order."
        if across < SMALL or longest > order:
            advice = (
                "Is the geometry in metres? mesh.scaling converts: 0.001 for millimetres. Or is the frequency wrong?"
            )
        problems.warn("mesh", what, f"edges of at most {order / 4:g} wavelengths at order {order}", advice)


def crossings(planning: MeshInPlan) -> float:
    """Return how often the fastest wave crosses the mesh until the end; ``planning`` has case, law, material and mesh."""
    way = float(planning.law.speed(planning.material).max()) * planning.case.end_time
    return float(way / np.ptp(planning.mesh.vertices, axis=0).max())


def warn_conductors(planning: MeshInPlanning, step: np.ndarray) -> None:
    """Warn if conductivity, whose decay is resolved in time, makes steps much shorter."""
    if "conductivity" not in planning.material:
        return
    rate = planning.material["conductivity"] / planning.material["permittivity"]
    shorter = 1.0 / np.maximum(1.0 - 0.5 * step * rate, 1e-300)
    worst = int(shorter.argmax())
    if shorter[worst] > COSTLY:
        x, y, z = planning.geometry.centroid(worst)
        what = (
            f"conductivity {planning.material['conductivity'][worst]:g} S/m makes time steps {shorter[worst]:.3g} times shorter "
            f"in {int((shorter > COSTLY).sum())} cells, e.g. at ({x:g}, {y:g}, {z:g}): {step[worst]:.3g} s"
        )
        planning.problems.warn("material", what, advice="Replace good conductors by walls of kind pec or impedance.")


def edge_length(volume: np.ndarray) -> np.ndarray:
    """Return the edge [m] of a regular tetrahedron of a volume [m^3]."""
    return np.asarray(np.cbrt(6.0 * np.sqrt(2.0) * volume))


FRICTION, STATE_OF_FRICTION, ATTENUATION, DRAG, YIELDING, BY_LINES = 4.0, 10.0, 2.0, 10.0, 4.0, 4.0
"""Factors of the error estimate of waves in elastic rock; the second is for friction that depends on slip rate."""


def estimate_single_precision_error(case: Case, law: Law, steps: float, closed: bool) -> Estimate:
    """Estimate the error of single precision.

    Parameters
    ----------
    case : Case
        Case of the run.
    law : Law
        Wave law.
    steps : float
        Number of smallest time steps of the run.
    closed : bool
        True if no side of the mesh absorbs waves.
    """
    more: dict[str, float] = {}
    if case.fault is not None:
        found = laws().get(case.fault.friction)
        more[f"friction {case.fault.friction}"] = STATE_OF_FRICTION if found is not None and found.double else FRICTION
    if attenuates(law):
        more["attenuation"] = ATTENUATION
    if law.decays:
        more["drag of pore fluid"] = DRAG
    if case.yields:
        more["yielding"] = YIELDING
    if case.numerics.integrator != "ader":
        more[f"integrator {case.numerics.integrator}"] = BY_LINES
    # Permanent stress or displacement: its error depends on the place of a source in its cell; over the points of a fault it averages.
    left = PERMANENT_ERROR if case.sources else PERMANENT_ERROR_OF_FAULTS if case.fault is not None else 0.0
    scheme = ERROR_BY_ORDER[case.numerics.order]
    return Estimate(steps, scheme, more, lasting=left * scheme if closed else 0.0)
