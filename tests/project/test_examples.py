"""The scenario among the examples: its inputs are what its text says."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from faultwave.base.projection import Projection
from faultwave.case.load import load_case
from faultwave.sources.readers.srf import read_srf

BASIN = Path(__file__).parents[2] / "examples" / "basin" / "basin.py"


def test_the_basin(tmp_path):
    example = runpy.run_path(str(BASIN))
    case, problems = load_case(example["write_inputs"](tmp_path))
    assert case is not None and not problems.items
    sources = read_srf(tmp_path / "rupture.srf", Projection(case.projection.crs, case.projection.origin))
    moment = sum(s.moment_tensor(3.2e10, 3.2e10) * float(s.integral(0, 100)) for s in sources)
    size = np.sqrt((moment[:3] ** 2).sum() + 2 * (moment[3:] ** 2).sum()) / np.sqrt(2)
    assert (np.log10(size) - 9.1) / 1.5 == pytest.approx(6.5, abs=1e-3)
    places = np.array([s.location for s in sources])
    assert np.hypot(*(places[:, :2] - places[0, :2]).T).max() == pytest.approx(23e3, rel=2e-3)
    assert places[:, 2].max() == -3500 and places[:, 2].min() == -14500
