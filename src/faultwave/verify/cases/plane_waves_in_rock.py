"""Plane waves in anisotropic and in porous rock: convergence rates of every order, in the periodic cube of ``plane_wave``.

The anisotropic tensor has no symmetry. Viscous pore fluid makes all waves decay, the slow P wave by 1 % within the run.
Waves and tables: docs/theory/exact-solutions.md, "Plane waves".
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultwave.base.types import Settings
from faultwave.physics.waves import law
from faultwave.physics.waves.anisotropic import CONSTANTS
from faultwave.verify import convergence, setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, near
from faultwave.verify.exact.plane_waves import LawWaves, Mode

END = 0.5
Grids = Mapping[int, tuple[int, ...]]
GRIDS: Grids = {
    2: (4, 8, 16),
    3: (4, 8, 16),
    4: (4, 8),
    5: (4, 8),
    6: (4, 8),
    7: (4, 8),
    8: (4, 8),
}
SKEWED_GRIDS: Grids = {**GRIDS, 4: (6, 12), 5: (6, 12)}
"""Grids for the anisotropic waves, the shortest of which 4^3 bricks resolve too poorly for the rates of these orders."""
K, BACK = (np.pi, np.pi, np.pi), (-np.pi, -np.pi, -np.pi)

SKEWED = {"rho": 1.0} | dict(zip(CONSTANTS, (
    4.3, 2.1, 1.9, 0.2, -0.1, 0.15,
    3.9, 2.2, -0.15, 0.1, 0.2,
    4.6, 0.1, 0.25, -0.1,
    1.1, 0.12, -0.08,
    1.3, 0.1,
    0.9,
), strict=True))  # fmt: skip
POROUS = {
    "mu": 1.0, "lambda": 1.0, "bulk_fluid": 1.0, "bulk_solid": 4.0, "permeability": 1.0, "porosity": 0.3, "rho_fluid": 0.5,
    "rho": 1.0, "tortuosity": 2.0, "viscosity": 0.1,
}  # fmt: skip
FREQUENCIES = (11.74831113394 + 2.16895e-4j, 6.18100566739 + 1.451578708e-3j, 4.45988544914 + 0.01623471764j)
"""Complex frequencies of fast P, S and slow P waves along K, found once from the dispersion relation."""

ANISOTROPIC_WAVES = LawWaves(law("anisotropic"), SKEWED, (Mode(K, 0), Mode(BACK, 1, 0.8, 0.3), Mode(K, 2, 0.6, 1.1)))
POROUS_WAVES = LawWaves(law("poroelastic"), POROUS, (Mode(K, 0), Mode(BACK, 1, 0.8, 0.3), Mode(K, 3, 0.6, 1.1)))
NAMES = {"anisotropic": ("s_xx", "v1"), "poroelastic": ("s_xx", "v1", "p", "v1_f")}


def case_settings(waves: LawWaves, order: int, n: int) -> Settings:
    """Return the case of the periodic cube [-1, 1]^3 with n bricks a side."""
    mesh = setups.box((n,) * 3, (-1.0,) * 3, (1.0,) * 3, setups.periodic(), shuffle=True)
    return setups.settings(waves.law.name, mesh, {"constant": dict(waves.material)}, END, order)


def measure(waves: LawWaves, grids: Grids, progress: Progress) -> dict[int, dict[int, np.ndarray]]:
    """Return the errors of the quantities in NAMES for every order and grid."""
    columns = [waves.law.quantities.index(name) for name in NAMES[waves.law.name]]
    found: dict[int, dict[int, np.ndarray]] = {}
    for order, sizes in grids.items():
        found[order] = {}
        for n in sizes:
            progress(f"{waves.law.name}, order {order}, {n}^3 bricks")
            found[order][n] = setups.errors(case_settings(waves, order, n), waves)[columns]
    return found


def _frequency_rows() -> list[Row]:
    names = ("fast P", "S", "slow P")
    pairs = zip(names, POROUS_WAVES.modes, FREQUENCIES, strict=True)
    return [
        near(f"{name}: |w - that of the dispersion relation|", abs(POROUS_WAVES.of(mode)[0] - w), 0.0, 1e-9)
        for name, mode, w in pairs
    ]


def _judged(waves: LawWaves, grids: Grids, progress: Progress, rows: list[Row]) -> Result:
    found, names = measure(waves, grids, progress), NAMES[waves.law.name]
    return Result((*rows, *convergence.rate_rows(found, names)), tuple(convergence.table_text(found, names)))


def run_anisotropic(progress: Progress, grids: Grids = SKEWED_GRIDS) -> Result:
    """Judge all three anisotropic waves of a direction."""
    return _judged(ANISOTROPIC_WAVES, grids, progress, [])


def run_porous(progress: Progress, grids: Grids = GRIDS) -> Result:
    """Judge both P waves and an S wave in porous rock, with their frequencies."""
    return _judged(POROUS_WAVES, grids, progress, _frequency_rows())


ANISOTROPIC = VerificationCase(
    "plane-wave-anisotropic", "anisotropic plane waves, orders 2 to 8, rates", run_anisotropic, 4.0
)
POROELASTIC = VerificationCase("plane-wave-poroelastic", "porous plane waves, orders 2 to 8, rates", run_porous, 6.0)
