"""Yielding in cells: points at which a rheology evaluates the stress, and the kernel of its return map between correction and prediction.

Most cells do not yield, which is detected at low cost: none of their points can yield if the bound of the stress of
their modes is less than the distance to yield of the initial stress (``Rheology.distance``). In the other cells the
stress is evaluated at the points, and if one of them yields, the change by the return map is projected to the modes.
Cells without yielding are bitwise unchanged.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from faultwave.dg.method.basis import modes, tet_basis, tet_size
from faultwave.dg.method.forms import Form
from faultwave.dg.method.formula import Formula, Outputs
from faultwave.kernels import math as mth
from faultwave.kernels.expr import Number, Numbers
from faultwave.kernels.language import Array, Kernel, View, sparse
from faultwave.physics.rheology import STRESS, Rheology, statement

Kind = Literal["nodes", "quadrature", "lattice"]


@dataclass(frozen=True)
class YieldPoints:
    """Points of a cell with the transformations from and to modes.

    The first ``pairs`` points and the next ``pairs`` are images of each other under exchange of the first two vertices.

    Attributes
    ----------
    points : ndarray (n, 3)
        Points in the reference cell.
    values : ndarray (n, B3)
        Basis values at the points.
    back : ndarray (B3, n)
        Transformation from values to modes.
    weights : ndarray (n,)
        Weights of the mean over a cell, with sum 1.
    pairs : int
        Number of pairs of mirror points.
    """

    points: np.ndarray
    values: np.ndarray
    back: np.ndarray
    weights: np.ndarray
    pairs: int

    @property
    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        """Return ``values`` and ``back`` with half the entries, by the mirror symmetry of the points.

        Values at the points of a pair are sum and difference of the results of the first matrix in their rows; the
        second matrix is applied to the sum and the difference of the values.
        """
        even = np.array(
            [m[0] % 2 == 0 for m in modes(_degree(self.values.shape[1]))]
        )  # under reflection; others change sign
        there, back, n = self.values.copy(), self.back.copy(), self.pairs
        there[:n, ~even], there[n : 2 * n, even] = 0.0, 0.0
        there[n : 2 * n, ~even] = self.values[:n, ~even]
        back[~even, :n], back[even, n : 2 * n] = 0.0, 0.0
        back[~even, n : 2 * n] = self.back[~even, :n]
        return there, back

    @property
    def amplification(self) -> np.ndarray:
        """Return bounds (degrees, B3) of the modes of each degree except 0.

        An entry is the largest sum of psi^2 at a point, so that a field of these modes is nowhere larger than the root
        of ``amplification @ squares``.
        """
        degree = np.array([sum(m) for m in modes(_degree(self.values.shape[1]))])
        found = np.zeros((degree.max(), len(degree)))
        for d in range(1, degree.max() + 1):
            found[d - 1, degree == d] = (self.values[:, degree == d] ** 2).sum(1).max()
        return found


@functools.cache
def yield_points(kind: Kind, degree: int) -> YieldPoints:
    """Return the points of a kind for polynomials of a degree.

    - ``nodes``: as many points as modes, so that values can be prescribed: the points of Vioreanu and Rokhlin (2014,
      doi:10.1137/110860082), inside the cell, with positive weights. The stress of the modes is then admissible at
      every point.
    - ``lattice``: the same with points on faces, edges and vertices (warp and blend: Warburton 2006,
    doi:10.1007/s10665-006-9086-6).
    - ``quadrature``: the rule of Xiao and Gimbutas (2010, doi:10.1016/j.camwa.2009.10.027) of degree 2 N with positive
    weights. The
      transformation to modes is the least-squares projection, by which yielding never adds energy.
    """
    import modepy

    if kind == "quadrature":
        rule = modepy.XiaoGimbutasSimplexQuadrature(2 * degree, 3)
        points, pairs = (rule.nodes.T + 1.0) / 2.0, 0
        values, weights = tet_basis(points, degree), rule.weights / 8.0  # the reference cell has volume 1/6
        return YieldPoints(points, values, values.T * weights, 6.0 * weights, pairs)
    found = modepy.warp_and_blend_nodes(3, degree) if kind == "lattice" else _vioreanu_rokhlin(degree)
    points, pairs = _mirrored((found.T + 1.0) / 2.0)
    values = tet_basis(points, degree)
    back = np.linalg.inv(values)
    return YieldPoints(points, values, back, back[0] * 6.0**0.5, pairs)  # mode 0 is the constant sqrt(6)


def _vioreanu_rokhlin(degree: int) -> np.ndarray:
    import modepy

    return np.asarray(modepy.VioreanuRokhlinSimplexQuadrature(degree, 3).nodes)


def _mirrored(points: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the points sorted by the exchange of the first two vertices, and the number of pairs.

    Points on one side come first, then their images, then the points that do not move.
    """
    first = 1.0 - points.sum(1)
    image = points.copy()
    image[:, 0] = first
    near = np.abs(points[:, None] - image[None]).max(2).argmin(0)
    one = np.flatnonzero(points[:, 0] < first - 1e-8)
    same = np.flatnonzero(np.abs(points[:, 0] - first) <= 1e-8)
    return points[np.concatenate([one, near[one], same])], len(one)


