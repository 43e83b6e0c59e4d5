"""Stencils of the velocity-stress scheme, of order 4 or 8 in space and 2 in time (Levander 1988; Graves 1996).

Point (k, j, i) of the arrays holds, in a cell of edge h with its corner at (x, y, z) = lower + h (i, j, k):

    sxx syy szz  at the cell's centre          u  half an edge further along x, v along y, w along z
    sxy  half an edge further along x and y,   sxz along x and z,   syz along y and z

Hence u lies on the face x + h, and the last plane of w, sxz and syz is the upper face of the box: the free surface.
Below a free surface, the other quantities have one more plane, which lies on it and follows the last plane of cells in
the arrays (``differences``). Differences include the factor dt/h and the units of the coefficients; ``lam`` and ``mu2``
(twice mu) are moduli at centres, ``mu_xy`` ... at the edges, ``b_x`` ... inverse densities at the faces; all are zero
outside the box. Memory variables follow Day & Bradley (2001), times the step: r' = A r - B (defect of the modulus)
(strain increment), stress += (modulus) (increment) + r + r'.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from faultwave.fd.method.differences import WEIGHTS, grid_of, line, low_planes, other_line, planes
from faultwave.kernels.expr import Number
from faultwave.kernels.math import named
from faultwave.kernels.stencil import Axis, Point, Stencil

AXES: tuple[Axis, ...] = ("x", "y", "z")
NORMAL = ("sxx", "syy", "szz")
SHEAR: dict[str, tuple[Axis, Axis]] = {"sxy": ("x", "y"), "sxz": ("x", "z"), "syz": ("y", "z")}
VELOCITY: dict[str, Axis] = {"u": "x", "v": "y", "w": "z"}
STRESS = (*NORMAL, *SHEAR)
ON_FACES = ("w", "u", "v", "szz", "sxz", "syz")
"""Quantities that differences across a face to another grid read on it."""
FIELDS = (*VELOCITY, *STRESS)
STRESS_DERIVATIVES: dict[
    str, tuple[tuple[str, Axis, bool], ...]
] = {  # by velocity: (stress, axis of the derivative, True if it looks forward)
    "u": (("sxx", "x", True), ("sxy", "y", False), ("sxz", "z", False)),
    "v": (("sxy", "x", False), ("syy", "y", True), ("syz", "z", False)),
    "w": (("sxz", "x", False), ("syz", "y", False), ("szz", "z", True)),
}
STRAINS: dict[str, tuple[tuple[str, Axis], ...]] = {  # by shear stress: velocities, axes of their derivatives
    "sxy": (("u", "y"), ("v", "x")),
    "sxz": (("u", "z"), ("w", "x")),
    "syz": (("v", "z"), ("w", "y")),
}


Times = Callable[[int], Number]
"""Factor as a function of the offset in points along an axis."""


@dataclass(frozen=True)
class StencilPlace:
    """Position of points relative to layers and ends of the grid, which selects their stencil.

    Attributes
    ----------
    layers : tuple of Axis
        Axes across which the points lie in absorbing layers.
    damped : bool
        True if all motion in the layers is damped.
    top : int or None
        Plane of the arrays on the free surface or on the face to a grid above; None away from it.
    order : int
        Order of the differences.
    joined : bool
        True next to a grid above, or below if ``top`` is None.
    near : int or None
        Plane of the surface where stencils with a longer reach than differences have special weights (``fd.method.curvilinear_layer``).
    """

    layers: tuple[Axis, ...] = ()
    damped: bool = False
    top: int | None = None
    order: int = 4
    joined: bool = False
    near: int | None = None

    @property
    def at_end(self) -> bool:
        """True if differences along z have the weights of an end of the grid."""
        return self.joined or self.top is not None

    @property
    def name(self) -> str:
        """Suffix of kernel names."""
        across = f"_layer_{''.join(self.layers)}" if self.layers else ""
        order = f"_order{self.order}" * (self.order != 4)
        end = "" if not self.joined else "_joined_below" if self.top is None else "_joined_above"
        surface = "_surface" * (self.top is not None and not self.joined)
        surface = surface or "_near_surface" * (self.near is not None)
        return order + across + "_along" * (self.damped and bool(self.layers)) + surface + end


def beyond(name: str, above: bool) -> str:
    """Return the name of the one-plane array with an adjoining grid's values of a quantity on the common face."""
    return f"{name}_above" if above else f"{name}_below"


