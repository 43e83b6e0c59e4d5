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

from collections.abc import Mapping
from typing import Any

from faultwave.kernels.stencil import Axis, Point, Stencil

C1, C2 = 9.0 / 8.0, -1.0 / 24.0
"""Weights of the nearest and the next pair of a difference of fourth order on a staggered grid."""

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


def velocity(sponge: bool) -> Stencil:
    """One step of the velocities."""

    def function(p: Point) -> dict[str, Any]:
        result = {}
        for name, axis in VELOCITY.items():
            total = sum((difference(p, *force) for force in FORCES[name][1:]), difference(p, *FORCES[name][0]))
            result[name] = p.at(name) + p.at(f"b_{axis}") * total
        if sponge:
            g = damping(p)
            result = {name: g * value for name, value in result.items()}
        return result

    return Stencil("velocity_sponge" if sponge else "velocity", function)


def _normal(p: Point, e: Mapping[Any, Any], attenuation: bool, old: dict[str, Any]) -> dict[str, Any]:
    """Normal stresses after strain increments ``e`` of some axes; ``old`` values of stresses and memory variables."""
    lam, mu2 = p.at("lam"), p.at("mu2")
    trace = sum(list(e.values())[1:], next(iter(e.values())))
    pressure = lam * trace
    result = {}
    if attenuation:
        weight = p.parity("B")
        shear = p.at("defect_s") * mu2
        volume = (p.at("defect_p") * (lam + mu2) - shear) * trace
    for name in NORMAL:
        axis = name[1]
        new = old[name] + (pressure + mu2 * e[axis] if axis in e else pressure)
        if attenuation:
            change = weight * (volume + shear * e[axis] if axis in e else volume)
            memory_old = old[memory(name)]
            after = p.parity("A") * memory_old - change if memory_old is not None else p.at(memory(name)) - change
            result[memory(name)] = after
            new = new + (memory_old + after) if memory_old is not None else new - change
        result[name] = new
    return result


def _shear(p: Point, name: str, e: Any, attenuation: bool, fresh: bool) -> dict[str, Any]:
    """A shear stress after the strain increment ``e``; ``fresh``: the first increment of its step."""
    mu = p.at(f"mu_{name[1:]}")
    stress = mu * e
    result = {name: p.at(name) + stress}
    if attenuation:
        change = p.parity("B") * (p.at("defect_s") * stress)
        old = p.at(memory(name))
        after = p.parity("A") * old - change if fresh else old - change
        result[memory(name)] = after
        result[name] = result[name] + (old + after if fresh else -change)
    return result


def stress(attenuation: bool, sponge: bool) -> Stencil:
    """One step of the stresses and memory variables."""

    def function(p: Point) -> dict[str, Any]:
        e = {axis: difference(p, name, axis, False) for name, axis in VELOCITY.items()}
        names = (*NORMAL, *(memory(n) for n in NORMAL)) if attenuation else NORMAL
        result = _normal(p, e, attenuation, {n: p.at(n) for n in names})
        for name, ((a, along), (b, across)) in STRAINS.items():
            shear = difference(p, a, along, True) + difference(p, b, across, True)
            result |= _shear(p, name, shear, attenuation, True)
        if sponge:
            g = damping(p)
            result |= {name: g * result[name] for name in STRESS}
        return result

    return Stencil("stress" + "_q" * attenuation + "_sponge" * sponge, function)


# ---- convolutional perfectly matched layers (Komatitsch & Martin 2007): every derivative across the layer gets a memory
# psi' = b psi + a d, and d becomes d + psi'. As all is linear, that is an increment added to the plain step. What keeps
# layers stable in media of strong contrasts is some damping of all motion in them, along the layer too, as in multi-axial
# layers (Meza-Fajardo & Papageorgiou 2008): here a factor on fields, which reflects, so that it must be asked for.


def _layer(p: Point, memory_name: str, d: Any, axis: Axis, half: bool) -> Any:
    """New psi, which is also what is added to the derivative."""
    at = "h" if half else "c"
    return p.line(f"pml_b{at}", axis) * p.at(memory_name) + p.line(f"pml_a{at}", axis) * d


