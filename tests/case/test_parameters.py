"""Units of parameters follow from what laws declare; settings say once which engine they belong to."""

import pytest

from faultwave.base.quantities import Parameter, declared
from faultwave.case.describe import settings_markdown
from faultwave.case.load import load_case
from faultwave.case.settings import parameters
from tests.messages import raises

CASE = """
end_time: 1
mesh: { generate: { shape: box, cells: [1, 1, 1], lower: [0, 0, 0], upper: [1, 1, 1] } }
material: { constant: { rho: 1, lambda: 1, mu: 1 } }
"""
GRID = "engine: fd\nend_time: 1\ngrid: { lower: [0, 0, 0], upper: [1, 1, 1], spacing: 1 }\nmaterial: { constant: { rho: 1 } }\n"


def test_every_declared_parameter_has_its_unit():
    found = list(declared(parameters.DECLARE))
    assert {"rho", "conductivity", "d_c", "rs_sl0", "healing_threshold"} <= {p.name for p in found}
    for parameter in found:
        for name in (parameter.name, *parameter.aliases):
            assert parameters.known(name) and parameter.unit in parameters.units_of(name), name


def test_two_laws_may_disagree_on_a_unit(monkeypatch):
    made = [Parameter("depth_of_it", "m", "one"), Parameter("depth_of_it", "Pa", "other")]
    monkeypatch.setattr(parameters, "declared", lambda packages: made)
    parameters._declared.cache_clear()
    try:
        assert parameters.known("depth_of_it")
        with raises(ValueError):
            parameters.unit_of("depth_of_it")
    finally:
        parameters._declared.cache_clear()


def test_a_number_or_the_unit_tells_which_permeability_is_meant():
    assert parameters.parameter_to_si("permeability", 6e-13) == 6e-13
    assert parameters.parameter_to_si("permeability", "0.6 um^2") == pytest.approx(6e-13)
    assert parameters.parameter_to_si("permeability", "2 uH/m") == pytest.approx(2e-6)
    with raises(ValueError):
        parameters.parameter_to_si("permeability", "3 kg")
    with raises(ValueError):
        parameters.parameter_to_si("permeability", -6e-13)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            GRID + "attenuation: { mechanisms: 4 }\n",
            "attenuation.mechanisms: is a setting of the engine dg: a grid has eight mechanisms, each",
        ),
        (CASE + "output: { intensity: { damping: 0.1 } }\n", "output.intensity: maps of intensity exist on grids only"),
        (GRID + "output: { flux: [{ surface: 1, interval: 1 }] }\n", "output.flux: needs the engine dg"),
        (GRID + "stop: { energy_below: 0.1 }\n", "stop.energy_below: needs the engine dg"),
        (GRID + "impedances: { wall: 3 }\n", "impedances: needs the engine dg"),
    ],
)
def test_settings_of_another_engine_are_told_at_their_line(tmp_path, text, told):
    path = tmp_path / "case.yaml"
    path.write_text(text)
    _, problems = load_case(path)
    line = next(n for n, line in enumerate(text.splitlines(), 1) if line.startswith(told.split(":")[0].split(".")[0]))
    assert any(str(p).startswith(f"{path}:{line}: {told}") for p in problems.errors), list(map(str, problems.errors))


def test_the_reference_names_the_engine():
    assert "Radar cross section. Engine dg only." in settings_markdown()


@pytest.mark.parametrize("name", ["bulk_friction", "plastic_cohesion", "conductivity"])
def test_a_negative_number_is_told_with_what_is_allowed(name):
    with raises(ValueError):
        parameters.parameter_to_si(name, -0.2)
    assert parameters.parameter_to_si(name, 0.0) == 0.0
