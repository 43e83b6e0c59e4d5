"""Waves at a fluid-solid interface: Scholte's guided wave and Snell's law.

Theory: docs/theory/exact-solutions.md, "Fluid-solid interfaces". Both run in boxes periodic in x (one horizontal wavelength) and y.
Scholte's wave has decayed to 5e-8 at the absorbing ends in z. Snell's waves fill all space: only the part of the box is judged that the
fastest wave cannot have reached from the ends by then.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from faultwave.physics.initial.scholte import Scholte
from faultwave.physics.initial.snell import Snell
from faultwave.verify import convergence, setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_least, rate
from faultwave.verify.exact import Array

NAMES = ("s_zz", "v3")
COLUMNS = [2, 8]
END = 0.5
ORDERS = (3, 4, 5)


def scholte_errors(order: int, n: int) -> Array:
    """Return the relative errors (9,) with n bricks per horizontal wavelength, after half a period."""
    wave = Scholte()
    length = 2 * np.pi / wave.wavenumber
    layers = int(np.ceil(2.7 * n / length))  # where the slowest decaying part has fallen to 5e-8
    height = layers * length / n
    mesh = setups.box(
        (n, 3, 2 * layers),
        (0.0, 0.0, -height),
        (length, 3 * length / n, height),
        setups.periodic("x", "y"),
        shuffle=True,
    )
    material = setups.two_layers(wave.fluid, wave.solid)
    return setups.errors(setups.settings("elastic", mesh, material, END, order), wave)


def snell_errors(order: int, n: int) -> Array:
    """Return the relative errors (9,) with n bricks per horizontal wavelength, in the part that waves from the ends have not reached."""
    wave = Snell()
    edge = 2 * np.pi / wave.wavenumber / n
    # By the end the fastest wave has travelled c t = 0.5 into the fluid and cp t = 1.5 into the solid, 0.1 and 0.3 of the
    # period in x; numerical forerunners, smaller with every cell, require several cells more.
    judged_fluid, judged_solid, rim_fluid, rim_solid = (round(n * f) for f in (1 / 6, 1 / 6, 1 / 2, 3 / 4))
    lower, upper = -(judged_fluid + rim_fluid) * edge, (judged_solid + rim_solid) * edge
    cells = (n, 3, judged_fluid + rim_fluid + judged_solid + rim_solid)
    mesh = setups.box(cells, (0.0, 0.0, lower), (n * edge, 3 * edge, upper), setups.periodic("x", "y"), shuffle=True)

    def inside(points: Array) -> NDArray[np.bool_]:
        return (points[:, 2] > -judged_fluid * edge) & (points[:, 2] < judged_solid * edge)

    material = setups.two_layers(wave.solid, wave.fluid)
    return setups.errors(setups.settings("elastic", mesh, material, END, order), wave, inside)


def _rows(found: dict[int, dict[int, Array]]) -> list[Row]:
    rows = []
    for order, errors in found.items():
        coarse, fine = sorted(errors)
        for i, name in enumerate(NAMES):
            observed = rate(errors[coarse][i], errors[fine][i], fine / coarse)
            rows.append(at_least(f"O={order} rate of {name}, n={coarse} to {fine}", observed, order - 0.5, order))
    return rows


def run_scholte(progress: Progress, orders: tuple[int, ...] = ORDERS, grids: tuple[int, int] = (4, 8)) -> Result:
    """Judge the rates of Scholte's wave; order O is expected because the interface states are exact."""
    found: dict[int, dict[int, Array]] = {}
    for order in orders:
        progress(f"Scholte, order {order}")
        found[order] = {n: scholte_errors(order, n)[COLUMNS] for n in grids}
    return Result(tuple(_rows(found)), tuple(convergence.table_text(found, NAMES)))


def run_snell(progress: Progress, orders: tuple[int, ...] = ORDERS, grids: tuple[int, int] = (12, 24)) -> Result:
    """Judge the rates of Snell's waves; order O is expected because the interface states are exact."""
    found: dict[int, dict[int, Array]] = {}
    for order in orders:
        progress(f"Snell, order {order}")
        found[order] = {n: snell_errors(order, n)[COLUMNS] for n in grids}
    return Result(tuple(_rows(found)), tuple(convergence.table_text(found, NAMES)))


SCHOLTE = VerificationCase("scholte", "guided wave along a fluid-solid interface, rates", run_scholte, 2.0)
SNELL = VerificationCase("snell", "reflection and transmission at a fluid-solid interface, rates", run_snell, 3.0)
