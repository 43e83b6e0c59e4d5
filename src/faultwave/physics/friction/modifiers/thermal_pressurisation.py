"""Thermal pressurisation: frictional heat raises the pressure of the fluid in the fault's pores (Noda & Lapusta 2010).

Heat is made in a shear zone of Gaussian shape with the half-width w; heat and fluid diffuse away from it at right angles to the fault:

    dT/dt = alpha_th T'' + (tau V / rho c) g(y),    dp/dt = alpha_hy p'' + Lambda dT/dt,    g = exp(-y^2 / 2 w^2) / (w sqrt(2 pi))

Both are kept as spectra in the wavenumber l/w. At each wavenumber the equations are linear, so for a constant tau V a step of any length
is exact (docs/theory/friction.md, "Thermal pressurisation"). Pressures have the sign of stress: P_f falls when the fluid's pressure rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, pi, sqrt
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Output, Parameter, State
from faultwave.kernels import math as m
from faultwave.physics.friction.load import Load, Values
from faultwave.physics.friction.modifier import Modifier
from faultwave.physics.friction.uniform import check_filled, filled, point_or_uniform

COUNT = 60
SPACING = log(3.0) / 4.0
"""Of the wavenumbers' logarithms: l^2 grows by sqrt(3), so that exp(-x l^2) is the cube of what it is two wavenumbers before."""

WAVENUMBERS = [8.0 * exp(-SPACING * (COUNT - 1 - i)) for i in range(COUNT)]
SQUARES = [wavenumber**2 for wavenumber in WAVENUMBERS]
SOURCE = [exp(-square / 2.0) / sqrt(2.0 * pi) for square in SQUARES]
"""Spectrum of the shear zone."""

WEIGHTS = [sqrt(2.0 / pi) * SPACING * wavenumber for wavenumber in WAVENUMBERS]
"""Of the spectra, for the value in the middle of the shear zone: the trapezoidal rule over ln l, which converges exponentially."""
WEIGHTS[0] /= 1.0 - exp(-SPACING)  # and for all smaller wavenumbers, where spectra are flat

_UNIFORM = (
    point_or_uniform("tp_thermal_diffusivity", "m^2/s", "thermal diffusivity alpha_th", positive=True,
                     aliases=("tp_thermalDiffusivity", "alpha_th")),
    point_or_uniform("tp_heat_capacity", "Pa/K", "heat capacity by volume, rho c", positive=True,
                     aliases=("tp_heatCapacity", "rho_c")),
    point_or_uniform("tp_undrained_response", "Pa/K", "growth of pressure with temperature without drainage, Lambda", lower=0.0,
                     aliases=("tp_undrainedTPResponse", "TP_lambda")),
    point_or_uniform("tp_initial_temperature", "K", "temperature at the start", lower=0.0, aliases=("tp_iniTemp", "IniTemp")),
    point_or_uniform("tp_initial_pressure", "Pa", "pore pressure at the start, with the sign of stress: 0, or negative where initial "
                     "stress is total stress", upper=0.0, aliases=("tp_iniPressure", "IniPressure")),
)  # fmt: skip


class ThermalPressurisation(Modifier):
    name = "thermal-pressurisation"
    title = "Thermal pressurisation: frictional heat raises pore pressure"
    parameters = (
        Parameter("tp_half_width", "m", "half-width w of the shear zone", positive=True,
                  aliases=("tp_halfWidthShearZone", "TP_half_width_shear_zone")),
        Parameter("tp_hydraulic_diffusivity", "m^2/s", "hydraulic diffusivity alpha_hy", positive=True,
                  aliases=("tp_hydraulicDiffusivity", "alpha_hy")),
        *(q.point for q in _UNIFORM),
    )  # fmt: skip
    constants = tuple(q.uniform for q in _UNIFORM)
    kernel_parameters = ("tp_half_width", "tp_hydraulic_diffusivity", *(q.point.name for q in _UNIFORM))
    state = (
        State("temperature", "K", "temperature in the middle of the shear zone"),
        State(
            "tp_pressure", "Pa", "pore pressure there, with the sign of stress: falls when the fluid's pressure rises"
        ),
        State("temperature_spectrum", "K m", "spectrum of the rise of temperature", COUNT, inner=True),
        State("pressure_spectrum", "Pa m", "spectrum of the rise of the fluid's pressure", COUNT, inner=True),
    )
    outputs = (
        Output("P_f", "Pa", "pore pressure with the sign of stress", lambda p, c, s: s["tp_pressure"]),
        Output("Tmp", "K", "temperature", lambda p, c, s: s["temperature"]),
    )
    solvers = ("closed-form", "newton")
    work = 10.0

    def prepare(self, p: Values, c: Values) -> dict[str, np.ndarray]:
        return {name: np.array(p[name], float) for name in self.kernel_parameters[:2]} | filled(p, c, _UNIFORM)

    def check(self, p: Values, c: Values, points: np.ndarray) -> Problems:
        problems = Problems()
        known = {**p, **check_filled(p, c, _UNIFORM, problems)}
        problems.extend(super().check(known, c, points).items)
        return problems

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        return {
            "temperature": np.array(p["tp_initial_temperature"], float),
            "tp_pressure": np.array(p["tp_initial_pressure"], float),
        }

    def normal_traction(self, p: Values, c: Values, s: Values, sigma: Any) -> Any:
        return sigma - s["tp_pressure"]

    def evolve(self, p: Values, c: Values, s: Values, slip_rate: Any, load: Load) -> dict[str, Any]:
        """Linear in the heat: all that does not depend on the slip rate is computed once in a sub-step, however often a solver asks."""
        heat = m.maximum(load.shear() - load.eta * slip_rate, 0.0) * slip_rate
        w, change = p["tp_half_width"], _change(p, s, load.dt)
        temperature, pressure = change.temperature, change.pressure
        return {
            "temperature": p["tp_initial_temperature"]
            + (_middle(temperature.kept) + heat * _middle(temperature.gained)) / w,
            "tp_pressure": p["tp_initial_pressure"] - (_middle(pressure.kept) + heat * _middle(pressure.gained)) / w,
            "temperature_spectrum": temperature.after(heat),
            "pressure_spectrum": pressure.after(heat),
        }


