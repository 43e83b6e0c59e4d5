"""Choice of the penalty of a case and of the faces that have it."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import Problems, suggest
from faultwave.case.settings.model import Case
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.method.forms import PenalisedFaces
from faultwave.dg.penalties import penalty_fluxes
from faultwave.physics.waves import Law


def chosen_fluxes(case: Case, law: Law, problems: Problems) -> tuple[str, str]:
    """Return the flux of all faces and the flux near faults, and report impossible choices."""
    numerics, penalties = case.numerics, penalty_fluxes()
    for name, value, plain in (
        ("flux", numerics.flux, ("godunov", "centred")),
        ("flux_near_faults", numerics.flux_near_faults, ("godunov",)),
    ):
        known = (*plain, *penalties)
        if value and value not in known:
            problems.error(f"numerics.{name}", f"unknown flux '{value}'", ", ".join(known), suggest(value, known))
        elif value in penalties and not penalties[value].suits(law):
            what = f"'{value}' is built for {penalties[value].built_for}, not for the {law.name} law"
            problems.error(f"numerics.{name}", what, "godunov")
    if numerics.flux_near_faults and case.fault is None:
        what = f"'{numerics.flux_near_faults}', but the case has no fault"
        problems.error("numerics.flux_near_faults", what, "nothing, or a case with fault")
    everywhere = numerics.flux or "godunov"
    near = numerics.flux_near_faults or everywhere
    if everywhere in penalties and near in penalties and everywhere != near:
        problems.error(
            "numerics.flux_near_faults", f"'{near}' beside '{everywhere}' is not built", f"godunov, {everywhere}"
        )
    return everywhere, near


def penalised_faces(planning: Planning, driven: np.ndarray) -> PenalisedFaces | None:
    """Return the penalised faces, or None if all faces of the whole mesh have Godunov's flux.

    Godunov's flux also stays at boundaries, on faults, where a field enters (``driven``), and next to fluids, where
    another flux is unstable.
    """
    p = planning
    everywhere, near = chosen_fluxes(p.case, p.law, p.problems)
    penalties = penalty_fluxes()
    found = [name for name in (everywhere, near) if name in penalties]
    if not found or p.problems.errors or p.case.numerics.integrator != "ader":
        return None
    neighbours = p.topology.neighbours
    across = {name: p.whole.beyond(values, neighbours) for name, values in p.material.items()}
    solid = (p.law.moduli(p.material)["mu"] > 0)[:, None] & (p.law.moduli(across)["mu"] > 0)
    at_fault = np.asarray(p.frictional.any(1))
    adjacent = at_fault[:, None] | (p.whole.beyond(at_fault.astype(float), neighbours) > 0)
    wanted = np.where(adjacent, near in penalties, everywhere in penalties)
    faces = p.across & ~p.frictional & ~driven & solid & wanted
    return PenalisedFaces(found[0], faces, across) if p.whole.any(bool(faces.any())) else None


__all__ = ["chosen_fluxes", "penalised_faces"]
