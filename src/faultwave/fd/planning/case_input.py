"""Settings and files of a case, before there is a grid: box, sides, topography, material and capabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np

from faultwave import backends
from faultwave.base.errors import Problems, collect_problems
from faultwave.base.projection import Projection, warn_map_distortion
from faultwave.base.registry import modules
from faultwave.base.spans import phase
from faultwave.base.types import Setting
from faultwave.case.settings.grid import Grid as GridSettings
from faultwave.case.settings.model import Case
from faultwave.engine.checks import check_backend
from faultwave.fd.capability import GridCapabilityPlan
from faultwave.fd.checks.case_checks import check_unused
from faultwave.fd.contexts import Planning
from faultwave.fd.method.grid import SIDES, SideKind
from faultwave.fd.operators.time_dispersion import check_removal
from faultwave.fd.operators.topography import (
    Ground,
    read_ground,
)
from faultwave.media import load_field
from faultwave.media.field import Field, missing
from faultwave.physics.waves import law

CAPABILITY_PACKAGE, CAPABILITY_GROUP = "faultwave.fd.capabilities", "faultwave.fd.parts"
"""Package of the capabilities, and the entry point group of capabilities in other packages."""


@cache
def capability_modules() -> tuple[ModuleType, ...]:
    """Return the capability modules of ``fd.capabilities``, sorted by name."""
    return tuple(module for module in modules(CAPABILITY_PACKAGE, CAPABILITY_GROUP) if hasattr(module, "plan"))


@dataclass(frozen=True)
class CaseInput:
    """Content of the settings and files of a case, before there is a grid.

    Attributes
    ----------
    lower, upper : ndarray (3,)
        Corners of the requested box [m].
    sides : dict of str to SideKind
        Boundary condition of each side.
    field : Field or None
        Material; None if it cannot be read.
    parts : mapping of str to GridCapabilityPlan
        Capabilities by name.
    ground : Ground or None
        Topography, None if the surface is flat.
    """

    lower: np.ndarray
    upper: np.ndarray
    sides: dict[str, SideKind]
    field: Field | None
    parts: Mapping[str, GridCapabilityPlan]
    ground: Ground | None = None


def grid_settings(case: Case) -> GridSettings:
    """Return the ``grid`` settings of the case."""
    assert case.grid is not None
    return case.grid


@phase("settings and files")
def read_case_input(case: Case, problems: Problems) -> CaseInput:
    """Read all files and the settings that need no grid."""
    _check_supported(case, problems)
    lower, upper = _corners(case, problems)
    sides = _sides(case, problems)
    ground: Ground | None = None
    with collect_problems(problems):
        ground = read_ground(case, lower, upper, sides)
    if ground is not None:
        upper[2] = ground.lowest  # top of the flat grid, whose planes are then deformed up to the ground
    field: Field | None = None
    with collect_problems(problems):
        field = load_field(case.material, "material", projection=case.projection)
        _check_parameters(case, field)
        check_unused(case, field, sides, problems)
    if case.projection is not None:
        with collect_problems(problems):
            projection = Projection(case.projection.crs, case.projection.origin, case.projection.azimuth)
            warn_map_distortion(projection, lower, upper, problems)
    planning = Planning(case, law(case.law), lower, upper, sides, problems)
    found = [part for module in capability_modules() if (part := module.plan(planning)) is not None]
    return CaseInput(lower, upper, sides, field, {part.name: part for part in found}, ground)


def settings_are_consistent(case: Case) -> bool:
    """Return True if the case's settings are consistent, as far as that can be known without a grid."""
    problems = Problems()
    with collect_problems(problems):
        read_case_input(case, problems)
    return not problems.errors


def _check_supported(case: Case, problems: Problems) -> None:
    if case.law != "elastic":
        problems.error("law", f"the engine fd does not support '{case.law}'", "elastic")
    setting = grid_settings(case)
    if setting.order != 4 and setting.topography is not None and not setting.blocks:
        what = f"{setting.order} needs flat planes, but those below a topography are curved"
        advice = "The uppermost block then has order 4; the next block may have the same or a larger spacing."
        problems.error("grid.order", what, "4, or grid.blocks with a block below the curvilinear layer", advice)
    check_removal(case, problems)
    if case.output.fault is not None:
        problems.error("output.fault", "the engine fd writes no snapshots of faults yet", "output.rupture")
    check_backend(case.numerics, [n for n in backends.names() if backends.runs_stencils(n)], problems)
    if case.numerics.cfl is not None and case.numerics.cfl > 1:
        problems.error("numerics.cfl", f"{case.numerics.cfl:g} is unstable", "at most 1 (fraction of the stable step)")


def _corners(case: Case, problems: Problems) -> tuple[np.ndarray, np.ndarray]:
    setting: Setting = grid_settings(case)
    if setting.lower is not None:
        return np.array(setting.lower, float), np.array(setting.upper, float)
    box = getattr(case.mesh, "generate", None)
    if box is None or box.shape != "box":
        problems.error("grid", "says no box", "lower and upper, or a mesh.generate of shape box that defines them")
        return np.zeros(3), np.ones(3)
    return np.array(box.lower, float), np.array(box.upper, float)


def _sides(case: Case, problems: Problems) -> dict[str, SideKind]:
    """Return the kind of each side; an impossible one, which is reported, is then taken as absorbing."""
    setting: Setting = grid_settings(case)
    requested: dict[str, str] = {"z+": SideKind.FREE_SURFACE}
    box = getattr(case.mesh, "generate", None)
    if setting.boundaries is not None:
        named = {"z", "z+"} & setting.boundaries.keys()
        requested = dict(setting.boundaries) if named else requested | setting.boundaries
    elif setting.lower is None and box is not None and box.shape == "box":
        requested = dict(box.boundaries)
    found: dict[str, SideKind] = {}
    for side in SIDES:
        kind = requested.get(side, requested.get(side[0], SideKind.ABSORBING))
        possible = kind in set(SideKind) and (kind != SideKind.FREE_SURFACE or side == "z+")
        if not possible:
            allowed = "free-surface at z+ only" if kind == SideKind.FREE_SURFACE else ", ".join(SideKind)
            problems.error("grid.boundaries", f"'{kind}' at {side} is not possible on a grid", allowed)
        found[side] = SideKind(kind) if possible else SideKind.ABSORBING
    return found


def _check_parameters(case: Case, field: Field) -> None:
    names = ["rho", "lambda", "mu"] + (["Qp", "Qs"] if case.attenuation else [])
    if not field.parameters.issuperset(names):
        raise missing(field, names)