def memory(name: str) -> str:
    """Return the name of the memory variable of a stress."""
    return f"r{name[1:]}"


def total(terms: Iterable[Number]) -> Number:
    """Return the sum of terms, added in their order without a zero at the start, which would be an operation."""
    return functools.reduce(operator.add, terms)


def difference(
    p: Point, name: str, axis: Axis, forward: bool, times: Times | None = None, order: int = 4
) -> Number:  # fmt: skip
    """Return the difference of a quantity, times dt/h and the unit of the coefficient that multiplies it.

    Parameters
    ----------
    p : Point
    name : str
        Quantity.
    axis : {'x', 'y', 'z'}
    forward : bool
        True for a difference half a point ahead of the quantity's own place, False for half a point behind.
    times : callable, optional
        Factor of the quantity by offset; the difference is then taken of the product.
    order : int
        Order of the difference.
    """
    a = 1 if forward else 0

    def value(offset: int) -> Number:
        own = p.at(name, **{axis: offset})
        return own if times is None else times(offset) * own

    kind = "v" if name in VELOCITY else "s"
    reach = range(WEIGHTS[order].reach)
    return named(
        f"d{name}_d{axis}", total(p.scalar(f"c{n + 1}{kind}") * (value(a + n) - value(a - 1 - n)) for n in reach)
    )


def difference_near_end(p: Point, name: str, place: StencilPlace) -> Number:
    """Return the difference along z in planes near an end of the grid, which have weights of their own."""
    grid, stresses = grid_of(name), name not in VELOCITY
    read = low_planes(place.order) if place.top is None else planes(grid, place.top, place.order)
    terms = [p.line(line(grid, stresses, n), "z") * p.on(name, int(k)) for n, k in enumerate(read)]
    if place.joined:
        terms.append(p.line(other_line(grid), "z") * p.on(beyond(name, place.top is not None), 0))
    return named(f"d{name}_dz", p.scalar("share_s" if stresses else "share_v") * total(terms))


def damping(p: Point) -> Number:
    """Return the sponge's damping factor (Cerjan et al. 1985), a product of profiles along the axes."""
    return p.line("gx", "x") * (p.line("gy", "y") * p.line("gz", "z"))


def velocity(sponge: bool, place: StencilPlace) -> Stencil:
    """Return the stencil that advances the velocities by a step."""

    def function(p: Point) -> dict[str, Number]:
        result: dict[str, Number] = {}
        for name, axis in VELOCITY.items():
            force = total(
                along_axis(p, of, along, forward, f"psi_{name}_{along}", place, result)
                for of, along, forward in STRESS_DERIVATIVES[name]
            )
            result[name] = p.at(name) + p.at(f"b_{axis}") * force
        return damped(p, result, VELOCITY, sponge, place)

    return Stencil("velocity" + "_sponge" * sponge + place.name, function)


def stress(attenuation: bool, sponge: bool, place: StencilPlace) -> Stencil:
    """Return the stencil that advances the stresses and memory variables by a step."""

    def function(p: Point) -> dict[str, Number]:
        result: dict[str, Number] = {}
        e = {axis: along_axis(p, of, axis, False, f"psi_e{of}_{axis}", place, result) for of, axis in VELOCITY.items()}
        result |= normal_stresses(p, e, attenuation)
        for name, parts in STRAINS.items():
            first, second = (along_axis(p, of, axis, True, f"psi_e{of}_{axis}", place, result) for of, axis in parts)
            result |= shear_stress(p, name, first + second, attenuation)
        return damped(p, result, STRESS, sponge, place)

    return Stencil("stress" + "_q" * attenuation + "_sponge" * sponge + place.name, function)


