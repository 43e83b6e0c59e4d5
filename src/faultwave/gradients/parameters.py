"""Parameters of a gradient: settings of sources or of a fault, their values, and cases in which they differ slightly."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from faultwave.base.errors import InputError, Problems, suggest
from faultwave.base.types import Settings
from faultwave.case import describe
from faultwave.case.native import location_of
from faultwave.case.settings.model import Case
from faultwave.case.validate import Location, build, dotted, set_value
from faultwave.fd.capabilities import point_sources
from faultwave.fd.capabilities.rupture import Rupture
from faultwave.fd.capability import FdPlan
from faultwave.fd.contexts import PlacementContext, Planning
from faultwave.fd.fault import SLIPS, Given, Reader
from faultwave.kernels.stencil import Axis
from faultwave.physics.sources.point import Sources

Read = TypeVar("Read")
"""Data that a case determines."""

CENTRAL = {-2: 1.0 / 12.0, -1: -2.0 / 3.0, 1: 2.0 / 3.0, 2: -1.0 / 12.0}
FORWARD = {0: -25.0 / 12.0, 1: 4.0, 2: -3.0, 3: 4.0 / 3.0, 4: -1.0 / 4.0}
BACKWARD = {-offset: -weight for offset, weight in FORWARD.items()}
"""Weights of fourth-order differences by offset.

Sources, but not waves, are differentiated in this way. The one-sided differences serve at the ends of the range of a setting, such as a
dip of 90 degrees.
"""
ANGLE = 60.0
"""Scale of angles [degrees]."""
FRACTION = 1e-3
"""Interval of the differences relative to the scale of a parameter."""
PATHS = "sources[0].location[2], sources[0].tensor.xy, sources[0].time_function.duration, ..."
FAULT_PATHS = "fault.parameters.constant.d_c, fault.parameters.constant.T_s, ..."
STRESSES = ("T_", "s_", "nuc_", "Tnuc_", "cohesion")
"""Beginnings of the names of stresses, whose scale is the largest stress if they are zero."""


@dataclass(frozen=True)
class Parameter:
    """Setting of a source.

    Attributes
    ----------
    path : str
        Path in the case, such as ``sources[0].location[2]``.
    value : float
        Value in ``unit``.
    unit : str
        SI unit, degrees of angles, empty if the setting has none.
    scale : float
        Change that alters the source noticeably, by which the difference of the source is scaled.
    """

    path: str
    value: float
    unit: str
    scale: float


@dataclass(frozen=True)
class Parameters:
    """Parameters of a case.

    Attributes
    ----------
    case : Case
        Case with the values of all parameters.
    base : mapping
        Settings of that case that differ from the defaults.
    listed : tuple of Parameter
        Parameters.
    """

    case: Case
    base: Settings
    listed: tuple[Parameter, ...]

    def changed(self, parameter: Parameter, offset: int) -> Case:
        """Return the case with one parameter changed by a multiple of its interval. Raises InputError if it is invalid."""
        value = parameter.value + offset * FRACTION * parameter.scale
        return _case(self.base, {parameter.path: value}, self.case)


def read_parameters(case: Case, given: Sequence[str] | Mapping[str, float], step: float, spacing: float) -> Parameters:
    """Return the parameters of a case.

    Parameters
    ----------
    case : Case
    given : sequence of str, or mapping of str to float
        Paths of settings, with values that replace those of the case if it is a mapping.
    step, spacing : float
        Time step [s] and spacing [m] of the grid: the scales of times and lengths.

    Raises
    ------
    InputError
        With every path that is no numeric setting of a source, or of the parameters of a fault if the case has one.
    """
    problems = Problems()
    base = case.model_dump(exclude_unset=True)
    if isinstance(given, str):
        problems.error("parameters", f"is the text '{given}'", f"a list of paths: ['{given}']")
        problems.raise_errors()
    if isinstance(given, Mapping):
        case = _case(base, {path: _number(path, value, problems) for path, value in given.items()}, case)
        base = case.model_dump(exclude_unset=True)
    complete, found = case.model_dump(), list[Parameter]()
    if not len(given):
        problems.error("parameters", "is empty", PATHS)
    for path in dict.fromkeys(p for p in given if list(given).count(p) > 1):
        problems.error(path, "is listed twice", "each parameter once")
    for path in given:
        read = _read_of_fault if case.fault is not None else _read
        if (parameter := read(path, complete, step, spacing, problems)) is not None:
            found.append(parameter)
    problems.raise_errors()
    return Parameters(case, base, tuple(found))


def sources_of(case: Case, plan: FdPlan) -> Sources:
    """Return the sources of a case that differs from a plan's in its sources only. Raises InputError if they are invalid."""
    problems = Problems()
    planned = point_sources.plan(Planning(case, plan.law, plan.lower, plan.upper, {}, problems))
    problems.raise_errors()
    assert planned is not None
    placed = planned.locate(PlacementContext(case, plan.law, plan.scheme.grid, plan.lower, plan.upper, problems))
    problems.raise_errors()
    return placed.sources


