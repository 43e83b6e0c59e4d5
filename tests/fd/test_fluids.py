"""What a case is told of fluids on a grid before it runs."""

import pytest

from faultwave.case.load import load_case
from faultwave.run.planned import check

from .test_grids import case

SEA = {"expression": {"rho": "2000", "vp": "2500", "vs": "if (z > -250) { return 0; } return 1200;"}}
BOX = {"lower": [0, 0, -1600], "upper": [1600, 1600, 0], "spacing": 100.0}


def told(z, tensor, material=SEA, **output):
    made = case(material=material, grid=BOX, output=output, numerics={"backend": "numpy"})
    made["sources"] = [{"kind": "moment-tensor", "location": [800, 800, z], "tensor": tensor,
                        "time_function": {"kind": "gaussian", "duration": 0.2}}]  # fmt: skip
    settings, found = load_case(made)
    assert settings is not None, found
    return [(p.severity, str(p)) for p in check(settings).items if "fluid" in str(p)]


@pytest.mark.parametrize(
    ("z", "tensor", "refused"),
    [(-100, {"xy": 1e15}, True), (-440, {"xz": 1e15}, True), (-440, {"zz": 1e15}, True), (-460, {"xy": 1e15}, False),
     (-100, {"xx": 1e15, "yy": 1e15, "zz": 1e15}, False)],
)  # fmt: skip
def test_moments_that_shear_keep_away_from_fluids(z, tensor, refused):
    errors = [text for severity, text in told(z, tensor) if severity == "error"]
    assert len(errors) == refused
    assert not refused or (f"(800, 800, {z})" in errors[0] and "200 m from fluids" in errors[0])


def test_fluid_beside_rock_is_told():
    assert [s for s, _ in told(-900, {"xy": 1e15})] == ["warning"]
    rock = {"constant": {"rho": 2000.0, "vp": 2500.0, "vs": 1200.0}}
    assert told(-100, {"xy": 1e15}, rock) == []
