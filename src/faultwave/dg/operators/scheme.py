"""Numerical scheme of a case: its integrator, flux and penalised faces, stable steps, and the operator that advances it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from faultwave.backends import Backend
from faultwave.base.errors import Problems, suggest
from faultwave.case.settings.model import Case, Numerics
from faultwave.comm.exchange import ChannelExchange, ClusterExchange, StageExchange
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.method.forms import Cells, Form, PenalisedFaces, form
from faultwave.dg.operators.layout import MeshLayout
from faultwave.dg.operators.method_of_lines import (
    Leapfrog,
    MethodOfLines,
    RungeKutta,
    StageStepper,
    halves,
    has_coupled_reaction,
)
from faultwave.dg.operators.operator import CellWork
from faultwave.dg.operators.prescribed_faces import PrescribedFaces
from faultwave.dg.operators.stepper import AderOperator, AderStepper, Stepper
from faultwave.dg.penalties import penalty_fluxes
from faultwave.physics.waves import Law

# Largest CFL numbers in which white noise does not grow, elastic, for orders 2 to 8; other laws times their ``stability``
# (docs/decisions/0004). The limits of ADER are ``dg.planning.plan.LARGEST_CFL``.
LIMITS: dict[tuple[str, str], tuple[float, ...]] = {
    ("rk4", "godunov"): (0.95, 1.0, 0.95, 0.95, 0.85, 0.8, 0.75),
    ("rk4", "centred"): (1.5, 1.5, 1.5, 1.4, 1.3, 1.2, 1.1),
    ("leapfrog", "centred"): (1.1, 1.1, 1.1, 1.0, 0.9, 0.85, 0.8),
}
DEFAULT_CFL_SHARE = 0.8  # of the limit


def numerical_flux(numerics: Numerics) -> str:
    """Return the numerical flux of a case, or the default of its integrator."""
    return numerics.flux or ("centred" if numerics.integrator == "leapfrog" else "godunov")


def largest_stable_cfl(numerics: Numerics, law: Law) -> float:
    """Return the largest stable CFL number of a method of lines."""
    return LIMITS[numerics.integrator, numerical_flux(numerics)][numerics.order - 2] * law.stability


def check_integrator(case: Case, law: Law, problems: Problems) -> None:
    """Report settings of the case that the integrator does not support."""
    numerics = case.numerics
    if numerics.halo_compression != "exact" and law.face_channels != law.channels:
        problems.error(
            "numerics.halo_compression", f"rounded messages are not supported for the {law.name} law", "exact"
        )
    if numerics.compensated and not can_compensate(case, law):
        problems.error("numerics.compensated", f"is not supported for the {law.name} law", "false")
    if numerics.integrator == "ader":
        return
    traction, _ = law.sides(["flux"] * law.channels, ["potential"] * law.channels)
    if len(set(traction)) > 1:
        problems.error("numerics.integrator", f"{numerics.integrator} is not supported for the {law.name} law", "ader")
        return
    clusters = numerics.clustering
    if "rates" in clusters.model_fields_set and clusters.rates != (1,):
        what = (
            f"{numerics.integrator} uses one time step for all cells: rates {list(clusters.rates)} would have no effect"
        )
        problems.error("numerics.clustering.rates", what, "[1], or integrator: ader")
    if case.fault is not None:
        problems.error("numerics.integrator", f"friction on faults needs ader, not {numerics.integrator}", "ader")
    if numerics.integrator == "leapfrog":
        try:
            halves(law)
        except ValueError as error:
            problems.error("numerics.integrator", f"leapfrog: {error}", "ader, rk4")
        if has_coupled_reaction(law):
            problems.error(
                "numerics.integrator", "leapfrog cannot step quantities that react with each other", "ader, rk4"
            )


def can_compensate(case: Case, law: Law) -> bool:
    """Return True if the law's cells are advanced by increments, so that sums can be compensated."""
    return case.numerics.integrator == "ader" and form(law, 2).predictor.incremental


BY_LINES: dict[str, Callable[..., MethodOfLines]] = {"rk4": RungeKutta, "leapfrog": Leapfrog}


def make_form(numerics: Numerics, law: Law, unit: float, fast: bool) -> Form:
    """Return the form of a law that the case's integrator advances; ``unit`` is of time, ``fast`` as in ``forms.form``."""
    fast = fast and numerics.integrator not in BY_LINES
    narrow = numerics.stored_waves == "single"
    return form(law, numerics.order, unit, fast, narrow=narrow, precise=numerics.compensated)


def make_operator(
    numerics: Numerics,
    chosen: Form,
    backend: Backend,
    layout: MeshLayout,
    cells: Cells,
    alone: bool,
    cell_work: Sequence[CellWork] = (),
    flows: bool = False,
) -> AderOperator | MethodOfLines:
    """Return the operator of the case's integrator; ``alone``, ``cell_work`` and ``flows`` are arguments of ``AderOperator``."""
    if numerics.integrator in BY_LINES:
        return BY_LINES[numerics.integrator](chosen, backend, layout, cells, numerical_flux(numerics))
    return AderOperator(chosen, backend, layout, cells, alone, cell_work, numerics.compensated, flows)


def make_stepper(
    operator: AderOperator | MethodOfLines,
    exchange: ChannelExchange | None = None,
    prescribed: PrescribedFaces | None = None,
) -> Stepper:
    """Return the steps of an operator.

    Parameters
    ----------
    operator : AderOperator or MethodOfLines
        State and kernels.
    exchange : ChannelExchange, optional
        Exchange with other processes: ``ClusterExchange`` of an ``AderOperator``, ``StageExchange`` of a ``MethodOfLines``.
    prescribed : PrescribedFaces, optional
        Faces with prescribed waves.
    """
    if isinstance(operator, AderOperator):
        return AderStepper(operator, exchange if isinstance(exchange, ClusterExchange) else None)
    stages = exchange if isinstance(exchange, StageExchange) else None
    return StageStepper(operator, stages, prescribed.write_arriving_traces if prescribed else None)


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
            what = f"'{value}' is supported for {penalties[value].built_for}, not for the {law.name} law"
            problems.error(f"numerics.{name}", what, "godunov")
    if numerics.flux_near_faults and case.fault is None:
        what = f"'{numerics.flux_near_faults}', but the case has no fault"
        problems.error("numerics.flux_near_faults", what, "nothing, or a case with fault")
    everywhere = numerics.flux or "godunov"
    near = numerics.flux_near_faults or everywhere
    if everywhere in penalties and near in penalties and everywhere != near:
        problems.error(
            "numerics.flux_near_faults", f"'{near}' next to '{everywhere}' is not supported", f"godunov, {everywhere}"
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
