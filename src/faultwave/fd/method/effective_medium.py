"""Effective media: coefficients of the staggered grid for a material that varies within cells, and their 16-bit storage.

A number is stored as an IEEE half in a ``unit`` (a power of two) that puts the largest value below 2^15, so that
thirty binary orders of magnitude keep the full relative precision, 2^-11. It is rounded up or down by a
low-discrepancy pattern in space. Means over a few points are therefore exact to six digits or more, and waves, which
depend on means, have the right speed.

Density is averaged over the cell around each velocity. The shear modulus of a shear stress is averaged harmonically
in the plane of the shear and arithmetically across it, the P modulus harmonically along each axis ([1]_, [2]_), and
the bulk modulus harmonically. All these cells, of edge h around points half an edge apart, are unions of cubes of
edge h/2, in which the material is sampled at one or more points along each axis.

References
----------
.. [1] Moczo et al. (2002).
.. [2] Kristek et al. (2017).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.fd.method.grid import Grid
from faultwave.kernels.stencil import HALF_BITS, Box
from faultwave.media.attenuation import ORDER, Relaxation
from faultwave.media.field import Field, axes_of
from faultwave.media.homogenise import at_points
from faultwave.media.quality import Bound, clip_quality, combine_bounds

_ROOT = 1.2207440846057596  # root of g^4 = g + 1; inverse powers spread points evenly in 3D (Roberts 2018)
_STEPS = (_ROOT**-3, _ROOT**-2, _ROOT**-1)  # along z, y, x
_SMALLEST = -24  # exponent of the smallest half


@dataclass(frozen=True)
class Units:
    """Units of stored coefficients: buoyancy [m^3/kg] and modulus [Pa]."""

    buoyancy: float = 1.0
    modulus: float = 1.0

    @classmethod
    def fitting(cls, coefficients: Mapping[str, np.ndarray]) -> Units:
        """Return the units in which the largest coefficient of each kind lies between 2^14 and 2^15."""
        return cls.holding(*largest_coefficients(coefficients))

    @classmethod
    def holding(cls, buoyancy: float, modulus: float) -> Units:
        """Return the units for coefficients up to these."""
        b, m = (float(2.0 ** (np.frexp(v)[1] - 15)) if v else 1.0 for v in (buoyancy, modulus))
        return cls(b, m)

    def of(self, name: str) -> float:
        """Return the unit of a coefficient."""
        return {"b": self.buoyancy, "m": self.modulus, "": 1.0}[kind_of(name)]


SI = Units()


def kind_of(name: str) -> str:
    """Return 'b' for a buoyancy, 'm' for a modulus and '' for quantities without a unit."""
    return "b" if name.startswith("b_") else "m" if name.startswith("mu") or name == "lam" else ""


def largest_coefficients(coefficients: Mapping[str, np.ndarray]) -> tuple[float, float]:
    """Return the largest buoyancy and the largest modulus, by absolute value."""
    found = {"b": 0.0, "m": 0.0}
    for name, values in coefficients.items():
        kind = kind_of(name)
        if kind:
            found[kind] = max(found[kind], float(np.abs(values).max()))
    return found["b"], found["m"]


def spread_rounding(values: np.ndarray, first: Sequence[int | np.ndarray], pattern: int) -> np.ndarray:
    """Return values as halves, rounded by a pattern that is even in space; representable values are unchanged.

    Parameters
    ----------
    values : ndarray, shape (nz, ny, nx)
    first : sequence of int or ndarray
        Grid number of the first point along each axis, or the numbers of all points along it.
    pattern : int
        Number of the array; arrays with different numbers are rounded independently.
    """
    threshold = _threshold(pattern)
    for axis, (start, count, slope) in enumerate(zip(first, np.shape(values), _STEPS, strict=True)):
        line = slope * (start if isinstance(start, np.ndarray) else start + np.arange(count))
        threshold = threshold + line.reshape([-1 if k == axis else 1 for k in range(3)])
    return _rounded(values, threshold)


def rounded_at(values: np.ndarray, points: np.ndarray, pattern: int) -> np.ndarray:
    """Return ``values`` (n,) at grid points (n, 3) as ``spread_rounding`` rounds them, in double precision."""
    threshold = _threshold(pattern)
    for axis, slope in enumerate(_STEPS):
        threshold = threshold + slope * points[:, axis]
    return _rounded(values, threshold.reshape(-1)).astype(float)


def _threshold(pattern: int) -> np.ndarray:
    return np.full((1, 1, 1), 0.6180339887 * pattern)


def _rounded(values: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Return values rounded up where the truncated fraction plus the threshold reaches one, else down."""
    x = np.asarray(values, float)
    step = np.ldexp(1.0, np.maximum(np.frexp(x)[1] - HALF_BITS, _SMALLEST))
    return (np.floor(x / step + threshold % 1.0) * step).astype(np.float16)


