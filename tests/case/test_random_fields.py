"""Settings of random fields: units, forms of correlation lengths, and mistakes with the line of the file."""

from __future__ import annotations

import pytest

from faultwave.case.load import load_case

CASE = """
engine: fd
end_time: 1 s
grid: {{ lower: [0, 0, -4 km], upper: [4 km, 4 km, 0], spacing: 200 m }}
material:
  constant: {{ rho: 2700, vp: 6 km/s, vs: 3464 }}
  random:
    {name}: {{ {setting} }}
output: {{ folder: out }}
"""
GOOD = {
    "relative": "{ vs: 5 %, vp: 0.05 }",
    "correlation_length": "1 km",
    "hurst": "0.1",
    "shortest_wavelength": "400 m",
    "seed": "3",
}


def load(tmp_path, name="rock", **changes):
    setting = {k: v for k, v in (GOOD | changes).items() if v is not None}
    path = tmp_path / "case.yaml"
    path.write_text(CASE.format(name=name, setting=", ".join(f"{k}: {v}" for k, v in setting.items())))
    return load_case(path)


def test_units_are_those_of_the_parameters(tmp_path):
    case, problems = load(tmp_path, absolute="{ rho: 50, vp: -0.2 km/s }", correlation_length="[2 km, 1 km, 500 m]")
    assert not problems.items
    random = case.material.random["rock"]
    assert random.absolute == {"rho": 50.0, "vp": -200.0}
    assert random.correlation_length == (2000.0, 1000.0, 500.0)
    assert random.relative == {"vs": 0.05, "vp": 0.05}
    assert random.shortest_wavelength == 400.0 and random.dip == 90.0


def test_decks_and_cases_without_random_fields_have_none(tmp_path):
    case, _ = load(tmp_path)
    assert case.model_copy().material.random.keys() == {"rock"}
    path = tmp_path / "case.yaml"
    path.write_text(path.read_text().replace("  random:\n", "").replace("    rock: {", "  minimum: { vs: 1 } #"))
    assert load_case(path)[0].material.random == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"relative": "{ vz: 0.05 }"}, "'vz' is not a parameter"),
        ({"relative": None}, "give relative or absolute standard deviations"),
        ({"relative": "{ vs: 0 }"}, "standard deviation 0 of vs"),
        ({"absolute": "{ vp: 3 MPa }"}, "vp"),
        ({"hurst": "1.5"}, "hurst"),
        ({"hurst": None}, "hurst"),
        ({"seed": "-1"}, "seed"),
        ({"seed": None}, "seed"),
        ({"shortest_wavelength": "5 km"}, "above 4 correlation lengths of 1000 m"),
        ({"shortest_wavelength": "0.5 mm"}, "below a millionth of the correlation length 1000 m"),
        ({"correlation_length": "[1 km, 2 km]"}, "two correlation lengths are along strike and dip"),
        ({"correlation_length": "[]"}, "correlation_length"),
        ({"correlation_length": "-1 km"}, "correlation_length"),
        ({"correlation_length": "[1, 2, 3, 4]"}, "correlation_length"),
        ({"dip": "60"}, "dip does nothing without strike"),
        ({"taper": "{ width: 1 km }"}, "give a range of x, y or z"),
        ({"taper": "{ width: 1 km, z: [0, -5 km] }"}, "z is from 0 to -5000 m"),
        ({"taper": "{ width: 3 km, z: [-5 km, 0] }"}, "width 3000 m exceeds half of the range of z"),
        ({"limit": "0"}, "limit"),
        ({"hurts": "0.3"}, "'hurts' is not a setting of 'material.random.rock'"),
    ],
)
def test_mistakes_have_the_line_of_the_field(tmp_path, changes, message):
    case, problems = load(tmp_path, **changes)
    assert case is None or problems.errors
    messages = [str(p) for p in problems.errors]
    assert len(messages) == 1
    assert message in messages[0]
    assert "case.yaml:8" in messages[0]


def test_names_are_words(tmp_path):
    _, problems = load(tmp_path, name='"1 2"')
    assert len(problems.errors) == 1 and "random" in str(problems.errors[0])
