"""View of a plan for plots: sections through the cells, faults with their loads, the ground and markers of capabilities."""

from __future__ import annotations

import numpy as np

from faultwave.dg.checks.accuracy import edge_length, highest_frequency, resolved_frequency, within_region
from faultwave.dg.planning.plan import Plan
from faultwave.domain import tets
from faultwave.domain.tets import triangles as sliced
from faultwave.domain.tets.mesh import SORTED_FACES
from faultwave.media.models import coverage
from faultwave.observe.model import CLUSTER, POINTS, RESOLUTION, Coverage, Label, Marks, Model, Section, Sheet
from faultwave.physics.waves import Law

TEN = 10.0
"""Points per wavelength that define the plotted frequency if the case names none."""


def model(plan: Plan) -> Model:
    """Return the model of a plan that plots show."""
    case, found = plan.case, coverage(plan.case.material.models, plan.case.projection)
    edge = edge_length(plan.geometry.volume)
    resolved = resolved_frequency(plan.law, plan.material, edge, case.numerics.order)
    frequency, reason = _frequency(plan, resolved)
    values, labels, speeds = quantities(plan.law, plan.material)
    inner, vertices = within_region(case, plan.geometry.centroids), plan.mesh.vertices
    values |= {
        RESOLUTION: np.where(inner, TEN * resolved / frequency, np.nan),
        CLUSTER: plan.clustering.cluster.astype(float),
    }
    shapes = [shape for part in plan.parts for shape in part.shapes(plan)]

    def cut(start: np.ndarray, end: np.ndarray) -> Section:
        points, corners, cell = sliced.cross_section(plan.mesh.vertices, plan.topology.cells, start, end)
        return Section(points, corners, {name: v[cell] for name, v in values.items()})

    around = None
    if not inner.all():
        corners = vertices[plan.topology.cells[inner]].reshape(-1, 3)
        around = np.array([corners.min(0), corners.max(0)])
    return Model(
        case.title or case.output.prefix, vertices.min(0), vertices.max(0),
        labels | {RESOLUTION: POINTS, CLUSTER: Label("cluster of time steps")}, speeds, cut,
        tuple(s for s in shapes if isinstance(s, Marks)), (*(s for s in shapes if isinstance(s, Sheet)), *_ground(plan, values, labels)),
        frequency, reason, plan.clustering.steps, plan.clustering.histogram, None if found is None else Coverage(*found),
        axes_of(case.projection), region=around,
    )  # fmt: skip


def axes_of(projection: object) -> tuple[str, str, str]:
    """Return the names of x, y and z: map directions where the projection is known to be not rotated."""
    turned = projection is None or getattr(projection, "azimuth", 0.0) != 0.0
    return ("x", "y", "z") if turned else ("east", "north", "up")


def _frequency(plan: Plan, resolved: np.ndarray) -> tuple[float, str]:
    """Return the frequency for which points per wavelength are counted, and the reason for it."""
    requested = highest_frequency(plan.case, plan.parts)
    if requested is not None and requested > 0:
        return requested, "the highest that the case asks for"
    return float(resolved.min()), f"resolved everywhere with {TEN:g} points; the case names none"


def quantities(
    law: Law, material: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, Label], tuple[str, ...]]:
    """Return values and labels of a material (nc,) by name, and the names that are speeds."""
    moduli = law.moduli(material)
    if {"lambda", "mu"} <= moduli.keys() and "rho" in material:
        rho, mu, lam = material["rho"], moduli["mu"], moduli["lambda"]
        values = {"vp": np.sqrt((lam + 2 * mu) / rho), "vs": np.sqrt(mu / rho), "rho": rho}
        labels = {"vp": Label("P speed", "m/s"), "vs": Label("S speed", "m/s"), "rho": Label("density", "kg/m³")}
        return values, labels, ("vp", "vs")
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


__all__ = ["axes_of", "model", "quantities"]