PLANES = 16  # largest number of planes sampled at once
MOST_SAMPLES = 6_000_000  # largest number of samples at once, unless a single plane has more: about 100 bytes each
SAMPLES = {
    0: 1,
    1: 8,
    2: 2,
    3: 1,
}  # samples per half cell along an axis, by the number of axes along which the material varies
MAX_SURVEYED = 1_000_000  # largest number of places that a survey reads
KINDS = {  # offsets (z, y, x) of each coefficient in half cell edges
    "b_x": (0, 0, 1), "b_y": (0, 1, 0), "b_z": (1, 0, 0),
    "mu_xy": (0, 1, 1), "mu_xz": (1, 0, 1), "mu_yz": (1, 1, 0),
}  # fmt: skip


LIVES = {"b_x": "u", "b_y": "v", "b_z": "w", "lam": "sxx", "mu2": "sxx", "mu_xy": "sxy", "mu_xz": "sxz", "mu_yz": "syz"}
"""Quantity at whose points each coefficient is defined."""


@dataclass(frozen=True)
class Medium:
    """Coefficients of a grid, with extremes of the wave speeds and quality factors.

    Attributes
    ----------
    coefficients : dict of ndarray
        Arrays (nz, ny, nx), or broadcastable to it, by name.
    fastest : float
        Largest P speed [m/s] of the unrelaxed moduli, which bounds the step.
    slowest : float
        Smallest S speed [m/s], in fluids P speed; below a topography divided by the stretch of the cells.
    slow_place : tuple of float
        Place [m] of ``slowest``.
    too_slow : float
        Fraction of the sampled points where that speed is below the requested limit.
    shear : float
        Smallest S speed [m/s] outside fluids, divided by the stretch as ``slowest``.
    gains : Bound
        Points where Qp is so large compared with Qs that compression would gain energy; coefficients use the bound
        there.
    strong : Bound
        Points where Q is below ``LOWEST_Q``; coefficients use the bound there.
    border : tuple of int or None
        First plane and end of the planes around fluid-solid interfaces (``fd.method.fluid_solid_interface``), whose arrays are then
        included.
    shallow : bool
        True if some interfaces have no special stencils: near the surface, below a topography, or with another order
        than 4.
    below, above : frozenset of bool
        Kinds of cells near the lower and the upper end, fluid (True) and rock (False), if the run has both.
    """

    coefficients: dict[str, np.ndarray]
    fastest: float
    slowest: float
    slow_place: tuple[float, float, float]
    too_slow: float
    shear: float = np.inf
    gains: Bound = Bound()
    strong: Bound = Bound()
    border: tuple[int, int] | None = None
    shallow: bool = False
    below: frozenset[bool] = frozenset()
    above: frozenset[bool] = frozenset()


