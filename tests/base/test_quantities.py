"""Which numbers a parameter takes, and how it tells."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.base.errors import Problems
from faultwave.base.quantities import Parameter, resolve_constants


@pytest.mark.parametrize(
    ("parameter", "good", "bad", "allowed"),
    [
        (Parameter("a", "Pa", "", lower=-1.0, upper=2.5), [-1.0, 0.3, 2.5], [-1.1, 2.6, np.nan], "-1 to 2.5 Pa"),
        (Parameter("a", "m", "", positive=True), [1e-9, np.inf], [0.0, -1.0, np.nan], "> 0 m"),
        (Parameter("a", "", "", lower=0.0, upper=1.0, whole=True), [0.0, 1.0], [0.5, 2.0, -1.0, np.nan], "0 or 1"),
        (Parameter("a", "", "", lower=1.0, upper=9.0, whole=True), [1, 9], [1.5, 10], "a whole number, 1 to 9"),
        (Parameter("a", "", "", positive=True, whole=True), [3], [0, 0.5], "a whole number, > 0"),
    ],
)  # fmt: skip
def test_which_numbers_are_accepted(parameter: Parameter, good: list[float], bad: list[float], allowed: str) -> None:
    assert parameter.accepts(good).all() and not parameter.accepts(bad).any()
    assert parameter.allowed() == allowed


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -1.0])
def test_a_constant_is_a_finite_number_within_its_bounds(value: float) -> None:
    problems = Problems()
    time = Parameter("relaxation_time", "s", "", 0.0, lower=0.0)
    assert resolve_constants([time], {"relaxation_time": value}, "law", "constants", problems) == {}
    (told,) = problems.errors
    assert told.where == "constants.relaxation_time" and told.what == f"is {value:g}"
    assert resolve_constants([time], {"relaxation_time": 0.5}, "law", "constants", Problems()) == {
        "relaxation_time": 0.5
    }
