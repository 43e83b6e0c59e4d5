"""Boundaries of the mesh: checks of the kinds of faces against the wave law, and the perfectly matched layer."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.settings.model import Case
from faultwave.dg.mesh.location import across_period
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.method.basis import tet_quadrature
from faultwave.domain import tets
from faultwave.physics.waves import Law
from faultwave.physics.waves.anisotropic import lopsidedness
from faultwave.physics.waves.law import LAYER, impedance_numbers

OF_PARTS = (tets.BoundaryKind.GRAVITY, tets.BoundaryKind.DIRICHLET, tets.BoundaryKind.ANALYTIC)
"""Boundary kinds whose capabilities check their faces themselves."""

LOPSIDED = 1e-6
"""Relative size of elastic constants that may be rounding of a rotation of crystal axes."""


def allowed_kinds(law: Law) -> list[str]:
    """Return the names of the boundary kinds that a law supports."""
    kinds = list(law.boundaries)
    if impedance_numbers(law) == 1:
        kinds.append("impedance")
    if "velocity" in law.roles and law.channels in (1, 3):
        kinds += ["dirichlet"] if law.directional else ["gravity", "dirichlet"]
    return [*kinds, "analytic"]


def check_kinds(planning: Planning, driven: np.ndarray) -> None:
    """Add an error for each kind of boundary faces that the law does not support.

    Faces marked in ``driven`` (nc, 4) are exempt, as a capability prescribes their waves.
    """
    topology, law = planning.topology, planning.law
    allowed = allowed_kinds(law)
    outer = ~planning.across & ~driven & (topology.kinds != tets.BoundaryKind.FAULT)
    for kind in np.unique(topology.kinds[outer]):
        name = tets.BoundaryKind(kind).name.lower().replace("_", "-")
        if kind in OF_PARTS or name in allowed:
            continue
        count = int((outer & (topology.kinds == kind)).sum())
        what = f"{count} boundary faces are of kind {name}, which the {law.name} law does not have"
        planning.problems.error(_setting_of_kind(planning.case, name), what, ", ".join(allowed))


def warn_symmetry_planes(planning: Planning) -> None:
    """Warn if boundaries of kind symmetry touch rock whose elastic constants lack that symmetry."""
    topology, geometry, material = planning.topology, planning.geometry, planning.material
    mirrors = ~planning.across & (topology.kinds == tets.BoundaryKind.SYMMETRY)
    if "c11" not in material or not mirrors.any():
        return
    cells = np.nonzero(mirrors)[0]
    share = lopsidedness({name: values[cells] for name, values in material.items()}, geometry.normals[mirrors])
    if share.max() > LOPSIDED:
        worst = cells[int(share.argmax())]
        x = ", ".join(f"{v:g}" for v in geometry.centroid(worst))
        what = (
            f"the rock at {int((share > LOPSIDED).sum())} of {len(cells)} faces of kind symmetry is not "
            f"symmetric to the plane: constants of {100 * share.max():.3g} % of the largest should vanish in "
            f"the cell at ({x})"
        )
        advice = "Waves are then not mirrored: the side holds the normal velocity and is free along itself."
        planning.problems.warn(
            _setting_of_kind(planning.case, "symmetry"), what, "c15 = c16 = 0 and so on, at sides of x", advice
        )


def _setting_of_kind(case: Case, kind: str) -> str:
    """Return the setting of a case that gives faces a kind."""
    made = getattr(case.mesh.generate, "boundaries", None) or {}
    for side, given in made.items():
        if given == kind:
            return f"mesh.generate.boundaries.{side}"
    return f"mesh.boundaries.{kind}" if kind in (case.mesh.boundaries or {}) else "mesh.boundaries"


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
                f"the mesh is periodic along {side[0]}, so {side} is not a side of it",
                "sides that are not periodic",
                "Remove the side from matched_layer.sides.",
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


def check_outside_layer(
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
    within = damped_cells(material)
    for what, cells in placed:
        if within is not None and within[cells[cells >= 0]].any():
            problems.error(
                what, "is in the matched layer", "a location outside of it", "Move it, or make the layer thinner."
            )


def damped_cells(material: dict[str, np.ndarray]) -> np.ndarray | None:
    """Return a mask (nc,) of the cells in the layer, or None without a layer."""
    return np.any([material[name] > 0 for name in LAYER[:3]], 0) if LAYER[0] in material else None
