"""plot, convert, compare, verify."""

import json
from pathlib import Path

import numpy as np
import pytest

from faultwave.verify.case import Result, VerificationCase, at_most


def energies(folder, factor=1.0):
    folder.mkdir()
    time = np.linspace(0.0, 2.0, 21)
    rows = "\n".join(f"{t},{factor * t**2:.6e}" for t in time)
    (folder / "tpv-energy.csv").write_text(f"time,elastic_energy\n{rows}\n")
    return folder


def test_compare_within_limits(cli, tmp_path):
    a, b = energies(tmp_path / "a"), energies(tmp_path / "b", 1.02)
    result = cli("compare", a, b, "--json", tmp_path / "misfits.json")
    assert result.exit_code == 0
    assert "within all limits" in result.stdout
    written = json.loads((tmp_path / "misfits.json").read_text())
    assert written["passed"] is True
    assert written["worst"][0]["value"] == pytest.approx(0.02 / 1.02, rel=1e-4)


def test_compare_over_a_limit(cli, tmp_path):
    a, b = energies(tmp_path / "a"), energies(tmp_path / "b", 1.02)
    for option in (("--limit", "0.01"), ("--group", "energy=0.01")):
        result = cli("compare", a, b, *option)
        assert result.exit_code == 1
        assert "over the limits" in result.stdout
    assert cli("compare", a, b, "--limit", "0.01", "--group", "energy=0.03").exit_code == 0


@pytest.mark.parametrize(
    ("option", "text"),
    [("energy", "NAME=LIMIT"), ("energy=tiny", "'tiny' is not a number"), ("slips=0.1", "'slips' is not a group")],
)
def test_a_wrong_limit_is_an_error(cli, tmp_path, option, text):
    a, b = energies(tmp_path / "a"), energies(tmp_path / "b")
    result = cli("compare", a, b, "--group", option)
    assert result.exit_code == 2
    assert text in result.stderr


def test_compare_needs_results(cli, tmp_path):
    result = cli("compare", tmp_path / "nothing", energies(tmp_path / "b"))
    assert result.exit_code == 2
    assert "nothing" in result.stderr


def test_plot_prints_the_pictures(cli, tmp_path):
    result = cli("plot", energies(tmp_path / "a"))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [str(tmp_path / "a" / "tpv-energies.png")]
    assert (tmp_path / "a" / "tpv-energies.png").read_bytes()[1:4] == b"PNG"


def receiver(folder):
    folder.mkdir()
    header = 'TITLE = "Temporal Signal for receiver number 00001"\nVARIABLES = "Time","v1","v2","v3"\n'
    place = "# x1 1.0e+03\n# x2 2.0e+03\n# x3 0.0e+00\n"
    rows = "".join(f"  {0.01 * i:.6e}  {i}.0  0.0  1.0\n" for i in range(5))
    (folder / "tpv-receiver-00001.dat").write_text(header + place + rows)
    return folder


def test_convert_prints_the_files(cli, tmp_path):
    result = cli("convert", receiver(tmp_path / "a"), "csv", "--output", tmp_path / "tables")
    assert result.exit_code == 0
    written = result.stdout.split()
    assert written
    assert all(name.startswith(str(tmp_path / "tables")) for name in written)
    lines = [line for line in Path(written[0]).read_text().splitlines() if not line.startswith("#")]
    column = lines[0].split(",").index("v1 [m/s]")
    assert [float(line.split(",")[column]) for line in lines[1:]] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_convert_knows_its_formats(cli, tmp_path):
    result = cli("convert", receiver(tmp_path / "a"), "sacc")
    assert result.exit_code == 2
    assert "did you mean 'sac'" in result.stderr


@pytest.fixture
def known(monkeypatch):
    """Three verification cases of known outcome; returns the order in which they ran."""
    ran = []

    def case(name, result, minutes):
        def run(progress):
            progress("computing")
            ran.append(name)
            return result

        return VerificationCase(name, f"about {name}", run, minutes)

    good = case("good", Result((at_most("error", 0.01, 0.02),)), 2.0)
    bad = case("bad", Result((at_most("error", 0.03, 0.02),)), 3.0)
    skipped = case("absent", Result((), skipped="no reference data"), 1.0)
    made = {c.name: c for c in (bad, good, skipped)}
    monkeypatch.setattr("faultwave.verify.case.cases", lambda: made)
    return ran


def test_verify_without_a_name_lists(cli, known):
    result = cli("verify")
    assert result.exit_code == 0
    for text in ("good", "bad", "absent", "about good"):
        assert text in result.stdout
    assert known == []


def test_verify_one(cli, known):
    result = cli("verify", "good")
    assert result.exit_code == 0
    assert "passed" in result.stdout
    assert "good: computing" in result.stderr
    assert known == ["good"]


def test_verify_that_falls_short(cli, known):
    result = cli("verify", "bad")
    assert result.exit_code == 1
    assert "FAILED" in result.stdout
    assert "below the limit: bad" in result.stderr


def test_verify_all_goes_on_after_a_failure(cli, known):
    result = cli("verify", "--all")
    assert result.exit_code == 1
    assert known == ["absent", "good", "bad"]
    assert "skipped: no reference data" in result.stdout


def test_verify_knows_its_names(cli, known):
    result = cli("verify", "goood")
    assert result.exit_code == 2
    assert "did you mean 'good'" in result.stderr


@pytest.fixture
def asked(monkeypatch):
    """What the runs of SCEC benchmarks are asked for; none is made."""
    plans = []

    def run_all(progress, plan):
        plans.append(plan)
        return Result((at_most("tpv5: difference [s]", 0.01, 0.02),))

    monkeypatch.setattr("faultwave.verify.scec.drive.run_all", run_all)
    return plans


def test_verify_scec_takes_benchmarks_and_a_resolution(cli, asked, tmp_path):
    result = cli("verify", "scec", "tpv5", "tpv10", "--quick", "--output", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert asked[0].names == ("tpv5", "tpv10") and asked[0].quick and asked[0].folder == tmp_path
    assert "difference [s]" in result.stdout
    assert cli("verify", "scec").exit_code == 0 and not asked[1].quick and asked[1].names == ()
    assert cli("verify", "scec", "tpv5", "--engine", "fd").exit_code == 0
    assert [plan.engine for plan in asked] == ["dg", "dg", "fd"]
    assert cli("verify", "scec", "tpv5", "--reuse", "--output", str(tmp_path)).exit_code == 0
    assert [plan.reuse for plan in asked] == [False, False, False, True]


def test_options_of_scec_belong_to_it(cli, asked, known):
    engines = (
        ["good", "--engine", "fd"],
        ["scec", "--engine", "fem"],
        ["scec", "--engine", "fd", "--write", "page.md", "--output", "x"],
    )
    options = (
        ["good", "tpv5"],
        ["good", "--quick"],
        ["--all", "--output", "x"],
        ["scec", "--write", "page.md"],
        ["scec", "--reuse"],
    )
    for wrong in (*engines, *options, ["good", "--reuse"]):
        result = cli("verify", *wrong)
        assert result.exit_code == 2, result.output
    assert asked == [] and known == []