def velocity_layer(axis: Axis, damped: bool = False) -> Stencil:
    """What a layer across ``axis`` adds to the velocities; on half points where the derivative looks forward. ``damped``: also
    damp all motion."""

    def function(p: Point) -> dict[str, Any]:
        result = {}
        for name, forces in FORCES.items():
            of, _, forward = next(f for f in forces if f[1] == axis)
            psi = _layer(p, f"psi_{name}", difference(p, of, axis, forward), axis, forward)
            result[f"psi_{name}"] = psi
            result[name] = p.at(name) + p.at(f"b_{VELOCITY[name]}") * psi
            if damped:
                result[name] = p.line("pml_g", axis) * result[name]
        return result

    return Stencil(f"velocity_layer_{axis}" + "_along" * damped, function)


def stress_layer(axis: Axis, attenuation: bool, damped: bool = False) -> Stencil:
    """What a layer across ``axis`` adds to the stresses and memory variables."""

    def function(p: Point) -> dict[str, Any]:
        own = next(n for n, a in VELOCITY.items() if a == axis)
        psi = _layer(p, f"psi_e{own}", difference(p, own, axis, False), axis, False)
        old: dict[str, Any] = {n: p.at(n) for n in NORMAL} | {memory(n): None for n in NORMAL}
        result = {f"psi_e{own}": psi, **_normal(p, {axis: psi}, attenuation, old)}
        for name, parts in STRAINS.items():
            for of, along in parts:
                if along == axis:
                    psi = _layer(p, f"psi_e{of}", difference(p, of, axis, True), axis, True)
                    result |= {f"psi_e{of}": psi, **_shear(p, name, psi, attenuation, False)}
        if damped:
            result |= {name: p.line("pml_g", axis) * result.get(name, p.at(name)) for name in STRESS}
        return result

    return Stencil(f"stress_layer_{axis}" + "_q" * attenuation + "_along" * damped, function)


# ---- the free surface through w, sxz and syz (FS2 of Gottschaemmer & Olsen 2001), on the planes above it: stresses are
# antisymmetric about it, velocities follow from zero traction.


def u_above(p: Point, x: int = 0) -> Any:
    """u on the first plane above the surface, at a point of that plane and ``x`` further: no shear traction."""
    return p.at("u", z=-1, x=x) - (p.at("w", z=-1, x=x + 1) - p.at("w", z=-1, x=x))


def v_above(p: Point, y: int = 0) -> Any:
    """v there, ``y`` further."""
    return p.at("v", z=-1, y=y) - (p.at("w", z=-1, y=y + 1) - p.at("w", z=-1, y=y))


def surface_tangential() -> Stencil:
    """u and v on the first plane above the surface."""
    return Stencil("surface_tangential", lambda p: {"u": u_above(p), "v": v_above(p)})


def surface_normal() -> Stencil:
    """w on the first plane above the surface: no normal traction, with the divergence of the planes on both sides."""

    def function(p: Point) -> dict[str, Any]:
        # said by the planes below, whose halo is sound where the grid is periodic; that of the plane above is a step old
        over = (u_above(p) - u_above(p, -1)) + (v_above(p) - v_above(p, -1))
        under = (p.at("u", z=-1) - p.at("u", z=-1, x=-1)) + (p.at("v", z=-1) - p.at("v", z=-1, y=-1))
        return {"w": p.at("w", z=-2) - p.at("surface_ratio") * (over + under)}

    return Stencil("surface_normal", function)


def surface_stress() -> Stencil:
    """Images of the stresses on the first plane above the surface."""

    def function(p: Point) -> dict[str, Any]:
        return {"szz": -p.at("szz", z=-1), "sxz": -p.at("sxz", z=-2), "syz": -p.at("syz", z=-2)}

    return Stencil("surface_stress", function)


def surface_stress_far() -> Stencil:
    """Image of szz on the second plane above the surface."""
    return Stencil("surface_stress_far", lambda p: {"szz": -p.at("szz", z=-3)})
