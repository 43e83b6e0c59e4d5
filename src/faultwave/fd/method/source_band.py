"""Check of the source spectra against the frequency that the grid resolves.

Waves above that frequency disperse, and they contribute to peak values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from faultwave.base.errors import Problems
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.spectrum import QUIET, smoothing, spectrum


def check_band(
    sources: Sequence[PointSource],
    resolved: float,
    step: float,
    end_time: float,
    problems: Problems,
    lowpass: float | None = None,
) -> None:
    """Warn if the sources radiate above the frequency that the grid resolves everywhere.

    Parameters
    ----------
    sources : sequence of PointSource
    resolved : float
        Highest frequency [Hz] resolved in the whole grid.
    step, end_time : float
        Time step and end of the run [s].
    problems : Problems
        Receives the warning.
    lowpass : float or None
        Corner frequency [Hz] of the low-pass filter of the sources, if there is one.
    """
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
            smooth = f"Lower numerics.source_lowpass from {lowpass:.3g} to {corner:.3g} Hz, raise"
        elif corner:
            smooth = f"Smooth the sources (numerics.source_lowpass: {corner:.3g} Hz), raise"
        problems.warn(
            "sources",
            f"radiate above the {resolved:.3g} Hz that are resolved everywhere: up to {100 * share:.0f} % of their largest amplitude",
            advice=f"{smooth} grid.frequency, or look at results below it only; peaks hold what disperses.",
        )


__all__ = ["check_band", "spectrum"]
