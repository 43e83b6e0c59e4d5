"""Checks of a case against its grid: unused settings, points without rock, and sources or receivers close to the fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import numpy as np

from faultwave.base.errors import InputError, Problems
from faultwave.base.types import Setting
from faultwave.case.settings.model import Case
from faultwave.fd.capability import GridCapabilityPlan
from faultwave.fd.contexts import PlacementContext, Planning
from faultwave.fd.method.grid import Grid, SideKind
from faultwave.fd.method.split_nodes import EVEN, MARGIN, normal_axis
from faultwave.fd.operators.time_dispersion import removes
from faultwave.fd.operators.topography import needs_z_reference
from faultwave.media.checks import check_contradictions
from faultwave.media.field import Field, check_physics, check_used, derivable_parameters, leaves
from faultwave.media.homogenise import check_values
from faultwave.media.models.model import Model
from faultwave.media.points import coordinates
from faultwave.physics.waves import readers_of

TETRAHEDRA_ONLY = {
    "numerics": ("order", "integrator", "flux", "clustering", "homogenise", "source_window", "source_spread", "source_spread_order"),
    "plasticity": ("points", "sampled"),
    "output": ("sync",),
    "fault": ("points", "time_points", "slip_rate_output", "normal_traction", "weakening", "sliding", "pore_density", "damping",
              "damping_end"),
    "output.energies": ("slip_from_velocity", "plain_mean"),
}  # fmt: skip
"""Settings that only the engine dg uses."""


def check_combined(planning: Planning, feature: str, instead: Mapping[str, str], advice: str = "") -> None:
    """Report settings that are not implemented on a grid together with a feature.

    Parameters
    ----------
    planning : Planning
    feature : str
        Name of the feature, for messages.
    instead : mapping of str to str
        Allowed values by the path of each such setting.
    advice : str
    """
    case, grid = planning.case, planning.case.grid
    assert grid is not None
    requested = {
        "grid.blocks": "blocks of different spacing" * bool(grid.blocks),
        "grid.topography": "topography" * (grid.topography is not None),
        "grid.order": f"order {grid.order}" * (grid.order != 4),
        "grid.boundaries": "periodic sides" * (SideKind.PERIODIC in planning.sides.values()),
        "attenuation": "attenuation" * (case.attenuation is not None),
        "plasticity": "rock that yields" * (case.plasticity is not None),
        "fault": "a fault" * (case.fault is not None),
        "injection": "an injection" * (case.injection is not None),
        "sources": "rising plane waves" * any(s.kind == "plane-wave" for s in case.sources),
        "grid.time_dispersion": "removing time dispersion" * removes(case),
    }
    for where, allowed in instead.items():
        if what := requested[where]:
            planning.problems.error(where, f"{what} and {feature} cannot be combined on a grid yet", allowed, advice)


def check_unused(case: Case, field: Field, sides: Mapping[str, SideKind], problems: Problems) -> None:
    """Warn of settings without effect.

    Settings of the engine dg are reported only if the case has no mesh, because otherwise the case may be meant for
    both engines.
    """
    for path in _of_tetrahedra(case):
        problems.warn(path, "has no effect on a grid: it is a setting of the engine dg")
    setting = case.grid
    if setting is not None and setting.absorbing.model_fields_set and SideKind.ABSORBING not in sides.values():
        named = ", ".join(sorted(setting.absorbing.model_fields_set))
        problems.warn("grid.absorbing", f"{named}: no side is absorbing, so there are no layers")
    if setting is not None and setting.topography is not None:
        for name, given in needs_z_reference(case).items():
            if getattr(setting.topography, name) is not None and not given:
                problems.warn(f"grid.topography.{name}", f"has no effect: the case has no {name}")
    user, read = f"the {case.law} law on a grid", derivable_parameters(("rho", "mu", "lambda")) | {"Qp", "Qs"}
    other = readers_of(field.parameters, read)
    check_physics(field, other, user, problems)
    check_used(field, read | set(other), user, problems)
    check_contradictions(field, ("rho", "mu", "lambda"), (), problems)
    if case.attenuation is None and {"Qp", "Qs"} <= field.parameters:
        problems.warn("material", "defines Qp and Qs, but the case is elastic", advice="'attenuation: {}' uses them.")


def _of_tetrahedra(case: Case) -> Iterator[str]:
    mesh: Setting = case.mesh
    if mesh is not None:
        return
    for path, names in TETRAHEDRA_ONLY.items():
        group: Setting = case
        for part in path.split("."):
            group = getattr(group, part)
            if group is None:
                break
        yield from (f"{path}.{name}" for name in names if group is not None and name in group.model_fields_set)


MOST_POINTS = 4_000_000
"""Largest number of inspected points; larger grids are sampled at a stride along each axis."""
POINTS_ALONG = 101
"""Number of places along x and y where the ground is inspected."""
FLAT_RELIEF = 1.0
"""Relief [m] below which no warning is given."""

T = TypeVar("T")


def explain_missing_rock(
    read: Callable[[], T], field: Field, names: list[str], grid: Grid, lower: np.ndarray, upper: np.ndarray
) -> T:
    """Return ``read()``; raise an InputError about all cells of the box if some points have no material.

    Reading stops at the first part of the grid with an error, but users need to know its whole extent. The box spans
    ``lower`` to ``upper`` (3,) [m].
    """
    try:
        return read()
    except InputError:
        _whole(field, names, grid, lower, upper)
        raise  # the errors lie between the inspected points, or do not concern points


def _whole(field: Field, names: list[str], grid: Grid, lower: np.ndarray, upper: np.ndarray) -> None:
    half = 0.5 * grid.spacing
    count = np.maximum(np.round((upper - lower) / half).astype(int), 1)
    stride = max(1, int(np.ceil((count.prod() / MOST_POINTS) ** (1 / 3))))
    x, y, z = (lower[k] + half * (np.arange(0, count[k], stride) + 0.5) for k in range(3))

    def planes() -> Iterator[np.ndarray]:
        for height in z[::-1]:
            yield np.stack([a.ravel() for a in np.meshgrid(x, y, height, indexing="ij")], -1)

    of = "points, eight per cell" if stride == 1 else f"points, {stride * half:g} m apart"
    check_values(field, names, planes(), len(x) * len(y) * len(z), of)


def check_relief(field: Field, lower: np.ndarray, upper: np.ndarray, problems: Problems) -> None:
    """Warn if the topography of a model is flattened or cut off at the top of the box."""
    for model in leaves(field):
        if not isinstance(model, Model) or model.ground is None:
            continue
        x, y = (a.ravel() for a in np.meshgrid(*(np.linspace(lower[k], upper[k], POINTS_ALONG) for k in (0, 1))))
        own = model.to_own(np.stack([x, y], 1))
        height = model.ground(own[:, 0], own[:, 1])
        low, high = float(height.min()), float(height.max())
        if model.hang:
            if high - low > FLAT_RELIEF:
                what = f"its ground, {low:.6g} to {high:.6g} m above sea level, is flattened: z is relative to it"
                problems.warn(model.source, what)
            continue
        above = height - upper[2]
        if above.max() > FLAT_RELIEF:
            place = coordinates((x[above.argmax()], y[above.argmax()]))
            what = (
                f"its ground is above the box, whose surface is z = {upper[2]:g} m, at "
                f"{100 * np.mean(above > FLAT_RELIEF):.3g} % of the area, by up to {above.max():.6g} m at "
                f"{place}: the rock above is omitted"
            )
            problems.warn(model.source, what, advice="'vertical: ground' of the model flattens its ground instead.")


SOURCE_DISTANCE, RECEIVER_DISTANCE = 3.0, 1.5
"""Smallest distances of sources and receivers to the fault plane, in spacings.

