"""Reports of ensembles, from stores without runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.ensemble.folder import EnsembleFolder, Record
from faultwave.ensemble.statistics import Statistics
from faultwave.ensemble.store import exact_percentiles, write_statistics, write_store, write_table
from faultwave.observe.dataset import Dataset, Variable
from faultwave.report.ensembles import first_order_indices, rank_correlations
from tests.messages import raises

COUNT = 40
RANDOM = np.random.default_rng(5)
FRICTION, LENGTH = RANDOM.uniform(0.4, 0.6, COUNT), RANDOM.uniform(0.2, 0.5, COUNT)


def member(number: int) -> Dataset:
    place = np.stack([np.arange(6.0) * 1e3, np.zeros(6), -np.arange(6.0)], 1)
    time = np.arange(5) * 0.1
    found = {
        "time": Variable(time, ("time",), "s", "time"),
        "station_location": Variable(np.zeros((2, 3)), ("station", "component"), "m", "place"),
        "v1": Variable(np.outer([1, 2], np.sin(time) * number).astype(np.float32), ("station", "time"), "m/s", "v1"),
        "fault_place_location": Variable(place, ("fault_place", "component"), "m", "location"),
        "slip": Variable((FRICTION[number] * np.arange(6)).astype(np.float32), ("fault_place",), "m", "final slip"),
    }
    return Dataset("member", found, {"stations": ["A", "B"]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = EnsembleFolder(tmp_path_factory.mktemp("study"))
    records = [
        Record(m, f"digest {m}", "done", scalars={"moment_magnitude": 6 - FRICTION[m] + 0.01 * LENGTH[m]})
        for m in range(COUNT - 1)
    ]
    records.append(Record(COUNT - 1, "digest", "failed", "run", "<the run blew up>"))
    parameters = {
        "friction": (FRICTION.tolist(), ""),
        "length": (LENGTH.tolist(), "m"),
        "mesh": (["a.msh"] * COUNT, ""),
    }
    write_store(made, records, parameters, lambda r: member(r.member), "A study of friction")
    write_table(made, records, parameters)
    statistics = Statistics()
    for m in range(COUNT - 1):
        statistics.add(m, f"digest {m}", {"slip": member(m).variables["slip"].data}, {"slip": (1.0,)}, False)
    write_statistics(made, statistics, [50], member(0), exact_percentiles(made.store, ["slip"], [50]))
    return made.path


def test_a_report_has_all_its_sections(folder):
    page = fw.report(folder).read_text()
    assert "A study of friction" in page and "39 of 40 members are done, 1 failed" in page
    assert "&lt;the run blew up&gt;" in page and "<the run blew up>" not in page
    for text in (
        "Distributions",
        "Rank correlations",
        "standard deviation",
        "probability of more than 1 m",
        "member 7, B",
        "a.msh",
    ):
        assert text in page, text
    for data in re.findall(r'<script type="application/json" id="[\w-]+">(.*?)</script>', page, re.DOTALL):
        json.loads(data)


def test_the_summary_has_percentiles_with_units(folder):
    page = fw.report(folder).read_text()
    summary = page[page.index("percentiles of the members with a value") : page.index("Distributions</h2>")]
    low, high = (f"{x:.4g}" for x in np.percentile(LENGTH, [16, 84]))
    row = re.search(r"length \[m\]</th>(.*?)</tr>", summary)[1]
    assert f"<td>{low}</td>" in row and f"<td>{high}</td>" in row and "<td>40</td>" in row


def test_stresses_and_areas_are_shown_in_usual_units(tmp_path):
    made = EnsembleFolder(tmp_path)
    scalars = ({"stress_drop": 5e6, "ruptured_area": 3e7}, {"stress_drop": 6e6, "ruptured_area": 2e7}, {})
    records = [Record(m, f"digest {m}", "done", scalars=found) for m, found in enumerate(scalars)]
    write_store(made, records, {"normal_stress": ([-1.2e8, -1.1e8, -1e8], "Pa")}, None, "Stress")
    page = fw.report(made.path).read_text()
    for text in (
        "normal stress [MPa]",
        "<td>-120</td>",
        "stress drop [MPa]",
        "<td>5</td>",
        "ruptured area [km^2]",
        "<td>30</td>",
    ):
        assert text in page, text
    assert "<td>-</td>" in page  # a member without a rupture


def test_correlations_are_those_of_scipy():
    other = np.where(LENGTH > 0.4, np.nan, FRICTION**3 + LENGTH)
    found = rank_correlations({"friction": FRICTION, "length": LENGTH}, {"other": other, "constant": np.ones(COUNT)})
    for row, values in enumerate((FRICTION, LENGTH)):
        known = np.isfinite(other)
        assert found[row, 0] == pytest.approx(stats.spearmanr(values[known], other[known]).statistic)
    assert np.isnan(found[:, 1]).all()


@pytest.mark.parametrize(("read", "computed"), [(1, 1), (3 * COUNT, 2 * COUNT), (1 << 26, 1 << 22)])
def test_percentiles_do_not_depend_on_blocks(folder, monkeypatch, read, computed):
    monkeypatch.setattr("faultwave.ensemble.store.READ_VALUES", read)
    monkeypatch.setattr("faultwave.ensemble.store.COMPUTED_VALUES", computed)
    found = exact_percentiles(folder / "ensemble.nc", ["slip"], [10, 50])["slip"]
    values = np.array([member(m).variables["slip"].data for m in range(COUNT - 1)], float)
    np.testing.assert_allclose(found, np.percentile(values, [10, 50], axis=0), rtol=1e-7)


def test_sobol_indices_name_the_parameter_that_matters():
    pytest.importorskip("SALib")
    x = stats.qmc.Sobol(2, seed=1).random(512)
    found = first_order_indices({"a": x[:, 0], "b": x[:, 1]}, {"y": 2 * x[:, 0] + x[:, 1]})
    np.testing.assert_allclose(found[:, 0], [0.8, 0.2], atol=0.05)  # variances 4 to 1
    assert first_order_indices({"a": x[:9, 0]}, {"y": x[:9, 0]}) is None


def test_an_ensemble_is_not_compared(folder):
    with raises(InputError):
        fw.report(folder, compare=folder)


def test_a_damaged_store_is_an_error(tmp_path):
    (tmp_path / "ensemble.nc").write_bytes(b"\x89HDF damaged")
    with pytest.raises(InputError, match="cannot be read"):
        fw.report(tmp_path)
