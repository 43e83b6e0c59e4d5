"""Perfectly matched layer of a case: damping of every cell."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.settings.model import Case
from faultwave.dg.mesh.periodic import across_period
from faultwave.dg.method.basis import tet_quadrature
from faultwave.domain import tets
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import LAYER


def layer_damping(
    case: Case, law: Law, mesh: tets.Mesh, topology: tets.Topology, material: dict[str, np.ndarray], problems: Problems
) -> dict[str, np.ndarray]:
    """Return the ``LAYER`` parameters (nc,) by name, empty without a layer; needs the whole mesh.

    Damping is the mean over the cell of d_max (s/L)^2, with s the depth in the layer of thickness L and d_max = -3 c ln R/(2 L). The
    shift, c/(10 L), acts where one axis alone is damped. c is the largest speed in the layer of that side: the stretching of an axis must
    be the same all across it, whatever medium extends into the layer, or every interface in it reflects waves. The shift is an exception
    where layers of two sides meet, with no measurable reflection.
    """
    setting = case.matched_layer
    if setting is None:
        return {}
    if not law.layered:
        reason = "the matched layer is a medium of the electromagnetic law"
        problems.error(
            "matched_layer", f"does not exist for the {law.name} law: {reason}", "law: maxwell, or absorbing sides"
        )
        return {}
    corners = mesh.vertices[topology.cells]
    low, high = corners.min((0, 1)), corners.max((0, 1))
    points, weights = tet_quadrature(3)
    shares = np.concatenate([1.0 - points.sum(1, keepdims=True), points], 1)
    x = np.einsum("pv,cvd->cpd", shares, corners)
    speed, size = law.speed(material), setting.thickness
    damping, shift = np.zeros((3, len(corners))), np.zeros(len(corners))
    periods = np.abs(across_period(mesh, topology)[1]).max(0, initial=0.0)
    for side in setting.sides:
        axis = "xyz".index(side[0])
        if 2 * size > high[axis] - low[axis]:
            problems.error("matched_layer.thickness", f"{size:g} m", f"below half the mesh along {side[0]}")
            continue
        if periods[axis] > 1e-6 * (high[axis] - low[axis]):
            problems.error(
                "matched_layer.sides",
                f"the mesh is periodic along {side[0]}, so {side} is no end of it",
                "sides that are no periodic ones",
                "Leave the side out of matched_layer.sides.",
            )
            continue
        depth = (low[axis] + size - x[..., axis]) if side[1] == "-" else (x[..., axis] - high[axis] + size)
        profile = 6.0 * (np.clip(depth / size, 0.0, None) ** 2 @ weights)
        fastest = speed[profile > 0].max()
        damping[axis] += -1.5 * fastest * np.log(setting.reflection) / size * profile
        shift[profile > 0] = 0.1 * fastest / size
    within = (damping > 0).any(0)
    if any(np.any(np.asarray(r)[within] != 0) for r in law.adapted(material).rates(material)):
        problems.error("matched_layer", "reaches into a medium with losses", "a lossless medium in the layer")
    shift[(damping > 0).sum(0) > 1] = 0.0  # the law has no memory for its product with two dampings
    return dict(zip(LAYER, (*damping, shift), strict=True))


def check_outside(
    material: dict[str, np.ndarray], placed: Iterable[tuple[str, np.ndarray]], problems: Problems
) -> None:
    """Report capabilities that drive or measure fields in the layer, where fields differ from the fields of the medium.

    Parameters
    ----------
    material : dict of (nc,) arrays
        Parameters of the cells.
    placed : iterable of (str, array)
        Descriptions with their cells.
    problems : Problems
        Collector of messages.
    """
    within = damped(material)
    for what, cells in placed:
        if within is not None and within[cells[cells >= 0]].any():
            problems.error(
                what, "lies in the matched layer", "a place outside of it", "Move it, or make the layer thinner."
            )


def damped(material: dict[str, np.ndarray]) -> np.ndarray | None:
    """Return a mask (nc,) of the cells in the layer, or None without a layer."""
    return np.any([material[name] > 0 for name in LAYER[:3]], 0) if LAYER[0] in material else None


__all__ = ["check_outside", "damped", "layer_damping"]
