"""Pictures and reports of damaged files, and of words that no picture was made for: a message, or what is sound with a note."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from faultwave.base.errors import InputError
from faultwave.base.wording import printable
from faultwave.observe.dataset import Dataset, Variable
from faultwave.output.formats.csv_tables import read_columns
from faultwave.output.formats.maps_netcdf import write_maps
from faultwave.output.formats.touchstone import read_touchstone
from faultwave.plot import plot, style
from faultwave.plot.intensity import plot_intensity
from faultwave.report import write_report
from tests.messages import raises
from tests.plot.test_intensity import maps

RUN = Path(__file__).parents[1] / "fuzz" / "sound" / "run"


@pytest.fixture
def run(tmp_path):
    """A sound run with receivers and energies."""
    for name in ("run-receivers.h5", "run-energy.csv", "run-manifest.json"):
        shutil.copy(RUN / name, tmp_path)
    return tmp_path


def titled(folder, title):
    path = folder / "run-manifest.json"
    found = json.loads(path.read_text())
    found["case"]["title"] = title
    path.write_text(json.dumps(found))


def test_an_infinite_energy_is_left_out_and_said(run):
    table = run / "run-energy.csv"
    lines = table.read_text().splitlines()
    words = lines[-1].split(",")
    words[lines[0].split(",").index("elastic_energy")] = "inf"
    table.write_text("\n".join([*lines[:-1], ",".join(words), ""]))
    assert "run-energies.png" in {p.name for p in plot(run, dpi=40)}
    assert "1 values are infinite and omitted" in write_report(run).read_text()


def test_a_damaged_table_leaves_the_other_pictures(run):
    (run / "run-resonances.csv").write_text("frequency,quality,amplitude,share\n1e9,x,1,1\n")
    found = plot(run, dpi=40)
    assert "run-receivers.png" in {p.name for p in found}
    assert [p.severity for p in found.notes] == ["warning"]
    assert "run-resonances.csv:2: is not a row of 4 numbers" in str(found.notes[0])
    assert "run-resonances.csv:2" in write_report(run).read_text()


def test_without_anything_sound_it_is_an_error(tmp_path):
    shutil.copy(RUN / "run-manifest.json", tmp_path)
    write_maps(tmp_path / "run-intensity.nc", Dataset("maps", {"x": Variable(np.arange(4.0), ("x",), "m", "x")}))
    with raises(InputError):
        plot(tmp_path)


@pytest.mark.parametrize("name", ["PGV", "D5_95", "x"])
def test_maps_without_a_variable_name_it(tmp_path, name):
    sound = maps()
    kept = {n: v for n, v in sound.variables.items() if n != name}
    with raises(InputError):
        plot_intensity(write_maps(tmp_path / "a.nc", Dataset("maps", kept, {})), np.zeros((0, 2)), tmp_path / "a.png")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_maps_are_drawn_without_values_that_are_not_finite(tmp_path, monkeypatch, value):
    sound = maps()
    sound["PGV"][3, 4] = sound["D5_95"][0, 0] = value
    titles = []
    save = style.save
    monkeypatch.setattr(style, "save", lambda fig, path: (titles.append(fig.get_suptitle()), save(fig, path))[1])
    plot_intensity(write_maps(tmp_path / "a.nc", sound), np.zeros((0, 2)), tmp_path / "a.png")
    assert titles == ["without 2 values that are not finite"]


@pytest.mark.parametrize(
    "title", ["Costs $10^{ and $5", "half \ud800 a pair", "bell \x07 and \x1b[31m", r"$\frac$ 5 % <b>&"]
)
def test_titles_are_words_and_no_formulas(run, title):
    titled(run, title)
    assert plot(run, dpi=40) and not plot(run, dpi=40).notes
    page = write_report(run).read_text(encoding="utf-8")
    assert "\x07" not in page and "\x1b" not in page and "<b>&" not in page
    attrs = {"end_time": 3.0, "case": title.encode("utf-8", "replace").decode()}
    source = write_maps(run / "a.nc", Dataset("maps", maps().variables, attrs))
    with Image.open(plot_intensity(source, np.zeros((0, 2)), run / "a.png")) as picture:
        assert picture.width == 1440


def test_a_dollar_is_drawn_as_a_dollar(tmp_path):
    fig = style.figure()
    ax = fig.subplots()
    text = ax.set_title("$10^{ and $5")
    ax.loglog([1, 1e6], [1, 1e6])
    style.save(fig, tmp_path / "a.png")
    assert text.get_text() == "$10^{ and $5" and not text.get_parse_math()
    assert any(label.get_parse_math() for label in ax.get_xticklabels()), "powers of ten are formulas still"


def test_printable():
    assert printable("Zürich 東京 $5") == "Zürich 東京 $5"
    assert printable("a\x1b[31m\ud800\u202eb\n") == "a\ufffd[31m\ufffd\ufffdb\n"
    assert printable("a\nb", "") == "a\ufffdb"


@pytest.mark.parametrize("text", ["a,b\n1\n", "a,b\n1,2,3\n", "a,a\n1,2\n"], ids=str)
def test_tables_name_the_row(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with raises(InputError):
        read_columns(tmp_path / "a.csv")


@pytest.mark.parametrize("word", ["nan", "inf"])
def test_scattering_parameters_are_finite(tmp_path, word):
    path = tmp_path / "a.s1p"
    path.write_text(f"# GHZ S RI R 50\n1 0.1 0.2\n2 {word} 0.1\n")
    with raises(InputError):
        read_touchstone(path)