def effective_medium(
    field: Field, grid: Grid, corners: tuple[np.ndarray, np.ndarray], relaxation: Relaxation | None, dtype: type,
    limit: float = 0.0, box: Box | None = None, joined: bool = False,
) -> Medium:  # fmt: skip
    """Return the effective medium of a grid, or of a box of it.

    Planes of the box above or below the grid are on its upper or lower face. Outside the corners, in absorbing
    layers, the material continues from the edge. Below a topography corners and box refer to the flat grid, and
    coefficients are stored divided by the stretch of their cells (``fd.method.curvilinear_layer``).

    Parameters
    ----------
    field : Field
    grid : Grid
    corners : tuple of ndarray, shape (3,)
        Lower and upper corner [m].
    relaxation : Relaxation or None
        Mechanisms of attenuation.
    dtype : type
        Type of the coefficients.
    limit : float
        S speeds, in fluids P speeds, [m/s] below it are counted.
    box : Box or None
        Box of the grid; None for all of it.
    joined : bool
        True if the upper face is joined to another grid rather than free.

    Returns
    -------
    Medium

    Raises
    ------
    InputError
        If values are missing, not finite or not positive (``media.homogenise.at_points``).
    """
    lower, upper = corners
    axes = _axes(field, grid)
    slices = axes | {"z"} if relaxation else axes  # mechanisms alternate, so that defects differ from plane to plane
    box = box or grid.box
    top, whole_axes = grid.shape[0], tuple(a in slices for a in "zyx")
    lo, hi = _sampled_cells(box, top, whole_axes)
    samples = SAMPLES[len(axes)]
    parts: list[dict[str, np.ndarray]] = []
    extremes = list[_Extremes]()
    plane = 2 * samples * int(np.prod([2 * samples * (hi[k] - lo[k]) if whole_axes[k] else 1 for k in (1, 2)]))
    for first, last in _slabs(lo[0], hi[0], plane):
        part = Box((first, lo[1], lo[2]), (last, hi[1], hi[2]))
        lattice, points = _sample(field, grid, part, whole_axes, lower, upper, samples, relaxation is not None)
        extremes.append(_extremes(lattice, points, limit, relaxation))
        made = Box((first, *box.lo[1:]), (last, *box.hi[1:]))
        faces = ("z" in slices and first == 0 > box.lo[0], last == top < box.hi[0])
        parts += _slab(lattice, made, faces, joined, relaxation, dtype, samples)
    whole = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
    if top < box.hi[0] and "z" not in slices and not joined:
        whole |= _still(whole, lattice["mu"], samples, box.shape[0])
    if grid.relief is not None:
        whole |= {n: np.asarray(v / grid.stretch(LIVES[n], box), dtype) for n, v in whole.items() if n in LIVES}
    return _combined(whole, extremes)


def _slab(
    lattice: dict[str, np.ndarray], box: Box, faces: tuple[bool, bool], joined: bool, relaxation: Relaxation | None,
    dtype: type, samples: int,
) -> list[dict[str, np.ndarray]]:  # fmt: skip
    """Return the coefficients of a slab of cells, from the bottom up.

    ``faces`` is True if they include those on its lower and on its upper face, which is ``joined`` to another grid or free.
    """
    parts = [_below_face(lattice, box, relaxation, dtype, samples)] if faces[0] else []
    parts.append(_coefficients(lattice, box, relaxation, dtype, samples))
    if faces[1]:
        parts.append(_on_face(lattice, box, relaxation, dtype, samples))
        if not joined:
            parts[-1] |= _still(parts[-1], lattice["mu"][-3 * samples :], samples, 1)
    return parts


def _combined(coefficients: dict[str, np.ndarray], slabs: Sequence[_Extremes]) -> Medium:
    """Return a medium with the extremes of its slabs."""
    gains, strong = combine_bounds([s.gains for s in slabs]), combine_bounds([s.strong for s in slabs])
    worst, too_slow = min(slabs, key=lambda s: s.speed), sum(s.below for s in slabs) / sum(s.sampled for s in slabs)
    fastest, shear = max(s.fastest for s in slabs), min(s.shear for s in slabs)
    return Medium(coefficients, fastest, worst.speed, worst.place, too_slow, shear, gains, strong)


