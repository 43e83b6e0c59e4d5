"""The operator driven directly on a box: no case, no plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from faultwave import backends
from faultwave.dg.method import basis
from faultwave.dg.method.forms import Cells, PenalisedFaces, form
from faultwave.dg.method.outgoing_waves import cluster_places
from faultwave.dg.operators.build_layout import Connections, build_layout
from faultwave.dg.operators.rounding import allows_edge_components, worst_shape
from faultwave.dg.operators.scheme import make_stepper
from faultwave.dg.operators.stepper import AderOperator
from faultwave.dg.stepping.local_time_stepping import LocalTimeStepping
from faultwave.domain.tets.clusters import assign_clusters
from faultwave.domain.tets.connectivity.topology import build_topology
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.geometry import geometry
from faultwave.domain.tets.mesh import Mesh
from faultwave.physics import waves as laws

ROCK = {"rho": 1.0, "lambda": 2.0, "mu": 1.0}
Field = Callable[[np.ndarray], np.ndarray]


class Waves:
    """A wave field on a mesh; ``rates`` is the ladder of local time steps, (1,) none."""

    def __init__(self, mesh: Mesh, law: str = "elastic", order: int = 3, backend: str = "cpu", precision: str = "double",
                 rates: tuple[int, ...] = (1,), cfl: float = 0.5, material: Mapping[str, Any] = ROCK, keep: tuple[int, ...] = (),
                 quadrature: int = 0, time_unit: float = 1.0, fast: bool | None = None, wall: float | None = None,
                 predictor: Any = None, penalty: str = "", compensated: bool = False,
                 narrow: bool = False):  # fmt: skip
        self.order, self.mesh = order, mesh
        self.topology = build_topology(mesh, None)
        self.geometry = geometry(mesh, self.topology)
        cells = len(mesh.cells)
        named: Any = laws.law(law)
        known = dict.fromkeys([*(p.name for p in named.parameters), *material])
        defaults = {p.name: p.default for p in named.parameters}
        self.material = {n: np.broadcast_to(material.get(n, defaults.get(n)), cells) for n in known}
        self.law: Any = named.adapted(self.material)
        dt = cfl * 2 * self.geometry.inradius / ((2 * order - 1) * self.law.speed(self.material))
        fault = np.zeros((cells, 4), bool)
        self.clustering = assign_clusters(dt, self.topology.neighbours, fault, rates)
        kept = np.zeros(cells, bool)
        kept[list(keep)] = True
        self.backend: Any = backends.make(backend, precision, 2)
        near, near_faces = self.topology.neighbours, self.topology.neighbour_faces
        mu = self.law.moduli(self.material).get("mu", np.zeros(cells))
        solid = (near >= 0) & (mu[:, None] > 0) & (mu[near] > 0)
        across = {name: values[near] for name, values in self.material.items()}
        penalised = PenalisedFaces(penalty, solid, across) if penalty else None
        beside = solid if penalty else None
        connections = Connections(near, near_faces, self.clustering.cluster, fault, kept, penalised=beside)
        parts = cluster_places(self.clustering.ratios)
        made_layout = build_layout(connections, np.arange(cells), self.backend.lanes, parts=parts)
        self.mesh_layout, self.layout, self.wave_slots = made_layout, made_layout.cells, made_layout.waves
        g = self.geometry
        self.cells = Cells(
            g.inverse, g.volume, g.areas, g.normals, self.topology.neighbours, self.topology.kinds, fault, self.material,
            None if wall is None else np.full((cells, 4), wall), penalised=penalised,
        )  # fmt: skip
        fast = allows_edge_components(worst_shape(g.inverse, self.backend.dtype)) if fast is None else fast
        made = form(self.law, order, time_unit, fast, predictor, narrow, compensated)
        self.use(AderOperator(made, self.backend, made_layout, self.cells, compensated=compensated))
        ratios = np.cumprod([1, *self.clustering.ratios[:-1]])
        self.march = LocalTimeStepping(float(self.clustering.steps[0]), [int(r) for r in ratios])
        self.overlap: Any = None
        self.predicted: list[Callable[[int, float, float], None]] = []
        self.rule = basis.tet_quadrature(quadrature or order + 2)
        self.psi = basis.tet_basis(self.rule[0], order - 1)
        self.points = g.points(slice(None), self.rule[0])

    def use(self, operator: Any) -> None:
        self.operator, self.stepper = operator, make_stepper(operator)

    def predict(self, cluster: int, time: float, step: float, restart: bool) -> None:
        self.stepper.predict(cluster, step, restart, self.march.ends_within(cluster))
        for hook in self.predicted:
            hook(cluster, time, step)

    def correct(self, cluster: int, time: float, step: float) -> None:
        self.stepper.correct(cluster, step)

    def correct_and_predict(self, cluster: int, time: float, step: float, following: float, restart: bool) -> None:
        self.stepper.correct_observed(cluster, step)
        self.stepper.correct_and_predict(cluster, following, restart, self.march.ends_within(cluster))
        for hook in self.predicted:
            hook(cluster, time + step, following)

    def start(self, field: Field) -> Waves:
        values = field(self.points.reshape(-1, 3)).reshape(*self.points.shape[:2], -1)
        self.operator.set_dofs(np.einsum("n,nk,cnq->ckq", self.rule[1], self.psi, values))
        return self

    def run(self, until: float) -> Waves:
        self.march.advance(until, self)
        return self

    def values(self) -> np.ndarray:
        """At the quadrature points, (cells, n, Q)."""
        return np.einsum("nk,ckq->cnq", self.psi, self.operator.dofs().astype(float))

    def integral(self, density: np.ndarray) -> np.ndarray:
        """Of a density (cells, n, ...) over the mesh."""
        return np.einsum("c,n,cn...->...", 6.0 * self.geometry.volume, self.rule[1], density)

    def errors(self, exact: Field) -> np.ndarray:
        """Relative L2 error of every quantity."""
        want = exact(self.points.reshape(-1, 3)).reshape(*self.points.shape[:2], -1)
        return np.asarray(np.sqrt(self.integral((self.values() - want) ** 2) / self.integral(want**2)))

    def densities(self) -> dict[str, Any]:
        return self.law.energies(np.moveaxis(self.values(), -1, 0), {k: v[:, None] for k, v in self.material.items()})

    def energy(self) -> float:
        found = self.densities()
        return float(sum(self.integral(v) for k, v in found.items() if k.endswith("energy")))

    def momentum(self) -> np.ndarray:
        found = self.densities()
        return np.array([float(self.integral(found[f"momentum{a}"])) for a in "XYZ"])


def cube(n: int, **more: Any) -> Mesh:
    """[-1, 1]^3 of n^3 bricks, periodic unless told otherwise, cells turned and vertices numbered at random."""
    settings = {"boundaries": dict.fromkeys("xyz", "periodic"), "shuffle": True, "seed": 3, **more}
    return box_mesh(Box((n, n, n), (-1, -1, -1), (1, 1, 1), **settings))


def plane_waves(time: float, drift: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Field:
    """P along k = pi (1, 1, 1) and S along -k, unit velocities, on top of a uniform motion."""
    k = np.pi * np.ones(3)
    size = np.linalg.norm(k)

    def field(x: np.ndarray) -> np.ndarray:
        q = np.zeros((len(x), 9))
        for polarisation, c, sign in ((k / size, 2.0, 1), (np.array([1, -1, 0]) / np.sqrt(2), 1.0, -1)):
            phase = np.cos(x @ k - sign * size * c * time)
            strain = np.outer(k, polarisation) + np.outer(polarisation, k)
            stress = -(2.0 * (k @ polarisation) * np.eye(3) + strain) / (sign * c * size)
            q[:, :6] += np.outer(phase, stress[[0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]])
            q[:, 6:] += np.outer(phase, polarisation)
        q[:, 6:] += drift
        return q

    return field
