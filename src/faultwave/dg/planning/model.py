"""View of a plan for plots: sections through the cells, faults with their loads, the ground and markers of capabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.dg.checks.accuracy import edge_length, highest_frequency, resolved_frequency, within_region
from faultwave.dg.planning.plan import Plan
from faultwave.domain import tets
from faultwave.domain.tets import triangles as sliced
from faultwave.domain.tets.mesh import SORTED_FACES
from faultwave.engine.model import (
    ELASTIC_LABELS,
    ELASTIC_SPEEDS,
    Domain,
    Resolved,
    build_model,
    covered,
    elastic_values,
)
from faultwave.observe.model import CLUSTER, POINTS, RESOLUTION, Label, Model, Section, Sheet
from faultwave.physics.waves import Law

TEN = 10.0
"""Points per wavelength that define the plotted frequency if the case names none."""


def model(plan: Plan) -> Model:
    """Return the model of a plan that plots show."""
    case = plan.case
    edge = edge_length(plan.geometry.volume)
    resolved = resolved_frequency(plan.law, plan.material, edge, case.numerics.order)
    otherwise = f" with {TEN:g} points; the case names none"
    chosen = Resolved.choose(highest_frequency(case, plan.parts), float(resolved.min()), otherwise)
    values, labels, speeds = quantities(plan.law, plan.material)
    inner, vertices = within_region(case, plan.geometry.centroids), plan.mesh.vertices
    values |= {
        RESOLUTION: np.where(inner, TEN * resolved / chosen.frequency, np.nan),
        CLUSTER: plan.clustering.cluster.astype(float),
    }

    def cut(start: np.ndarray, end: np.ndarray) -> Section:
        points, corners, cell = sliced.cross_section(plan.mesh.vertices, plan.topology.cells, start, end)
        return Section(points, corners, {name: v[cell] for name, v in values.items()})

    more: dict[str, Any] = {"steps": plan.clustering.steps, "counts": plan.clustering.histogram}
    if not inner.all():
        corners = vertices[plan.topology.cells[inner]].reshape(-1, 3)
        more["region"] = np.array([corners.min(0), corners.max(0)])
    ground = _ground(plan, values, labels)
    labels = labels | {RESOLUTION: POINTS, CLUSTER: Label("cluster of time steps")}
    domain = Domain(vertices.min(0), vertices.max(0), cut, ground, labels, speeds, more)
    return build_model(plan, plan.parts, domain, chosen, covered(case))


def quantities(
    law: Law, material: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, Label], tuple[str, ...]]:
    """Return values and labels of a material (nc,) by name, and the names that are speeds."""
    moduli = law.moduli(material)
    if {"lambda", "mu"} <= moduli.keys() and "rho" in material:
        return elastic_values(material["rho"], moduli["lambda"], moduli["mu"]), dict(ELASTIC_LABELS), ELASTIC_SPEEDS
    values = {"speed": np.broadcast_to(law.speed(material), next(iter(material.values())).shape)}
    labels = {"speed": Label("wave speed", "m/s", log=True)}
    for p in law.parameters:
        values[p.name], labels[p.name] = material[p.name], Label(p.name.replace("_", " "), p.unit)
    return values, labels, ("speed",)


def _ground(plan: Plan, values: dict[str, np.ndarray], labels: dict[str, Label]) -> list[Sheet]:
    """Return the free surface with the values below it."""
    kinds = plan.topology.kinds
    free = np.isin(kinds, [tets.BoundaryKind.FREE_SURFACE, tets.BoundaryKind.GRAVITY, tets.BoundaryKind.SEALED_SURFACE])
    cell, face = np.nonzero(free)
    level = plan.geometry.normals[cell, face, 2] > 0.1  # cliffs and sides of caves are not visible from above
    cell, face = cell[level], face[level]
    if not len(cell):
        return []
    corners = np.take_along_axis(plan.topology.cells[cell], SORTED_FACES[face], axis=1)
    used, cells = np.unique(corners, return_inverse=True)
    shown = {name: values[name][cell] for name in labels}
    return [Sheet("ground", plan.mesh.vertices[used], cells.reshape(-1, 3), shown, labels)]
