"""Ghost states of SeisSol's Dirichlet faces as waves: beyond a face the state is q' = M q + c, with q the state inside.

M and c are given in the face's frame for the nine quantities (s_nn, s_ss, s_tt, s_ns, s_st, s_nt, v_n, v_s, v_t), which boundary
files call Tn Ts Td unused1 unused2 unused3 u v w; a map that is not given is the identity, a constant zero. Only s_nn, s_ns, s_nt
and the velocity cross a face. With a factor a of the traction and b of the velocity, the wave from beyond is
T' + Z v' = a T + b Z v + c. It contains the arriving wave with the share p = (a + b)/2 and the outgoing wave with the share
r = (a - b)/2. The condition is the fixed point w' = (r w + c)/(1 - p), and with p = 1 there is no condition. For a rigid
wall (a = 1, b = -1) both agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultwave.base.errors import Problems
from faultwave.dg.mesh.placement import Planning
from faultwave.domain import tets
from faultwave.media import Field

NAMES = ("Tn", "Ts", "Td", "unused1", "unused2", "unused3", "u", "v", "w")
TANGENTIAL_STRESSES = {"Ts": "s_ss", "Td": "s_tt", "unused2": "s_st"}
"""Names in boundary files for stresses that do not cross a face, and their meanings."""

FELT = ("Tn", "unused1", "unused3", "u", "v", "w")


@dataclass(frozen=True)
class GhostStates:
    """Ghost states of faces as reflection coefficients.

    Attributes
    ----------
    echo : (nc, 4, 2) float
        Coefficients a and b of the returning wave, a w + b n (n.w).
    share : (nc, 4, 2) float
        Factors 1/(1 - p) of the given constants along the normal and tangential.
    given : bool
        True if there may be constants.
    """

    echo: np.ndarray
    share: np.ndarray
    given: bool

    def of(self, cells: np.ndarray) -> GhostStates:
        """Return the ghost states of the listed cells only."""
        return replace(self, echo=self.echo[cells], share=self.share[cells])

    def constants(
        self, values: Callable[[Sequence[str]], np.ndarray], cells: np.ndarray, faces: np.ndarray, normals: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the prescribed traction and velocity (k, points, 3) beyond faces."""
        found = values(("const_Tn", "const_u")) * self.share[cells, faces, :1, None]
        traction, velocity = (found[..., i, None] * normals[:, None] for i in range(2))
        return traction, velocity


def ghosts(planning: Planning, field: Field, where: str, faces: np.ndarray) -> GhostStates | None:
    """Return the ghost states of the faces marked (nc, 4), or None after reporting a problem."""
    problems, topology = planning.problems, planning.topology
    if not planning.law.principal:
        problems.error(where, f"is not built for the {planning.law.name} law", "velocity, traction")
        return None
    before = len(problems.errors)
    cells, local = np.nonzero(faces)
    x = _middles(planning, cells, local)
    known = {f"const_{n}" for n in NAMES} | {f"map_{a}_{b}" for a in NAMES for b in NAMES}
    given = sorted(field.parameters & known)
    if not given:
        problems.error(where, "gives no constant and no map", "const_u, map_u_u and so on")
        return None
    values = field.evaluate(x, topology.tags[cells, local].astype(np.int64), given) if len(cells) else {}
    _check_ghost_states(values, where, problems)
    one = np.ones(len(cells))

    def factor(name: str) -> np.ndarray:
        return values.get(f"map_{name}_{name}", one)

    fluid = _fluid(planning)[cells]
    if (_differ(factor("v"), factor("w")) | _differ(factor("unused1"), factor("unused3"))).any():
        what = "treats the two tangents of a face differently, and how they lie is nowhere said"
        problems.error(where, what, "map_v_v as map_w_w, and map_unused1_unused1 as map_unused3_unused3")
    normal = _shares(factor("Tn"), factor("u"))
    across = [np.where(fluid, a, b) for a, b in zip(normal, _shares(factor("unused1"), factor("v")), strict=True)]
    for (r, p), what, names in (
        (normal, "along the normal", "map_Tn_Tn, map_u_u"),
        (across, "along the faces", "map_v_v, map_w_w"),
    ):
        if (p >= 1).any():
            text = f"says nothing about motion {what}: a map that is not given is the identity, and then any wave fits"
            problems.error(where, text, advice=f"Give {names}: -1 for the velocity is a rigid wall.")
        elif (np.abs(r) > np.abs(1 - p) * (1 + 1e-12)).any():
            problems.error(where, f"gives energy {what}: more comes back than goes out", "maps from -1 to 1")
    if len(problems.errors) > before:
        return None
    echo, share = np.zeros((*faces.shape, 2)), np.ones((*faces.shape, 2))
    back = [r / (1 - p) for r, p in (normal, across)]
    echo[cells, local] = np.stack([back[1], back[0] - back[1]], 1)
    share[cells, local] = np.stack([1 / (1 - normal[1]), 1 / (1 - across[1])], 1)
    return GhostStates(echo, share, any(name.startswith("const_") for name in given))


def _differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a - b) > 1e-12


def _shares(traction: np.ndarray, velocity: np.ndarray) -> list[np.ndarray]:
    """Return r and p as defined in the module text."""
    return [0.5 * (traction - velocity), 0.5 * (traction + velocity)]


def _check_ghost_states(values: dict[str, np.ndarray], where: str, problems: Problems) -> None:
    """Report settings that have no effect or are not implemented."""
    for name, v in values.items():
        kind, *parts = name.split("_")
        identity = kind == "map" and parts[0] == parts[1]
        if not np.any(v != float(identity)):
            continue
        lost = [TANGENTIAL_STRESSES[n] for n in parts if n in TANGENTIAL_STRESSES]
        if lost:
            what = f"{name} acts on {lost[0]}, which no face feels: in SeisSol it has no effect"
            problems.error(where, what, "Tn, u, v, w", "Shear tractions cannot be given by SeisSol's names.")
        elif kind == "const" and parts[0] not in ("Tn", "u"):
            what = f"{name} is along a tangent of a face, and how that lies is nowhere said"
            problems.error(
                where, what, "const_Tn, const_u", "In a native case: dirichlet with velocity or traction along x, y, z."
            )
        elif kind == "map" and not identity:
            problems.error(
                where, f"{name} makes one quantity of another, which is not built", "maps of a quantity to itself"
            )


def _middles(planning: Planning, cells: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return the centroids (k, 3) of faces [m]."""
    corners = np.take_along_axis(planning.topology.cells[cells], tets.SORTED_FACES[faces], 1)
    return np.asarray(planning.mesh.vertices[corners].mean(1))


def _fluid(planning: Planning) -> np.ndarray:
    """Return a mask (nc,) of the cells without shear modulus."""
    mu = planning.material.get("mu")
    return np.ones(len(planning.mesh.cells), bool) if mu is None else np.asarray(mu <= 0)


__all__ = ["GhostStates", "ghosts"]
