"""Warnings of settings that a grid accepts but does not use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from faultwave.base.errors import Problems
from faultwave.base.types import Setting
from faultwave.case.settings.model import Case
from faultwave.fd.method.grid import SideKind
from faultwave.fd.operators.topography import needs_z_reference
from faultwave.media.checks import check_contradictions
from faultwave.media.field import Field, check_physics, check_used, derivable_parameters
from faultwave.physics.waves import readers_of

TETRAHEDRA_ONLY = {
    "numerics": (
        "order",
        "integrator",
        "flux",
        "clustering",
        "homogenise",
        "source_window",
        "source_spread",
        "source_spread_order",
    ),
    "plasticity": ("points", "sampled"),
    "output": ("sync",),
    "fault": (
        "points",
        "time_points",
        "slip_rate_output",
        "normal_traction",
        "weakening",
        "sliding",
        "pore_density",
        "damping",
        "damping_end",
    ),
    "output.energies": ("slip_from_velocity", "plain_mean"),
}
"""Settings that only the engine dg uses."""


def check_unused(case: Case, field: Field, sides: Mapping[str, SideKind], problems: Problems) -> None:
    """Warn of settings without effect.

    Settings of the engine dg are reported only if the case has no mesh, because otherwise the case may be meant for
    both engines.
    """
    for path in _of_tetrahedra(case):
        problems.warn(path, "does nothing on a grid: it is a setting of the engine dg")
    setting = case.grid
    if setting is not None and setting.absorbing.model_fields_set and "absorbing" not in sides.values():
        named = ", ".join(sorted(setting.absorbing.model_fields_set))
        problems.warn("grid.absorbing", f"{named}: no side is absorbing, so there are no layers")
    if setting is not None and setting.topography is not None:
        for name, given in needs_z_reference(case).items():
            if getattr(setting.topography, name) is not None and not given:
                problems.warn(f"grid.topography.{name}", f"does nothing: there are no {name}")
    user, read = f"the {case.law} law on a grid", derivable_parameters(("rho", "mu", "lambda")) | {"Qp", "Qs"}
    other = readers_of(field.parameters, read)
    check_physics(field, other, user, problems)
    check_used(field, read | set(other), user, problems)
    check_contradictions(field, ("rho", "mu", "lambda"), (), problems)
    if case.attenuation is None and {"Qp", "Qs"} <= field.parameters:
        problems.warn("material", "gives Qp and Qs, and the case is elastic", advice="'attenuation: {}' uses them.")


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


__all__ = ["check_unused"]
