"""Thermal pressurisation: frictional heat raises the pore pressure of the fault (Noda & Lapusta 2010).

Heat is generated in a shear zone of Gaussian shape with the half-width w; heat and fluid diffuse away from it, normal
to the fault:

    dT/dt = alpha_th T'' + (tau V / rho c) g(y),    dp/dt = alpha_hy p'' + Lambda dT/dt,    g = exp(-y^2 / 2 w^2) / (w
    sqrt(2 pi))

In the centre of the zone both are sums over components of the past heating, each of which decays at its own rate. The
rates are equal for all points and for heat and fluid. Therefore a point stores one set of numbers, and the factors by
which they decay in a sub-step are equal for all points (docs/theory/friction.md, "Thermal pressurisation"). Pressures
have the sign of stress: P_f decreases when the fluid pressure rises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log, pi, sqrt

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Output, Parameter, State
from faultwave.kernels import math as m
from faultwave.kernels.expr import Changes, Condition, Number, Numbers
from faultwave.physics.friction.law import check_filled, filled, point_or_uniform
from faultwave.physics.friction.load import Load, Values
from faultwave.physics.friction.modifier import Modifier

COUNT = 42
SPACING = log(3.0) / 2.0
"""Spacing of the logarithms of the decay rates: rates grow by sqrt(3), so that exp(-r t) is the cube of its value two rates before."""

FASTEST = 2e5
"""Largest decay rate [1/s].

Faster components vanish within a sub-step; their contribution from the sub-step itself is known in closed form.
"""

RATES = [FASTEST * exp(-SPACING * (COUNT - 1 - i)) for i in range(COUNT)]
WEIGHTS = [SPACING / (2.0 * pi) * sqrt(rate) for rate in RATES]
"""Quadrature weights of the components: trapezoidal rule over the logarithm of the rate, which converges exponentially."""

SLOW = 4
"""Number of the slowest components that also represent all slower ones.

