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


@pytest.mark.parametrize("seissol", [False, True])
@pytest.mark.parametrize("law", ["elastic", "acoustic"])
def test_slip_in_water_is_told(tmp_path, law, seissol):
    """Decks with it run under the elastic law only, as SeisSol does."""
    patch = "10.0 45.0 0.0004 30 60 1e4 0.0 0.1\n90 1.0 3 0 0 0 0\n0 10 0\n"
    (tmp_path / "fault.srf").write_text(f"1.0\nPOINTS 1\n{patch}")
    case = sea(law=law, sources=[{"kind": "srf", "file": str(tmp_path / "fault.srf")}])
    case |= {
        "output": {"seissol_layout": seissol},
        "projection": {"crs": "+proj=aeqd +lat_0=45 +lon_0=10 +x_0=5.1 +y_0=5.2"},
    }
    if seissol and law == "elastic":
        assert any("shears in a fluid" in w.what for w in fw.simulate(case).warnings)
    else:
        with pytest.raises(InputError, match="shears in a fluid"):
            fw.simulate(case)


@pytest.mark.parametrize("tensor", [{"s_xy": "1.0"}, {"s_xx": "exp(-z * z)"}])
def test_initial_shear_stress_in_water_is_refused(tensor):
    field = {"expression": {name: f"return {value};" for name, value in tensor.items()}}
    with pytest.raises(InputError, match=r"shear stress in [0-9]+ cells of fluid, most"):
        fw.simulate(sea(law="elastic", initial={"kind": "easi", "field": field}))


def test_initial_pressure_in_water_is_not():
    field = {"expression": {f"s_{xx}": "return exp(-z * z);" for xx in ("xx", "yy", "zz")}}
    fw.simulate(sea(law="elastic", initial={"kind": "easi", "field": field}))
