"""Parameters given at every point, in ``fault.parameters``, or once for all points, in ``fault.constants``."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Parameter
from faultwave.physics.friction.loading.load import Values


@dataclass(frozen=True)
class PointOrUniform:
    """Parameter at points, NaN if not given, and the constant used instead, NaN if not given either.

    A NaN in a given field is an error (``FrictionLaw.check_given``) and never means missing.
    """

    point: Parameter
    uniform: Parameter


def point_or_uniform(name: str, unit: str, description: str, default: float = nan, **bounds: Any) -> PointOrUniform:
    """Return a parameter that can be given at points or as a constant.

    If ``default`` is NaN, a case must give one of the two. ``bounds`` are bounds and ``aliases`` of ``Parameter``.
    """
    at_points = Parameter(name, unit, f"{description}; absent: the constant", nan, **bounds)
    return PointOrUniform(at_points, Parameter(name, unit, description, default, **bounds))


def filled(p: Values, c: Values, quantities: Iterable[PointOrUniform]) -> dict[str, np.ndarray]:
    """Return the values (n,) by name: at points where given, else the constant."""
    names = [q.point.name for q in quantities]
    return {name: np.asarray(np.where(np.isnan(p[name]), c[name], p[name])) for name in names}


def check_filled(
    p: Values, c: Values, quantities: Iterable[PointOrUniform], problems: Problems
) -> dict[str, np.ndarray]:
    """Return the same as ``filled``, and report parameters given in neither way.

    They are replaced by 1, so that no other check reports them again.
    """
    found = {}
    for q in quantities:
        name, values = q.point.name, filled(p, c, [q])[q.point.name]
        absent = np.isnan(values)
        if absent.all():
            _tell(q.point, q.uniform, problems)
        found[name] = np.where(absent, 1.0, values)
    return found


def check_absent(
    points: Iterable[Parameter], constants: Iterable[Parameter], given: Container[str], problems: Problems
) -> None:
    """Report parameters without default that are neither given at points nor as a constant."""
    uniform = {q.name: q for q in constants}
    for q in points:
        constant = uniform.get(q.name)
        if constant is None or q.default is None or constant.default is None:
            continue
        if (
            isnan(q.default)
            and isnan(constant.default)
            and not any(n in given for n in (q.name, *q.aliases, *constant.aliases))
        ):
            _tell(q, constant, problems)


def _tell(point: Parameter, constant: Parameter, problems: Problems) -> None:
    advice = f"Give it there or as fault.constants.{point.name}"
    problems.error(f"fault.parameters.{point.name}", f"missing: {constant.description}", point.allowed(), advice)


__all__ = ["PointOrUniform", "check_absent", "check_filled", "filled", "point_or_uniform"]
