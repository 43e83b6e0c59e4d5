"""Effective media: what each point of the staggered grid feels of a material that varies within its cell.

Density is averaged over the cell around each velocity; the shear modulus of a shear stress harmonically in the plane of the shear
and arithmetically across it, the P modulus harmonically along each axis (Moczo et al. 2002; Kristek et al. 2017), the bulk
modulus harmonically. All those cells, of edge h around points half an edge apart, are unions of cubes of edge h/2, in which the
material is sampled at one or more points along each axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.fd.grid import Grid
from faultwave.kernels.stencil import Box
from faultwave.media.attenuation import ORDER, Relaxation
from faultwave.media.field import Field, axes_of
from faultwave.media.homogenise import at_points
from faultwave.media.quality import Bound, bounded, farthest

PLANES = 16  # largest number of planes sampled at once
MOST_SAMPLES = 6_000_000  # largest number of samples at once, unless a single plane has more: about 100 bytes each
SAMPLES = {
    0: 1,
    1: 8,
    2: 2,
    3: 1,
}  # in each half of a cell along an axis, by the number of axes that the material depends on
KINDS = {  # coefficient: whether it sits half an edge along (z, y, x)
    "b_x": (0, 0, 1), "b_y": (0, 1, 0), "b_z": (1, 0, 0),
    "mu_xy": (0, 1, 1), "mu_xz": (1, 0, 1), "mu_yz": (1, 1, 0),
}  # fmt: skip


LIVES = {"b_x": "u", "b_y": "v", "b_z": "w", "lam": "sxx", "mu2": "sxx", "mu_xy": "sxy", "mu_xz": "sxz", "mu_yz": "syz"}
"""A quantity at whose points each coefficient sits."""


@dataclass(frozen=True)
class Medium:
    """Coefficients by name, (nz, ny, nx) or broadcastable to it; extremes of the wave speeds [m/s] and of 1/Qs.

    ``fastest`` is the largest P speed of the unrelaxed moduli, which bounds the step; ``slowest`` the smallest S speed, in fluids P
    speed, below a topography over the stretch of cells as ``shear`` is, and ``slow_place`` where it is; ``too_slow`` the share of the
    half cells that the material was sampled in with such a speed
    below the limit asked for; ``shear`` the smallest S speed outside of fluids. ``gains``: where Qp is so large beside Qs that
    compression would gain energy; ``strong``: where Q is below ``LOWEST_Q``. The coefficients are those of the bounds there.
    ``border``: first plane and end of those around fluids beside rock (``fd.borders``), whose arrays are then among the coefficients;
    ``shallow``: whether there are some that are not cared for: near the surface, or where planes bend or the order is not 4. ``below`` and
    ``above``: which kinds of cells are near the lower and the upper end, fluid (True) and rock (False); told where the run has both.
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
    """Coefficients of a grid, or of a box of it; where the box has a plane above or below the grid, that is on its upper or lower face.
    ``joined``: the upper one is the face to another grid, not a free surface.

    Outside of the ``corners`` [lower, upper] (3,) [m], in absorbing layers, the material is that of the edge. Below a topography both are
    those of the flat grid, and coefficients are kept over the stretch of their cells (``fd.cap``).
    ``limit``: S speeds, in fluids P speeds, below it are counted. Raises InputError as ``media.homogenise.at_points`` does: with
    coordinates, for values that are missing, not finite or not positive.
    """
    lower, upper = corners
    axes = axes_of(field) if grid.relief is None else frozenset("xyz")
    slices = axes | {"z"} if relaxation else axes  # mechanisms alternate, so that defects differ from plane to plane
    box = box or grid.box
    top = grid.shape[0]
    cells = Box((max(box.lo[0], 0), *box.lo[1:]), (min(box.hi[0], top), *box.hi[1:]))
    lo, hi = (
        tuple(v if a in slices else end for v, a in zip(c, "zyx", strict=True))
        for end, c in ((0, cells.lo), (1, cells.hi))
    )
    whole_axes = tuple(a in slices for a in "zyx")
    samples = SAMPLES[len(axes)]
    parts: list[dict[str, np.ndarray]] = []
    fastest, slow, bounds = list[float](), list[_Slow](), list[tuple[Bound, Bound]]()
    plane = 2 * samples * int(np.prod([2 * samples * (hi[k] - lo[k]) if whole_axes[k] else 1 for k in (1, 2)]))
    for first, last in _slabs(lo[0], hi[0], plane):
        part = Box((first, lo[1], lo[2]), (last, hi[1], hi[2]))
        lattice, points = _sample(field, grid, part, whole_axes, lower, upper, samples, relaxation is not None)
        slow.append(_slow(lattice, points, limit))
        if relaxation:
            bounds.append(bounded(lattice, points))
            _unrelax(lattice, relaxation)
        fastest.append(float(np.sqrt(((lattice["lambda"] + 2 * lattice["mu"]) / lattice["rho"]).max())))
        made = Box((first, *box.lo[1:]), (last, *box.hi[1:]))
        if "z" in slices and first == 0 > box.lo[0]:
            parts.append(_below_face(lattice, made, relaxation, dtype, samples))
        parts.append(_coefficients(lattice, made, relaxation, dtype, samples))
        if last == top < box.hi[0]:
            parts.append(_on_face(lattice, made, relaxation, dtype, samples))
            if not joined:
                parts[-1] |= _still(parts[-1], lattice["mu"][-3 * samples :], samples, 1)
    whole = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
    if top < box.hi[0] and "z" not in slices and not joined:
        whole |= _still(whole, lattice["mu"], samples, box.shape[0])
    if grid.relief is not None:
        for name, values in whole.items():
            if name in LIVES:
                whole[name] = np.asarray(values / grid.stretch(LIVES[name], box), dtype)
    gains, strong = (farthest(b) for b in zip(*bounds, strict=True)) if bounds else (Bound(), Bound())
    worst, too_slow = min(slow, key=lambda s: s.speed), sum(s.below for s in slow) / sum(s.sampled for s in slow)
    shear = min(s.shear for s in slow)
    return Medium(whole, max(fastest), worst.speed, worst.place, too_slow, shear, gains, strong)


