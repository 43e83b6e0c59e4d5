"""Columns of seismograms that follow from samples, on both engines."""

from types import SimpleNamespace

import numpy as np
import pytest

from faultwave.base.errors import Problems
from faultwave.case.settings.outputs import Receivers
from faultwave.engine import receivers
from faultwave.engine.receivers import DerivedColumns, ReceiverRequest
from faultwave.observe.dataset import sample_count
from faultwave.physics.waves import law

QUANTITIES = ("s_xx", "s_yy", "s_zz", "v1", "v2", "v3")


def request(**setting):
    output = SimpleNamespace(receivers=SimpleNamespace(interval=0.1, **setting))
    case = SimpleNamespace(output=output, end_time=1.0)
    return ReceiverRequest(case, QUANTITIES, np.zeros((2, 3)), np.zeros(2), ())


def test_rotation_and_strain_rate_follow_from_the_velocity_gradient():
    gradient = np.random.default_rng(1).normal(size=(3, 3))  # component, direction
    samples = np.zeros((5, 2, 4, 8))  # two memory variables, which are not recorded
    samples[:, :, 1:, 3:6] = gradient.T
    asked = request(rotation=True, strain_rate=True)
    table = asked.table(samples, 2)
    assert table.shape == (5, 2, len(asked.columns)) and asked.disk == 8 * table[0].size * 11
    columns = dict(zip(asked.columns, table[0, 0], strict=True))
    assert columns["rot3"] == pytest.approx(gradient[1, 0] - gradient[0, 1])
    assert columns["epsxz"] == pytest.approx((gradient[0, 2] + gradient[2, 0]) / 2)


def test_a_further_column_is_one_entry(monkeypatch):
    def pressure(fields, gradient):
        return [-(fields["s_xx"] + fields["s_yy"] + fields["s_zz"]) / 3]

    further = DerivedColumns("pressure", ("pressure",), pressure)
    monkeypatch.setattr(receivers, "DERIVED", (*receivers.DERIVED, further))
    asked = request(rotation=False, strain_rate=False, pressure=True)
    samples = np.random.default_rng(2).normal(size=(4, 2, 1, 6))
    assert asked.columns == (*QUANTITIES, "pressure") and not asked.gradients
    assert asked.table(samples, 2)[..., -1] == pytest.approx(-samples[:, :, 0, :3].mean(-1))
    assert asked.table(np.zeros((0, 0, 1, 6)), 2).shape == (0, 2, 7)


def test_a_sample_at_the_end_is_counted_in_spite_of_rounding():
    assert sample_count(0.3, 0.1) == 4 and sample_count(0.29, 0.1) == 3


def test_the_curl_of_the_velocity_needs_a_velocity():
    setting = Receivers(interval=0.1, points=((0.0, 0.0, 0.0),), rotation=True, strain_rate=True)
    case = SimpleNamespace(output=SimpleNamespace(receivers=setting), end_time=1.0, projection=None)
    problems = Problems()
    assert ReceiverRequest.read(case, law("elastic"), problems) is not None and not problems.items
    ReceiverRequest.read(case, law("maxwell"), problems)
    assert [p.where for p in problems.errors] == ["output.receivers.rotation", "output.receivers.strain_rate"]
    assert "which the maxwell law does not have" in problems.errors[0].what
