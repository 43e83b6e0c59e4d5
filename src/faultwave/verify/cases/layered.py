"""Tetrahedra below a free surface against wavenumber integration: LOH.1 and, with attenuation, LOH.3 (Day & Bradley 2001).

The medium, the source and the reference, of constant Q, are those of ``fd_layered``. Bricks have edges of 1 km, so that none straddles the
interface; sides absorb waves that meet them squarely, which is why receivers are near. Judged is the relative L2 misfit of velocity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.cases.fd_layered import BAND, LAYERS, SIGMA, misfits, reference
from faultwave.verify.exact.medium import Array

RECEIVERS = ((600.0, 800.0), (1800.0, 2400.0), (3000.0, 4000.0))
ORDER, LIMIT, END = 5, 0.03, 5.0
LOWER, UPPER = (-5000.0, -5000.0, -7000.0), (7000.0, 8000.0, 0.0)


def layer_over_half_space(attenuation: bool, order: int = ORDER, edge: float = 1000.0) -> Array:
    """Misfits at the receivers."""
    cells = [round((b - a) / edge) for a, b in zip(LOWER, UPPER, strict=True)]
    case: dict[str, Any] = {
        "end_time": END, "numerics": {"order": order}, "mesh": setups.box(cells, LOWER, UPPER, {"z+": "free-surface"}),
        "sources": [{"kind": "moment-tensor", "location": [0, 0, -2000], "tensor": {"xy": 1e18},
                     "time_function": {"kind": "gaussian", "duration": SIGMA}}],
        "output": {"receivers": {"points": [[x, y, 0.0] for x, y in RECEIVERS], "interval": 0.02}},
    }  # fmt: skip
    if attenuation:
        case["attenuation"] = BAND
    moment = np.zeros((3, 3))
    moment[0, 1] = moment[1, 0] = 1e18
    return misfits(case, LAYERS, reference(attenuation, LAYERS, depth=2000.0, moment=moment))


def _rows(name: str, found: Array) -> tuple[Row, ...]:
    pairs = zip(RECEIVERS, found, strict=True)
    return tuple(at_most(f"{name}: misfit at {np.hypot(*r) / 1000:g} km", m, LIMIT) for r, m in pairs)


def run_loh1(progress: Progress) -> Result:
    """LOH.1."""
    progress(f"LOH.1, order {ORDER}, bricks of 1 km")
    return Result(_rows("LOH.1", layer_over_half_space(False)))


def run_loh3(progress: Progress) -> Result:
    """LOH.3."""
    progress(f"LOH.3, order {ORDER}, bricks of 1 km")
    return Result(_rows("LOH.3", layer_over_half_space(True)))


LOH1 = VerificationCase("loh1", "layer over half-space against wavenumber integration", run_loh1, 3.0)
LOH3 = VerificationCase("loh3", "the same with attenuation", run_loh3, 5.0)