def _degree(size: int) -> int:
    return next(d for d in range(20) if tet_size(d) == size)


PARAMETERS, INITIAL, STATE, DISTANCE, STEP = (
    "yield_parameters",
    "initial_stress",
    "yield_state",
    "yield_distance",
    "yield_step",
)
"""Names of the kernel's own arguments."""


@dataclass(frozen=True)
class Medium:
    """Rheology with its constants and points.

    Attributes
    ----------
    rheology : Rheology
        Yield criterion and return map.
    constants : mapping of str to float
        Constants of the rheology.
    points : YieldPoints
        Points of a cell.
    parameter_rows, initial_rows : int
        Number of points, or 1 if values are equal at all points of a cell.
    bounded : bool
        True if the rheology has a distance to yield.
    """

    rheology: Rheology
    constants: Mapping[str, float]
    points: YieldPoints
    parameter_rows: int
    initial_rows: int
    bounded: bool


def yielding(form: Form, medium: Medium) -> Kernel:
    """Return the kernel that applies the return map to the stress of q after a step of length ``yield_step`` [s]."""
    k, rheology, points = Kernel("yielding"), medium.rheology, medium.points
    count = len(points.points)
    q, cell = k.batch("q", form.b3, form.Q, "inout"), form.cell(k)
    columns = form.stress_columns
    own = q.view(0, form.b3, columns.start, 6)
    parameters = k.batch(PARAMETERS, medium.parameter_rows, rheology.parameter_columns.size)
    initial = k.batch(INITIAL, medium.initial_rows, STRESS.size)
    held = [k.batch(STATE, count, rheology.state_columns.size, "inout")] if rheology.state else []
    step = k.scalar(STEP)
    may, yields = k.temp("may_yield", 1, 1), k.temp("yields", 1, 1)
    at, flags = k.temp("stress_at_points", count, 6), k.temp("yielding_points", count, 1)
    delta = k.temp("lost_stress", form.b3, 6)
    _suspect(k, form, medium, own, cell, [may, yields])
    there = [parameters, at, *held, step]

    values, back = (sparse(matrix) for matrix in points.halves)

    def look() -> None:
        k.contract(at, values, own)
        _sum_and_difference(k, points.pairs, at)
        k.pointwise(_yield_flag_formula(form, medium), [may, cell, initial, *there], [at, flags])
        k.contract(yields, np.ones((1, count)), flags, accumulate=True)

    def give_way() -> None:
        k.pointwise(_lost(rheology, medium.constants), [yields, *there], [at, *held])
        _sum_and_difference(k, points.pairs, at)
        k.contract(delta, back, at, [(i, i) for i in range(6) if i != 2 or not rheology.keeps_mean])

        def change(s: Numbers, lost: Numbers, cell: Numbers, yields: Numbers) -> Outputs:
            xx, yy, zz, *shear = lost
            less = form.from_stress([xx, yy, -(xx + yy) if rheology.keeps_mean else zz, *shear], cell)
            return [[mth.where(yields[0] > 0.0, x + d, x) for x, d in zip(s, less, strict=True)]]

        k.pointwise(change, [own, delta, cell, yields], [own])

    k.when_any(may, look)
    k.when_any(yields, give_way)
    return k


GIVEN = "given"
"""Name of the bound of the work of the initial stress among the sums of a cell."""


def energy_names(medium: Medium) -> tuple[str, ...]:
    """Return the names of the sums of ``dissipation``."""
    return tuple(_densities(medium, [0.0] * medium.rheology.state_columns.size, [0.0] * STRESS.size, 1.0))


def _densities(medium: Medium, state: Numbers, at_rest: Numbers, mu: Number) -> dict[str, Number]:
    rheology, c = medium.rheology, medium.constants
    s, rest = rheology.state_columns.row(state), STRESS.row(at_rest)
    found = dict(rheology.energies(c, s, rest, {"mu": mu}))
    given = rheology.initial_stress_gives(c, s, rest)
    return found if given is None else found | {GIVEN: given}


