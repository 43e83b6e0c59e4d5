"""The stencils of the velocity-stress scheme, fourth order in space and second in time (Levander 1988; Graves 1996).

Point (k, j, i) of the arrays holds, in a cell of edge h with its corner at (x, y, z) = lower + h (i, j, k):

    sxx syy szz  at the cell's centre          u  half an edge further along x, v along y, w along z
    sxy  half an edge further along x and y,   sxz along x and z,   syz along y and z

so that u sits on the face x + h, and the last plane of w, sxz and syz is the upper face of the box: the free surface.
Differences carry the factor dt/h and the units that coefficients are counted in; ``lam`` and ``mu2`` (twice mu) are moduli at
centres, ``mu_xy`` ... at the edges, ``b_x`` ... one over density at the faces; all are zero outside the box. Memory variables
are those of Day & Bradley (2001), times the step: r' = A r - B (defect of the modulus) (strain increment), stress += (modulus)
(increment) + r + r'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from faultwave.kernels.stencil import Axis, Point, Stencil

C1, C2 = 9.0 / 8.0, -1.0 / 24.0
"""Weights of the nearest and the next pair of a difference of fourth order on a staggered grid."""

AXES: tuple[Axis, ...] = ("x", "y", "z")
Layers = tuple[Axis, ...]
"""Axes that absorbing layers at a point go across."""
NORMAL = ("sxx", "syy", "szz")
SHEAR = {"sxy": ("x", "y"), "sxz": ("x", "z"), "syz": ("y", "z")}
VELOCITY: dict[str, Axis] = {"u": "x", "v": "y", "w": "z"}
STRESS = (*NORMAL, *SHEAR)
FIELDS = (*VELOCITY, *STRESS)
FORCES: dict[
    str, tuple[tuple[str, Axis, bool], ...]
] = {  # of each velocity: stress, axis of the derivative, whether it looks forward
    "u": (("sxx", "x", True), ("sxy", "y", False), ("sxz", "z", False)),
    "v": (("sxy", "x", False), ("syy", "y", True), ("syz", "z", False)),
    "w": (("sxz", "x", False), ("syz", "y", False), ("szz", "z", True)),
}
STRAINS: dict[str, tuple[tuple[str, Axis], ...]] = {  # of each shear stress: the two velocities and their axes
    "sxy": (("u", "y"), ("v", "x")),
    "sxz": (("u", "z"), ("w", "x")),
    "syz": (("v", "z"), ("w", "y")),
}


def memory(name: str) -> str:
    """Memory variable of a stress."""
    return f"r{name[1:]}"


def difference(p: Point, name: str, axis: Axis, forward: bool) -> Any:
    """dt/h, and the unit of what it will be multiplied by, times the difference of ``name`` half a point ahead of its own place,
    or half a point behind."""
    a = 1 if forward else 0
    near = p.at(name, **{axis: a}) - p.at(name, **{axis: a - 1})
    far = p.at(name, **{axis: a + 1}) - p.at(name, **{axis: a - 2})
    kind = "v" if name in VELOCITY else "s"
    return p.scalar(f"c1{kind}") * near + p.scalar(f"c2{kind}") * far


def damping(p: Point) -> Any:
    """The sponge's factor (Cerjan et al. 1985): a product of profiles along the axes."""
    return p.line("gx", "x") * (p.line("gy", "y") * p.line("gz", "z"))


def velocity(sponge: bool, layers: Layers = (), damped: bool = False) -> Stencil:
    """One step of the velocities; in ``layers`` across these axes."""

    def function(p: Point) -> dict[str, Any]:
        result: dict[str, Any] = {}
        total: Any = None
        for name, axis in VELOCITY.items():
            for n, (of, along, forward) in enumerate(FORCES[name]):
                d = _derivative(p, of, along, forward, f"psi_{name}_{along}", layers, result)
                total = total + d if n else d
            result[name] = p.at(name) + p.at(f"b_{axis}") * total
        return _damped(p, result, VELOCITY, sponge, layers if damped else ())

    return Stencil("velocity" + _suffix(False, sponge, layers, damped), function)


def stress(attenuation: bool, sponge: bool, layers: Layers = (), damped: bool = False) -> Stencil:
    """One step of the stresses and memory variables; in ``layers`` across these axes."""

    def function(p: Point) -> dict[str, Any]:
        result: dict[str, Any] = {}
        e = {
            axis: _derivative(p, of, axis, False, f"psi_e{of}_{axis}", layers, result) for of, axis in VELOCITY.items()
        }
        result |= _normal(p, e, attenuation)
        for name, parts in STRAINS.items():
            first, second = (_derivative(p, of, axis, True, f"psi_e{of}_{axis}", layers, result) for of, axis in parts)
            result |= _shear(p, name, first + second, attenuation)
        return _damped(p, result, STRESS, sponge, layers if damped else ())

    return Stencil("stress" + _suffix(attenuation, sponge, layers, damped), function)


def _suffix(attenuation: bool, sponge: bool, layers: Layers, damped: bool) -> str:
    across = f"_layer_{''.join(layers)}" if layers else ""
    return across + "_q" * attenuation + "_sponge" * sponge + "_along" * (damped and bool(layers))