def difference_of(parameters: Parameters, parameter: Parameter, plan: FdPlan) -> list[tuple[float, Sources]]:
    """Return the sources whose weighted sum is the derivative with respect to a parameter.

    The difference is central, or one-sided if that leaves the range of the setting or the box.

    Raises
    ------
    InputError
        If both leave it, on both sides.
    """
    return _difference(parameters, parameter, lambda case: sources_of(case, plan))


def rupture_difference(
    parameters: Parameters, parameter: Parameter, plan: FdPlan, rupture: Rupture
) -> dict[Axis, dict[str, np.ndarray]]:
    """Return the derivatives of the values at the points of a fault with respect to a parameter, as ``difference_of`` does.

    Returns
    -------
    dict of Axis to dict of str to ndarray
        Derivatives by axis of slip and by the names of ``fd.fault.Given``.
    """
    found = dict[Axis, dict[str, np.ndarray]]()
    for weight, given in _difference(parameters, parameter, lambda case: _given(case, plan, rupture)):
        for axis, here in given.items():
            sums = found.setdefault(axis, {})
            for name, values in here.values.items():
                change = np.where(np.isfinite(values), weight * values, 0.0)
                sums[name] = sums.get(name, 0.0) + change
    return {axis: {n: v for n, v in sums.items() if n != SLIPS} for axis, sums in found.items()}


def _given(case: Case, plan: FdPlan, rupture: Rupture) -> dict[Axis, Given]:
    """Return the values at the points of the fault of a case that differs from a plan's in its fault only."""
    assert rupture.plane is not None and rupture.directions is not None
    problems = Problems()
    reader = Reader(case.fault, rupture.law, rupture.constants, rupture.directions, problems)
    found = {axis: reader.read(plan.scheme.grid, rupture.plane, axis, rupture.extent) for axis in rupture.plane.sliding}
    problems.raise_errors()
    return found


def _difference(parameters: Parameters, parameter: Parameter, read: Callable[[Case], Read]) -> list[tuple[float, Read]]:
    """Return results of ``read`` whose weighted sum is the derivative with respect to a parameter."""
    interval, first = FRACTION * parameter.scale, None
    for weights in (CENTRAL, FORWARD, BACKWARD):
        try:
            return [(w / interval, read(parameters.changed(parameter, k))) for k, w in weights.items()]
        except InputError as error:
            first = first or error
    assert first is not None
    reach = max(CENTRAL) * abs(interval)
    ends = f"{parameter.value - reach:.8g} to {parameter.value + reach:.8g}"
    advice = f"The derivative at {parameter.value:g} needs valid values from {ends}, or beyond one of them."
    raise InputError([replace(p, advice=f"{p.advice} {advice}".strip()) for p in first.problems])


def _case(base: Settings, values: Mapping[str, float], of: Case) -> Case:
    """Return a case with some values changed."""
    data, problems = copy.deepcopy(base), Problems()
    for path, value in values.items():
        try:
            set_value(data, location_of(path), value)
        except KeyError as error:
            problems.error(path, str(error.args[0]), PATHS)
    problems.raise_errors()
    folders = tuple(dict.fromkeys((*(f.parent for f in of.source_files), Path.cwd())))
    case = build(data, folders, dotted, problems)
    problems.raise_errors()
    assert case is not None
    return case


