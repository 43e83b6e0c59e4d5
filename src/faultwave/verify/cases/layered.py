"""Both engines on LOH.3 (Day & Bradley 2001), a layer over a half-space with attenuation, against wavenumber integration.

The medium, the source and the reference, of constant Q, are shared with ``fd_layered``. One brick of 1 km spans the layer, bricks below
are a little higher, so that the interface lies between cells and the source inside one. Receivers are some cells from the source, and
sides are far away because they absorb only waves of near-normal incidence. The grid has a spacing of 100 m. The relative L2 misfit of
velocity is judged.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultwave.base.types import Settings
from faultwave.domain.tets import Mesh
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.verify.case import Progress, Result, VerificationCase, at_most
from faultwave.verify.cases.grids.layered import BAND, LAYERS, SIGMA, misfits, reference
from faultwave.verify.cases.grids.layered import layer_over_half_space as on_a_grid
from faultwave.verify.exact import Array
from faultwave.verify.meshes import as_setting

RECEIVERS = ((1500.0, 2000.0), (1800.0, 2400.0), (2400.0, 3200.0))
ORDER, SPACING, LIMIT, END = 5, 100.0, 0.03, 3.4
LOWER, UPPER, EDGE, BELOW = (-7400.0, -6700.0, -8000.0), (8600.0, 9300.0, 0.0), 1000.0, 1.3
"""Corners of the box and brick edge [m], before everything below the layer is stretched vertically by ``BELOW``."""


def layered_box() -> Mesh:
    """Return a mesh of bricks of EDGE, higher below the layer."""
    x, y, z = (round((b - a) / EDGE) for a, b in zip(LOWER, UPPER, strict=True))
    mesh = box_mesh(Box((x, y, z), LOWER, UPPER, {"z+": "free-surface"}, shuffle=True), "layered box")
    vertices = mesh.vertices.copy()
    vertices[:, 2] += (BELOW - 1.0) * np.minimum(vertices[:, 2] + EDGE, 0.0)
    return replace(mesh, vertices=vertices)


def layer_over_half_space(order: int = ORDER) -> Array:
    """Return the misfits at the receivers."""
    case: Settings = {
        "end_time": END, "numerics": {"order": order}, "attenuation": BAND,
        "sources": [{"kind": "moment-tensor", "location": [0, 0, -2000], "tensor": {"xy": 1e18},
                     "time_function": {"kind": "gaussian", "duration": SIGMA}}],
        "output": {"receivers": {"points": [[x, y, 0.0] for x, y in RECEIVERS], "interval": 0.02}},
    }  # fmt: skip
    moment = np.zeros((3, 3))
    moment[0, 1] = moment[1, 0] = 1e18
    with as_setting(layered_box()) as mesh:
        return misfits({**case, "mesh": mesh}, LAYERS, reference(True, LAYERS, depth=2000.0, moment=moment))


def run_loh3(progress: Progress) -> Result:
    """Judge LOH.3 with both engines."""
    progress(f"LOH.3 on tetrahedra, order {ORDER}, bricks of 1 km")
    found = {f"tetrahedra of order {ORDER}": layer_over_half_space()}
    progress(f"LOH.3 on a grid of {SPACING:g} m")
    found[f"grid of {SPACING:g} m"] = on_a_grid(True, SPACING, RECEIVERS, END)
    places = [f"{np.hypot(*r) / 1000:g} km" for r in RECEIVERS]
    rows = [at_most(f"misfit at {p}, {name}", m[i], LIMIT) for i, p in enumerate(places) for name, m in found.items()]
    return Result(tuple(rows))


LOH3 = VerificationCase(
    "loh3", "layer over half-space with attenuation, both engines, against wavenumber integration", run_loh3, 3.0
)
