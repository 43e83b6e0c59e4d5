"""Which tests ``make test`` leaves out for their length."""

from __future__ import annotations

from pathlib import Path

from tools.long_tests import LIST, long_tests

ROOT = LIST.parents[1]


def test_every_listed_test_exists() -> None:
    listed = LIST.read_text().splitlines()
    assert listed == sorted(set(listed))
    functions = {name.split("[")[0] for name in listed}
    assert len(functions) > 100
    sources = {file: Path(ROOT / file).read_text() for file in {f.split("::")[0] for f in functions}}
    gone = [f for f in functions if f"def {f.split('::')[-1]}(" not in sources[f.split("::")[0]]]
    assert not gone, "write tests/long.txt anew with tools/long_tests.py"


def test_the_quickest_of_a_function_stays_while_it_takes_seconds_only() -> None:
    log = [
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
    assert long_tests(log) == [
        "tests/a/test_a.py::test_alone",
        "tests/a/test_a.py::test_one[b]",
        "tests/a/test_a.py::test_one[x-y z]",
        "tests/a/test_b.py::test_two[1]",
        "tests/a/test_b.py::test_two[2]",
    ]
    assert "tests/a/test_a.py::test_alone" not in long_tests(log, 0.5)