def normal_stresses(p: Point, e: Mapping[Axis, Number], attenuation: bool) -> dict[str, Number]:
    """Return normal stresses and their memory variables after the strain increments ``e`` along each axis."""
    lam, mu2 = p.at("lam"), p.at("mu2")
    trace = named("divergence", e["x"] + e["y"] + e["z"])
    pressure = named("pressure_change", lam * trace)
    result = {}
    if attenuation:
        weight = p.parity("B")
        shear = named("relaxing_shear", p.at("defect_s") * mu2)
        volume = named("relaxing_volume", (p.at("defect_p") * (lam + mu2) - shear) * trace)
    for name, axis in zip(NORMAL, AXES, strict=True):
        result[name] = p.at(name) + (pressure + mu2 * e[axis])
        if attenuation:
            old = p.at(memory(name))
            after = named(f"new_{memory(name)}", p.parity("A") * old - weight * (volume + shear * e[axis]))
            result[memory(name)] = after
            result[name] = result[name] + (old + after)
    return result


def shear_stress(p: Point, name: str, e: Number, attenuation: bool) -> dict[str, Number]:
    """Return a shear stress and its memory variable after the strain increment ``e``."""
    stress = named(f"change_{name}", p.at(f"mu_{name[1:]}") * e)
    result = {name: p.at(name) + stress}
    if attenuation:
        old = p.at(memory(name))
        after = named(f"new_{memory(name)}", p.parity("A") * old - p.parity("B") * (p.at("defect_s") * stress))
        result[memory(name)] = after
        result[name] = result[name] + (old + after)
    return result


# ---- convolutional perfectly matched layers (Komatitsch & Martin 2007): every derivative across the layer gets a memory
# psi' = b psi + a d, and d becomes d + psi'. What keeps layers stable in media of strong contrasts is some damping of all
# motion in them, along the layer too, as in multi-axial layers (Meza-Fajardo & Papageorgiou 2008): here a factor on fields,
# which causes reflections and is therefore optional.


def along_axis(
    p: Point, of: str, axis: Axis, forward: bool, psi: str, place: StencilPlace, result: dict[str, Number]
) -> Number:  # fmt: skip
    """Return a derivative along an axis, stretched if it is across a layer.

    The memory variable ``psi`` is then added to ``result``. Forward differences lie on half points.
    """
    adjacent = axis == "z" and place.at_end
    d = difference_near_end(p, of, place) if adjacent else difference(p, of, axis, forward, order=place.order)
    return in_layer(p, d, axis, forward, psi, place, result)


def in_layer(
    p: Point, d: Number, axis: Axis, forward: bool, psi: str, place: StencilPlace, result: dict[str, Number]
) -> Number:  # fmt: skip
    """Return the derivative ``d`` along an axis, stretched if it is across a layer."""
    if axis not in place.layers:
        return d
    at = "h" if forward else "c"
    result[psi] = p.line(f"pml_b{at}@{axis}", axis) * p.at(psi) + p.line(f"pml_a{at}@{axis}", axis) * d
    return named(f"stretched_{psi.removeprefix('psi_')}", d + named(f"new_{psi}", result[psi]))


def damped(
    p: Point, result: dict[str, Number], names: Iterable[str], sponge: bool, place: StencilPlace
) -> dict[str, Number]:
    """Return fields multiplied by the damping factor of the sponge or of damped layers."""
    layers = place.layers if place.damped else ()
    factors = [damping(p)] if sponge else [p.line(f"pml_g@{axis}", axis) for axis in reversed(layers)]
    for factor in factors:
        result |= {name: factor * result[name] for name in names}
    return result
