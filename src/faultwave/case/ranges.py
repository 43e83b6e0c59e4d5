"""Usual ranges of the quantities of a case, and the probable mistake behind numbers outside of them.

Ranges are wider than nature on purpose: soft mud and the lowermost mantle, a laboratory sample and a magnitude 9.5 lie inside. A number
outside is not an error, since it can be computed with; ``case.plausibility`` turns it into a warning that names the probable mistake.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Mistake:
    """Mistake of units: a number in ``unit`` that was taken for SI becomes right when multiplied by ``factor``."""

    unit: str
    factor: float


@dataclass(frozen=True)
class Range:
    """Usual range of a quantity.

    Attributes
    ----------
    name, unit : str
        Name and SI unit.
    low, high : float
        Bounds of usual numbers.
    likely : tuple of float
        Bounds of typical numbers.
    mistakes : tuple of Mistake
        Frequent mistakes of units.
    of_places : bool
        True if it holds for models of at least ``SMALLEST_PLACE``; smaller ones may be dimensionless.
    """

    name: str
    unit: str
    low: float
    high: float
    likely: tuple[float, float]
    mistakes: tuple[Mistake, ...] = ()
    of_places: bool = True

    def beyond(self, values: np.ndarray) -> np.ndarray:
        """Return True for each of the values (n,) outside of the range; NaN and infinity are reported elsewhere."""
        return np.asarray(np.isfinite(values) & ((values < self.low) | (values > self.high)))

    def meant(self, value: float) -> str:
        """Return the unit that the value was probably given in, or an empty text if no mistake explains it."""
        low, high = self.likely
        return next((m.unit for m in self.mistakes if low <= value * m.factor <= high), "")

    @property
    def allowed(self) -> str:
        """Range as text."""
        return f"{self.low:g} to {self.high:g}{f' {self.unit}' if self.unit else ''}"


SMALLEST_PLACE = 100.0
"""Size [m] above which a model is a place on a planet; smaller models, as in tests, may be dimensionless."""

_SPEED = (Mistake("km/s", 1e3), Mistake("mm/s", 1e-3), Mistake("cm/s", 1e-2), Mistake("ft/s", 0.3048))
_STRESS = (Mistake("MPa", 1e6), Mistake("bar", 1e5), Mistake("GPa", 1e9), Mistake("kPa", 1e3))
_LENGTH = (Mistake("mm", 1e-3), Mistake("cm", 1e-2), Mistake("km", 1e3))

P_SPEED = Range("the speed of P waves", "m/s", 100.0, 2e4, (300.0, 1.4e4), _SPEED)
S_SPEED = Range("the speed of S waves", "m/s", 10.0, 1.2e4, (50.0, 8e3), _SPEED)
DENSITY = Range("the density", "kg/m^3", 50.0, 1.5e4, (300.0, 1.4e4), (Mistake("g/cm^3", 1e3), Mistake("g/m^3", 1e-3)))
SPEED_RATIO = Range("Vp/Vs", "", 1.36, 60.0, (1.4, 10.0))
QUALITY = Range("the quality factor", "", 2.0, 1e7, (5.0, 1e4))
NORMAL_STRESS = Range("the normal stress on the fault", "Pa", 1e4, 1e10, (1e5, 1e9), _STRESS)
COHESION = Range("cohesion", "Pa", 1e3, 1e9, (1e4, 1e8), _STRESS)
FRICTION = Range("a friction coefficient", "", 0.0, 1.5, (0.05, 1.2), (Mistake("per cent", 1e-2),))
RATE_DEPENDENCE = Range("a constant of rate-and-state friction", "", 0.0, 0.3, (1e-3, 0.1))
WEAKENING_DISTANCE = Range(
    "the slip distance of weakening over the size of the fault", "", 0.0, 5e-3, (1e-9, 2e-3), _LENGTH
)
SLIP = Range("slip over the size of the fault", "", 0.0, 5e-3, (1e-8, 1e-3), (Mistake("cm", 1e-2), *_LENGTH))
TEMPERATURE = Range(
    "the temperature of the fault", "K", 200.0, 2000.0, (250.0, 1500.0), (Mistake("degrees Celsius", 1.0),)
)
MAGNITUDE_AS_MOMENT = Range("a moment that is not a magnitude", "N m", 2.0, 10.0, (2.0, 10.0))
"""Range in which a moment is suspicious: 2 to 10 are magnitudes of earthquakes; a unit moment is not."""
LARGEST_MOMENT = Range("the seismic moment", "N m", 0.0, 1e24, (1e3, 3e23), (Mistake("dyne*cm", 1e-7),))
STRESS_DROP = Range(
    "the stress drop that follows from moment and area of a finite source",
    "Pa",
    1e3,
    1e9,
    (1e4, 1e8),
    (Mistake("dyne*cm", 1e-7),),
)
CROSSINGS = Range("number of times that P waves cross the model during the run", "", 0.0, 1e3, (1e-2, 1e2))


__all__ = [
    "SMALLEST_PLACE", "COHESION", "CROSSINGS", "DENSITY", "FRICTION", "LARGEST_MOMENT", "MAGNITUDE_AS_MOMENT", "NORMAL_STRESS",
    "P_SPEED", "QUALITY", "RATE_DEPENDENCE", "SLIP", "SPEED_RATIO", "STRESS_DROP", "S_SPEED", "TEMPERATURE",
    "WEAKENING_DISTANCE", "Mistake", "Range",
]  # fmt: skip
