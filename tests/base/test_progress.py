"""What is told of the progress of a run."""

from __future__ import annotations

import math

import pytest

from faultwave.base.progress import duration


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (42.4, "42 s"),
        (59.6, "1 min 00 s"),
        (185.0, "3 min 05 s"),
        (3599.4, "59 min 59 s"),
        (7642.0, "2 h 07 min"),
        (math.nan, "?"),
        (math.inf, "?"),
    ],
)
def test_durations_as_people_read_them(seconds: float, said: str) -> None:
    assert duration(seconds) == said
