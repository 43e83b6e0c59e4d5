"""Both engines below a free surface against wavenumber integration: LOH.3 (Day & Bradley 2001), a layer over a half-space with attenuation.

The medium, the source and the reference, of constant Q, are those of ``fd_layered``. One brick of 1 km spans the layer, those below are a
little higher, so that the interface is between cells and the source inside one. Receivers are some cells from the source and sides far, as
those absorb only waves that meet them squarely. The grid has a spacing of 100 m. Judged is the relative L2 misfit of velocity.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from faultwave.domain.tets import Mesh
from faultwave.domain.tets.box import Box, box_mesh
from faultwave.verify.case import Progress, Result, VerificationCase, at_most
from faultwave.verify.cases.fd_layered import BAND, LAYERS, SIGMA, misfits, reference
from faultwave.verify.cases.fd_layered import layer_over_half_space as on_a_grid
from faultwave.verify.exact.medium import Array
from faultwave.verify.meshes import as_setting

RECEIVERS = ((1500.0, 2000.0), (1800.0, 2400.0), (2400.0, 3200.0))
ORDER, SPACING, LIMIT, END = 5, 100.0, 0.03, 3.4
LOWER, UPPER, EDGE, BELOW = (-7400.0, -6700.0, -8000.0), (8600.0, 9300.0, 0.0), 1000.0, 1.3
"""Corners and edges [m] of the box, before everything below the layer is stretched by ``BELOW``."""


def layered_box() -> Mesh:
    """Bricks of EDGE, those below the layer higher."""
    x, y, z = (round((b - a) / EDGE) for a, b in zip(LOWER, UPPER, strict=True))
    mesh = box_mesh(Box((x, y, z), LOWER, UPPER, {"z+": "free-surface"}, shuffle=True), "layered box")
    vertices = mesh.vertices.copy()
    vertices[:, 2] += (BELOW - 1.0) * np.minimum(vertices[:, 2] + EDGE, 0.0)
    return replace(mesh, vertices=vertices)


def layer_over_half_space(order: int = ORDER) -> Array:
    """Misfits at the receivers."""
    case: dict[str, Any] = {
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
    """LOH.3, both engines side by side."""
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