def _sampled_cells(box: Box, top: int, varies: Sequence[bool]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the first cell and the end of the cells of a box along z, y and x; one cell where nothing varies along an axis."""
    lo, hi = (max(box.lo[0], 0), *box.lo[1:]), (min(box.hi[0], top), *box.hi[1:])
    first, end = (
        tuple(v if a else same for v, a in zip(corner, varies, strict=True)) for same, corner in ((0, lo), (1, hi))
    )
    return first, end


def _axes(field: Field, grid: Grid) -> frozenset[str]:
    """Return the axes of the grid along which the material may vary: all of them below a topography."""
    return axes_of(field) if grid.relief is None else frozenset("xyz")


def count_samples(field: Field, grid: Grid) -> int:
    """Return the number of points at which ``effective_medium`` reads the material of a grid."""
    axes = _axes(field, grid)
    per_cell = 2 * SAMPLES[len(axes)]
    return math.prod(per_cell * int(n) for n, axis in zip(grid.shape, "zyx", strict=True) if axis in axes)


def survey_medium(
    field: Field, grid: Grid, corners: tuple[np.ndarray, np.ndarray], relaxation: Relaxation | None, limit: float = 0.0
) -> Medium:
    """Return the extremes of an effective medium, found at a sample of at most ``MAX_SURVEYED`` places.

    The medium has no coefficients; parameters and errors are as in ``effective_medium``.
    """
    lower, upper = corners
    axes = _axes(field, grid)
    cells = {axis: int(n) if axis in axes else 1 for axis, n in zip("zyx", grid.shape, strict=True)}
    stride = max(1.0, (math.prod(cells.values()) / MAX_SURVEYED) ** (1 / max(1, len(axes))))
    coordinates = [
        np.linspace(lower["xyz".index(axis)], upper["xyz".index(axis)], max(2, int(n / stride)))
        for axis, n in cells.items()
    ]
    lattice, points = _evaluate(field, grid, coordinates, relaxation is not None)
    return _combined({}, [_extremes(lattice, points, limit, relaxation)])


@dataclass(frozen=True)
class _Extremes:
    """Extreme values of a slab.

    Attributes
    ----------
    speed : float
        Smallest S speed [m/s], in fluids P speed.
    place : tuple of float
        Its place [m].
    shear : float
        Smallest S speed [m/s] outside fluids.
    below, sampled : int
        Number of samples below the limit, and in all.
    fastest : float
        Largest P speed [m/s].
    gains, strong : Bound
        See ``media.quality.clip_quality``; without attenuation they bound nothing.
    """

    speed: float
    place: tuple[float, float, float]
    shear: float
    below: int
    sampled: int
    fastest: float
    gains: Bound
    strong: Bound


def _extremes(
    lattice: dict[str, np.ndarray], points: np.ndarray, limit: float, relaxation: Relaxation | None
) -> _Extremes:
    """Return the extreme values of a slab, whose moduli are replaced by the unrelaxed ones if there is attenuation.

    Below a topography slow speeds are divided by the ``stretch`` of the cells, which reduces the points per wavelength.
    """
    solid = lattice["mu"] > 0
    speed = np.sqrt(np.where(solid, lattice["mu"], lattice["lambda"]) / lattice["rho"])
    speed = speed / lattice["stretch"] if "stretch" in lattice else speed
    x, y, z = points.reshape(-1, 3)[int(np.argmin(speed))]
    shear = float(np.min(speed, where=solid, initial=np.inf))
    gains, strong = clip_quality(lattice, points) if relaxation else (Bound(), Bound())
    if relaxation:
        _unrelax(lattice, relaxation)
    fastest = float(np.sqrt(((lattice["lambda"] + 2 * lattice["mu"]) / lattice["rho"]).max()))
    below = int((speed < limit).sum())
    return _Extremes(
        float(speed.min()), (float(x), float(y), float(z)), shear, below, speed.size, fastest, gains, strong
    )


def _slabs(low: int, high: int, plane: int) -> Iterator[tuple[int, int]]:
    """Yield the first plane and the end of each slab, for planes of ``plane`` samples."""
    planes = min(PLANES, max(1, MOST_SAMPLES // plane))
    return ((first, min(first + planes, high)) for first in range(low, high, planes))


def _sample(
    field: Field, grid: Grid, box: Box, varying: Sequence[bool], lower: np.ndarray, upper: np.ndarray,
    samples: int, attenuation: bool,
) -> tuple[dict[str, np.ndarray], np.ndarray]:  # fmt: skip
    """Return the sampled moduli, density and, with ``attenuation``, Qp and Qs, and the sample points.

    Each half cell has ``samples`` points along each axis; one half cell beyond the last is included.
    """
    coordinates = []
    for k, (first, last, full) in enumerate(zip(box.lo, box.hi, grid.shape, strict=True)):
        n = 2 * samples
        steps = np.arange(n * first, n * last + samples) if varying[k] or full == 1 else np.array([samples * full])
        steps = np.minimum(steps, 2 * n * full - 1 - steps)  # beyond the last cell: mirrored
        x = grid.inside(2 - k, steps, n)
        coordinates.append(np.clip(x, lower[2 - k], upper[2 - k]))
    return _evaluate(field, grid, coordinates, attenuation)


def _evaluate(
    field: Field, grid: Grid, coordinates: Sequence[np.ndarray], attenuation: bool
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the material at the product of coordinates z, y and x [m] of the flat grid, and the places."""
    z, y, x = np.meshgrid(*coordinates, indexing="ij")
    points = np.stack([x, y, z], -1)
    if grid.relief is not None:
        points[..., 2] += grid.relief.lifted(*coordinates[::-1])
    flat = points.reshape(-1, 3)
    names = ["rho", "lambda", "mu"] + (["Qp", "Qs"] if attenuation else [])
    values = at_points(field, names, flat, np.ones(len(flat), np.int64))
    lattice = {name: v.reshape(z.shape) for name, v in values.items()}
    if grid.relief is not None:
        lattice["stretch"] = grid.relief.stretches(*coordinates[::-1])
    return lattice, points


def _unrelax(lattice: dict[str, np.ndarray], relaxation: Relaxation) -> None:
    """Replace moduli at the reference frequency by the unrelaxed ones, in place."""
    p_modulus = (lattice["lambda"] + 2 * lattice["mu"]) * relaxation.unrelaxed(lattice["Qp"])
    lattice["mu"] = lattice["mu"] * relaxation.unrelaxed(lattice["Qs"])
    lattice["lambda"] = p_modulus - 2 * lattice["mu"]


def _mean(a: np.ndarray, axis: int, half: int, samples: int, harmonic: bool = False) -> np.ndarray:
    """Return means over cells around each centre, or ``half`` an edge above along ``axis``, of ``samples`` per half."""
    if a.shape[axis] == 1:
        return a
    a = np.moveaxis(a, axis, 0)
    count = (len(a) - samples) // (2 * samples)
    parts = a[half * samples :][: 2 * samples * count].reshape(count, 2 * samples, *a.shape[1:])
    with np.errstate(divide="ignore"):
        result = 1.0 / (1.0 / parts).mean(1) if harmonic else parts.mean(1)
    return np.moveaxis(result, 0, axis)


def _means(a: np.ndarray, half: tuple[int, int, int], samples: int, harmonic: str = "") -> np.ndarray:
    """Return means over cells, arithmetic along most axes first, then harmonic along the axes named."""
    order = sorted(range(3), key=lambda k: "zyx"[k] in harmonic)
    for k in order:
        a = _mean(a, k, half[k], samples, "zyx"[k] in harmonic)
    return a


def _on_face(
    lattice: dict[str, np.ndarray], box: Box, relaxation: Relaxation | None, dtype: type, samples: int
) -> dict[str, np.ndarray]:
    """Return the coefficients on the upper face of a box, of cells half an edge higher, half of them above the face."""
    last = {name: values[-3 * samples :] for name, values in lattice.items()}
    plane = Box((box.hi[0], *box.lo[1:]), (box.hi[0] + 1, *box.hi[1:]))
    return _coefficients(last, plane, relaxation, dtype, samples, 1)


def _below_face(
    lattice: dict[str, np.ndarray], box: Box, relaxation: Relaxation | None, dtype: type, samples: int
) -> dict[str, np.ndarray]:
    """Return the coefficients on the lower face to another grid, from the half of each cell above it."""
    around = {name: np.concatenate([v[: 2 * samples][::-1], v[:samples]]) for name, v in lattice.items()}
    plane = Box((box.lo[0] - 1, *box.lo[1:]), (box.lo[0], *box.hi[1:]))
    return _coefficients(around, plane, relaxation, dtype, samples, 1)


def _still(found: Mapping[str, np.ndarray], mu: np.ndarray, samples: int, planes: int) -> dict[str, np.ndarray]:
    """Return buoyancies along x and y that are zero where a free surface is fluid, as pressure vanishes all along it.

    The last of the planes lies on the surface. Returns an empty dictionary if all of it is rock.
    """
    result = {}
    for name in ("b_x", "b_y"):
        rigid = _means(mu, (1, *KINDS[name][1:]), samples)[-1:] > 0
        if not rigid.all():
            result[name] = np.repeat(found[name], planes // len(found[name]), 0)
            result[name][-1:] *= rigid
    return result


def _coefficients(
    lattice: dict[str, np.ndarray], box: Box, relaxation: Relaxation | None, dtype: type, samples: int, higher: int = 0
) -> dict[str, np.ndarray]:
    """Return the coefficients of cells, or of cells half an edge higher if ``higher`` is 1.

    In the latter case only coefficients of quantities at centres along z are needed.
    """
    rho, mu = lattice["rho"], lattice["mu"]
    bulk, centre = lattice["lambda"] + 2.0 / 3.0 * mu, (higher, 0, 0)
    kinds = {name: (min(1, half[0] + higher), *half[1:]) for name, half in KINDS.items()}
    result = {name: 1.0 / _means(rho, half, samples) for name, half in kinds.items() if name[0] == "b"}
    # harmonic in the plane of the shear, arithmetic across it: exact for layers along any axis (Kristek et al. 2017)
    result |= {name: _means(mu, half, samples, name[-2:]) for name, half in kinds.items() if name[0] == "m"}
    volume, shear = (_means(a, centre, samples, "xyz") for a in (bulk, mu))
    lam = volume - 2.0 / 3.0 * shear
    # mean of the P moduli along the axes: the best isotropic fit of layers, which are stiffer along than across
    p_modulus = sum(_means(lattice["lambda"] + 2 * mu, centre, samples, axis) for axis in "xyz") / 3
    result |= {"lam": lam, "mu2": np.where(shear > 0, p_modulus - lam, 0.0)}  # a cell with some fluid counts as fluid
    if relaxation:
        k, j, i = np.meshgrid(*(np.arange(a, b) % 2 for a, b in zip(box.lo, box.hi, strict=True)), indexing="ij")
        mechanism = ORDER[4 * k + 2 * j + i]
        for name, q in (("defect_p", "Qp"), ("defect_s", "Qs")):
            mean = _means(lattice[q], centre, samples, "xyz")
            result[name] = relaxation.defect(mean, mechanism)
        # guarantees dissipation in compression where means and fits of media or mechanisms would not
        result["defect_p"] = np.maximum(result["defect_p"], 2 / 3 * result["defect_s"] * result["mu2"] / p_modulus)
    return {name: np.asarray(v, dtype) for name, v in result.items()}
