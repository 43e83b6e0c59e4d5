"""Plane waves in a periodic cube: convergence rates of every order, elastic and acoustic.

Waves and table: docs/theory/exact-solutions.md, "Plane waves".
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultwave.verify import convergence, setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact.plane_waves import PlaneWaves, acoustic_convergence, elastic_convergence

END = 0.5
GRIDS: dict[int, tuple[int, ...]] = {
    2: (2, 4, 8, 16),
    3: (2, 4, 8, 16),
    4: (2, 4, 8),
    5: (2, 4, 8),
    6: (2, 4, 8),
    7: (2, 4, 8),
    8: (2, 4, 8),
}
# Relative L2 errors of s_xx and v1 at t = 0.5, CFL 0.5, six tetrahedra a brick, random orientation.
TABLE: dict[int, dict[int, tuple[float, ...]]] = {
    2: {2: (1.03, 0.96), 4: (5.8e-1, 6.4e-1), 8: (1.4e-1, 1.7e-1), 16: (3.0e-2, 3.5e-2)},
    3: {2: (8.3e-1, 9.5e-1), 4: (1.5e-1, 1.8e-1), 8: (1.94e-2, 1.72e-2), 16: (2.47e-3, 1.90e-3)},
    4: {2: (3.8e-1, 4.4e-1), 4: (3.5e-2, 3.0e-2), 8: (2.43e-3, 1.73e-3)},
    5: {2: (1.5e-1, 1.9e-1), 4: (6.9e-3, 6.4e-3), 8: (2.42e-4, 1.82e-4)},
    6: {2: (4.8e-2, 4.2e-2), 4: (1.22e-3, 1.06e-3)},
    7: {2: (1.7e-2, 1.7e-2), 4: (1.80e-4, 1.39e-4)},
}


def case_settings(law: str, waves: PlaneWaves, order: int, n: int, **numerics: object) -> dict[str, object]:
    """Return the case of the periodic cube [-1, 1]^3 with n bricks a side."""
    mesh = setups.box((n,) * 3, (-1.0,) * 3, (1.0,) * 3, setups.periodic(), shuffle=True)
    return setups.settings(law, mesh, setups.uniform(waves.medium, law), END, order, numerics=numerics)


def measure(
    law: str, waves: PlaneWaves, columns: tuple[int, int], grids: Mapping[int, tuple[int, ...]], progress: Progress
) -> dict[int, dict[int, np.ndarray]]:
    """Return the errors of two quantities for every order and grid."""
    found: dict[int, dict[int, np.ndarray]] = {}
    for order, sizes in grids.items():
        found[order] = {}
        for n in sizes:
            progress(f"{law}, order {order}, {n}^3 bricks")
            found[order][n] = setups.errors(case_settings(law, waves, order, n), waves)[list(columns)]
    return found


def _single_precision(law: str, waves: PlaneWaves, columns: tuple[int, int], double: np.ndarray) -> list[Row]:
    """Judge single precision at order 4 on 8^3 bricks: rounding stays far below the discretisation error."""
    single = setups.errors(case_settings(law, waves, 4, 8, precision="single"), waves)[list(columns)]
    return [at_most("O=4 n=8 |single - double| / double", float(np.abs(single / double - 1).max()), 0.02)]


def run_elastic(progress: Progress, grids: Mapping[int, tuple[int, ...]] = GRIDS) -> Result:
    """Judge errors against the table, and rates, of elastic waves."""
    waves, names = elastic_convergence(), ("s_xx", "v1")
    found = measure("elastic", waves, (0, 6), grids, progress)
    rows = convergence.table_rows(found, names, TABLE) + convergence.rate_rows(found, names)
    if 8 in found.get(4, {}):
        rows += _single_precision("elastic", waves, (0, 6), found[4][8])
    return Result(tuple(rows), tuple(convergence.table_text(found, names)))


def run_acoustic(progress: Progress, grids: Mapping[int, tuple[int, ...]] = GRIDS) -> Result:
    """Judge the rates of acoustic waves; there is no table to compare with, so the measured one is printed."""
    names = ("sigma", "v1")
    found = measure("acoustic", acoustic_convergence(), (0, 1), grids, progress)
    rows = convergence.rate_rows(found, names)
    return Result(tuple(rows), tuple(convergence.table_text(found, names)))


ELASTIC = VerificationCase("plane-wave", "elastic plane waves, orders 2 to 8, error table and rates", run_elastic, 6.0)
ACOUSTIC = VerificationCase("plane-wave-acoustic", "acoustic plane waves, orders 2 to 8, rates", run_acoustic, 3.0)
