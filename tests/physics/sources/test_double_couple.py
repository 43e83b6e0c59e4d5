"""Double couples by strike, dip and rake: the tensors of textbook mechanisms, and those of an SRF file with the same slip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from faultwave.base.errors import Problems
from faultwave.base.formulas import magnitude
from faultwave.case.settings.grid import Projection
from faultwave.case.settings.sources import Source
from faultwave.physics.sources.load import load_sources

UTM = {"crs": "EPSG:32611", "origin": [-117.9, 34.2]}


def moment(projection: dict[str, Any] | None = None, **values: Any) -> np.ndarray:
    setting = {"kind": "double-couple", "time_function": {"kind": "brune"}, "location": [0.0, 0.0, -8e3], **values}
    place = Projection.model_validate(projection) if projection else None
    (source,) = load_sources([Source.model_validate(setting)], projection=place)
    return source.moment


@pytest.mark.parametrize(
    ("strike", "dip", "rake", "expected"),
    [
        # x east, y north, z up; order xx yy zz xy yz xz
        (
            0.0,
            90.0,
            0.0,
            (0, 0, 0, 1, 0, 0),
        ),  # left-lateral on a vertical plane towards north: its east side moves north
        (90.0, 90.0, 180.0, (0, 0, 0, 1, 0, 0)),  # right-lateral towards east: the conjugate plane of the same
        (0.0, 45.0, 90.0, (-1, 0, 1, 0, 0, 0)),  # thrust: shortens across, lengthens upwards
        (90.0, 45.0, -90.0, (0, 1, -1, 0, 0, 0)),  # normal faulting
    ],
)
def test_textbook_mechanisms(strike: float, dip: float, rake: float, expected: tuple[float, ...]) -> None:
    np.testing.assert_allclose(
        moment(strike=strike, dip=dip, rake=rake, seismic_moment=2.0), 2 * np.array(expected), atol=1e-15
    )


@given(st.integers(0, 360), st.integers(0, 90), st.integers(-180, 180))
def test_a_double_couple_has_no_volume_and_its_scalar_moment(strike: int, dip: int, rake: int) -> None:
    found = moment(strike=strike, dip=dip, rake=rake, magnitude=4.0)
    assert abs(found[:3].sum()) < 1e-12 * 10**15.1
    scalar = np.sqrt(((found[:3] ** 2).sum() + 2 * (found[3:] ** 2).sum()) / 2)
    assert scalar == pytest.approx(10**15.1) and magnitude(scalar) == pytest.approx(4.0)


def test_with_a_projection_it_is_the_slip_of_an_srf_file(tmp_path: Path) -> None:
    """From true north, on a map whose y axis points elsewhere and far from its meridian."""
    longitude, latitude = -115.2, 35.1
    (tmp_path / "a.srf").write_text(
        f"1.0\nPOINTS 1\n{longitude} {latitude} 8 318 80 1e10 0 0.1\n-170 100 3 0 0 0 0\n100 800 100\n"
    )
    projection = Projection.model_validate({**UTM, "azimuth": 30.0})
    settings = [Source.model_validate({"kind": "srf", "file": tmp_path / "a.srf"})]
    (slip,) = load_sources(settings, projection=projection, warned=Problems())
    found = moment(
        {**UTM, "azimuth": 30.0},
        location=slip.location.tolist(),
        strike=318.0,
        dip=80.0,
        rake=-170.0,
        seismic_moment=1.0,
    )
    area = np.sqrt(((slip.potency[:3] ** 2).sum() + 2 * (slip.potency[3:] ** 2).sum()) / 2)
    np.testing.assert_allclose(found, slip.potency / area, atol=1e-6)
    by_place = {
        "geographic": [longitude, latitude, -8e3],
        "strike": 318.0,
        "dip": 80.0,
        "rake": -170.0,
        "seismic_moment": 1.0,
    }
    setting = {"kind": "double-couple", "time_function": {"kind": "brune"}, **by_place}
    (source,) = load_sources([Source.model_validate(setting)], projection=projection)
    np.testing.assert_allclose(source.moment, found, atol=1e-9)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"strike": 0.0, "magnitude": 5.0}, "needs dip, rake"),
        ({"strike": 0.0, "dip": 90.0, "rake": 0.0}, r"magnitude \(Mw\) or seismic_moment \(M0\)"),
        ({"strike": 0.0, "dip": 90.0, "rake": 0.0, "magnitude": 5.0, "seismic_moment": 1e15}, "either magnitude"),
        ({"strike": 0.0, "dip": 95.0, "rake": 0.0, "magnitude": 5.0}, "less than or equal to 90"),
    ],
)
def test_what_is_missing_is_told(values: dict[str, float], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Source.model_validate({"kind": "double-couple", "time_function": {"kind": "brune"}, **values})
