"""The verification of plane waves in anisotropic and porous rock, small; and the tables that it writes."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.verify import convergence
from faultwave.verify.cases import plane_waves_in_rock as cases
from tests.messages import raises
from tools import convergence_tables

WAVES = {"anisotropic": cases.ANISOTROPIC_WAVES, "poroelastic": cases.POROUS_WAVES}
ERRORS = {"anisotropic": [0.196, 0.131], "poroelastic": [0.142, 0.189, 0.117, 0.164]}


def test_frequencies_of_porous_rock() -> None:
    assert all(row.ok for row in cases._frequency_rows())


@pytest.mark.parametrize("law", WAVES)
def test_errors_of_one_grid(law: str) -> None:
    found = cases.measure(WAVES[law], {3: (4,)}, lambda line: None)
    np.testing.assert_allclose(found[3][4], ERRORS[law], rtol=0.05)
    assert all(np.abs(WAVES[law](np.zeros((1, 3)), t)).max() > 0.1 for t in (0.0, cases.END))


def test_tables_stand_between_their_marks() -> None:
    errors = {2: {4: np.array([0.4, 0.04]), 8: np.array([0.04, 0.01])}, 3: {4: np.array([0.3, 0.3])}}
    table = convergence.markdown(errors, ("s_xx", "v1"))
    assert table[0] == "| order | 4^3 | 8^3 | rates of s_xx, v1 |"
    assert table[2:] == ["| 2 | 4.0e-01, 4.0e-02 | 4.0e-02, 1.0e-02 | 3.32, 2.00 |", "| 3 | 3.0e-01, 3.0e-01 |  |  |"]
    page = "".join("".join(convergence_tables.marks(law)) for law in WAVES)
    new = convergence_tables.written(page, "poroelastic", ["a"])
    assert new == page.replace("poroelastic plane waves: begin -->\n", "poroelastic plane waves: begin -->\na\n")
    assert convergence_tables.written(new, "poroelastic", ["b"]) == new.replace("\na\n", "\nb\n")
    with raises(ValueError):
        convergence_tables.written(page, "elastic", ["a"])


def test_the_page_has_a_place_for_every_law() -> None:
    text = convergence_tables.PAGE.read_text(encoding="utf-8")
    for law in convergence_tables.LAWS:
        assert all(text.count(mark) == 1 for mark in convergence_tables.marks(law))
