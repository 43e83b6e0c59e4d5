"""Water carries no shear: sources and initial states that put shear stress into it are told before the run."""

from __future__ import annotations

import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from tests.run.sea.setup import sea

BELL = {"kind": "gaussian", "duration": 0.1}
PLACE = [5.1, 5.2, -0.4]


def source(**tensor):
    return [{"kind": "moment-tensor", "location": PLACE, "tensor": tensor, "time_function": BELL}]


@pytest.mark.parametrize("law", ["elastic", "acoustic"])
@pytest.mark.parametrize("tensor", [{"xy": 1.0}, {"xx": 1.0, "yy": -1.0}, {"zz": 1.0}])
def test_moments_that_shear_in_water_are_refused(law, tensor):
    with pytest.raises(InputError, match=r"at \(5.1, 5.2, -0.4\): shears in a fluid"):
        fw.simulate(sea(law=law, sources=source(**tensor)))


@pytest.mark.parametrize("law", ["elastic", "acoustic"])
def test_explosions_in_water_are_not(law):
    fw.simulate(sea(law=law, sources=source(xx=1.0, yy=1.0, zz=1.0)))


def test_cases_that_follow_seissol_run_with_a_warning():
    case = sea(law="elastic", sources=source(xy=1.0), output={"seissol_layout": True})
    assert any("shears in a fluid" in w.what for w in fw.simulate(case).warnings)


@pytest.mark.parametrize("tensor", [{"s_xy": "1.0"}, {"s_xx": "exp(-z * z)"}])
def test_initial_shear_stress_in_water_is_refused(tensor):
    field = {"expression": {name: f"return {value};" for name, value in tensor.items()}}
    with pytest.raises(InputError, match=r"shear stress in [0-9]+ cells of fluid, most"):
        fw.simulate(sea(law="elastic", initial={"kind": "easi", "field": field}))


def test_initial_pressure_in_water_is_not():
    field = {"expression": {f"s_{xx}": "return exp(-z * z);" for xx in ("xx", "yy", "zz")}}
    fw.simulate(sea(law="elastic", initial={"kind": "easi", "field": field}))
