"""The band of attenuation, and quality factors that cannot be had."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.case.model import Case
from faultwave.fd.grid import Grid
from faultwave.fd.media import Bound, Medium
from faultwave.media.attenuation import LOWEST_Q, Spectrum
from faultwave.media.points import coordinates


def spectrum_of(case: Case, frequency: float, problems: Problems) -> Spectrum | None:
    """What Q shall be, up to ``frequency`` [Hz] where the case says nothing else."""
    setting = case.attenuation
    if setting is None:
        return None
    high = setting.high or frequency
    low = setting.low or high / 100
    if not low < high:
        raise InputError(Problem("attenuation", f"low = {low:g} Hz is not below high = {high:g} Hz"))
    found = Spectrum(low, high, setting.reference or float(np.sqrt(low * high)), setting.exponent, setting.corner)
    if found.nearest != found.reference:
        what = (
            f"{found.reference:g} Hz is outside the band of attenuation, {low:.4g} to {high:.4g} Hz: wave speeds are taken to "
            f"{found.nearest:.4g} Hz by the law of constant Q"
        )
        problems.warn("attenuation.reference", what)
    return found


def check_quality(case: Case, medium: Medium, grid: Grid, problems: Problems) -> None:
    """Errors, or warnings with ``attenuation.limit``, where quality factors cannot be had, with how much and where."""
    if case.attenuation is None:
        return
    limited = case.attenuation.limit
    advice = "" if limited else "Or 'attenuation: {limit: true}', which takes what is nearest."
    tell = problems.warn if limited else problems.error
    for bound, what, allowed in (
        (medium.strong, "attenuation is stronger than can be had", f"at least {LOWEST_Q:g}"),
        (medium.gains, "Qp is so large beside Qs that compression would gain energy and grow without end", ""),
    ):
        if not bound.share:
            continue
        name = "Q" if bound is medium.strong else "Qp"
        text = f"{what} at {_share(bound, grid)}, most at {coordinates(bound.place)}: {name} = {bound.given:.6g}"
        most = allowed or f"at most 3/4 (Vp/Vs)^2 Qs, there {bound.allowed:.6g}"
        tell("material", text + (f", {bound.allowed:.6g} is used" if limited else ""), most, advice)


def _share(bound: Bound, grid: Grid) -> str:
    points = max(1, round(bound.share * grid.box.points))
    return f"{100 * bound.share:.3g} % of the points, about {points:,} of {grid.box.points:,}"


__all__ = ["check_quality", "spectrum_of"]
