"""laws and examples."""

from faultwave.base.registry import scan
from faultwave.case.load import load_case
from faultwave.cli.lists import law_tables
from faultwave.physics.friction.law import FrictionLaw
from faultwave.physics.friction.modifiers import modifiers
from faultwave.physics.rheology import rheologies
from faultwave.physics.waves import laws as wave_laws


def test_every_law_is_listed_with_every_parameter(cli):
    result = cli("laws")
    assert result.exit_code == 0
    tables = {title.split()[0]: rows for title, _, rows in law_tables()}
    expected = {law.name: law.parameters for law in wave_laws().values()}
    for law in scan("faultwave.physics.friction", FrictionLaw).values():
        expected[law.name] = (*law.parameters, *law.constants)
    for other in (*modifiers().values(), *rheologies().values()):
        expected[other.name] = (*other.parameters, *other.constants)
    assert {name: [row[0] for row in rows] for name, rows in tables.items()} == {
        name: [p.name for p in parameters] for name, parameters in expected.items()
    }
    for name, rows in tables.items():
        assert f"{name} (" in result.stdout
        for row in rows:
            assert row[0] in result.stdout


def test_units_and_defaults_are_shown():
    tables = {title.split()[0]: {row[0]: row for row in rows} for title, _, rows in law_tables()}
    assert tables["linear-slip-weakening"]["d_c"][1:4] == ("m", "", "at every point")
    assert tables["linear-slip-weakening"]["healing_threshold"][1:4] == ("m/s", "-1", "once, in constants")
    assert tables["elastic"]["mu"][1:4] == ("Pa", "", "in every cell")
    assert not any("nan" in row for rows in tables.values() for row in rows.values())


def test_examples_are_listed_and_printed(cli, tmp_path):
    listed = cli("examples")
    assert listed.exit_code == 0
    assert "tpv5" in listed.stdout
    text = cli("examples", "tpv5").stdout
    (tmp_path / "mine.yaml").write_text(text)
    case, problems = load_case(tmp_path / "mine.yaml")
    assert not problems.items
    assert case.fault is not None


def test_an_unknown_example(cli):
    result = cli("examples", "tvp5")
    assert result.exit_code == 2
    assert "did you mean 'tpv5'" in result.stderr
