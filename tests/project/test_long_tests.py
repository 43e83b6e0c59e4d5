"""Tests of the lists of long and slow tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import long_tests
from tools.long_tests import LONG_LIST, SLOW_LIST, TESTS, further_variants, read_durations, select_longer, write_lists

ROOT = TESTS.parent
LOG = [
    "===== slowest durations =====",
    "6.00s call     tests/a/test_a.py::test_one[x-y z]",
    "5.00s call     tests/a/test_a.py::test_one[b]",
    "1.00s setup    tests/a/test_a.py::test_one[b]",
    "5.50s call     tests/a/test_a.py::test_one[c]",
    "4.00s call     tests/a/test_a.py::test_alone",
    "1.00s teardown tests/a/test_a.py::test_alone",
    "4.50s call     tests/a/test_a.py::test_short",
    "11.00s call     tests/a/test_b.py::test_two[1]",
    "12.00s call     tests/a/test_b.py::test_two[2]",
]


@pytest.mark.parametrize("path, least", [(LONG_LIST, 100), (SLOW_LIST, 10)])
def test_every_listed_test_exists(path: Path, least: int) -> None:
    listed = path.read_text().splitlines()
    assert listed == sorted(set(listed))
    functions = {name.split("[")[0] for name in listed}
    assert len(functions) >= least
    sources = {file: Path(ROOT / file).read_text() for file in {f.split("::")[0] for f in functions}}
    gone = [f for f in functions if f"def {f.split('::')[-1]}(" not in sources[f.split("::")[0]]]
    assert not gone, f"write {path.name} anew with tools/long_tests.py"


def test_no_test_is_both_long_and_slow() -> None:
    assert not {*LONG_LIST.read_text().splitlines()} & {*SLOW_LIST.read_text().splitlines()}


def test_the_quickest_of_a_function_has_a_higher_limit() -> None:
    assert select_longer(read_durations(LOG), (4.5, 10.0)) == [
        "tests/a/test_a.py::test_one[b]",
        "tests/a/test_a.py::test_one[x-y z]",
        "tests/a/test_b.py::test_two[1]",
        "tests/a/test_b.py::test_two[2]",
    ]
    assert select_longer(read_durations(LOG), (11.5, 20.0)) == ["tests/a/test_b.py::test_two[2]"]


def test_tests_that_were_not_run_stay_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LONG_LIST", "SLOW_LIST"):
        monkeypatch.setattr(long_tests, name, tmp_path / name)
    monkeypatch.setattr(long_tests, "LONG", (4.5, 10.0))
    monkeypatch.setattr(long_tests, "SLOW", (15.0, 40.0))
    (tmp_path / "SLOW_LIST").write_text("tests/a/test_a.py::test_short\ntests/c/test_c.py::test_not_run\n")
    (tmp_path / "LONG_LIST").write_text("tests/a/test_a.py::test_short\ntests/c/test_d.py::test_not_run\n")
    (tmp_path / "log").write_text("\n".join([*LOG, "16.00s call     tests/a/test_b.py::test_two[3]"]))
    assert write_lists([tmp_path / "log"]) == (5, 2)
    assert "tests/c/test_d.py::test_not_run" in (tmp_path / "LONG_LIST").read_text().split()
    assert (tmp_path / "SLOW_LIST").read_text().split() == [
        "tests/a/test_b.py::test_two[3]",
        "tests/c/test_c.py::test_not_run",
    ]


def test_two_variants_of_a_function_stay_long() -> None:
    names = [f"tests/a/test_b.py::test_one[{n}]" for n in range(4)] + ["tests/run/test_killed.py::test_all[1]"] * 3
    times = dict(zip(names, (4.0, 2.0, 1.0), strict=False))  # the last did not run
    assert further_variants(names, times) == {"tests/a/test_b.py::test_one[0]", "tests/a/test_b.py::test_one[3]"}
