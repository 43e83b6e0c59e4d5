"""Ranges of friction parameters for tests that run every law, also laws that were added later."""

from __future__ import annotations

from collections.abc import Mapping

from faultwave.base.quantities import Parameter
from faultwave.physics.friction.law import FrictionLaw


def sample_range(parameter: Parameter, known: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """Return the lowest and highest value of a parameter.

    They are ``known`` by its name, or around its default or, within its bounds, around 0.1.
    """
    if parameter.name in known:
        return known[parameter.name]
    middle = min(max(0.1, parameter.lower), parameter.upper) if parameter.default is None else parameter.default
    lowest, highest = sorted((0.9 * middle, 1.1 * middle))
    return max(lowest, parameter.lower), min(highest, parameter.upper)


def sample_value(parameter: Parameter, known: Mapping[str, float]) -> float:
    """Return the value of a parameter that is ``known`` by its name, else the middle of ``sample_range``."""
    if parameter.name in known:
        return known[parameter.name]
    return 0.5 * sum(sample_range(parameter, {}))


def required_values(law: FrictionLaw, known: Mapping[str, float]) -> dict[str, float]:
    """Return values of the parameters that a law cannot do without and that are not ``known``, by name."""
    return {
        q.name: sample_value(q, {})
        for q in law.parameters
        if q.default is None and not {q.name, *q.aliases} & known.keys()
    }
