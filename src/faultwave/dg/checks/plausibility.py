"""Plausibility of a planned run: warnings about materials, and the summary that ``case.plausibility`` checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.plausibility import Scene
from faultwave.case.ranges import P_SPEED
from faultwave.case.settings.model import Case
from faultwave.dg.checks.accuracy import edge_length, resolved_frequency
from faultwave.dg.mesh.distributed_mesh import WholeMesh
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.method.attenuation import attenuates, mechanisms_of
from faultwave.domain import tets
from faultwave.engine.capability import CapabilityPlan
from faultwave.media.homogenise import AVERAGED
from faultwave.physics.sources.acting import scalar_moments
from faultwave.physics.waves import Law

LARGEST = {"permeability": (1e-6, "m^2"), "bulk_solid": (1e13, "Pa"), "bulk_fluid": (1e13, "Pa")}
"""Largest plausible parameters of porous rock, and their units."""

LIGHT = 299792458.0
"""Speed of light in vacuum [m/s]."""

MIN_POINTS = 5.0
"""Points per wavelength below which a wave is not resolved at all."""


def warn_material(law: str, averages: bool, values: Mapping[str, np.ndarray], problems: Problems) -> None:
    """Warn about units off by powers of ten, and about cell averages that the parameters ``values`` (nc,) do not have.

    ``averages`` is True if the case requests them.
    """
    if averages and not AVERAGED.issuperset(values):
        what = (
            f"has no effect: parameters of the {law} law cannot be averaged over a cell, so each cell "
            "uses the values at its barycentre"
        )
        problems.warn("numerics.homogenise", what)
    if "c11" in values:
        with np.errstate(all="ignore"):  # invalid materials are reported elsewhere
            speed = np.sqrt(np.maximum.reduce([values[n] for n in ("c11", "c22", "c33")]) / values["rho"])
        for some, what in ((speed < P_SPEED.low, "only "), (speed > P_SPEED.high, "")):
            if some.any():
                reported = (
                    f"P waves have {what}{speed[some][0]:.3g} m/s by c11, c22, c33 and rho in {int(some.sum())} cells"
                )
                _units(reported, "Pa, and the density in kg/m^3", problems)
    if "porosity" in values:
        for name, (most, unit) in LARGEST.items():
            if values[name].max(initial=0.0) > most:
                _units(f"{name} is up to {values[name].max():.3g} {unit}", unit, problems)


def warn_superluminal(values: Mapping[str, np.ndarray], problems: Problems) -> None:
    """Warn about a permittivity times permeability below the value of vacuum, which no lossless medium has at all frequencies."""
    if not {"permittivity", "permeability"} <= values.keys():
        return
    with np.errstate(all="ignore"):  # invalid materials are reported elsewhere
        speed = 1.0 / np.sqrt(values["permittivity"] * values["permeability"])
    fast = speed > LIGHT * (1.0 + 1e-6)
    if fast.any() and np.isfinite(speed).all():
        what = (
            f"waves have up to {speed.max() / LIGHT:.4g} times the speed of light in vacuum in {int(fast.sum())} cells"
        )
        advice = "A medium that does not depend on frequency cannot: check permittivity and permeability."
        problems.warn("material", what, "relative_permittivity times relative_permeability of at least 1", advice)


def _units(what: str, unit: str, problems: Problems) -> None:
    problems.warn("material", what, advice=f"This suggests other units: numbers are in {unit}; texts may carry units.")


def warn_attenuation_band(
    case: Case, law: Law, material: dict[str, np.ndarray], shape: tets.Geometry, whole: WholeMesh, problems: Problems
) -> None:
    """Warn about a band of constant Q that contains no frequency of the run, so that rock hardly attenuates."""
    if not attenuates(law) or case.attenuation is None:
        return
    band = mechanisms_of(case, Problems()).spectrum
    advice = "Outside of its band rock hardly attenuates: see attenuation.low and attenuation.high."
    if band.high * case.end_time < 1.0:
        what = f"Q is constant up to {band.high:.4g} Hz, and a period of that is longer than the run of {case.end_time:.4g} s"
        problems.warn("attenuation", what, f"high above {1.0 / case.end_time:.4g} Hz", advice)
    frequency = resolved_frequency(law, material, edge_length(shape.volume), case.numerics.order)
    resolved = whole.most(float(frequency.max(initial=0.0))) * 10.0 / MIN_POINTS
    if band.low > resolved:
        what = f"Q is constant from {band.low:.4g} Hz, and no cell resolves waves above {resolved:.4g} Hz"
        problems.warn("attenuation", what, f"low below {resolved:.4g} Hz", advice)


OPEN = (tets.BoundaryKind.ABSORBING,)
SURFACES = (tets.BoundaryKind.FREE_SURFACE, tets.BoundaryKind.GRAVITY)
UPWARDS = 0.7
"""Vertical component of the outward normal above which a face belongs to the uppermost side."""


def scene_of(planning: Planning, parts: Iterable[CapabilityPlan]) -> Scene:
    """Return the summary of a case whose capabilities are planned; requires the whole mesh."""
    mesh, geometry, law = planning.mesh, planning.geometry, planning.law
    by_name = {part.name: part for part in parts}
    places, moment, onset = np.zeros((0, 3)), np.zeros(0), np.zeros(0)
    sources = by_name.get("point_sources")
    moduli = law.moduli(planning.material)
    if sources is not None and "mu" in moduli:
        table, cells = sources.sources, np.maximum(sources.cells, 0)  # type: ignore[attr-defined]
        places, onset = table.location, table.onset
        moment = scalar_moments(table, moduli["lambda"][cells], moduli["mu"][cells], planning.case.end_time)
    receivers = by_name.get("receivers")
    return Scene(
        mesh.vertices.min(0), mesh.vertices.max(0), float(np.median(edge_length(geometry.volume)) / (planning.case.numerics.order - 1)),
        float(law.speed(planning.material).max()), places, moment, onset,
        np.zeros((0, 3)) if receivers is None else receivers.listed.located,  # type: ignore[attr-defined]
        closed=not np.isin(planning.topology.kinds[~planning.across], OPEN).any(), full_space=is_full_space(planning),
    )  # fmt: skip


def is_full_space(planning: Planning) -> bool:
    """Return True if waves of sources or faults leave through the uppermost side and mesh and case have no free surface."""
    case, kinds = planning.case, planning.topology.kinds
    if (
        "velocity" not in planning.law.roles
        or case.initial.kind != "zero"
        or not (case.sources or case.fault)
        or _states_surface(case)
    ):
        return False
    outer = ~planning.across & (kinds != tets.BoundaryKind.FAULT)
    named = np.unique(kinds[outer])
    if np.isin(named, SURFACES).any():
        return False
    upper = outer & (planning.geometry.normals[..., 2] > UPWARDS)
    return bool(upper.any() and np.isin(kinds[upper], OPEN).all())


def _states_surface(case: Case) -> bool:
    """Return True if the case states the kind of its uppermost side."""
    made = getattr(case.mesh.generate, "boundaries", None) or {}
    return bool({"z", "z+"} & made.keys()) or "free-surface" in (case.mesh.boundaries or {})
