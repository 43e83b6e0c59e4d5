import math

import pint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultwave.base.units import FACTORS, to_si

numbers = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15).filter(
    lambda x: x == 0 or abs(x) > 1e-90
)


@given(numbers)
def test_a_bare_number_and_its_text_are_si_already(value):
    assert to_si(value, "Pa") == value
    assert to_si(repr(value), "Pa") == value


@given(
    numbers,
    st.sampled_from(
        [
            ("MPa", "Pa", 1e6),
            ("km", "m", 1e3),
            ("km/s", "m/s", 1e3),
            ("ms", "s", 1e-3),
            ("g/cm^3", "kg/m^3", 1e3),
            ("dyne*cm", "N*m", 1e-7),
        ]
    ),
    st.sampled_from(["", " ", "  "]),
)
def test_units_scale(value, unit, blank):  # fmt: skip
    name, si, factor = unit
    assert math.isclose(to_si(f"{value!r}{blank}{name}", si), value * factor, rel_tol=1e-12, abs_tol=1e-300)


@given(numbers, st.sampled_from([(unit, si) for si, units in FACTORS.items() for unit in units]))
def test_the_commonest_units_are_those_of_pint(value, pair):
    """To the last bit."""
    unit, si = pair
    registry = pint.get_application_registry()
    assert to_si(f"{value!r} {unit}", si) == registry.Quantity(value, unit).to(si).magnitude


def test_angles_stay_in_degrees():
    assert to_si("60 deg", "deg") == 60
    assert to_si(60, "deg") == 60
    assert math.isclose(to_si("1 rad", "deg"), 180 / math.pi)


def test_temperature_offsets():
    assert math.isclose(to_si("20 degC", "K"), 293.15)


@pytest.mark.parametrize(
    ("text", "unit", "words"),
    [
        ("70 Mpa", "Pa", "did you mean 'MPa'?"),
        ("3 mpa", "Pa", "did you mean 'MPa'?"),
        ("5 3 m", "m", "not a unit"),  # pint alone would say 15 m
        ("1 000 m", "m", "not a unit"),  # and 0 m here
        ("7 m", "Pa", "expected a unit like 'Pa'"),
        ("abc", "m", "not a number"),
        ("", "m", "not a number"),
        ("4 m", "", "expected a unit like '(none)'"),
        ("1_000", "m", "not a unit"),
        ("3 %", "m", "no unit that converts to m"),
    ],
)
def test_mistakes_are_told(text, unit, words):
    with pytest.raises(ValueError) as error:
        to_si(text, unit)
    assert words in str(error.value)


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "Infinity", ".inf", math.inf, math.nan])
def test_numbers_are_finite(value):
    with pytest.raises(ValueError, match="not a number"):
        to_si(value, "m")


@pytest.mark.parametrize("value", ["1e400", "1e308 km", "1e400 km", "9" * 400, 10**400, 1e308, "1e9999999999999 m"])
def test_numbers_are_not_beyond_all_physics(value):
    with pytest.raises(ValueError, match="is too large: magnitudes in m must be") as error:
        to_si(value, "m")
    assert len(str(error.value)) < 200
    with pytest.raises(ValueError, match="is too small: magnitudes in m must be"):
        to_si(1e-320, "m")


@pytest.mark.parametrize("value", [True, None, [1], {}])
def test_no_number(value):
    with pytest.raises(ValueError):
        to_si(value, "m")
