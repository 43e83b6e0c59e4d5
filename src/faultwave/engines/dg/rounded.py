"""What a cell owes itself when its neighbour reads a rounded wave.

The state on a face follows from the waves of both sides. Where the other side reads w + e instead of w, that state is another
one, and conservation wants the same on this side: its jumps change by dv = -e/(Z + Z_R) and dT = Z_R e/(Z + Z_R), which leave
u = T + Z_R v alone and make T - Z v of the trace w + e.
"""

from __future__ import annotations

import numpy as np

from faultwave.engines.dg.operator import Operator


def owed(operator: Operator, cells: np.ndarray, faces: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Changes (n, B3, Q) of the dofs of cells (n,) for errors (n, B2, channels) of the waves through their faces, integrated
    over the step in the operator's unit of time."""
    law, form, c = operator.law, operator.form, operator.cells
    own, other = (z[cells, faces] for z in form.both_impedances(c))
    scale = operator.time_unit * c.areas[cells, faces] / (3.0 * c.volume[cells])
    total = own + other
    share = np.where(total > 0, scale[:, None] / np.where(total > 0, total, 1.0), 0.0)
    normal = [c.normals[cells, faces, i, None] for i in range(3)]
    waves = [error[..., i] for i in range(error.shape[2])]

    def through(z: np.ndarray) -> list[np.ndarray]:
        return list(law.apply_impedance([z[:, i, None] for i in range(z.shape[1])], normal, waves))

    traction, flow = through(share * other), [-x for x in through(share)]
    flux, potential = (traction, flow) if law.traction_is_flux else (flow, traction)
    lifted = []
    for x in (*flux, *potential):
        whole = np.zeros((len(cells), operator.b3))
        for f in range(4):
            mine = faces == f
            whole[mine] = x[mine] @ form.trace[f][: operator.b2, : operator.b3]
        lifted.append(whole)
    m = law.channels
    gradient = [[normal[d] * p for p in lifted[m:]] for d in range(3)]
    material = tuple(np.asarray(k)[cells, None] for k in law.constants(c.material))
    zero = np.zeros((len(cells), operator.b3))
    return np.stack([zero + x for x in law.rate(lifted[:m], gradient, material)], -1)
