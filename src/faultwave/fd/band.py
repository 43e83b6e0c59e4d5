"""Whether sources radiate above what the grid resolves: such waves disperse, and peak values hold them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.base.errors import Problems
from faultwave.physics.sources.lowpass import POLES
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.spectrum import spectrum

QUIET = 0.05
"""A spectrum that has fallen to this share of its largest value is over."""
CORNERS = np.linspace(0.8, 0.05, 76)  # of a low-pass, over the resolved frequency


def check_band(
    sources: Sequence[PointSource],
    resolved: float,
    step: float,
    end_time: float,
    problems: Problems,
    lowpass: float | None = None,
) -> None:
    """A warning where the sources, gone through a ``lowpass`` [Hz] if there is one, radiate above the frequency that is resolved
    everywhere."""
    if not sources or not np.isfinite(resolved):
        return
    frequencies, amplitudes = spectrum(sources, step, end_time)
    loudest = amplitudes.max()
    above = frequencies > resolved
    if not loudest > 0 or not above.any():
        return
    share = float(amplitudes[above].max() / loudest)
    if share > QUIET:
        corner = smoothing(frequencies, amplitudes, resolved, lowpass)
        smooth = "Raise"
        if corner and lowpass:
            smooth = f"Lower grid.lowpass from {lowpass:.3g} to {corner:.3g} Hz, raise"
        elif corner:
            smooth = f"Smooth the sources (grid.lowpass: {corner:.3g} Hz), raise"
        problems.warn(
            "sources",
            f"radiate above the {resolved:.3g} Hz that are resolved everywhere: up to {100 * share:.0f} % of their largest amplitude",
            advice=f"{smooth} grid.frequency, or look at results below it only; peaks hold what disperses.",
        )


def smoothing(
    frequencies: np.ndarray, amplitudes: np.ndarray, resolved: float, lowpass: float | None = None
) -> float | None:
    """Corner of the low-pass that leaves a spectrum over above ``resolved``, instead of the ``lowpass`` that it has gone through; None
    where none does that."""
    passed = (
        np.ones(len(frequencies)) if lowpass is None else 1.0 / np.sqrt(1.0 + (frequencies / lowpass) ** (2 * POLES))
    )
    for corner in resolved * CORNERS:
        left = amplitudes / passed / np.sqrt(1.0 + (frequencies / corner) ** (2 * POLES))
        if left[frequencies > resolved].max() < 0.9 * QUIET * left.max():
            return float(f"{corner:.3g}")
    return None


__all__ = ["check_band", "spectrum"]