def _number(path: str, value: object, problems: Problems) -> float:
    """Return a value as a number; raise InputError if it is none."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        problems.error(path, f"is {value!r}", "a number in SI units, degrees for angles")
        problems.raise_errors()
        raise


def _read(path: str, complete: Settings, step: float, spacing: float, problems: Problems) -> Parameter | None:
    """Return the parameter that a path names; None with a problem if it names none."""
    location = location_of(path)
    if not location or dotted(location) != path or location[0] != "sources":
        problems.error(path, "is no parameter of a gradient", f"settings of sources: {PATHS}")
        return None
    value: object = complete
    for end, part in enumerate(location, 1):
        inside = isinstance(value, dict) and part in value
        listed = isinstance(value, list | tuple) and isinstance(part, int) and part < len(value)
        if not inside and not listed:
            names = _names(value, location[: end - 1])
            problems.error(
                path, f"the case has no '{dotted(location[:end])}'", ", ".join(names), suggest(str(part), names)
            )
            return None
        group, value = value, value[part]  # type: ignore[index]
    if not isinstance(value, float | int) or isinstance(value, bool):
        problems.error(path, f"is {value!r}", "a setting with a number")
        return None
    branches = (branch for node in describe.at(location) for branch in describe.branches(node))
    unit = next((str(branch["unit"]) for branch in branches if branch.get("unit")), "")
    components = group if location[-2:-1] != location[1:2] else (value,)
    scale = {"m": spacing, "s": step, "deg": ANGLE}.get(unit) or _largest(components)
    if not scale:
        what = "is zero, as all its other components are, so that its scale is unknown"
        problems.error(path, what, "a component that is not zero")
        return None
    return Parameter(path, float(value), unit, scale)


def _read_of_fault(path: str, complete: Settings, step: float, spacing: float, problems: Problems) -> Parameter | None:
    """Return the parameter of a fault that a path names; None with a problem if it names none."""
    location = location_of(path)
    values: object = complete
    for part in location:
        values = values.get(part) if isinstance(values, dict) else (
            values[part] if isinstance(values, list | tuple) and isinstance(part, int) and part < len(values) else None
        )  # fmt: skip
    group = location[:2] == ("fault", "parameters") or location[:2] == ("fault", "nucleation")
    if not group or location[-2:-1] != ("constant",):
        allowed = f"uniform values of friction and stress of the fault: {FAULT_PATHS}"
        advice = "The derivatives at each point, for values that vary, are in the result's attribute fault."
        problems.error(path, "is no parameter of a gradient of a case with a fault", allowed, advice)
        return None
    if not isinstance(values, float | int) or isinstance(values, bool):
        problems.error(
            path, f"is {values!r}" if values is not None else "is not in the case", "a setting with a number"
        )
        return None
    name, scale = str(location[-1]), abs(float(values))
    if not scale:
        constants = _at(complete, location[:-1])
        stresses = name.startswith(STRESSES)
        scale = (
            max((abs(float(v)) for n, v in constants.items() if n.startswith(STRESSES)), default=0.0)
            if stresses
            else 1.0
        )
    return Parameter(path, float(values), "Pa" if name.startswith(STRESSES) else "", scale or 1.0)


def _at(settings: Settings, location: Location) -> dict[str, float]:
    """Return the numbers in a group of settings at a location that exists."""
    group: object = settings
    for part in location:
        group = group[part]  # type: ignore[index]
    assert isinstance(group, dict)
    return {str(n): float(v) for n, v in group.items() if isinstance(v, float | int)}


def _names(group: object, location: Location) -> list[str]:
    """Return what a setting at a location contains, for a message."""
    if isinstance(group, list | tuple):
        return [f"an index below {len(group)}"]
    return describe.names_at(location) or ([str(name) for name in group] if isinstance(group, dict) else [PATHS])


def _largest(components: object) -> float:
    """Return the largest absolute number of components, 0 if there is none."""
    values = components.values() if isinstance(components, dict) else components
    assert isinstance(values, Iterable)
    return max((abs(float(v)) for v in values if isinstance(v, float | int) and np.isfinite(v)), default=0.0)
