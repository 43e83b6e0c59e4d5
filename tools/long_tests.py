"""Write the list of tests that ``make test`` leaves to ``make test-long``, from the log of a run of all that are not slow.

python -m pytest -n 2 -m "not slow" --durations=0 --durations-min=0.05 > log
python tools/long_tests.py log
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

LIST = Path(__file__).parents[1] / "tests" / "long.txt"

LONG, LONGEST = 4.5, 10.0
"""Seconds from which on a test is long; the quickest of those that share a function is not before the second."""

_LINE = re.compile(r"\s*([\d.]+)s (?:call|setup|teardown)\s+(\S.*)")


def long_tests(log: Iterable[str], factor: float = 1.0) -> list[str]:
    """Names of long tests in a log of pytest with durations, which are multiplied by ``factor``."""
    functions: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for line in log:
        found = _LINE.match(line)
        if found:
            name = found[2].strip()
            functions[name.split("[")[0]][name] += factor * float(found[1])
    names = []
    for tests in functions.values():
        quickest = min(tests, key=lambda n: tests[n]) if len(tests) > 1 else None
        names += [n for n, spent in tests.items() if spent > (LONGEST if n == quickest else LONG)]
    return sorted(names)


if __name__ == "__main__":
    with open(sys.argv[1]) as log:
        names = long_tests(log)
    if not names:
        sys.exit(f"{sys.argv[1]} tells of no long test: write it as the first lines of {Path(__file__).name} show")
    LIST.write_text("".join(f"{name}\n" for name in names))
    print(f"{len(names)} tests in {LIST}")
