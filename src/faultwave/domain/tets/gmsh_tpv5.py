"""The same fault in a box as ``graded``, meshed by Gmsh in this process. Importing this module needs Gmsh."""

from __future__ import annotations

import gmsh
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.domain.tets.assemble import Parts, assemble
from faultwave.domain.tets.gmsh_session import edges_about, elements, nodes, plane_face, session
from faultwave.domain.tets.graded import ABSORBING, FAULT, FREE_SURFACE, GROWTH, Tpv5
from faultwave.domain.tets.mesh import Integers, Mesh


def gmsh_mesh(setting: Tpv5) -> Mesh:
    """Mesh of the box with the fault as an embedded surface: tags 1 on top, 3 on the fault, 5 elsewhere; group 1.

    Raises InputError when Gmsh gives up.
    """
    setting.check()
    with session("faultwave-tpv5"):
        try:
            surfaces = _geometry(setting)
            edges_about(surfaces["fault"], setting.fault_length, setting.size, GROWTH, setting.far_size)
            gmsh.model.mesh.generate(3)
            return assemble(_parts(surfaces), "tpv5 (Gmsh)")
        except Exception as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                Problem(
                    "mesh.generate",
                    f"Gmsh could not mesh the fault: {error}",
                    advice="Try another size, or mesher: builtin.",
                )
            ) from None


def _geometry(setting: Tpv5) -> dict[str, list[int]]:
    """Box and fault, cut so that they share the fault; surfaces by what they are."""
    occ = gmsh.model.occ
    wx, wy = setting.widths
    half, width, (y, z) = setting.fault_length / 2, setting.fault_depth, setting.bottom
    box = occ.addBox(-wx, -wy, -setting.depth, 2 * wx, 2 * wy, setting.depth)
    fault, *patches = (
        plane_face([(x, d / width * y, d / width * z) for x, d in ((a, c), (b, c), (b, e), (a, e))])
        for a, b, c, e in ((-half, half, 0.0, width), *setting.patches)
    )
    _, images = occ.fragment([(3, box)], [(2, surface) for surface in (fault, *patches)])
    occ.synchronize()
    on_fault = [tag for dimension, tag in images[1] if dimension == 2]
    found: dict[str, list[int]] = {"fault": on_fault, "top": [], "other": []}
    for _, tag in gmsh.model.getEntities(2):
        if tag not in on_fault:
            low, high = gmsh.model.getBoundingBox(2, tag)[2::3]
            found["top" if max(abs(low), abs(high)) < 1e-6 * setting.depth else "other"].append(tag)
    return found


def _parts(surfaces: dict[str, list[int]]) -> Parts:
    ids, points = nodes()
    tetrahedra = elements(4, -1, 4)
    triangles: list[Integers] = []
    tags: list[int] = []
    for name, tag in (("fault", FAULT), ("top", FREE_SURFACE), ("other", ABSORBING)):
        for surface in surfaces[name]:
            found = elements(2, surface, 3)
            triangles.append(found)
            tags += [tag] * len(found)
    return Parts(
        ids,
        points,
        tetrahedra,
        np.ones(len(tetrahedra), np.int64),
        np.concatenate(triangles),
        np.array(tags, np.int64),
    )