@dataclass(frozen=True)
class _Spectrum:
    """After a sub-step: what is left of the spectrum before it, and what heating by 1 W/m^2 adds."""

    kept: list[Any]
    gained: list[Any]

    def after(self, heat: Any) -> list[Any]:
        return [kept + heat * gained for kept, gained in zip(self.kept, self.gained, strict=True)]


@dataclass(frozen=True)
class _Change:
    temperature: _Spectrum
    pressure: _Spectrum


def _change(p: Values, s: Values, dt: Any) -> _Change:
    """Exact change of both spectra in the time dt at constant heating (kernel).

    Where temperature decays with the rate A and pressure with B, pressure is driven by exp(-A t). So its answer is
    (exp(-A dt) - exp(-B dt))/(B - A), and dt exp(-A dt) where A = B.
    """
    square = p["tp_half_width"] * p["tp_half_width"]
    thermal, hydraulic = p["tp_thermal_diffusivity"] / square, p["tp_hydraulic_diffusivity"] / square
    heat_first = thermal <= hydraulic
    slow, gap = m.minimum(thermal, hydraulic), m.abs(hydraulic - thermal)
    differ = gap > 0.0
    by_gap = 1.0 / m.where(differ, gap, 0.0 * gap + 1.0)
    capacity, response = p["tp_heat_capacity"], p["tp_undrained_response"]
    warmed, pressed = 1.0 / (capacity * thermal), response / capacity
    temperature, pressure = _Spectrum([], []), _Spectrum([], [])
    decays = zip(_decays(slow * dt), _decays(gap * dt), strict=True)
    for i, (first, between) in enumerate(decays):
        second = first + between + first * between
        of_heat, of_fluid = m.where(heat_first, first, second), m.where(heat_first, second, first)
        answer = (1.0 + first) * m.where(differ, -between * by_gap * (1.0 / SQUARES[i]), dt)
        hot, pressurised = s["temperature_spectrum"][i], s["pressure_spectrum"][i]
        temperature.kept.append(hot + of_heat * hot)
        temperature.gained.append(of_heat * (-SOURCE[i] / SQUARES[i]) * warmed)
        pressure.kept.append(pressurised + of_fluid * pressurised - response * thermal * SQUARES[i] * hot * answer)
        pressure.gained.append(pressed * SOURCE[i] * answer)
    return _Change(temperature, pressure)


def _decays(x: Any) -> list[Any]:
    """exp(-x l^2) - 1 for every wavenumber (kernel): two exponentials, the others are their cubes' cubes."""
    found = [m.expm1(-x * SQUARES[0]), m.expm1(-x * SQUARES[1])]
    while len(found) < COUNT:
        e = found[-2]
        found.append(e * (3.0 + e * (3.0 + e)))
    return found


def _middle(spectrum: list[Any]) -> Any:
    """Value in the middle of the shear zone, times its half-width (kernel)."""
    total = WEIGHTS[0] * spectrum[0]
    for weight, value in zip(WEIGHTS[1:], spectrum[1:], strict=True):
        total = total + weight * value
    return total


THERMAL_PRESSURISATION = ThermalPressurisation()
