"""Quality factors of a case: their frequency band, and bounds of physically possible values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.media.attenuation import LOWEST_Q, Spectrum
from faultwave.media.points import coordinates


class BandSettings(Protocol):
    """Settings of the frequency dependence of Q: the band and the reference [Hz], and the power law above a corner [Hz]."""

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...

    @property
    def reference(self) -> float | None: ...

    @property
    def exponent(self) -> float: ...

    @property
    def corner(self) -> float: ...


TOLERANCE = 1e-3
"""Relative tolerance of 1/Qp, because tables are rounded."""

USUAL = 1.0
"""Default reference frequency [Hz] of a model's wave speeds (Dziewonski & Anderson 1981)."""


@dataclass(frozen=True)
class Bound:
    """Violation of a bound by quality factors.

    Attributes
    ----------
    share : float
        Fraction of the points with a violation.
    place : tuple of float
        Place (x, y, z) of the largest violation [m].
    given, allowed : float
        Quality factor there and its bound.
    """

    share: float = 0.0
    place: tuple[float, ...] = ()
    given: float = 1.0
    allowed: float = 1.0

    @property
    def excess(self) -> float:
        return abs(float(np.log(self.given / self.allowed)))


def combine_bounds(bounds: Sequence[Bound]) -> Bound:
    """Return the combined violation of several parts of a medium of about equal size."""
    worst = max(bounds, key=lambda b: (b.excess, b.place))
    return Bound(float(np.mean([b.share for b in bounds])), worst.place, worst.given, worst.allowed)


def spectrum_of(setting: BandSettings, frequency: float, problems: Problems) -> Spectrum:
    """Return the frequency dependence of Q of a case.

    Parameters
    ----------
    setting : BandSettings
        Settings ``attenuation`` of the case.
    frequency : float
        Upper end of the band [Hz] if the setting has none.
    problems : Problems
        Collector of warnings.

    Raises
    ------
    InputError
        If the band is empty.
    """
    high = setting.high or frequency
    low = setting.low or high / 100
    if not low < high:
        raise InputError(Problem("attenuation", f"low = {low:g} Hz is not below high = {high:g} Hz", "low below high"))
    reference = setting.reference or float(np.clip(USUAL, low, high))
    found = Spectrum(low, high, reference, setting.exponent, setting.corner)
    if found.nearest != found.reference:
        what = (
            f"{found.reference:g} Hz is outside the band of attenuation, {low:.4g} to {high:.4g} Hz: wave speeds are converted to "
            f"{found.nearest:.4g} Hz by the frequency dependence of Q"
        )
        problems.warn("attenuation.reference", what)
    return found


def largest_qp(medium: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the largest Qp (n,) for which compression loses energy; infinite in fluids.

    The condition is 1/Qp >= 4/3 (Vs/Vp)^2 / Qs, because the loss of the bulk modulus is the loss of the P modulus less
    4/3 of the loss of mu.
    """
    lam, mu = medium["lambda"], medium["mu"]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mu > 0, 0.75 * (lam + 2 * mu) / mu * medium["Qs"], np.inf)


def clip_quality(medium: dict[str, np.ndarray], points: np.ndarray) -> tuple[Bound, Bound]:
    """Clip quality factors in place to possible values.

    Returns
    -------
    gains, strong : Bound
        Violations where Qp is too large for Qs, and where either is too small.
    """
    solid = medium["mu"] > 0
    least = np.where(solid, np.minimum(medium["Qp"], medium["Qs"]), medium["Qp"])
    strong = _beyond(least < LOWEST_Q, least, np.full(least.shape, LOWEST_Q), points)
    medium["Qs"] = np.where(solid, np.maximum(medium["Qs"], LOWEST_Q), np.inf)
    medium["Qp"] = np.maximum(medium["Qp"], LOWEST_Q)
    most = largest_qp(medium)
    gains = _beyond(medium["Qp"] > most * (1 + TOLERANCE), medium["Qp"], most, points)
    medium["Qp"] = np.minimum(medium["Qp"], most)
    return gains, strong


def _beyond(bad: np.ndarray, given: np.ndarray, allowed: np.ndarray, points: np.ndarray) -> Bound:
    if not bad.any():
        return Bound()
    rows = np.flatnonzero(bad)
    given, allowed = np.minimum(given.ravel()[rows], 1e12), allowed.ravel()[rows]  # no loss at all is infinite
    worst = int(np.argmax(np.abs(np.log(given / allowed))))
    place = tuple(float(x) for x in points.reshape(-1, 3)[rows[worst]])
    return Bound(float(np.mean(bad)), place, float(given[worst]), float(allowed[worst]))


def report_bounds(gains: Bound, strong: Bound, limited: bool, of: tuple[int, str], problems: Problems) -> None:
    """Report violations of the bounds of quality factors.

    Parameters
    ----------
    gains, strong : Bound
        Violations (see ``clip_quality``).
    limited : bool
        True if the nearest possible values are used; violations are then warnings instead of errors.
    of : tuple of (int, str)
        Number of the points and noun for them.
    problems : Problems
    """
    advice = "" if limited else "Or 'attenuation: {limit: true}', which uses the nearest possible value."
    reported = problems.warn if limited else problems.error
    for bound, name, what, allowed in (
        (strong, "Q", "attenuation is stronger than Maxwell elements can represent", f"at least {LOWEST_Q:g}"),
        (gains, "Qp", "Qp is so large relative to Qs that compression would gain energy and grow without bound", ""),
    ):
        if not bound.share:
            continue
        share = f"{100 * bound.share:.3g} % of the {of[1]}, about {max(1, round(bound.share * of[0])):,} of {of[0]:,}"
        text = f"{what} at {share}, the largest violation is at {coordinates(bound.place)}: {name} = {bound.given:.6g}"
        most = allowed or f"at most 3/4 (Vp/Vs)^2 Qs, there {bound.allowed:.6g}"
        reported("material", text + (f", {bound.allowed:.6g} is used" if limited else ""), most, advice)
