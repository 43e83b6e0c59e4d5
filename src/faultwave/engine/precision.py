"""Estimate of the effect of single precision on seismograms and slip, and the choice of ``numerics.precision: auto``.

The estimate is a bound found by measurement (docs/theory/single-precision.md): rounding errors grow as the square root of the number of
steps, with the order, and with what the case simulates in addition to waves in rock. Permanent stress or displacement in a closed box,
where no side absorbs waves, is rounded in the same way in every step: these errors grow linearly with the number of steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from faultwave.base.errors import Problems
from faultwave.base.types import Setting
from faultwave.base.wording import option

ROUNDING = 2.0**-24
"""Largest relative error of rounding to single precision."""

ERROR_BY_ORDER = {2: 4.0, 3: 4.0, 4: 6.0, 5: 9.0, 6: 15.0, 7: 20.0, 8: 30.0}
"""Error on tetrahedra by order, in units of ``ROUNDING`` times the square root of the number of steps."""
ERROR_OF_GRIDS = 4.0
COMPENSATED = 0.7
"""Factor on the error with ``numerics.compensated``."""
STORED_WAVES = 0.1
"""Factor on the error if only waves at cell faces are in single precision (``numerics.stored_waves``)."""
PERMANENT_ERROR = 1.0
"""Error per step in a closed box with permanent stress or displacement, in units of ``ROUNDING`` times ``ERROR_BY_ORDER``.

It varies by a factor of 30 with the position of a source within its cell; the largest value found is 0.57.
"""
PERMANENT_ERROR_OF_FAULTS = 0.1
"""Error per step of a fault without sources in a closed box, in the same units.

The errors of fault points average out: 0.0004 to 0.011 was found after 15,000 steps.
"""


@dataclass(frozen=True)
class Estimate:
    """Upper bound of the change due to single precision at the end of a run, relative to the largest values.

    Attributes
    ----------
    steps : float
        Number of time steps.
    scheme : float
        Error of waves alone, in units of ``ROUNDING`` times the square root of ``steps``.
    more : mapping of str to float
        Factors on ``scheme`` by cause.
    material : float
        Error of coefficients that are stored with fewer digits, which is added.
    lasting : float
        Error per step of permanent stress or displacement in a closed box, in units of ``ROUNDING``; 0 elsewhere.
    """

    steps: float
    scheme: float
    more: Mapping[str, float]
    material: float = 0.0
    lasting: float = 0.0

    @property
    def error(self) -> float:
        """Error relative to the largest seismogram and slip."""
        return ROUNDING * max(self._noise, self._drift) + self.material

    @property
    def _noise(self) -> float:
        return self.scheme * math.prod(self.more.values()) * math.sqrt(self.steps)

    @property
    def _drift(self) -> float:
        return self.lasting * self.steps

    def __str__(self) -> str:
        reasons = [f"{self.steps:,.0f} steps"]
        if self._drift > self._noise:
            reasons += ["no side absorbs static deformation and waves"]
        else:
            reasons += [f"{name} (times {factor:g})" for name, factor in self.more.items()]
        reasons += [f"material in sixteen bits ({self.material:.1e})"] if self.material else []
        return f"up to {self.error:.1e} of the largest seismogram and slip ({', '.join(reasons)})"

    def compensated(self) -> Estimate:
        """Return the estimate with compensated sums."""
        return self._times(COMPENSATED)

    def stored_waves(self) -> Estimate:
        """Return the estimate if only waves at cell faces are in single precision."""
        return self._times(STORED_WAVES)

    def _times(self, share: float) -> Estimate:
        return replace(self, scheme=share * self.scheme, lasting=share * self.lasting)


@dataclass(frozen=True)
class Choice:
    """Settings with a precision that the backend supports, and a note on the choice (empty if there was none)."""

    numerics: Setting
    note: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of a plan on the choice, at most one."""
        return (self.note,) if self.note else ()


def choose_precision(numerics: Setting, found: Estimate, can_compensate: bool, problems: Problems) -> Choice:
    """Choose the precision of a case.

    Parameters
    ----------
    numerics : Numerics
        Numerical settings of the case.
    found : Estimate
        Estimated error of plain single precision.
    can_compensate : bool
        True if the engine supports compensated sums for this case.
    problems : Problems
        Collects a warning if single precision was requested and may exceed ``numerics.precision_error``.

    Returns
    -------
    Choice
        Settings in which ``auto`` is replaced, with a note.
    """
    most, retained = numerics.precision_error, found.compensated()
    if numerics.precision == "double" and numerics.stored_waves == "single":
        own = found.stored_waves()
        if own.error > most:
            advice = "Remove it, or raise numerics.precision_error."
            problems.warn("numerics.stored_waves", f"single may change results by {own}", f"{most:g}", advice)
        what = f"single precision, which changes results by {own}; numerics.precision_error is {most:g}"
        return Choice(numerics, f"stored waves: {what}")
    if numerics.precision == "double":
        if "precision_error" in numerics.model_fields_set and "precision" not in numerics.model_fields_set:
            advice = f"Use auto ({option('precision', 'auto')}), which respects it, or single."
            problems.warn("numerics.precision_error", "has no effect: precision is double by default", advice=advice)
        return Choice(numerics)
    if numerics.precision == "single":
        own = retained if numerics.compensated else found
        if own.error > most:
            advice = f"Use double ({option('precision', 'double')}), or raise numerics.precision_error."
            problems.warn("numerics.precision", f"single may change results by {own}", f"{most:g}", advice)
        return Choice(numerics)
    limit = f"numerics.precision_error is {most:g}"
    for own, compensated in ((found, False), (retained, True)):
        if own.error <= most and (can_compensate or not compensated) and (compensated or not numerics.compensated):
            how = "single, compensated" if compensated else "single"
            made = numerics.model_copy(update={"precision": "single", "compensated": compensated})
            return Choice(made, f"precision auto: {how}, which changes results by {own}; {limit}")
    made = numerics.model_copy(update={"precision": "double", "compensated": False})
    best = retained if can_compensate else found
    return Choice(made, f"precision auto: double, as single may change results by {best}; {limit}")