def dissipation(medium: Medium) -> Kernel:
    """Return the kernel that integrates the rheology's densities over every cell.

    Its argument ``medium`` has the columns volume and mu. GIVEN is a mean over the points, as weights of the integral
    are negative at some points of a lattice.
    """
    k, names, count = Kernel("dissipation"), energy_names(medium), len(medium.points.points)
    states = k.batch(STATE, count, medium.rheology.state_columns.size)
    initial, cell = k.batch(INITIAL, medium.initial_rows, STRESS.size), k.batch("medium", 1, 2)
    out = k.batch("sums", 1, len(names), "out")
    each, means = k.temp("each", count, len(names)), k.temp("means", 1, len(names))

    def densities(state: Numbers, at_rest: Numbers, cell: Numbers) -> Outputs:
        return [list(_densities(medium, state, at_rest, cell[1]).values())]

    k.pointwise(densities, [states, initial, cell], [each])
    of_weights = [(i, i) for i, name in enumerate(names) if name != GIVEN]
    if of_weights:
        k.contract(means, medium.points.weights[None], each, of_weights)
    if GIVEN in names:
        k.contract(means, np.full((1, count), 1.0 / count), each, [(names.index(GIVEN),) * 2])
    k.pointwise(lambda mean, cell: [[x * cell[0] for x in mean]], [means, cell], [out])
    return k


def _sum_and_difference(k: Kernel, pairs: int, at: Array) -> None:
    """Replace the first ``pairs`` rows and the next ``pairs`` rows by their sum and difference."""
    if pairs:
        a, b = at.view(0, pairs), at.view(pairs, pairs)
        both = lambda x, y: [[p + q for p, q in zip(x, y, strict=True)], [p - q for p, q in zip(x, y, strict=True)]]  # noqa: E731
        k.pointwise(both, [a, b], [a, b])


def _suspect(k: Kernel, form: Form, medium: Medium, own: View, cell: Array, out: list[Array]) -> None:
    """Set the first of ``out`` to 1 where the cell may yield, and the second to 0."""
    if not medium.bounded:
        k.pointwise(lambda x: [[1.0], [0.0]], [own.array.view(0, 1)], out)
        return
    known, amplification = k.batch(DISTANCE, 1, 2), medium.points.amplification
    squares, sums = k.temp("mode_squares", form.b3, 1), k.temp("degree_squares", len(amplification), 1)
    k.pointwise(lambda s: [[_square(s)]], [own], [squares])
    k.contract(sums, amplification, squares)
    mean = own.array.view(0, 1, own.col, 6)  # mode 0 is the constant sqrt(6)

    def decide(s: Numbers, cell: Numbers, known: Numbers, *degrees: Numbers) -> Outputs:
        distance, scale = known
        size = mth.sqrt(6.0 * _square(form.stress(s, cell)))
        rest = mth.sqrt(degrees[0][0])
        for d in degrees[1:]:
            rest = rest + mth.sqrt(d[0])
        return [[mth.where(size + scale * rest <= distance, 0.0, 1.0)], [0.0]]

    k.pointwise(decide, [mean, cell, known, *[sums.view(d, 1) for d in range(len(amplification))]], out)


def _square(s: Numbers) -> Number:
    """Return s : s of a symmetric tensor."""
    off = s[3] * s[3] + s[4] * s[4] + s[5] * s[5]
    return (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) + (off + off)


def _yield_flag_formula(form: Form, medium: Medium) -> Formula:
    """Return the formula of the total stress at a point and of a flag that is 1 if it yields, in cells that may yield."""
    rheology, constants = medium.rheology, medium.constants
    parameters, states = rheology.parameter_columns, rheology.state_columns

    def function(may: Numbers, cell: Numbers, initial: Numbers, p: Numbers, own: Numbers, *rest: Numbers) -> Outputs:
        state, step = rest if states.size else ([], rest[0])
        whole = [x + y for x, y in zip(form.stress(own, cell), initial, strict=True)]
        s = states.row(state)
        found = rheology.yields(parameters.row(p), constants, STRESS.row(whole), s, step[0])
        return [whole, [mth.where(found & (may[0] > 0.0), 1.0, 0.0)]]

    return function


def _lost(rheology: Rheology, constants: Mapping[str, float]) -> Formula:
    """Return the formula of the stress change by the return map and of the new state; both are unchanged in cells without yielding."""
    mapped = statement(rheology, constants)

    def function(yields: Numbers, p: Numbers, stress: Numbers, *rest: Numbers) -> Outputs:
        new, *states = mapped(p, stress, *rest)
        retained = [
            [mth.where(yields[0] > 0.0, x, old) for x, old in zip(state, was, strict=True)]
            for state, was in zip(states, rest, strict=False)
        ]
        return [[x - y for x, y in zip(new, stress, strict=True)], *retained]

    return function


# fmt: skip
