"""Checks before a run that a record of waves is long and fine enough."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultwave.base.types import Setting
from faultwave.fd.capability import MaterialContext
from faultwave.fd.injection.incident_error import Look

FEWEST = 3.0
"""Smallest number of points per wavelength at which a record can be interpolated in space."""
SAMPLES = 8.0
"""Smallest number of samples per period at which a record can be interpolated in time."""


def check_length(record: Setting, checking: MaterialContext) -> None:
    """Report an error if the record ends before the run."""
    requested = (checking.steps - 0.5) * checking.step
    if record.last < requested - record.frame.interval * (1 + 1e-6):
        what = f"the record ends at {record.last:.6g} s, the run at {checking.case.end_time:.6g} s"
        checking.problems.error(
            "injection.file", what, "a record as long as the run", "Shorten end_time, or record longer."
        )


def check_samples(found: Look, spacing: float, interval: float, checking: MaterialContext) -> None:
    """Report errors of records with too few points or samples for their highest significant frequency.

    A ``spacing`` [m] of 0 skips the check in space, for records at the points of a grid. ``interval`` [s] is the
    sampling step.
    """
    slowest = float(np.sqrt(_modulus(checking.coarse) / checking.coarse["rho"]).min())
    apart = slowest / (found.highest * spacing) if found.highest * spacing > 0 else np.inf
    wanted = FEWEST if checking.case.grid is None else checking.case.grid.points_per_wavelength
    if apart < FEWEST:
        what = f"holds {found.highest:.3g} Hz, for which its spacing of {spacing:g} m gives {apart:.2g} points per shortest wavelength"
        checking.problems.error("injection.file", what, f"at least {FEWEST:g}", "Record with a smaller spacing.")
    elif apart < wanted:
        what = f"holds {found.highest:.3g} Hz, for which its spacing of {spacing:g} m gives {apart:.2g} points per shortest wavelength"
        checking.problems.warn("injection.file", what, f"{wanted:g} or more")
    period = 1.0 / (found.highest * interval) if found.highest > 0 else np.inf
    if period < SAMPLES:
        what = f"holds {found.highest:.3g} Hz, for which its interval of {interval:g} s gives {period:.2g} samples a period"
        checking.problems.error("injection.file", what, f"at least {SAMPLES:g}", "Record with a shorter interval.")


def _modulus(coarse: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.where(coarse["mu"] > 0, coarse["mu"], coarse["lambda"])


__all__ = ["check_length", "check_samples"]