The weights of a nearer source assume continuous rock and would push one side only; the weights of a nearer
receiver would mix both sides.
"""


def check_near_fault(placing: PlacementContext, parts: Mapping[str, GridCapabilityPlan]) -> None:
    """Report errors for sources and receivers that are too close to the plane of the fault."""
    setting: Setting = placing.case.grid.fault  # type: ignore[union-attr]
    if setting is None or placing.case.fault is None:
        return
    try:
        k = "xyz".index(normal_axis(setting))
    except InputError:
        return  # the planning of the fault reports it
    h, lower, upper = placing.grid.spacing, np.array(setting.lower, float), np.array(setting.upper, float)
    for part in parts.values():
        kind, places = type(part), part.places
        pushes, reads = kind.drive is not GridCapabilityPlan.drive, kind.sampler is not GridCapabilityPlan.sampler
        away = np.abs(places[:, k] - lower[k])
        split = ((places > lower - (MARGIN + 2) * h) & (places < upper + (MARGIN + 2) * h)).all(1)
        wrong = (
            away < SOURCE_DISTANCE * h * (1 - EVEN) if pushes else (away < RECEIVER_DISTANCE * h * (1 - EVEN)) & split
        )
        listed = np.flatnonzero(wrong & (pushes or reads))
        if len(listed):
            x, y, z = places[listed[0]]
            many = f" ({len(listed) - 1:,} more are as near)" if len(listed) > 1 else ""
            what = f"number {listed[0] + 1} at ({x:g}, {y:g}, {z:g}) lies {away[listed[0]]:.4g} m from the plane of grid.fault{many}"
            advice = "" if pushes else "Use output.fault_receivers for the motion of the fault."
            spacings = SOURCE_DISTANCE if pushes else RECEIVER_DISTANCE
            least = f"at least {spacings * h:g} m, {spacings:g} spacings"
            placing.problems.error(part.name, what, least, advice)
