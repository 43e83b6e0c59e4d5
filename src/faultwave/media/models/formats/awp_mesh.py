"""AWP mesh: a flat file of float32 with all values of a point together, x fastest, then y, then z downwards.

Points have vp, vs, rho (3 values), and Qp, Qs (5), preceded by three indices of the point (8).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.projection import Projection
from faultwave.base.types import Setting
from faultwave.media.models.lattice import Columns, Lattice
from faultwave.media.models.model import NAMES, Block, Model

ORDERS = {3: ("vp", "vs", "rho"), 5: ("vp", "vs", "rho", "Qp", "Qs"), 8: ("", "", "", "vp", "vs", "rho", "Qp", "Qs")}


def read(path: Path, setting: Setting, projection: Projection | None) -> Model:
    """Read the mesh ``path`` of ``setting.shape`` points; raises InputError if the size of the file does not match."""
    if setting.shape is None or setting.spacing is None:
        lacking = [n for n in ("shape", "spacing") if getattr(setting, n) is None]
        raise InputError(
            Problem(str(path), f"contains no metadata: {' and '.join(lacking)} missing", "shape: [nx, ny, nz], spacing")
        )
    nx, ny, nz = setting.shape
    size, points = path.stat().st_size, nx * ny * nz
    values, rest = divmod(size, 4 * points)
    order = tuple(setting.variables or ORDERS.get(values, ()))
    if rest or not order or len(order) != values:
        expected = f"{4 * points * len(order):,}" if order else " or ".join(f"{4 * points * n:,}" for n in ORDERS)
        what = f"has {size:,} bytes; {nx} x {ny} x {nz} points of float32 values take {expected}"
        raise InputError(Problem(str(path), what, advice="Check shape and variables; a copy may be truncated."))
    names = [n for n in order if n in NAMES]
    if len(set(names)) != len(names) or not {"vp", "vs", "rho"} <= set(names):
        raise InputError(
            Problem(str(path), f"variables are {', '.join(order)}", "vp, vs, rho, Qp, Qs, each at most once")
        )
    flat = np.memmap(
        path, np.dtype("<f4" if setting.byte_order == "little" else ">f4"), "r", shape=(nz, ny, nx, values)
    )

    def columns(i: slice, j: slice) -> tuple[Columns, np.ndarray]:
        part = np.array(flat[:, j, i], np.float32)
        found = {n: np.ascontiguousarray(part[..., order.index(n)].transpose(2, 1, 0)) for n in names}
        return found, np.zeros(found[names[0]].shape, bool)

    x0, y0, z0 = setting.origin
    h, vertical = setting.spacing, setting.vertical_spacing or setting.spacing
    block = Block(
        Lattice((nx, ny, nz), names, columns), x0 + h * np.arange(nx), y0 + h * np.arange(ny),
        lambda x, y, z: (z0 - z) / vertical,
    )  # fmt: skip
    return Model(str(path), (block,), lambda xy: xy, None, False, setting.outside, setting.water)
