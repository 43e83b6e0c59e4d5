"""Electromagnetic waves at normal incidence on impedance walls, a matched layer and a conductor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.types import Settings
from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most, near

if TYPE_CHECKING:
    from faultwave.physics.waves.plane_waves import Solution

UNIT = {"constant": {"permittivity": 1.0, "permeability": 1.0}}
RATIOS = (0.0, 0.25, 1.0, 3.0, 20.0)


def bar(edges: int, length: float, end: str, order: int, time: float, **more: Any) -> Settings:
    """Return the case of a bar along x, open at x = 0, whose sides admit E along y; ``edges`` bricks along it."""
    sides = {"x-": "absorbing", "x+": end, "y": "pec", "z": "pmc"}
    mesh = setups.box((edges, 1, 1), (0.0,) * 3, (length, 0.125, 0.125), sides, shuffle=True)
    return setups.settings("maxwell", mesh, more.pop("material", UNIT), time, order, **more)


def pulse(quantities: int, at: float, width: float, carrier: float = 0.0) -> Solution:
    """Return a pulse of unit E that travels along x."""

    def field(points: np.ndarray, t: float) -> np.ndarray:
        q = np.zeros((len(points), quantities))
        s = points[:, 0] - at - t
        q[:, 1] = q[:, 5] = np.exp(-((s / width) ** 2)) * np.cos(2 * np.pi * carrier * s)
        return q

    return field


def probe(x: float, interval: float = 0.01) -> Settings:
    """Return the output settings of a receiver at ``x`` [m]."""
    return {"receivers": {"points": [[x, 0.05, 0.07]], "interval": interval}}


def impedance_rows(order: int = 5) -> list[Row]:
    """Judge the reflection of walls, as the largest returning over the largest incident field."""
    rows = []
    for ratio in RATIOS:
        case = bar(16, 2.0, "impedance", order, 3.2, impedances={10: ratio}, output=probe(1.0))
        sim = setups.started(case, pulse(6, 0.5, 0.12)).run(write=False)
        data = sim.receivers
        values, back = data["values"][:, 0, 1], data["time"] > 1.5
        found = values[back][np.abs(values[back]).argmax()] / values[~back].max()
        expected = (ratio - 1) / (ratio + 1)
        rows.append(
            near(f"reflection of a wall of impedance {ratio:g}", found, expected, 0.01 * max(abs(expected), 0.05))
        )
    return rows


def layer_row(order: int) -> Row:
    """Judge the reflection of the matched layer on eight cells [dB]."""
    case = bar(16, 2.0, "pec", order, 4.0, matched_layer={"sides": ["x+"], "thickness": 0.999}, output=probe(0.5))
    sim = setups.started(case, pulse(12, 0.4, 0.1, 2.0)).run(write=False)
    data = sim.receivers
    echo = np.abs(data["values"][data["time"] > 0.7][:, 0, 1]).max()
    return at_most(f"echo of the matched layer [dB], O={order}", 20 * np.log10(echo), -40.0)


def skin_rows(order: int = 5, conductivity: float = 20.0) -> list[Row]:
    """Judge the attenuation in a conductor at three frequencies against Im k, k^2 = w^2 - i w sigma."""
    depths = (0.05, 0.3)
    material = {"expression": {
        "permittivity": "return 1.0;", "permeability": "return 1.0;",
        "conductivity": f"if (x > 1.0) {{ return {conductivity}; }} return 0.0;",
    }}  # fmt: skip
    output = {"receivers": {"points": [[1 + d, 0.05, 0.07] for d in depths], "interval": 0.005}}
    case = bar(20, 2.5, "absorbing", order, 6.0, material=material, output=output)
    sim = setups.started(case, pulse(6, 0.5, 0.12)).run(write=False)
    data, rows = sim.receivers, []
    for frequency in (0.5, 1.0, 1.5):
        omega = 2 * np.pi * frequency
        spectrum = np.exp(-1j * omega * data["time"]) @ data["values"][:, :, 1]
        found = (depths[1] - depths[0]) / np.log(abs(spectrum[0]) / abs(spectrum[1]))
        exact = -1.0 / np.sqrt(omega**2 - 1j * omega * conductivity).imag
        rows.append(near(f"skin depth at frequency {frequency:g}", found, exact, 0.01 * exact))
    return rows


def run(progress: Progress) -> Result:
    """Judge impedance walls, the matched layer and the conductor."""
    progress("impedance walls")
    rows = impedance_rows()
    progress("matched layer")
    rows += [layer_row(order) for order in (4, 5, 6)]
    progress("conductor")
    return Result(tuple(rows + skin_rows()))


WALLS = VerificationCase("maxwell-walls", "impedance walls, matched layer and skin depth at normal incidence", run, 1.0)