It is the order of the error in the product of the slowest rate and the duration of the run.
"""
SLOWER = 120
"""Number of slower rates; components beyond them are below the rounding error."""

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


_OF_ZONE = ("tp_width_squared", "tp_thermal_diffusivity", "tp_hydraulic_diffusivity", "tp_response", "tp_gap", "tp_both", "tp_share",
            "tp_warming", "tp_spread0", "tp_spread1", "tp_steeper0", "tp_steeper1", "tp_gone0", "tp_gone1")  # fmt: skip
"""Kernel parameters of the shear zone and its fluid; ``_Zone.numbers`` computes them."""


class ThermalPressurisation(Modifier):
    """Pore pressure raised by frictional heat."""

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
    kernel_parameters = (
        "tp_initial_temperature", "tp_initial_pressure", *_OF_ZONE,
        *(f"tp_slow_{what}{i}" for what in ("pressing", "warming") for i in range(SLOW)),
    )  # fmt: skip
    state = (
        State("temperature", "K", "temperature in the middle of the shear zone"),
        State(
            "tp_pressure", "Pa", "pore pressure there, with the sign of stress: falls when the fluid's pressure rises"
        ),
        State("tp_pressure_unheated", "Pa", "pore pressure at the end of a sub-step without heating in it"),
        State("heating", "W/m^2", "frictional heat made in a sub-step"),
        State(
            "past_heating",
            "W/m^2 s^0.5",
            "remaining past heat per decay rate",
            COUNT,
            inner=True,
        ),
    )
    outputs = (
        Output("P_f", "Pa", "pore pressure with the sign of stress", lambda p, c, s: s["tp_pressure"]),
        Output("Tmp", "K", "temperature", lambda p, c, s: s["temperature"]),
    )
    solvers = ("closed-form", "newton")
    work = 1.4

    def prepare(self, p: Values, c: Values) -> dict[str, np.ndarray]:
        zone = _Zone.of({**p, **filled(p, c, _UNIFORM)})
        first = {name: filled(p, c, _UNIFORM)[name] for name in self.kernel_parameters[:2]}
        return first | zone.numbers() | zone.slow_parts()

    def check(self, p: Values, c: Values, points: np.ndarray) -> Problems:
        problems = Problems()
        known = {**p, **check_filled(p, c, _UNIFORM, problems)}
        problems.extend(super().check(known, c, points).items)
        return problems

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        pressure = np.array(p["tp_initial_pressure"], float)
        temperature = np.array(p["tp_initial_temperature"], float)
        return {"temperature": temperature, "tp_pressure": pressure, "tp_pressure_unheated": pressure}

    def normal_traction(self, p: Values, c: Values, s: Values, sigma: Number) -> Number:
        return sigma - s["tp_pressure"]

    def evolve(self, p: Values, c: Values, s: Values, slip_rate: Number, load: Load) -> Changes:
        """Return pore pressure and heating after a sub-step; linear in the heat, so that solvers compute the rest once for all trials."""
        heat = m.maximum(load.shear() - load.eta * slip_rate, 0.0) * slip_rate
        square, time = p["tp_width_squared"], 2.0 * load.dt
        widths = m.sqrt(square + time * p["tp_thermal_diffusivity"]) + m.sqrt(
            square + time * p["tp_hydraulic_diffusivity"]
        )
        rise = time / sqrt(2.0 * pi) * p["tp_response"] / widths
        return {"tp_pressure": s["tp_pressure_unheated"] - rise * heat, "heating": heat}

    def stays_locked(self, p: Values, c: Values, s: Values) -> Condition:
        """Return where there never was heat; elsewhere the pressure continues to change."""
        return s["peak_slip_rate"] <= 0.0

    def of_step(self, times: int) -> tuple[State, ...]:
        return (
            State("ahead", "Pa", "pressure rise at the ends of later sub-steps without further heating", times),
            State("pushed", "Pa m^2/W", "pressure rise at the ends of later sub-steps per heat of each sub-step",
                  (times - 1) ** 2 or None),
            State("heats", "W/m^2", "frictional heat made in the sub-steps, the last one at the end", times),
        )  # fmt: skip

    def begin_step(self, p: Values, c: Values, s: Values, lengths: Numbers) -> Changes:
        """Compute the pressure at the ends of all sub-steps in one pass over the past heating."""
        retained, gains, n = *_of_substeps(lengths), len(lengths)
        ahead: list[Number] = [0.0] * n
        pushed: dict[tuple[int, int], Number] = {}
        for i, weight in enumerate(self._pressing(p)):
            past = weight * s["past_heating"][i]
            left: Number = 1.0
            for k in range(n):
                left = left * retained[k][i]
                ahead[k] = ahead[k] + past * left
            for j in range(n - 1):
                left = gains[j][i]
                for k in range(j + 1, n):
                    left = left * retained[k][i]
                    pushed[j, k] = pushed.get((j, k), 0.0) + weight * left
        none = 0.0 * ahead[0]
        rows = [pushed.get((j, k + j + 1), none) for j in range(n - 1) for k in range(n - 1)]
        unheated = p["tp_initial_pressure"] - ahead[0]
        return {"tp_pressure_unheated": unheated, "ahead": ahead, "pushed": rows or none, "heats": [none] * n}

    def end_substep(self, p: Values, c: Values, s: Values) -> Changes:
        """Shift all vectors of the step by one sub-step."""
        heat, n = s["heating"], len(s["heats"])
        none = 0.0 * heat
        rows = s["pushed"] if n > 1 else []
        ahead = [x + by * heat for x, by in zip(s["ahead"][1:], rows[: n - 1], strict=True)]
        later = {"pushed": [*rows[n - 1 :], *[none] * (n - 1)] or none, "heats": [*s["heats"][1:], heat]}
        unheated = p["tp_initial_pressure"] - (ahead or s["ahead"])[0]
        return {"tp_pressure_unheated": unheated, "ahead": [*ahead, none], **later}

    def end_step(self, p: Values, c: Values, s: Values, lengths: Numbers) -> Changes:
        retained, gains = _of_substeps(lengths)
        past: list[Number] = []
        sums: list[Number] = [0.0] * 4  # four sums, which a processor computes in parallel
        for i, gone in enumerate(_cubes(p["tp_gone0"], p["tp_gone1"])):
            x, left, heated = s["past_heating"][i], 1.0, 0.0
            for heat, gain, stays in reversed(list(zip(s["heats"], gains, retained, strict=True))):
                heated, left = heated + heat * (gain[i] * left), left * stays[i]
            x = x * left + heated
            past.append(x)
            part = x - gone * x
            sums[i % 4] = sums[i % 4] + (part + p[f"tp_slow_warming{i}"] * x if i < SLOW else part)
        warmth = (sums[0] + sums[1]) + (sums[2] + sums[3])
        return {"past_heating": past, "temperature": p["tp_initial_temperature"] + p["tp_warming"] * warmth}

    @staticmethod
    def _pressing(p: Values) -> Iterator[Number]:
        """Yield the rise of pressure per unit of each component of the past heating."""
        steeper = _cubes(p["tp_steeper0"], p["tp_steeper1"], p["tp_gap"])
        spread = _cubes(p["tp_spread0"], p["tp_spread1"])
        for i, (spread_now, steeper_now) in enumerate(zip(spread, steeper, strict=True)):
            found = _pressing(p["tp_both"], p["tp_share"], spread_now, steeper_now)
            yield found + p[f"tp_slow_pressing{i}"] if i < SLOW else found


@dataclass(frozen=True)
class _Zone:
    """Properties (n,) of shear zones.

    Attributes
    ----------
    square
        Half of the squared half-width w [m^2].
    thermal, hydraulic
        Diffusivities [m^2/s].
    response
        Lambda/(rho c).
    capacity
        Heat capacity by volume rho c [Pa/K].
    """

    square: np.ndarray
    thermal: np.ndarray
    hydraulic: np.ndarray
    response: np.ndarray
    capacity: np.ndarray

    @classmethod
    def of(cls, p: Values) -> _Zone:
        capacity = p["tp_heat_capacity"]
        return cls(
            0.5 * np.asarray(p["tp_half_width"], float) ** 2, np.array(p["tp_thermal_diffusivity"], float),
            np.array(p["tp_hydraulic_diffusivity"], float), p["tp_undrained_response"] / capacity, capacity,
        )  # fmt: skip

    @property
    def slow(self) -> np.ndarray:
        """Smaller of the two diffusivities [m^2/s]."""
        return np.minimum(self.thermal, self.hydraulic)

    @property
    def fast(self) -> np.ndarray:
        return np.maximum(self.thermal, self.hydraulic)

    def numbers(self) -> dict[str, np.ndarray]:
        """Return the values of ``_OF_ZONE`` by name."""
        slow, fast = self.slow, self.fast
        values = (
            2.0 * self.square, self.thermal, self.hydraulic, self.response, fast - slow, *self.factors(),
            1.0 / (self.capacity * np.sqrt(self.thermal)), *(-np.expm1(-rate * self.square / fast) for rate in RATES[:2]),
            *(self.steeper(rate) for rate in RATES[:2]), *(-np.expm1(-rate * self.square / self.thermal) for rate in RATES[:2]),
        )  # fmt: skip
        return dict(zip(_OF_ZONE, values, strict=True))

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first two factors of ``_pressing``."""
        root = np.sqrt(self.slow)
        return self.response / (np.sqrt(self.fast) + root), self.response * root

    def steeper(self, rate: float) -> np.ndarray:
        """Return (1 - exp(-r w^2/2 (1/a - 1/b)))/(b - a) for the diffusivities a < b, or its limit if they are equal."""
        gap, bend = self.fast - self.slow, self.square / (self.slow * self.fast)
        safe = np.where(gap > 0.0, gap, 1.0)
        return np.where(gap > 0.0, -np.expm1(-rate * bend * gap) / safe, rate * bend)

    def slow_parts(self) -> dict[str, np.ndarray]:
        """Return the additional weights by which the first components represent all slower ones.

        Sums over the slower rates, multiplied by powers of these rates, are reproduced by the first components.
        """
        powers, zero = np.arange(SLOW), np.zeros((SLOW, *self.square.shape))
        moments = {"pressing": zero, "warming": zero.copy()}
        for rate in RATES[0] * np.exp(-SPACING * np.arange(1, SLOWER + 1)):
            scale = np.multiply.outer(sqrt(rate) * (rate / RATES[0]) ** powers, np.ones(self.square.shape))
            spread = -np.expm1(-rate * self.square / self.fast)
            moments["pressing"] += scale * _pressing(*self.factors(), spread, self.steeper(rate))
            moments["warming"] += scale * np.exp(-rate * self.square / self.thermal)
        first = np.array(RATES[:SLOW])
        taken = {what: np.linalg.solve((first / first[0]) ** powers[:, None], x) for what, x in moments.items()}
        return {f"tp_slow_{what}{i}": x[i] / sqrt(first[i]) for what, x in taken.items() for i in range(SLOW)}


