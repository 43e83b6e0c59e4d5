"""Touchstone files of other programs: defaults of the option line, noise data, and parameters that are not S."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.output.formats.touchstone import read_touchstone
from tests.messages import raises


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("option", ["# MHZ", "# MHz S MA R 50", "# mhz s", ""])
def test_every_field_of_the_option_line_has_a_default(tmp_path: Path, option: str) -> None:
    path = written(tmp_path / "a.s1p", f"! one port\n{option}\n100 0.5 90\n200 0.25 -90\n")
    frequency, s = read_touchstone(path)
    np.testing.assert_allclose(frequency, np.array([100.0, 200.0]) * (1e6 if option else 1e9))
    np.testing.assert_allclose(s[:, 0, 0], [0.5j, -0.25j], atol=1e-15)


def test_noise_data_of_two_ports_are_skipped(tmp_path: Path) -> None:
    rows = "1 .1 0 .2 0 .3 0 .4 0\n2 .5 0 .6 0 .7 0 .8 0\n1 2.5 0.4 120 0.3\n2 2.7 0.4 130 0.3\n"
    frequency, s = read_touchstone(written(tmp_path / "a.s2p", "# GHZ S RI\n" + rows))
    assert frequency.tolist() == [1e9, 2e9]
    np.testing.assert_allclose(s[1], [[0.5, 0.7], [0.6, 0.8]])


def test_other_parameters_are_refused(tmp_path: Path) -> None:
    with raises(InputError):
        read_touchstone(written(tmp_path / "a.s1p", "# GHZ Z RI\n1 50 0\n"))
    with raises(InputError):
        read_touchstone(written(tmp_path / "a.txt", "# GHZ S RI\n1 50 0\n"))
