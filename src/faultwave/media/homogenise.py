"""Material of each cell: averages that preserve its effective stiffness, or the value at its barycentre.

See docs/theory/formulation.md, "Material of a cell".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np

from faultwave.base.formulas import gauss_jacobi
from faultwave.media.field import Field, axes_of, source_of
from faultwave.media.points import MAXIMUM_EXAMPLES, Findings, Floats, Integers, PointError


@cache
def conical_rule(order: int) -> tuple[Floats, Floats]:
    """Return barycentric points (order^3, 4) and weights (order^3,) of sum 1, exact for degree 2*order - 1.

    Collapsed coordinates x = a(1-b)(1-c), y = b(1-c), z = c have the Jacobian (1-b)(1-c)^2, which the Gauss-Jacobi
    weights absorb (Stroud 1971, sec. 3.6).
    """
    if order < 1:
        raise ValueError(f"order {order} of a quadrature rule, allowed: 1 or more")

    def rule(alpha: int) -> tuple[Floats, Floats]:
        x, w = gauss_jacobi(order, alpha)
        return (x + 1) / 2, w / w.sum()

    (a, wa), (b, wb), (c, wc) = rule(0), rule(1), rule(2)
    c3, b3, a3 = np.meshgrid(c, b, a, indexing="ij")
    x, y, z = a3 * (1 - b3) * (1 - c3), b3 * (1 - c3), c3
    points = np.stack([1 - x - y - z, x, y, z], axis=-1).reshape(-1, 4)
    weights = np.einsum("i,j,k->ijk", wc, wb, wa).reshape(-1)
    return points, weights


CHUNK = 1 << 16  # points in memory at once; columns of this length stay in cache
MAXIMUM_ROUNDS = 20  # evaluations of a chunk until points without a value are excluded
AVERAGED = frozenset({"rho", "mu", "lambda", "Qp", "Qs"})
# 'never' and 'no attenuation' are written as infinity.
MAY_BE_INFINITE = frozenset({"forced_rupture_time", "rupture_onset", "Qp", "Qs"})

Values = dict[str, Floats]


def cell_averages(
    field: Field, names: Sequence[str], vertices: Floats, groups: Integers, order: int | None
) -> dict[str, Floats]:
    """Return one value of each parameter for each cell.

    Densities and quality factors are averaged arithmetically, mu harmonically, lambda through the mean of nu/E. A cell
    with any mu = 0 is acoustic with the harmonic mean of the bulk modulus; without mu among the names lambda is
    averaged harmonically.

    Parameters
    ----------
    field : Field
    names : sequence of str
        Parameters.
    vertices : ndarray (nc, 4, 3)
        Vertices of the cells [m].
    groups : ndarray (nc,)
        Mesh groups of the cells.
    order : int or None
        Order of the quadrature, with order^3 points. None takes the barycentre, which is also used for sets with other
        names (anisotropic, poroelastic), for which there is no mean.

    Returns
    -------
    dict of str to ndarray (nc,)
        Values in SI units.

    Raises
    ------
    InputError
        Listing cells without material, NaN or infinite values and non-positive densities and moduli.
    """
    result = {name: np.empty(len(vertices)) for name in names}
    single = order is None or not AVERAGED.issuperset(names) or not axes_of(field)  # one value for all points of a cell
    barycentric, weights = (np.full((1, 4), 0.25), np.ones(1)) if single or order is None else conical_rule(order)
    findings = Findings(of=f" of {len(vertices) * len(weights):,} point(s)")
    for cells in _parts(len(vertices), max(1, CHUNK // len(weights))):
        points = _quadrature_points(vertices[cells], barycentric)
        owners = np.repeat(np.arange(len(vertices))[cells], len(weights))
        values = _checked(field, names, points, groups[owners], owners, None, findings)
        if values is not None and not findings.counts:
            samples = {name: column.reshape(-1, len(weights)) for name, column in values.items()}
            for name, mean in _means(samples, weights).items():
                result[name][cells] = mean
    findings.raise_errors()
    return result


def at_points(
    field: Field,
    names: Sequence[str],
    points: Floats,
    groups: Integers,
    cells: Integers | None = None,
    time: float | None = None,
) -> dict[str, Floats]:
    """Return checked values of parameters at points, in bounded memory.

    Parameters
    ----------
    field : Field
    names : sequence of str
        Parameters.
    points : ndarray (n, 3)
        Places [m].
    groups : ndarray (n,)
        Mesh groups.
    cells : ndarray (n,), optional
        Numbers of the points in messages.
    time : float, optional
        Time [s].

    Returns
    -------
    dict of str to ndarray (n,)
        Values in SI units.

    Raises
    ------
    InputError
        Under the conditions of ``cell_averages``.
    """
    result = {name: np.empty(len(points)) for name in names}
    findings = Findings(of=f" of {len(points):,} point(s)", most=_examples(field))
    for part in _parts(len(points), CHUNK):
        owners = None if cells is None else cells[part]
        values = _checked(field, names, points[part], groups[part], owners, time, findings)
        for name, column in (values or {}).items():
            result[name][part] = column
    findings.raise_errors()
    return result


def check_values(field: Field, names: Sequence[str], parts: Iterable[Floats], total: int, of: str) -> None:
    """Check the values of a field at points that are supplied in parts.

    Parameters
    ----------
    field : Field
    names : sequence of str
        Parameters.
    parts : iterable of ndarray (n, 3)
        Points [m].
    total : int
        Number of all points.
    of : str
        Noun for the points in messages.

    Raises
    ------
    InputError
        With the number of points without a valid value, and the first few places.
    """
    findings = Findings(of=f" of {total:,} {of}", most=_examples(field))
    for part in parts:
        for rows in _parts(len(part), CHUNK):
            points = part[rows]
            _checked(field, names, points, np.ones(len(points), np.int64), None, None, findings)
    findings.raise_errors()


def _examples(field: Field) -> int:
    """Return the number of places that messages list."""
    return MAXIMUM_EXAMPLES if axes_of(field) else 1


def _quadrature_points(vertices: Floats, barycentric: Floats) -> Floats:
    """Return the quadrature points of each cell (cells * points, 3), each coordinate contiguous as fields read it.

    The sum is written out instead of a matrix product, so that a cell's points do not depend on its neighbours in the
    chunk.
    """
    result = np.zeros((3, len(vertices), len(barycentric)))
    for corner, share in enumerate(barycentric.T):
        for axis in range(3):
            result[axis] += vertices[:, corner, axis, None] * share
    return result.reshape(3, -1).T


def _mean(samples: Floats, weights: Floats) -> Floats:
    """Return the weighted sum over the points of each cell, in an order independent of the number of cells."""
    return np.einsum("cq,q->c", samples, weights, optimize=False)


def _parts(count: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


def _checked(
    field: Field,
    names: Sequence[str],
    points: Floats,
    groups: Integers,
    cells: Integers | None,
    time: float | None,
    findings: Findings,
) -> Values | None:
    """Return the values of a chunk, or None if a point has none; problems are added to ``findings``."""
    rest = np.arange(len(points))
    for _ in range(MAXIMUM_ROUNDS):
        try:
            values = field.evaluate(points[rest], groups[rest], names, time)
            break
        except PointError as error:  # note these points and evaluate the others, so that all are counted
            findings.add(error.place, error.fault, error.points, None if cells is None else cells[rest[error.rows]])
            rest = np.delete(rest, error.rows)
    else:
        findings.complete = False
        return None
    points, cells = points[rest], None if cells is None else cells[rest]
    for fault, bad, shown in _faults(values):
        rows = np.flatnonzero(bad)
        owners = None if cells is None else cells[rows]
        findings.add(source_of(field), fault, points[rows], owners, shown[rows])
    return values if len(rest) == len(groups) else None


POSITIVE = ("rho", "Qp", "Qs", "permittivity", "permeability", "relative_permittivity", "relative_permeability")


def _faults(values: Values) -> Iterator[tuple[str, np.ndarray, Floats]]:
    """Yield values that are impossible for a material or fault: text, mask and the values to show."""
    for name, column in values.items():
        bad = np.isnan(column) if name in MAY_BE_INFINITE else ~np.isfinite(column)
        if bad.any():
            yield f"{name} is not a finite number", bad, column
    for name in POSITIVE:
        if name in values and (bad := values[name] <= 0).any():
            yield f"{name} is not positive", bad, values[name]
    if "mu" in values and (bad := values["mu"] < 0).any():
        yield "mu is negative", bad, values["mu"]
    if "lambda" in values:
        bulk = _bulk_modulus(values)
        bad = (bulk <= 0) & (values["mu"] >= 0) if "mu" in values else bulk <= 0
        if bad.any():
            yield (
                "the bulk modulus lambda + 2/3 mu is not positive, as vp is not above 1.155 vs (are they exchanged?),",
                bad,
                bulk,
            )


def _bulk_modulus(values: Values) -> Floats:
    return values["lambda"] + 2 / 3 * values["mu"] if "mu" in values else values["lambda"]


def _means(samples: Values, weights: Floats) -> Values:
    """Return the means of ``samples`` (cells, points) with ``weights`` (points,) of sum 1."""
    means = {name: _mean(column, weights) for name, column in samples.items()}
    if len(weights) == 1:
        return {name: column[:, 0] for name, column in samples.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        if "mu" in samples:
            means["mu"] = 1 / _mean(1 / samples["mu"], weights)  # any mu = 0 gives 1/inf = 0: acoustic
        if "lambda" in samples:
            means["lambda"] = _mean_lambda(samples, means, weights)
    # Uniform cells keep their values to the last bit, whatever the rounding of the sums.
    same = {name: (column == column[:, :1]).all(axis=1) for name, column in samples.items()}
    if "lambda" in same and "mu" in same:
        same["lambda"] = same["lambda"] & same["mu"]
    return {name: np.where(same[name], samples[name][:, 0], means[name]) for name in samples}


def _mean_lambda(samples: Values, means: Values, weights: Floats) -> Floats:
    acoustic = 1 / _mean(1 / _bulk_modulus(samples), weights)
    if "mu" not in samples:
        return acoustic
    mu, lam = samples["mu"], samples["lambda"]
    ratio = _mean(lam / (2 * mu * (3 * lam + 2 * mu)), weights)  # mean of nu/E
    elastic = 4 * means["mu"] ** 2 * ratio / (1 - 6 * means["mu"] * ratio)
    return np.where((mu == 0).any(axis=1), acoustic, elastic)