@dataclass(frozen=True)
class _Slow:
    """Of a slab: the smallest S speed, in fluids P speed, and where; the smallest S speed; how many samples are ``below`` a limit."""

    speed: float
    place: tuple[float, float, float]
    shear: float
    below: int
    sampled: int


def _slow(lattice: dict[str, np.ndarray], points: np.ndarray, limit: float) -> _Slow:
    """Below a topography speeds are over the ``stretch`` of cells: so many points fewer a wavelength has."""
    solid = lattice["mu"] > 0
    speed = np.sqrt(np.where(solid, lattice["mu"], lattice["lambda"]) / lattice["rho"])
    speed = speed / lattice["stretch"] if "stretch" in lattice else speed
    x, y, z = points.reshape(-1, 3)[int(np.argmin(speed))]
    shear = float(np.min(speed, where=solid, initial=np.inf))
    return _Slow(float(speed.min()), (float(x), float(y), float(z)), shear, int((speed < limit).sum()), speed.size)


def _slabs(low: int, high: int, plane: int) -> Iterator[tuple[int, int]]:
    """Yield the first plane and the end of each slab, for planes of ``plane`` samples."""
    planes = min(PLANES, max(1, MOST_SAMPLES // plane))
    return ((first, min(first + planes, high)) for first in range(low, high, planes))


def _sample(
    field: Field, grid: Grid, box: Box, varying: Sequence[bool], lower: np.ndarray, upper: np.ndarray,
    samples: int, attenuation: bool,
) -> tuple[dict[str, np.ndarray], np.ndarray]:  # fmt: skip
    """Moduli, density and with ``attenuation`` Qp and Qs, ``samples`` in each half of a cell and those of one more half beyond the last."""
    coordinates = []
    for k, (first, last, full) in enumerate(zip(box.lo, box.hi, grid.shape, strict=True)):
        n = 2 * samples
        steps = np.arange(n * first, n * last + samples) if varying[k] or full == 1 else np.array([samples * full])
        steps = np.minimum(steps, 2 * n * full - 1 - steps)  # beyond the last cell: mirrored
        x = grid.inside(2 - k, steps, n)
        coordinates.append(np.clip(x, lower[2 - k], upper[2 - k]))
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
    """Moduli of high frequencies instead of those of the reference frequency."""
    p_modulus = (lattice["lambda"] + 2 * lattice["mu"]) * relaxation.unrelaxed(lattice["Qp"])
    lattice["mu"] = lattice["mu"] * relaxation.unrelaxed(lattice["Qs"])
    lattice["lambda"] = p_modulus - 2 * lattice["mu"]


def _mean(a: np.ndarray, axis: int, half: int, samples: int, harmonic: bool = False) -> np.ndarray:
    """Means over a cell, of ``samples`` a half, around each centre (or ``half`` an edge further along ``axis``)."""
    if a.shape[axis] == 1:
        return a
    a = np.moveaxis(a, axis, 0)
    count = (len(a) - samples) // (2 * samples)
    parts = a[half * samples :][: 2 * samples * count].reshape(count, 2 * samples, *a.shape[1:])
    with np.errstate(divide="ignore"):
        result = 1.0 / (1.0 / parts).mean(1) if harmonic else parts.mean(1)
    return np.moveaxis(result, 0, axis)


def _means(a: np.ndarray, half: tuple[int, int, int], samples: int, harmonic: str = "") -> np.ndarray:
    """Means over cells: arithmetic along most axes first, then harmonic along those named."""
    order = sorted(range(3), key=lambda k: "zyx"[k] in harmonic)
    for k in order:
        a = _mean(a, k, half[k], samples, "zyx"[k] in harmonic)
    return a


def _on_face(
    lattice: dict[str, np.ndarray], box: Box, relaxation: Relaxation | None, dtype: type, samples: int
) -> dict[str, np.ndarray]:
    """Coefficients on the upper face of a box: those of cells half an edge higher, of which half is above."""
    last = {name: values[-3 * samples :] for name, values in lattice.items()}
    plane = Box((box.hi[0], *box.lo[1:]), (box.hi[0] + 1, *box.hi[1:]))
    return _coefficients(last, plane, relaxation, dtype, samples, 1)


def _below_face(
    lattice: dict[str, np.ndarray], box: Box, relaxation: Relaxation | None, dtype: type, samples: int
) -> dict[str, np.ndarray]:
    """Coefficients on the lower face of a box, to another grid: those of the half of a cell that is above."""
    around = {name: np.concatenate([v[: 2 * samples][::-1], v[:samples]]) for name, v in lattice.items()}
    plane = Box((box.lo[0] - 1, *box.lo[1:]), (box.lo[0], *box.hi[1:]))
    return _coefficients(around, plane, relaxation, dtype, samples, 1)


def _still(found: Mapping[str, np.ndarray], mu: np.ndarray, samples: int, planes: int) -> dict[str, np.ndarray]:
    """One over density of so many planes, the last of which is on the face, where nothing moves along that as it is a fluid's: pressure is
    zero all along it. Nothing, where it is all of rock."""
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
    """Of cells, or (``higher`` = 1) of those half an edge higher, of which only what lives at centres along z is needed."""
    rho, mu = lattice["rho"], lattice["mu"]
    bulk, centre = lattice["lambda"] + 2.0 / 3.0 * mu, (higher, 0, 0)
    kinds = {name: (min(1, half[0] + higher), *half[1:]) for name, half in KINDS.items()}
    result = {name: 1.0 / _means(rho, half, samples) for name, half in kinds.items() if name[0] == "b"}
    # harmonic in the plane of the shear, arithmetic across it: exact for layers along any axis (Kristek et al. 2017)
    result |= {name: _means(mu, half, samples, name[-2:]) for name, half in kinds.items() if name[0] == "m"}
    volume, shear = (_means(a, centre, samples, "xyz") for a in (bulk, mu))
    lam = volume - 2.0 / 3.0 * shear
    # the mean over the axes of the P moduli along each: nearest to what layers are, which are stiffer along than across
    p_modulus = sum(_means(lattice["lambda"] + 2 * mu, centre, samples, axis) for axis in "xyz") / 3
    result |= {"lam": lam, "mu2": np.where(shear > 0, p_modulus - lam, 0.0)}  # mixed with a fluid: a fluid
    if relaxation:
        k, j, i = np.meshgrid(*(np.arange(a, b) % 2 for a, b in zip(box.lo, box.hi, strict=True)), indexing="ij")
        mechanism = ORDER[4 * k + 2 * j + i]
        for name, q in (("defect_p", "Qp"), ("defect_s", "Qs")):
            mean = _means(lattice[q], centre, samples, "xyz")
            result[name] = relaxation.defect(mean, mechanism)
        # each point loses energy to compression, also where means and fits of two media or mechanisms would not
        result["defect_p"] = np.maximum(result["defect_p"], 2 / 3 * result["defect_s"] * result["mu2"] / p_modulus)
    return {name: np.asarray(v, dtype) for name, v in result.items()}
