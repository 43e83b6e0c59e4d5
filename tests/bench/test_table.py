"""The table of the documentation: which proxies, what each row says, and that a file keeps all else."""

import copy

import pytest

from faultwave.base.errors import InputError, RunError
from faultwave.bench import table
from faultwave.bench.proxy import Setting, proxy
from faultwave.bench.results import Files
from tests.messages import raises


@pytest.fixture(scope="module")
def result():
    return proxy(Setting(cells=162, order=2, steps=1, threads=1, repeats=1), sweep=2**20)


def changed(result, rate=1e6, **setting):
    made = copy.deepcopy(result)
    made["setting"] |= setting
    made["updates_per_second"] = rate
    return made


def test_sizes_in_and_out_of_cache():
    made = table.settings(("elastic", 4, "double"), bytes_per_cell=4000.0, threads=(1, 2), repeats=3, cache=10**7)
    assert [(s.cells, s.threads) for s in made] == [(20_000, 1), (20_000, 2), (1000, 1), (1000, 2)]
    assert {(s.law, s.order, s.precision, s.repeats) for s in made} == {("elastic", 4, "double", 3)}
    huge = table.settings(("elastic", 4, "double"), 4000.0, (1,), 3, cache=10**10)
    assert huge[0].cells == 1_000_000
    larger = table.settings(("elastic", 4, "double"), 4000.0, (1,), 3, cache=480 * 2**20)
    assert larger[0].cells * 4000 > 480 * 2**20 >= larger[1].cells * 4000
    assert table.settings(("elastic", 4, "double"), 4000.0, (1,), 3, cache=10)[1].cells == 162


def test_the_cases_of_the_documentation():
    assert {(law, order) for law, order, p in table.CASES if p == "double"} == {
        ("elastic", 3), ("elastic", 4), ("elastic", 5), ("elastic", 6), ("elastic", 7), ("acoustic", 4),
    }  # fmt: skip
    assert ("elastic", 4, "single") in table.CASES


def test_rows_compare_with_one_thread(result):
    one, two = changed(result, 1e6, cells=500, order=4), changed(result, 1.5e6, cells=500, order=4, threads=2)
    other = changed(result, 9e6, cells=7)
    text = table.markdown([other, one, two])
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| elastic")]
    assert len(rows) == 3
    head = next([c.strip() for c in x.split("|")[1:-1]] for x in text.splitlines() if x.startswith("| proxy"))
    found = dict(zip(head[:13], rows[2][:13], strict=True))
    assert found["updates/s"] == "1,500,000"
    assert found["of 1 thread"] == "1.50"
    assert dict(zip(head[:13], rows[1][:13], strict=True))["of 1 thread"] == ""
    assert result["date"][:10] in text
    assert result["machine"]["compiler"] in text
    assert all(title in text for title in table.TITLES.values())


def test_a_goal_stands_beside_one_thread_out_of_cache_only(result):
    out = changed(result, order=4)
    out["in_cache"] = False
    text = table.markdown([out, changed(result, order=4)])
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    head, *rows = (row for row in rows if row[0] in ("proxy", "elastic, order 4, double"))
    assert sorted(row[head.index("goal")] for row in rows) == ["", "42 %"]


def test_everything_wrong_is_told_before_the_first_minute(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("no markers")
    with raises(InputError):
        table.check([0, 1], 0, Files(page))
    with raises(InputError):
        table.check([1], 1, Files(tmp_path / "absent.md"))
    assert page.read_text() == "no markers"


def test_measure_runs_each_proxy_apart(monkeypatch, result):
    asked = []
    monkeypatch.setattr(table, "apart", lambda s: (asked.append(s), result)[1])
    said = []
    found = table.measure((1, 2), 1, said.append, [("acoustic", 2, "single")], cache=10**6)
    assert len(found) == len(asked) == len(said) == 4
    assert {(s.law, s.order, s.precision) for s in asked} == {("acoustic", 2, "single")}


def test_a_proxy_in_a_process_of_its_own_says_why_it_failed():
    with raises(RunError):
        table.apart(Setting(cells=1))


def test_a_busy_machine_is_told(result):
    quiet, busy = changed(result), changed(result)
    quiet["updates_per_second_spread"], busy["updates_per_second_spread"] = 0.1, 0.2
    assert "In 1 of 2 proxies" in table.markdown([quiet, busy])
    assert "busy" not in table.markdown([quiet, quiet])
