"""At which frequency a model's wave speeds are taken to hold where a case does not say it."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.base.errors import Problems
from faultwave.case.settings.grid import Attenuation
from faultwave.media.quality import spectrum_of


@pytest.mark.parametrize(
    ("band", "resolved", "expected"),
    [
        ({}, 5.0, 1.0),  # 0.05 to 5 Hz
        ({}, 20.0, 1.0),  # the same medium at another resolution
        ({}, 0.5, 0.5),
        ({"low": 2.0, "high": 40.0}, 5.0, 2.0),
        ({"high": 8.0, "reference": 0.8}, 5.0, 0.8),
    ],
)
def test_speeds_are_those_at_one_hertz_or_at_the_nearer_end(
    band: dict[str, float], resolved: float, expected: float
) -> None:
    problems = Problems()
    found = spectrum_of(Attenuation(**band), resolved, problems)
    assert found.reference == pytest.approx(expected) and not problems.items
    assert found.nearest == found.reference


def test_what_is_given_outside_of_the_band_stays_and_is_told() -> None:
    problems = Problems()
    found = spectrum_of(Attenuation(low=0.005, high=0.5, reference=1.0), 0.5, problems)
    assert (found.reference, found.nearest) == (1.0, 0.5)
    assert "1 Hz is outside the band" in problems.warnings[0].what
    assert np.isfinite(found.low)
