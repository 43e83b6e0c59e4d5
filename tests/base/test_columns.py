"""Named columns: rows and arrays by name, and back."""

import numpy as np
import pytest

from faultwave.base.columns import Columns
from faultwave.base.quantities import State, state_columns

COLUMNS = Columns(jacobian=3, rho=None, rates=0, z=1)


def test_rows_by_name_and_back():
    row = COLUMNS.row(["a", "b", "c", "d", "e"])
    assert row == {"jacobian": ["a", "b", "c"], "rho": "d", "rates": [], "z": ["e"]} and row.rho == "d"
    assert COLUMNS.flat(row) == ["a", "b", "c", "d", "e"] and COLUMNS.flat({**row, "other": 1}) == list("abcde")
    assert (COLUMNS.size, list(COLUMNS)) == (5, ["jacobian", "rho", "rates", "z"])
    assert COLUMNS.labels == ("jacobian", "jacobian", "jacobian", "rho", "z")


def test_columns_that_follow_each_other_are_one_run():
    assert COLUMNS.runs(["jacobian", "rho", "z"]) == [slice(0, 5)]
    assert COLUMNS.runs(["jacobian", "z"]) == [slice(0, 3), slice(4, 5)] and COLUMNS.runs([]) == []
    assert COLUMNS.runs(["z", "rho"]) == [slice(4, 5), slice(3, 4)]


def test_arrays_by_name_and_back():
    values = np.random.default_rng(0).normal(size=(4, 2, 5))
    parts = COLUMNS.split(values)
    assert {n: v.shape for n, v in parts.items()} == {
        "jacobian": (4, 2, 3),
        "rho": (4, 2),
        "rates": (4, 2, 0),
        "z": (4, 2, 1),
    }
    np.testing.assert_array_equal(COLUMNS.join(parts), values)


def test_wrong_widths_and_names_are_refused():
    with pytest.raises(ValueError, match="4 numbers for 5 columns"):
        COLUMNS.row([1, 2, 3, 4])
    with pytest.raises(ValueError, match="2 numbers for 3 columns of jacobian"):
        COLUMNS.flat({"jacobian": [1, 2], "rho": 1, "rates": [], "z": [1]})
    with pytest.raises(ValueError, match="jacobian is 2 wide, not 3"):
        COLUMNS.join({"jacobian": np.ones((1, 2)), "rho": np.ones(1), "rates": np.ones((1, 0)), "z": np.ones((1, 1))})
    with pytest.raises(AttributeError, match="no column is called 'mu'"):
        _ = COLUMNS.row([1, 2, 3, 4, 5]).mu
    with pytest.raises(ValueError, match="two states are called psi"):
        state_columns([State("psi", "s", "one"), State("psi", "s", "another", 3)])


def test_equal_columns_have_equal_names_widths_and_order():
    assert Columns(a=None, b=2) == Columns(a=None, b=2)
    assert Columns(a=None, b=2) != Columns(b=2, a=None) and Columns(a=None) != Columns(a=1)
