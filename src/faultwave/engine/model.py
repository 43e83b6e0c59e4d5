"""Description of a plan for pictures, as far as it does not depend on the mesh or grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faultwave.case.settings.model import Case
from faultwave.engine.capability import CapabilityPlan
from faultwave.media.models import coverage
from faultwave.observe.model import Coverage, Label, Marks, Model, Sheet

ELASTIC_LABELS = {"vp": Label("P speed", "m/s"), "vs": Label("S speed", "m/s"), "rho": Label("density", "kg/m³")}
"""Labels of ``elastic_values``."""
ELASTIC_SPEEDS = ("vp", "vs")


def elastic_values(rho: np.ndarray, lam: np.ndarray, mu: np.ndarray) -> dict[str, np.ndarray]:
    """Return wave speeds [m/s] and density [kg/m^3] by name, from density and Lame's constants."""
    return {"vp": np.sqrt((lam + 2 * mu) / rho), "vs": np.sqrt(mu / rho), "rho": rho}


@dataclass(frozen=True)
class Resolved:
    """Frequency [Hz] for which points per wavelength are counted, and the reason for it."""

    frequency: float
    reason: str

    @classmethod
    def choose(cls, requested: float | None, resolved: float, otherwise: str) -> Resolved:
        """Return the requested frequency if there is one, else the ``resolved`` one with the reason ``otherwise``."""
        if requested:
            return cls(requested, "the highest in the case")
        return cls(resolved, f"resolved everywhere{otherwise}")


def covered(case: Case) -> Coverage | None:
    """Return the coverage of the velocity models of a case, None without any."""
    found = coverage(case.material.models, case.projection)
    return None if found is None else Coverage(*found)


def axis_names(case: Case) -> tuple[str, str, str]:
    """Return the names of x, y and z: map directions where the projection is known to be not rotated."""
    turned = case.projection is None or case.projection.azimuth != 0.0
    return ("x", "y", "z") if turned else ("east", "north", "up")


@dataclass(frozen=True)
class Domain:
    """Domain of a plan: its bounds (3,) [m], the vertical cuts and the ground, with the labels of their values.

    Attributes
    ----------
    lower, upper : ndarray (3,)
    cut : callable
        Cut of ``observe.model``.
    ground : sequence of Sheet
    labels : mapping of str to Label
    speeds : tuple of str
        Values that are wave speeds.
    more : dict
        Further attributes of ``Model``: time steps and numbers of cells, region.
    """

    lower: np.ndarray
    upper: np.ndarray
    cut: Any
    ground: Sequence[Sheet]
    labels: dict[str, Label]
    speeds: tuple[str, ...]
    more: dict[str, Any] = field(default_factory=dict)


def build_model(
    plan: Any, parts: Iterable[CapabilityPlan], domain: Domain, resolved: Resolved, known: Coverage | None
) -> Model:
    """Return the model of a plan that plots show, with the shapes of all its capabilities."""
    shapes = [shape for part in parts for shape in part.shapes(plan)]
    marks = tuple(s for s in shapes if isinstance(s, Marks))
    sheets = (*(s for s in shapes if isinstance(s, Sheet)), *domain.ground)
    return Model(
        plan.case.title or plan.case.output.prefix, domain.lower, domain.upper, domain.labels, domain.speeds, domain.cut, marks, sheets,
        resolved.frequency, resolved.reason, coverage=known, axes=axis_names(plan.case), **domain.more,
    )  # fmt: skip
