"""What physics is described by: parameters that users give, state that points keep, and outputs made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from faultwave.base.columns import Columns
from faultwave.base.errors import Problems, suggest
from faultwave.base.registry import offers


@dataclass(frozen=True)
class Parameter:
    """A number that users give: for each cell, each fault point or, as a constant, for all. SI; bounds are inclusive.

    ``positive``: it must not be zero; ``whole``: it must be a whole number, as switches are (0 or 1). ``reason`` of bounds that are not
    plain: told where a constant is out of them."""

    name: str
    unit: str
    description: str
    default: float | None = None  # where nothing is given; None: it must be
    lower: float = -inf
    upper: float = inf
    aliases: tuple[str, ...] = ()
    positive: bool = False
    whole: bool = False
    reason: str = ""

    def allowed(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if self.whole and (self.lower, self.upper) == (0.0, 1.0):
            return "0 or 1"
        what = "a whole number, " if self.whole else ""
        if self.positive:
            return f"{what}> 0{unit}"
        return f"{what}{self.lower:g} to {self.upper:g}{unit}"

    def accepts(self, values: Any) -> np.ndarray:
        """True where the value is a number within the bounds (infinite only where a bound is), and whole where it must be."""
        x = np.asarray(values, float)
        with np.errstate(invalid="ignore"):
            within = (x >= self.lower) & (x <= self.upper) & ((x > 0) | (not self.positive))
            return within & ((x == np.floor(x)) | (not self.whole))


@dataclass(frozen=True)
class State:
    """What a point remembers from step to step: one number, or a vector of ``size`` numbers. Formulas read it by its name: a number,
    or a list of numbers. ``inner``: only what is done at the start and at the end of a step reads it, and the end changes it, no output
    and no strength, so it stays where it is computed.
    ``decades``: it is positive and spans many of them, so that between points its logarithm is interpolated: polynomials through 1e9 s and
    1 s pass below zero."""

    name: str
    unit: str
    description: str
    size: int | None = None
    inner: bool = False
    decades: bool = False


@dataclass(frozen=True)
class Output:
    """A quantity that can be written out: ``formula(p, c, s)`` makes it of parameters and constants by name and of the state by name.
    A formula may be any function of NumPy arrays, with vectors of the state as arrays (..., size). ``decades``: as of a ``State``."""

    name: str
    unit: str
    description: str
    formula: Callable[[Any, Any, Any], Any]
    decades: bool = False


def state_columns(states: Iterable[State]) -> Columns:
    """The columns that hold a state, side by side. ValueError where two have one name."""
    listed = list(states)
    names = [s.name for s in listed]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ValueError(f"two states are called {', '.join(twice)}")
    return Columns(**{s.name: s.size for s in listed})


def given_at_points(
    parameters: Iterable[Parameter], values: Mapping[str, Any], count: int, user: str, where: str, problems: Problems
) -> dict[str, np.ndarray]:
    """Parameters (count,) by name, from ``values`` by name or alias; absent ones get their default, those without one are problems.
    ``user``: what needs them; ``where``: the setting that gives them."""
    found: dict[str, np.ndarray] = {}
    for q in parameters:
        names = [n for n in (q.name, *q.aliases) if n in values]
        if len(names) > 1:
            problems.error(f"{where}.{q.name}", f"given twice, as {' and '.join(names)}")
        if names:
            found[q.name] = np.broadcast_to(np.asarray(values[names[0]], float), (count,))
        elif q.default is None:
            problems.error(f"{where}.{q.name}", f"missing: {q.description}", q.allowed(), f"'{user}' needs it")
        else:
            found[q.name] = np.full(count, q.default)
    return found


def given_constants(
    constants: Iterable[Parameter],
    values: Mapping[str, float],
    user: str,
    where: str,
    problems: Problems,
    elsewhere: Mapping[str, str] | None = None,
) -> dict[str, float]:
    """Constants by name, from ``values`` by name or alias; unknown, missing, out of bounds and infinite are problems. A default may be
    out of bounds: it then stands for 'not given'. ``elsewhere``: what to do for some that ``user`` does not have, by name."""
    constants, found = tuple(constants), {}
    known = [n for q in constants for n in (q.name, *q.aliases)]
    for name in values:
        if name not in known:
            advice = (elsewhere or {}).get(name) or suggest(name, known)
            problems.error(f"{where}.{name}", f"'{user}' has no such constant", ", ".join(known), advice)
    for q in constants:
        given = next((values[n] for n in (q.name, *q.aliases) if n in values), None)
        value = q.default if given is None else given
        if value is None:
            problems.error(f"{where}.{q.name}", f"missing: {q.description}", q.allowed())
        elif given is not None and not q.accepts(given):
            problems.error(f"{where}.{q.name}", f"is {value:g}", q.allowed(), q.reason)
        elif given is not None and not isfinite(given):
            problems.error(f"{where}.{q.name}", f"is {value:g}", f"a finite number, {q.allowed()}")
        else:
            found[q.name] = float(value)
    return found


def declared(packages: Iterable[str]) -> Iterator[Parameter]:
    """Every parameter and constant that something in the packages, or in entry points named like them, declares."""
    for package in packages:
        for item in offers(package):
            for listed in (getattr(item, "parameters", ()), getattr(item, "constants", ())):
                if isinstance(listed, tuple):
                    yield from (p for p in listed if isinstance(p, Parameter))


__all__ = ["declared", "given_at_points", "given_constants", "Output", "Parameter", "State", "state_columns"]