def _pressing(both: Number, share: Number, spread: Number, steeper: Number) -> Number:
    """Return the rise of pressure per unit of a component of the past heating (kernel).

    It is (sqrt(b) e^(-r w^2/2b) - sqrt(a) e^(-r w^2/2a))/(b - a) for the diffusivities a < b, in a form that has a
    limit where they are equal. ``spread`` is 1 - e^(-r w^2/2b), ``steeper`` the result of ``_Zone.steeper``.
    """
    return (1.0 - spread) * (both + share * steeper)


def _of_substeps(lengths: Numbers) -> tuple[list[list[Number]], list[list[Number]]]:
    """Return two factors for each sub-step and rate (kernel).

    The first is the fraction of past heating that remains after the sub-step, the second the component at its end for
    unit heating in it.
    """
    lost = [_lost(dt) for dt in lengths]
    retained = [[1.0 - x for x in row] for row in lost]
    gains = [[weight / rate * x for weight, rate, x in zip(WEIGHTS, RATES, row, strict=True)] for row in lost]
    return retained, gains


def _lost(t: Number) -> list[Number]:
    """Return 1 - exp(-r t) for every rate (kernel), from two exponentials by repeated cubes."""
    return list(_cubes(-m.expm1(-RATES[0] * t), -m.expm1(-RATES[1] * t)))


def _cubes(first: Number, second: Number, gap: Number = 1.0) -> Iterator[Number]:
    """Yield (1 - e_i)/gap for every rate (kernel), where each e_i is the cube of the one two before."""
    for _ in range(COUNT):
        yield first
        share = gap * first
        first, second = second, first * (3.0 + share * (share - 3.0))


THERMAL_PRESSURISATION = ThermalPressurisation()
