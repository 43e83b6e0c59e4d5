"""Sea surface under gravity: boundary faces that integrate the rise of the water (Lotto & Dunham 2015, Krenz et al. 2021).

At a face with unit normal n, height eta, impedance of the water Z = rho c and gravity g (docs/theory/sea.md, "The sea
surface"),

    d eta/dt = f - kappa eta,  f = n.v - n.T/Z,  kappa = rho g/Z,  T* = -rho g eta n.

The cell stores its wave w = T - Z v during the step as a sum of coefficients times functions of time
(``waves_in_time``), and f = -n.w/Z. The solution is therefore a series in kappa: eta(t) = sum_j (-kappa)^j (t^j/j!
eta_0 + I_(j+1) f), with I_j the j times repeated integral. It needs no data of other cells and is exact for steps of
any length; its terms decrease as (kappa dt)^j, which is tiny.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.base.columns import Columns, Row
from faultwave.base.errors import Problems
from faultwave.dg.mesh.placement import Cut, Planning, check_moves
from faultwave.dg.method.formula import Outputs
from faultwave.dg.method.outgoing_waves import rows_left, weights_left
from faultwave.dg.method.predictors import Predictor
from faultwave.dg.operators.kernels import coefficient, series_sum
from faultwave.dg.operators.layout import sort_and_pad
from faultwave.dg.operators.operator import Operator
from faultwave.dg.planning.plan import Plan
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.engine.capability import Callback, Capability, CapabilityPlan, Requirements, RestoredFrom, State
from faultwave.kernels.expr import Numbers, Table
from faultwave.kernels.language import Kernel
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import dot

FACE = Columns(normal=3, inverse_z=None, kappa=None, weight=None)
"""Columns of a face's constants; ``weight`` is rho g in the kernels' unit of time."""


def repeated_integrals(predictor: Predictor, upto: float, step: float, terms: int) -> np.ndarray:
    """Return the repeated integrals over [0, ``upto``] of the functions of time of each part of a wave.

    Parameters
    ----------
    predictor : Predictor
        Time expansion of the form.
    upto : float
        End of the integrals after the start of the step [s].
    step : float
        Length of the step [s].
    terms : int
        Number of integrals, from the single one on.

    Returns
    -------
    ndarray (terms, parts)
        Integrals by Gauss points that are exact for polynomials of the predictor's degree; see ``waves_in_time`` for
        the parts.
    """
    count = len(predictor.rows)
    x, w = np.polynomial.legendre.leggauss(count + (terms + 1) // 2)
    moments, half = np.zeros((terms, len(rows_left(predictor)))), 0.5 * upto
    for a, b in zip(x, w, strict=True):
        tau = half * (1.0 + a)
        values = np.array(weights_left(predictor, predictor.at(tau, step), step))
        left = [(upto - tau) ** j / math.factorial(j) for j in range(terms)]
        moments += half * b * np.outer(left, values)
    return moments


def powers(upto: float, terms: int) -> np.ndarray:
    """Return t^j / j! at t = ``upto``, j = 0..terms - 1."""
    return np.array([upto**j / math.factorial(j) for j in range(terms)])


def normal_part(law: Law, wave: Numbers | np.ndarray, normal: Numbers) -> Any:
    """Return n.w of a face, where the wave is a number or the components of a vector."""
    return wave[0] if law.face_channels == 1 else dot(wave[:3], normal)


def sea_surface(law: Law, rows: Sequence[int], terms: int, narrow: bool = False, flows: bool = False) -> Kernel:
    """Return the kernel over faces that computes the height at the end of a step and the incoming wave.

    It is in double precision in all runs, as heights grow by little in each of many steps.

    Parameters
    ----------
    law : Law
        Wave law of the water.
    rows : sequence of int
        Rows of each part of a wave.
    terms : int
        Terms of the series in kappa.
    narrow : bool
        True if waves are in single precision in memory.
    flows : bool
        True if cells store velocities after the waves.
    """
    k, m, b2 = Kernel("sea_surface", fixed=True), law.face_channels, rows[0]
    slots = k.index("slots", 2)  # of the wave in time, and of the resulting wave
    left = sum(rows) * (2 if flows else 1)
    in_time, waves = k.store("waves_in_time", left, m), k.store("waves", b2, m, "out", narrow)
    face, height = k.batch("face", 1, FACE.size), k.batch("height", b2, 1, "inout")
    moments, power = k.scalar("moments", terms + 1, len(rows)), k.scalar("power", terms + 1)
    given, rise = k.temp("given", left, m), k.temp("rise", sum(rows), 1)
    k.gather(given, in_time, slots, 0)
    k.pointwise(lambda w, face: [[_rising(law, w, FACE.row(face))]], [given.view(0, sum(rows)), face], [rise])
    parts = [coefficient(rise, rows, j) for j in range(len(rows))]
    integrals = [k.temp(f"integral{j}", b2, 1) for j in range(terms + 1)]
    for j, target in enumerate(integrals):
        series_sum(k, target, parts, lambda i, j=j: moments.view(j, 1, i, 1))  # type: ignore[misc]
    integral = k.temp("height_integral", b2, 1)
    times = [power.view(j, 1) for j in range(terms + 1)]
    k.pointwise(
        _advance, [height, face, *(x for pair in zip(integrals, times, strict=True) for x in pair)], [height, integral]
    )
    reply = k.temp("reply", b2, m)

    def answer(wave: Numbers, integral: Numbers, face: Numbers) -> Outputs:
        """Return the incoming wave 2 T* - w."""
        own = FACE.row(face)
        push = -2.0 * own.weight * integral[0]
        return [[push * (own.normal[i] if m > 1 else 1.0) - wave[i] for i in range(m)]]

    k.pointwise(answer, [given.view(0, b2), integral, face], [reply])
    k.scatter(reply, waves, slots, 1)
    return k


def _rising(law: Law, wave: Numbers | np.ndarray, face: Row) -> Any:
    """Return f of the module documentation."""
    return -face.inverse_z * normal_part(law, wave, face.normal)


def _advance(height: Numbers, face: Numbers, *given: Numbers) -> Outputs:
    """Return the height at the end of a step, and its integral over the step."""
    kappa = FACE.row(face).kappa
    rises = [t[0] * height[0] + f[0] for f, t in zip(given[::2], given[1::2], strict=True)]
    end, integral = rises[-2], rises[-1]
    for now, later in zip(rises[-3::-1], rises[-2:0:-1], strict=True):
        end, integral = now - kappa * end, later - kappa * integral
    return [[end], [integral]]


class SeaSurface:
    """Heights of the n faces of a sea surface, stored in their ``items``."""

    def __init__(
        self,
        operator: Operator,
        where: tuple[np.ndarray, np.ndarray],
        rho: np.ndarray,
        gravity: float,
        cluster: np.ndarray,
    ):
        """Allocate the heights and compile the kernel.

        Parameters
        ----------
        operator : Operator
            Operator that holds the cells.
        where : (ndarray (n,), ndarray (n,))
            Cells and local faces.
        rho : ndarray (n,)
            Density of the water at the faces [kg/m^3].
        gravity : float
            Gravity [m/s^2].
        cluster : ndarray (nc,)
            Cluster of every cell.
        """
        self.operator, (cells, faces) = operator, where
        lay, b, law = operator.layout, operator.backend, operator.law
        self.slots = np.stack([lay.friction.slots[lay.position[cells], faces], lay.own[lay.position[cells], faces]], 1)
        padding = np.array([lay.friction.count - 1, lay.wave_slots - 1])
        listed = sort_and_pad(self.slots, cluster[cells], lay.clusters, b.fixed_lanes, padding)
        self.ranges, real = listed.ranges, listed.source >= 0
        self.item = np.empty(len(cells), np.int64)
        self.item[listed.source[real]] = np.flatnonzero(real)
        z = law.impedance(operator.cells.material)[0][cells]
        self.constants = FACE.join({
            "normal": operator.cells.normals[cells, faces], "inverse_z": 1.0 / z, "kappa": rho * gravity / z,
            "weight": rho * gravity / operator.time_unit,
        })  # fmt: skip
        size, self.terms, rows = len(listed.rows), operator.order + 1, rows_left(operator.predictor)
        face, self.height = b.batch(size, 1, FACE.size, True), b.batch(size, rows[0], 1, True)
        face.put(self.constants[:, None], self.item)
        arrays = {"slots": b.index(listed.rows, True), "waves_in_time": operator.friction, "waves": operator.waves}
        kernel = b.compile([sea_surface(law, rows, self.terms, operator.form.narrow, operator.flows)])["sea_surface"]
        self.launch = kernel(arrays | {"face": face, "height": self.height})
        self.nbytes = int(face.nbytes + self.height.nbytes)
        self.tables: dict[
            int, tuple[float, dict[str, Table]]
        ] = {}  # by cluster: length of the last step, scalars of the kernel

    def advance(self, cluster: int, time: float, step: float) -> bool:
        """Advance the heights over [time, time + step] before the cells correct; return False if the cluster has no such face."""
        begin, end = self.ranges[cluster]
        if end > begin:
            if self.tables.get(cluster, (0.0, {}))[0] != step:
                moments = repeated_integrals(self.operator.predictor, step, step, self.terms + 1)
                self.tables[cluster] = (
                    step,
                    {"moments": moments.tolist(), "power": powers(step, self.terms + 1).tolist()},
                )
            self.launch(begin, end, **self.tables[cluster][1])
        return end > begin

    def now(self, items: np.ndarray | None = None) -> np.ndarray:
        """Return the modes (n, B2) of the heights at the time to which the clusters have corrected."""
        return np.asarray(self.height.get(self.item if items is None else self.item[items])[..., 0], float)

    def put(self, values: np.ndarray) -> None:
        """Restore heights that ``now`` has returned."""
        self.height.put(values[..., None], self.item)

    def later(self, items: np.ndarray, tau: float, step: float) -> np.ndarray:
        """Return the modes (n, B2) of the heights ``tau`` [s] after the start of a predicted step of length ``step`` [s]."""
        op, m, rows = self.operator, self.operator.law.face_channels, rows_left(self.operator.predictor)
        left = op.friction.get(self.slots[items, 0]).reshape(len(items), -1, m)
        wave = left[:, : sum(rows)].transpose(2, 0, 1).astype(float)
        face = FACE.row([c[:, None] for c in self.constants[items].T])
        rise, height = _rising(op.law, wave, face), self.now(items)
        moments, power = repeated_integrals(op.predictor, tau, step, self.terms), powers(tau, self.terms)
        total = np.zeros_like(height)
        for j in range(self.terms):
            given, at = power[j] * height, 0
            for i, count in enumerate(rows):
                given[:, :count] += moments[j, i] * rise[:, at : at + count]
                at += count
            total += (-face.kappa) ** j * given
        return total


name = "gravity"

LEVEL = 1e-3
"""Largest allowed inclination of a sea surface."""


@dataclass(frozen=True)
class Gravity(CapabilityPlan):
    """Plan of the sea surface.

    Attributes
    ----------
    acceleration : float
        Gravity [m/s^2].
    cells, faces : (n,) int
        Cells and local faces.
    rows : (n,) int
        Four times the cell's number plus the face.
    area : (n,) float
        Areas [m^2].
    rho : (n,) float
        Density of the water [kg/m^3].
    """

    acceleration: float
    cells: np.ndarray
    faces: np.ndarray
    rows: np.ndarray
    area: np.ndarray
    rho: np.ndarray
    name: str = name

    @property
    def requirements(self) -> Requirements:
        return Requirements(solved=np.stack([self.cells, self.faces], 1))

    def partition(self, cut: Cut) -> Gravity:
        mine = cut.mine(self.cells)
        retained = {n: getattr(self, n)[mine] for n in ("faces", "rows", "area", "rho")}
        return replace(self, cells=cut.here[self.cells[mine]], **retained)

    def attach(self, solver: Solver) -> AttachedGravity:
        return AttachedGravity(self, solver)

    def report(self, plan: Plan) -> Mapping[str, Sequence[tuple[str, ...]]]:
        return {"size": [("sea surface", f"{len(self.cells):,} faces")]}


def plan(planning: Planning) -> Gravity | None:
    """Return the plan of sea-surface faces under gravity, None if the mesh has none."""
    case, problems = planning.case, planning.problems
    cells, faces = np.nonzero(planning.topology.kinds == tets.BoundaryKind.GRAVITY)
    if not planning.whole.any(len(cells) > 0):
        if case.gravity is not None:
            what = "has no effect: the mesh has no face of kind gravity"
            problems.warn("gravity", what, advice="See mesh.boundaries; in decks such faces carry tag 2.")
        return None
    if case.numerics.integrator != "ader":
        problems.error("numerics.integrator", f"a sea surface needs ader, not {case.numerics.integrator}", "ader")
    if not check_moves(planning, name):
        return None
    geo, material = planning.geometry, planning.material
    _check_water(planning, cells, faces, problems)
    normals = geo.normals[cells, faces]
    lean = np.arctan2(np.linalg.norm(normals[:, :2], axis=1), normals[:, 2])  # 180 degrees: it faces down
    if (lean > LEVEL).any():
        x, degrees = _place(planning, cells, faces, int(np.argmax(lean))), np.degrees(lean.max())
        problems.warn(
            "gravity", f"the sea surface is inclined by {degrees:.3g} degrees at {x}", "a level surface, z upwards"
        )
    rows = 4 * planning.numbers[cells] + faces
    return Gravity(case.sea_gravity, cells, faces, rows, geo.areas[cells, faces], np.asarray(material["rho"])[cells])


def _place(planning: Planning, cells: np.ndarray, faces: np.ndarray, item: int) -> str:
    """Return the centroid of a face as text for messages."""
    corners = planning.topology.cells[cells[item]][tets.SORTED_FACES[faces[item]]]
    x = planning.mesh.vertices[corners].mean(0)
    return f"({x[0]:g}, {x[1]:g}, {x[2]:g})"


def _check_water(planning: Planning, cells: np.ndarray, faces: np.ndarray, problems: Problems) -> None:
    """Report faces on rock, since only water has a surface that gravity restores."""
    fluid = planning.fluid[cells]
    if not fluid.all():
        first, count = int(np.flatnonzero(~fluid)[0]), int((~fluid).sum())
        what = (
            f"{count} of {len(cells)} faces of kind gravity are on rock, the first at "
            f"{_place(planning, cells, faces, first)}"
        )
        advice = "Make the cells below the sea surface water, or these faces free-surface (tag 1)."
        problems.error("mesh.boundaries", what, "faces of water (mu = 0)", advice)


class AttachedGravity(Capability):
    """Sea surface of a run; ``surface`` is None if this process has none of its faces."""

    def __init__(self, part: Gravity, solver: Solver):
        self.part, self.solver = part, solver
        self.surface: SeaSurface | None = None
        if len(part.cells):
            where, cluster = (part.cells, part.faces), solver.plan.clustering.cluster
            self.surface = SeaSurface(solver.operator, where, part.rho, part.acceleration, cluster)
            # The launches of a step are the same for steps of the same length.
            self.callbacks = (Callback("friction", self.surface.advance, lambda until: False),)

    def energies(self) -> Mapping[str, float]:
        """Return the potential energy of the displaced water, the integral of rho g eta^2 / 2 [J]."""
        if self.surface is None:
            return {}
        square = (self.surface.now() ** 2).sum(1)  # the basis is orthonormal on a face of area one half
        total = self.part.acceleration * (self.part.rho * self.part.area * square).sum()
        return {"gravitational_energy": float(total)}

    def state(self) -> Mapping[str, State]:
        surface, rows = self.surface, self.part.rows

        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            """Restore the height from another order, which is possible because the basis is hierarchical."""
            if surface is None:
                return
            modes = np.zeros((len(rows), surface.operator.b2))
            retained = min(modes.shape[1], values.shape[1])
            modes[:, :retained] = values[:, :retained]
            surface.put(modes)

        none = np.zeros((0, self.solver.operator.b2))
        return {"height": State(rows, lambda: none if surface is None else surface.now(), write)}

    @property
    def nbytes(self) -> int:
        return 0 if self.surface is None else self.surface.nbytes
