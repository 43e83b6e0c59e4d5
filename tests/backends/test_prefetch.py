"""What a kernel of the processor fetches ahead: which numbers of the next batch, and where in the code."""

from __future__ import annotations

import re
from typing import Any

from faultwave.backends.cpu.prefetch import Prefetch, columns
from faultwave.kernels.language import Kernel

LANES = 8


def kernel() -> Kernel:
    """Rows of five numbers, of which usually the first two are read and the last one written; where a flag says so the third, too, and
    ``rest``."""
    k = Kernel("k")
    slots, given = k.index("slots", 2), k.store("given", 3, 7)
    x, rest = k.batch("x", 10, 5, "inout"), k.batch("rest", 10, 2, "inout")
    k.batch("unused", 10, 1)
    here, flag, sum_ = k.temp("here", 3, 7), k.temp("flag", 1, 1), k.temp("sum", 10, 1)
    k.gather(here, given, slots, 1)
    k.pointwise(lambda x: [[x[0] + x[1]]], [x], [sum_])
    k.pointwise(lambda s: [list(s)], [sum_], [x.view(0, 10, 4, 1)])
    k.pointwise(lambda s, h: [[s[0] - h[0]]], [sum_.view(0, 1), here.view(0, 1)], [flag])

    def seldom() -> None:
        k.pointwise(lambda x, r: [[x[0] + x[2]], [r[1]]], [x, rest], [x.view(0, 10, 2, 1), rest.view(0, 10, 1, 1)])

    k.when_any(flag, seldom)
    return k


def fetched(prefetch: Prefetch) -> dict[str, list[Any]]:
    """Places of the next batch by array, worked out from the C statements; a slot number counts thousands."""
    found: dict[str, list[Any]] = {}
    for stream in prefetch.streams:
        for i in range(stream.count):
            match = re.fullmatch(r"FETCH\((?:\(const char \*\))?(\w+) \+ (.*)\);", stream.fetch(str(i)))
            assert match
            name, place = match.groups()
            place = (
                re.sub(r"slots\[next \* 16 \+ 8 \+ \((.*?)\)\]", r"1000 * (\1)", place)
                .replace("L", "")
                .replace("/", "//")
            )
            found.setdefault(name, []).append(eval(place, {"next": 0}))
    return found


def test_columns_that_only_what_is_seldom_done_touches_are_fetched_there() -> None:
    k = kernel()
    prefetch = Prefetch(k, LANES, lambda store: 8)
    usual, seldom = fetched(prefetch), fetched(prefetch.inside(k.statements[-1]))
    rows = range(10)
    assert sorted(usual["x_"]) == [5 * r + c for r in rows for c in (0, 1, 4)]
    assert sorted(seldom["x_"]) == [5 * r + 2 for r in rows]
    assert "rest" not in usual and sorted(seldom["rest"]) == [2 * r + 1 for r in rows]
    assert "unused" not in usual | seldom


def test_every_line_of_the_slots_is_fetched_once() -> None:
    """Of 168 bytes, which may begin in the midst of a line, or of 84."""
    for size in (8, 4):
        found = fetched(Prefetch(kernel(), LANES, lambda store, size=size: size))["given"]
        lines = range(-(-21 * size // 64) + 1)
        assert sorted(found) == [1000 * slot * 21 * size + 64 * line for slot in range(LANES) for line in lines]


def test_columns_of_a_statement() -> None:
    """Inputs that the formula does not use are none of them."""
    gathered, read, written, _, seldom = kernel().statements
    assert set(columns(gathered)) == {("here", c) for c in range(7)}
    assert set(columns(read)) == {("x", 0), ("x", 1), ("sum", 0)} and set(columns(written)) == {("sum", 0), ("x", 4)}
    assert set(columns(seldom)) == {("x", 0), ("x", 2), ("rest", 1)}
