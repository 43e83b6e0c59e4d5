"""Wave field of an operator: energies and momenta, projection of functions, error norms and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

import numpy as np

from faultwave.comm import World
from faultwave.dg.method.basis import tet_basis, tet_quadrature
from faultwave.dg.method.formula import Densities
from faultwave.dg.operators import kernels
from faultwave.dg.operators.operator import Operator
from faultwave.domain import tets
from faultwave.domain.tets.connectivity.topology import Topology
from faultwave.domain.tets.geometry import Geometry
from faultwave.engine.capability import Capability
from faultwave.kernels.expr import Named, Number, Numbers
from faultwave.physics.waves import Law
from faultwave.physics.waves.elastic import Elastic
from faultwave.physics.waves.law import energy_names


class Energies:
    """Sums of ``Law.energies``, or of similar densities, over all cells by name."""

    def __init__(self, operator: Operator, of: Densities | None = None):
        op, law, cells = operator, operator.law, operator.cells
        known = [p.name for p in law.parameters]
        self.names = energy_names(law, of or law.energies)
        self.operator, size = op, len(op.layout.cell_at)
        values = np.stack([*[cells.material[n] for n in known], cells.volume], 1)
        parameters = op.per_cell(values)
        padding = op.layout.cell_at < 0
        if padding.any():  # cells like the first, without volume
            nothing = np.append(values[0, :-1], 0.0)
            parameters.put(np.broadcast_to(nothing, (int(padding.sum()), 1, len(nothing))), padding)
        self.each = op.backend.batch(size, 1, len(self.names))
        jacobian = {} if op.form.self_contained else {"jacobian": op.per_cell(op.form.jacobians(cells))}
        kernel = op.backend.compile([kernels.energies(op.form, of)])["energies"]
        self.launch = kernel({"q": op.q, "cell": op.cell, "parameters": parameters, "energies": self.each, **jacobian})

    def __call__(self) -> dict[str, float]:
        self.launch(0, self.each.items)
        return dict(zip(self.names, self.each.total()[0].tolist(), strict=True))


def sum_over_processes(world: World, here: Mapping[str, float]) -> dict[str, float]:
    """Return the sums over all processes on the first process, and the local values on the others (collective)."""
    pieces = world.gather(dict(here))
    if pieces is None:
        return dict(here)
    names = dict.fromkeys(name for piece in pieces for name in piece)
    return {name: sum(piece.get(name, 0.0) for piece in pieces) for name in names}


class AllEnergies:
    """Energies of the wave law and of all capabilities, summed over processes on the first one.

    Parameters
    ----------
    operator : Operator
        Wave field.
    capabilities : mapping of str to Capability
        Attached capabilities.
    world : World
        Processes of the run.
    moment : callable
        ``moment()`` returns the time [s] and the number of updates so far, which identify a state while only steps change it.
    """

    def __init__(
        self,
        operator: Operator,
        capabilities: Mapping[str, Capability],
        world: World,
        moment: Callable[[], tuple[float, int]],
    ):
        self._operator, self._capabilities, self._world, self._moment = operator, capabilities, world, moment
        self._only_steps = False  # True while only steps change the field
        self._last: tuple[tuple[float, int], dict[str, float]] | None = None  # moment and energies of the last call
        if any(part.needs_energies for part in capabilities.values()):
            self.prepare()

    @cached_property
    def _of_waves(self) -> Energies:
        """Energies of the wave law; when they are compiled, capabilities prepare theirs."""
        made = Energies(self._operator)
        for part in self._capabilities.values():
            part.prepare_energies()
        return made

    def prepare(self) -> None:
        """Compile all kernels, which the first call does otherwise."""
        _ = self._of_waves

    @contextmanager
    def in_steps(self) -> Iterator[None]:
        """Reuse results of the same time inside this context, where only steps change the field."""
        self._only_steps, self._last = True, None
        try:
            yield
        finally:
            self._only_steps = False

    def __call__(self) -> dict[str, float]:
        """Return the present energies; a collective call."""
        now = self._moment()
        if not self._only_steps or self._last is None or self._last[0] != now:
            self._last = now, self._compute()
        return dict(self._last[1])

    def _compute(self) -> dict[str, float]:
        mechanical = "force" in self._operator.law.point_sources
        total: dict[str, float] = {"gravitational_energy": 0.0} if mechanical else {}  # unless a capability adds to it
        self.prepare()  # capabilities also, before anything is computed
        with np.errstate(over="ignore", invalid="ignore"):  # an unstable run is reported elsewhere
            total |= self._of_waves()
        for part in self._capabilities.values():
            total |= part.energies()
        if mechanical:
            total.setdefault("plastic_moment", 0.0)
        return sum_over_processes(self._world, total)


def as_isotropic(law: Law) -> Densities | None:
    """Return the energies of isotropic elasticity as a function of stress and velocity, or None for laws that have them.

    The function uses the ``moduli`` and the density named by the law's parameters, in porous rock the density of the grains.
    """
    kind: type = type(law)
    if kind is Elastic or law.quantities[:9] != Elastic().quantities:
        return None

    def found(q: Numbers, values: Named) -> dict[str, Number]:
        return Elastic().energies(list(q[:9]), {**law.moduli(values), "rho": values["rho"]})

    return found


BLOCK = 4096  # cells at a time
ROUNDING = 1e-12
"""Relative size below which a component of a solution counts as zero among components of its kind."""


def project(operator: Operator, geo: Geometry, function: Callable[[np.ndarray], np.ndarray]) -> None:
    """Set the degrees of freedom to the L2 projection of a function, in blocks of cells.

    Parameters
    ----------
    operator : Operator
        Wave field.
    geo : Geometry
        Geometry of its cells.
    function : callable
        State (n, Q) at points (n, 3) [m].
    """
    order, cells_here = operator.order, len(geo.volume)
    points, weights = tet_quadrature(order + 2)
    psi = tet_basis(points, order - 1)
    for part in np.array_split(np.arange(cells_here), max(1, cells_here // BLOCK)):
        # Sums over one cell round differently, and a process may have but one: it is done twice.
        cells = np.repeat(part, 2) if len(part) == 1 else part
        x = geo.points(cells, points)
        values = function(x.reshape(-1, 3)).reshape(len(cells), len(points), -1)
        operator.set_dofs(np.einsum("n,nk,cnq->ckq", weights, psi, values)[: len(part)], part)


def error(
    operator: Operator,
    geo: Geometry,
    time: float,
    solution: Callable[[np.ndarray, float], np.ndarray],
    inside: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Return the relative L2 error of every quantity, (Q,).

    Parameters
    ----------
    operator : Operator
        Wave field.
    geo : Geometry
        Geometry of its cells.
    time : float
        Present time [s].
    solution : callable
        Exact state (n, Q) at points (n, 3) [m] and a time [s].
    inside : callable, optional
        Mask (n,) of the points to compare, all by default.
    """
    order, cells_here = operator.order, len(geo.volume)
    points, weights = tet_quadrature(order + 2)
    psi = tet_basis(points, order - 1)
    above = below = np.zeros(len(operator.law.quantities))
    for part in np.array_split(np.arange(cells_here), max(1, cells_here // BLOCK)):
        x = geo.points(part, points)
        flat = x.reshape(-1, 3)
        exact = solution(flat, time).reshape(len(part), len(points), -1)
        mine = np.einsum("nk,ckq->cnq", psi, operator.dofs(part))
        scale = (geo.volume[part, None] * weights)[..., None]
        if inside is not None:
            scale = scale * inside(flat).reshape(len(part), len(points), 1)
        above = above + (scale * (mine - exact) ** 2).sum((0, 1))
        below = below + (scale * exact**2).sum((0, 1))
    return np.sqrt(above / np.where(below > 0, below, 1.0))


def error_norms(
    operator: Operator, geo: Geometry, world: World, time: float, solution: Callable[[np.ndarray, float], np.ndarray]
) -> dict[str, np.ndarray]:
    """Return L1, L2 and maximum errors (Q,) of every quantity by name of the norm, absolute and relative (``_rel``).

    Relative errors refer to the norms of the solution and are NaN where it is zero compared with other components of its kind (velocity,
    stress). The call is collective, and the first process has the result.

    Parameters
    ----------
    operator : Operator
        Wave field.
    geo : Geometry
        Geometry of its cells.
    world : World
        Processes of the run.
    time : float
        Present time [s].
    solution : callable
        Exact state (n, Q) at points (n, 3) [m] and a time [s].
    """
    order, cells_here = operator.order, len(geo.volume)
    points, weights = tet_quadrature(order + 1)
    psi = tet_basis(points, order - 1)
    law = operator.law
    sums, most = np.zeros((4, len(law.quantities))), np.zeros((2, len(law.quantities)))
    for part in np.array_split(np.arange(cells_here), max(1, cells_here // BLOCK)):
        x = geo.points(part, points)
        exact = solution(x.reshape(-1, 3), time).reshape(len(part), len(points), -1)
        off = np.abs(np.einsum("nk,ckq->cnq", psi, operator.dofs(part)) - exact)
        size, scale = np.abs(exact), 6.0 * geo.volume[part, None, None] * weights[:, None]
        sums += np.array([(scale * v).sum((0, 1)) for v in (off, off**2, size, size**2)])
        most = np.maximum(most, [v.max((0, 1), initial=0.0) for v in (off, size)])
    sums = sum(world.gather(sums) or [sums])
    most = np.reshape(world.largest(most.ravel().tolist()), most.shape)
    mine = {"L1": sums[0], "L2": np.sqrt(sums[1]), "LInf": most[0]}
    own = {"L1": sums[2], "L2": np.sqrt(sums[3]), "LInf": most[1]}
    return mine | {f"{n}_rel": v / _large_enough(law, own[n]) for n, v in mine.items()}


def _large_enough(law: Law, norms: np.ndarray) -> np.ndarray:
    """Return norms (Q,) of a solution with NaN for those that are rounding errors of the largest of their role."""
    retained = np.full(len(norms), np.nan)
    for names in law.roles.values():
        mine = [law.quantities.index(n) for n in names]
        retained[mine] = np.where(norms[mine] > ROUNDING * norms[mine].max(initial=0.0), norms[mine], np.nan)
    return retained


def sample(operator: Operator, mesh: tets.Mesh, topology: Topology, geo: Geometry, points: np.ndarray) -> np.ndarray:
    """Return the present state (n, Q) at points (n, 3) [m]; NaN outside the mesh."""
    found = tets.locate(np.asarray(points, float).reshape(-1, 3), topology, geo, mesh.vertices)
    result = np.full((len(found.cells), len(operator.law.quantities)), np.nan)
    inside = found.cells >= 0
    psi = tet_basis(found.xi[inside], operator.order - 1)
    result[inside] = np.einsum("nb,nbq->nq", psi, operator.dofs(found.cells[inside]))
    return result
