"""Write the lists of long and of slow tests from the processor times of test runs.

``make test`` runs neither, ``make test-long`` runs the long ones, ``make verify`` the slow ones.

python -m pytest -n 2 -m "not slow" --cpu-times log
python tools/long_tests.py log [LOG...]
"""

from __future__ import annotations

import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
LONG_LIST, SLOW_LIST = TESTS / "long.txt", TESTS / "slow.txt"

LONG, SLOW = (0.8, 1.5), (8.0, 15.0)
"""Seconds beyond which a test is long or slow: of a test that shares its function with others, and of the quickest of a function."""

VARIANTS = 2
"""Number of long tests of one function; the others are slow."""

NEVER_SLOW = (
    "tests/cli/test_hostile_files.py",
    "tests/run/test_killed.py",
    "tests/run/test_resume_case.py",
    "tests/project/",
    "tests/ensemble/test_runs.py::test_killed_workers_and_a_killed_supervisor_lose_nothing",
    "tests/ensemble/test_runs.py::test_members_of_two_processes",
    "tests/run/test_ranks.py::test_a_fault_between_processes",
    "tests/fd/test_fault_ranks.py",
    "tests/fd/test_block_ranks.py",
    "tests/fd/test_ranks.py::test_any_cut_gives_the_same",
    "tests/fd/test_ranks.py::test_stopped_and_resumed_on_others",
)
"""Files whose tests run before each change however long they take: they protect what users have on disk, or run every example."""

_LINE = re.compile(r"\s*([\d.]+)s (?:call|setup|teardown)\s+(\S.*)")


def read_durations(log: Iterable[str]) -> dict[str, float]:
    """Return the seconds of each test in a file of ``--cpu-times`` or in pytest's durations, with set-up and teardown."""
    found: dict[str, float] = defaultdict(float)
    for line in log:
        match = _LINE.match(line)
        if match:
            found[match[2].strip()] += float(match[1])
    return dict(found)


def select_longer(durations: dict[str, float], limits: tuple[float, float]) -> list[str]:
    """Return the sorted names of the tests that take longer than a limit.

    Parameters
    ----------
    durations : dict
        Seconds of each test by its name.
    limits : tuple of float
        Limit of each test, and the larger limit of the quickest test of each function, so that one of them is run often [s].
    """
    functions: dict[str, list[str]] = defaultdict(list)
    for name in durations:
        functions[name.split("[")[0]].append(name)
    quickest = {min(names, key=lambda n: durations[n]) for names in functions.values()}
    return sorted(n for n, spent in durations.items() if spent > limits[n in quickest])


def further_variants(names: Iterable[str], durations: Mapping[str, float]) -> set[str]:
    """Return all but the ``VARIANTS`` quickest tests of each function, except those in ``NEVER_SLOW``."""
    functions: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        if not name.startswith(NEVER_SLOW):
            functions[name.split("[")[0]].append(name)
    ordered = (sorted(tests, key=lambda n: durations.get(n, math.inf)) for tests in functions.values())
    return {name for tests in ordered for name in tests[VARIANTS:]}


def _listed(path: Path, durations: Mapping[str, float]) -> list[str]:
    """Return the tests of a list that have not run."""
    return [n for n in path.read_text().splitlines() if n not in durations] if path.exists() else []


def write_lists(logs: Sequence[Path]) -> tuple[int, int]:
    """Write both lists and return their lengths. Tests that the logs do not contain stay listed as they are."""
    durations: dict[str, float] = {}
    for log in logs:
        durations |= read_durations(log.read_text().splitlines())
    if not durations:
        sys.exit(f"{logs[0]} contains no times: write it as the first lines of {Path(__file__).name} show")
    found = [n for n in select_longer(durations, SLOW) if not n.startswith(NEVER_SLOW)]
    slow = sorted({*found, *_listed(SLOW_LIST, durations)})
    long = {*select_longer(durations, LONG), *_listed(LONG_LIST, durations)} - {*slow}
    variants = further_variants(long, durations)
    slow, long = sorted({*slow, *variants}), sorted(long - variants)
    for path, names in ((LONG_LIST, long), (SLOW_LIST, slow)):
        path.write_text("".join(f"{name}\n" for name in names))
    return len(long), len(slow)


if __name__ == "__main__":
    lengths = write_lists([Path(p) for p in sys.argv[1:]])
    print(f"{lengths[0]} tests in {LONG_LIST}, {lengths[1]} in {SLOW_LIST}")
