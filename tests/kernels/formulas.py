"""Formulas for tests: random ones, one that uses every value three times, and how much work something is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from faultwave.kernels import math as m

CONSTANTS = (0.0, -0.0, 1.0, -1.0, 0.5, 0.3)
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: 0.5 * (a + b),
    "difference": lambda a, b: 0.5 * (a - b),
    "product": lambda a, b: a * b,
    "quotient": lambda a, b: a / (2.0 + m.abs(b)),
    "negative": lambda a, b: -a,
    "root": lambda a, b: m.sqrt(m.abs(a)),
    "sine": lambda a, b: m.sin(a),
    "larger": lambda a, b: m.maximum(a, b),
    "choice": lambda a, b: m.where((a + 0.1 * b < b) | ~(b >= 0.0), a, b),
    "loop": lambda a, b: m.iterate(lambda x, n: ((0.5 * x * b, n + 0.25), (x > 0.1) & (n < b)), (a, 0.0 * a), 4)[0],
}
"""Of two numbers in [-1, 1] another one."""


@dataclass(frozen=True)
class Program:
    """``steps``: names of STEPS and the two earlier numbers each takes; the last ``outputs`` numbers are the results."""

    inputs: int
    steps: tuple[tuple[str, int, int], ...]
    outputs: int
    seed: int


@st.composite
def programs(draw: Any) -> Program:
    inputs, length = draw(st.integers(1, 3)), draw(st.integers(1, 25))
    known = inputs + len(CONSTANTS)
    steps = tuple(
        (draw(st.sampled_from(sorted(STEPS))), draw(st.integers(0, known + i - 1)), draw(st.integers(0, known + i - 1)))
        for i in range(length)
    )
    return Program(inputs, steps, draw(st.integers(1, min(3, length))), draw(st.integers(0, 9)))


def formula(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """The results on arrays or on expressions; constants take the form of the first input."""
    numbers = [*inputs, *(c + 0.0 * inputs[0] for c in CONSTANTS)]
    for name, a, b in program.steps:
        numbers.append(STEPS[name](numbers[a], numbers[b]))
    return numbers[-program.outputs :]


def nested(y: Any, depth: int) -> Any:
    """y <- y^2 + y/2, so many times."""
    for _ in range(depth):
        y = y * y + y / 2.0
    return y


def calls(work: Callable[[], Any]) -> int:
    """Calls of Python functions that some work takes."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    work()  # what is done once only
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