def _normal(p: Point, e: Mapping[Axis, Any], attenuation: bool) -> dict[str, Any]:
    """Normal stresses and their memory variables after strain increments ``e``."""
    lam, mu2 = p.at("lam"), p.at("mu2")
    trace = e["x"] + e["y"] + e["z"]
    pressure = lam * trace
    result = {}
    if attenuation:
        weight = p.parity("B")
        shear = p.at("defect_s") * mu2
        volume = (p.at("defect_p") * (lam + mu2) - shear) * trace
    for name, axis in zip(NORMAL, AXES, strict=True):
        result[name] = p.at(name) + (pressure + mu2 * e[axis])
        if attenuation:
            old = p.at(memory(name))
            after = p.parity("A") * old - weight * (volume + shear * e[axis])
            result[memory(name)] = after
            result[name] = result[name] + (old + after)
    return result


def _shear(p: Point, name: str, e: Any, attenuation: bool) -> dict[str, Any]:
    """A shear stress and its memory variable after the strain increment ``e``."""
    stress = p.at(f"mu_{name[1:]}") * e
    result = {name: p.at(name) + stress}
    if attenuation:
        old = p.at(memory(name))
        after = p.parity("A") * old - p.parity("B") * (p.at("defect_s") * stress)
        result[memory(name)] = after
        result[name] = result[name] + (old + after)
    return result


# ---- convolutional perfectly matched layers (Komatitsch & Martin 2007): every derivative across the layer gets a memory
# psi' = b psi + a d, and d becomes d + psi'. What keeps layers stable in media of strong contrasts is some damping of all
# motion in them, along the layer too, as in multi-axial layers (Meza-Fajardo & Papageorgiou 2008): here a factor on fields,
# which reflects, so that it must be asked for.


def _derivative(
    p: Point, of: str, axis: Axis, forward: bool, psi: str, layers: Layers, result: dict[str, Any]
) -> Any:  # fmt: skip
    """A difference, stretched where it goes across a layer; its memory ``psi`` is then among the results. On half points where it
    looks forward."""
    d = difference(p, of, axis, forward)
    if axis not in layers:
        return d
    at = "h" if forward else "c"
    result[psi] = p.line(f"pml_b{at}@{axis}", axis) * p.at(psi) + p.line(f"pml_a{at}@{axis}", axis) * d
    return d + result[psi]


def _damped(p: Point, result: dict[str, Any], names: Iterable[str], sponge: bool, layers: Layers) -> dict[str, Any]:
    """Fields times the sponge's factor, or those of damped layers."""
    factors = [damping(p)] if sponge else [p.line(f"pml_g@{axis}", axis) for axis in reversed(layers)]
    for factor in factors:
        result |= {name: factor * result[name] for name in names}
    return result


# ---- the free surface through w, sxz and syz, where FS2 of Gottschaemmer & Olsen (2001) has it, here by summation by parts
# (SBP: Kreiss & Scherer 1974; on staggered grids O'Reilly et al. 2017). Let H be the diagonal norm (quadrature weights) of SURFACE for
# planes of w, sxz and syz and of 1 for all others. What the planes above hold makes the difference of w in the uppermost cells
# 25/24 w - 26/24 w' + 1/24 w'', and those of szz, u and v the negative adjoint of it in H, in which no traction acts on the surface.
# So the operator of the grid is self-adjoint in the energy's norm with a surface, too ("its own mirror"): energy is kept, and
# sources and receivers are reciprocal.

_C1, _C2 = Fraction(9, 8), Fraction(-1, 24)
_WEIGHTS = Fraction(11, 24), Fraction(25, 24)
SURFACE = tuple(float(w) for w in _WEIGHTS)
"""Weights in H of planes of w, sxz and syz, in cells, from the surface down; 1 further below, and everywhere for all else."""
_ON = [-Fraction(c, 24) / _WEIGHTS[0] for c in (25, -1)]
_UNDER = [-Fraction(c, 24) / _WEIGHTS[1] for c in (-26, 27, -1)]
"""Differences on the surface and one spacing below it, by the planes 0.5, 1.5 and 2.5 below: minus the columns of that of w."""
NEAR = [float((d - c) / _C2) for d, c in zip(_UNDER, (_C1, -_C1, -_C2), strict=True)]
FAR = [float((d - c) / _C2) for d, c in zip((Fraction(0), *_ON), (_C1, -_C1, -_C2), strict=True)]
"""What stands on the first plane above makes of the stencil's difference the one below the surface, on the second the one on it."""


def _continued(p: Point, name: str) -> Any:
    return NEAR[0] * p.at(name, z=-1) + NEAR[1] * p.at(name, z=-2) + NEAR[2] * p.at(name, z=-3)


def surface_velocity() -> Stencil:
    """Velocities on the first plane above the surface."""

    def function(p: Point) -> dict[str, Any]:
        return {
            "u": _continued(p, "u"),
            "v": _continued(p, "v"),
            "w": 2.0 * p.at("w", z=-1) - p.at("w", z=-2),
        }

    return Stencil("surface_velocity", function)


def surface_stress() -> Stencil:
    """Stresses there; shear across the surface, zero on it, is odd about it."""

    def function(p: Point) -> dict[str, Any]:
        return {"szz": _continued(p, "szz"), "sxz": -p.at("sxz", z=-2), "syz": -p.at("syz", z=-2)}

    return Stencil("surface_stress", function)


def surface_stress_far() -> Stencil:
    """szz on the second plane above, once the first is there."""

    def function(p: Point) -> dict[str, Any]:
        return {"szz": FAR[0] * p.at("szz", z=-1) + FAR[1] * p.at("szz", z=-2) + FAR[2] * p.at("szz", z=-3)}

    return Stencil("surface_stress_far", function)
