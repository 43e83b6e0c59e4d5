"""Declarations of physical quantities: parameters given by users, state stored at points, and derived outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.columns import Columns
from faultwave.base.errors import Problems, suggest
from faultwave.base.registry import offers
from faultwave.base.types import Record

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Parameter:
    """Parameter given by users for each cell or fault point or, as a constant, for all.

    Values are in SI units; bounds are inclusive.

    Attributes
    ----------
    name, unit, description : str
        Name, SI unit and help text.
    default : float or None
        Value if none is given; None if it is required.
    lower, upper : float
        Bounds.
    aliases : tuple of str
        Alternative names.
    positive : bool
        True if it must be greater than zero.
    whole : bool
        True if it must be an integer, such as a switch (0 or 1).
    reason : str
        Explanation of bounds that are not obvious, shown if a constant violates them.
    """

    name: str
    unit: str
    description: str
    default: float | None = None  # value if none is given; None: required
    lower: float = -inf
    upper: float = inf
    aliases: tuple[str, ...] = ()
    positive: bool = False
    whole: bool = False
    reason: str = ""

    def allowed(self) -> str:
        """Return the allowed values as text, such as '0 to 1 Pa'."""
        unit = f" {self.unit}" if self.unit else ""
        if self.whole and (self.lower, self.upper) == (0.0, 1.0):
            return "0 or 1"
        what = "a whole number, " if self.whole else ""
        if self.positive:
            return f"{what}> 0{unit}"
        return f"{what}{self.lower:g} to {self.upper:g}{unit}"

    def accepts(self, values: ArrayLike) -> np.ndarray:
        """Return True for each value that is a number within the bounds, and an integer if required.

        Infinite values are accepted only if a bound is infinite.
        """
        x = np.asarray(values, float)
        with np.errstate(invalid="ignore"):
            within = (x >= self.lower) & (x <= self.upper) & ((x > 0) | (not self.positive))
            return within & ((x == np.floor(x)) | (not self.whole))


@dataclass(frozen=True)
class State:
    """State variable of a point that persists between time steps: a number, or a vector of ``size`` numbers.

    Attributes
    ----------
    name, unit, description : str
        Name, by which formulas read it, SI unit and help text.
    size : int or None
        Number of components, None for a scalar.
    inner : bool
        True if only the work at the start and end of a step uses it, and no output or strength does. It then stays where it is computed.
    decades : bool
        True if it is positive and spans many orders of magnitude. Its logarithm is then interpolated between points, because polynomials
        through 1e9 s and 1 s become negative.
    """

    name: str
    unit: str
    description: str
    size: int | None = None
    inner: bool = False
    decades: bool = False


@dataclass(frozen=True)
class Output:
    """Quantity that can be written to output.

    Attributes
    ----------
    name, unit, description : str
        Name, SI unit and help text.
    formula : callable
        ``formula(p, c, s)`` computes it from parameters, constants and state variables by name. Any function of NumPy arrays is allowed,
        with vectors of the state as arrays (..., size).
    decades : bool
        True if its logarithm is interpolated, as in ``State``.
    """

    name: str
    unit: str
    description: str
    formula: Callable[[Record, Record, Record], np.ndarray]
    decades: bool = False


def state_columns(states: Iterable[State]) -> Columns:
    """Return the columns of an array that holds the state variables. Raises ValueError for duplicate names."""
    listed = list(states)
    names = [s.name for s in listed]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ValueError(f"two states are called {', '.join(twice)}")
    return Columns(**{s.name: s.size for s in listed})


def parameters_at_points(
    parameters: Iterable[Parameter], values: Mapping[str, object], count: int, user: str, where: str, problems: Problems
) -> dict[str, np.ndarray]:
    """Return parameters by name at all points, with defaults for absent ones.

    Parameters
    ----------
    parameters : iterable of Parameter
        Declarations.
    values : mapping
        Values by name or alias.
    count : int
        Number of points.
    user : str
        Name of the law that needs them, for messages.
    where : str
        Setting that gives them, for messages.
    problems : Problems
        Collects missing and duplicate parameters.

    Returns
    -------
    dict of str to ndarray, shape (count,)
    """
    found: dict[str, np.ndarray] = {}
    for q in parameters:
        names = [n for n in (q.name, *q.aliases) if n in values]
        if len(names) > 1:
            problems.error(f"{where}.{q.name}", f"defined twice, as {' and '.join(names)}")
        if names:
            found[q.name] = np.broadcast_to(np.asarray(values[names[0]], float), (count,))
        elif q.default is None:
            problems.error(f"{where}.{q.name}", f"missing: {q.description}", q.allowed(), f"'{user}' needs it")
        else:
            found[q.name] = np.full(count, q.default)
    return found


def resolve_constants(
    constants: Iterable[Parameter],
    values: Mapping[str, float],
    user: str,
    where: str,
    problems: Problems,
    elsewhere: Mapping[str, str] | None = None,
) -> dict[str, float]:
    """Return constants by name, with defaults for absent ones.

    A default may be out of bounds: it then means 'not given'.

    Parameters
    ----------
    constants : iterable of Parameter
        Declarations.
    values : mapping
        Values by name or alias.
    user : str
        Name of the law that needs them, for messages.
    where : str
        Setting that gives them, for messages.
    problems : Problems
        Collects unknown, missing, infinite and out-of-bounds constants.
    elsewhere : mapping, optional
        Advice by name for constants that ``user`` does not have.
    """
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
    """Yield all parameters and constants declared in the packages and in entry points of the same names."""
    for package in packages:
        for item in offers(package):
            for listed in (getattr(item, "parameters", ()), getattr(item, "constants", ())):
                if isinstance(listed, tuple):
                    yield from (p for p in listed if isinstance(p, Parameter))
