"""Case at two coarser resolutions, from which the errors of its seismograms are estimated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from faultwave.base.errors import InputError, NotBuiltError, Problem
from faultwave.base.types import Settings
from faultwave.case.load import load_case
from faultwave.case.settings.model import Case
from faultwave.domain.grids import MIN_CELLS
from faultwave.observe.error_estimates import (
    Method,
    extrapolate_by_laws,
    fit_error_kinds,
    point_distance_law,
    polynomial_law,
)
from faultwave.output.manifest import given
from faultwave.run.engines import engine_of

LOWEST = 2
"""Order of the second of two lower orders; the first is one below the order of the run."""
CFL = {2: 0.66, 3: 0.66, 4: 0.68, 5: 0.58, 6: 0.53, 7: 0.435}
"""CFL number by order for elastic cases without a setting, 3 % below the largest stable one.

Larger steps than usual change the error of the elements by two per cent.
"""
TIMES, ORDER = (1.5, 2.0), 4
"""Ratio of the spacings of the two coarser grids to the run's, and the order of grids whose errors are estimated."""
NEAR = 0.2
"""Allowed relative deviation from these spacings, if the sides admit only some spacings."""


@dataclass(frozen=True)
class CoarserCases:
    """Two coarser cases, and how errors are extrapolated from them.

    Attributes
    ----------
    cases : tuple of Case
        The less coarse case first.
    method : Method
        Extrapolation of errors.
    description : str
        Description for the user.
    coarseness : tuple of float
        Ratio of each case's distance between points to the run's.
    whole : bool
        True if the less coarse case must run to the end; the other need not.
    """

    cases: tuple[Case, ...]
    method: Method
    description: str
    coarseness: tuple[float, ...]
    whole: bool

    def until(self, half: float, end: float) -> tuple[float, ...]:
        """Return the times [s] at which the cases stop.

        That is ``end``, the end of the run, or slightly after ``half``, by when half of the record has been taken. The cases retain
        their own end times, for which some capabilities plan, such as bursts of ports.
        """
        return tuple(end if self.whole and not i else min(end, _after(case, half)) for i, case in enumerate(self.cases))


def _after(case: Case, half: float) -> float:
    assert case.output.receivers is not None
    return half + 2.0 * case.output.receivers.interval


def coarser(case: Case) -> CoarserCases:
    """Return the case at two coarser resolutions, in single precision and with receivers as its only output.

    Raises
    ------
    InputError
        If the case cannot be made coarser.
    """
    if case.output.receivers is None:
        what = "the case has no receivers, for whose seismograms errors are estimated"
        raise InputError(Problem("output.receivers", what, "a case with receivers"))
    return _lower_orders(case) if case.engine == "dg" else _larger_spacings(case)


def check_coarser(case: Case) -> CoarserCases:
    """Return ``coarser(case)`` after checking that both cases can be planned on their grids.

    Raises
    ------
    InputError
        Also if a coarser grid is too small for its blocks.
    """
    lower = coarser(case)
    found = list[Problem]()
    for made in lower.cases if getattr(case.grid, "blocks", ()) else ():
        assert made.grid is not None  # it has blocks
        try:
            engine_of(made).plan(made)
        except InputError as error:
            reported = f"errors are not estimated: on a grid of {made.grid.spacing:g} m, "
            found += [replace(problem, what=reported + problem.what) for problem in error.problems]
    if found:
        raise InputError(found)
    return lower


def _lower_orders(case: Case) -> CoarserCases:
    order = case.numerics.order
    near, far = order - 1, LOWEST
    if near <= far:
        what = (
            f"errors of order {order} are not estimated: this needs two lower orders, of which the lowest is {LOWEST}"
        )
        raise NotBuiltError(Problem("numerics.order", what, "4 to 8"))
    made = tuple(_changed(case, {"numerics": _numerics(case, n), "mesh": _same_edges(case, n)}) for n in (near, far))
    laws = [polynomial_law((order, near, far))]
    if case.fault is not None:
        laws.append(point_distance_law((order, near, far)))
    reported = f"orders {near} and {far} in addition to order {order}"
    return CoarserCases(made, extrapolate_by_laws(laws), reported, (order / near, order / far), whole=False)


def _numerics(case: Case, order: int) -> Settings:
    """Return numerical settings at a lower order, with unchanged sources so that only waves are compared."""
    own = case.numerics
    quick = own.cfl is None and own.integrator == "ader" and case.law == "elastic"
    return {
        "order": order,
        "source_spread_order": own.source_spread_order or own.order,
        "cfl": CFL[order] if quick else own.cfl,
    }


def _same_edges(case: Case, order: int) -> Settings:
    """Return settings of a built mesh that reproduce the same mesh at another order."""
    built = None if case.mesh is None else case.mesh.build
    if built is None:
        return {}
    own = case.numerics.order
    finer = built.points_per_wavelength * order / own
    return {"build": {"points_per_wavelength": finer, "fault_size": built.edge_on_faults(own)}}


def _larger_spacings(case: Case) -> CoarserCases:
    grid = case.grid
    if getattr(grid, "fault", None):
        what = "errors cannot be estimated with this setting: coarser grids have different points"
        raise NotBuiltError(Problem("grid.fault", what, "a grid without it, or engine: dg"))
    if getattr(grid, "order", ORDER) != ORDER:
        what = "errors are not estimated: at larger spacings errors of order 8 do not follow their asymptotic law"
        raise NotBuiltError(Problem("grid.order", what, "4"))
    lower, upper, spacing = (getattr(grid, name, None) for name in ("lower", "upper", "spacing"))
    if lower is None or upper is None or spacing is None:
        what = "errors are estimated from grids of larger spacing, so the spacing and the box of the run must be set"
        raise InputError(Problem("grid", what, "spacing, lower and upper"))
    box = Box(lower, upper, spacing, _fixed_axes(case), _ratio(case))
    step, spacings = getattr(grid, "step", None), [_spacing(box, times) for times in TIMES]
    steps = [step and step * h / box.spacing for h in spacings]
    blocks = [
        {"spacing": h, "frequency": None, "step": s, **_blocks(case, box, h)}
        for h, s in zip(spacings, steps, strict=True)
    ]
    made = tuple(_changed(case, {"grid": grid}) for grid in blocks)
    reported = f"spacings of {spacings[0]:g} and {spacings[1]:g} m in addition to {box.spacing:g} m"
    method = fit_error_kinds((box.spacing, *spacings), ORDER)
    return CoarserCases(made, method, reported, tuple(h / box.spacing for h in spacings), whole=True)


@dataclass(frozen=True)
class Box:
    """Geometry of a grid that limits the choice of coarser spacings.

    Attributes
    ----------
    lower, upper : sequence of float
        Corners [m].
    spacing : float
        Spacing [m].
    fixed : tuple of bool
        True for each axis whose length must not change.
    ratio : int
        Ratio of the largest to the smallest spacing of its blocks.
    """

    lower: Sequence[float]
    upper: Sequence[float]
    spacing: float
    fixed: tuple[bool, ...]
    ratio: int


def _fixed_axes(case: Case) -> tuple[bool, ...]:
    """Return True for periodic axes and axes with a reflecting far side, whose length must not change.

    Grids begin at x-, y- and z+ and end at the next point.
    """
    sides, bends = getattr(case.grid, "boundaries", None) or {}, getattr(case.grid, "topography", None) is not None
    far = [sides.get(side, sides.get(side[0])) for side in ("x+", "y+", "z-")]
    return tuple(kind in ("periodic", "rigid") and not (bends and i == 2) for i, kind in enumerate(far))


def _spacing(box: Box, times: float) -> float:
    """Return a spacing [m] near ``times`` the run's that divides all lengths that must not change.

    Raises
    ------
    InputError
        If there is none.
    """
    wanted = float(times * box.spacing)
    units = (box.ratio, box.ratio, 1)
    ends = zip(box.lower, box.upper, box.fixed, units, strict=True)
    lengths = [(b - a) / unit for a, b, retained, unit in ends if retained]
    if not lengths:
        return wanted
    count = round(lengths[0] / wanted)
    reported = ", ".join(f"{x:g}" for x in lengths)
    for number in sorted(range(1, 2 * count + 2), key=lambda n: abs(n - count)):
        spacing = lengths[0] / number
        if abs(spacing / wanted - 1) > NEAR:
            break
        if all(abs(length / spacing - round(length / spacing)) < 1e-6 for length in lengths):
            _check_least(round(min(lengths) / spacing), spacing * box.ratio)
            return float(spacing)
    what = f"errors are not estimated: no spacing near {wanted:g} m divides the lengths of its periodic and rigid axes, {reported} m"
    raise InputError(Problem("grid", what))


def _check_least(count: int, spacing: float) -> None:
    """Raise InputError if a fixed length has fewer cells than the least number, to which the grid would grow."""
    if count < MIN_CELLS[ORDER]:
        what = f"errors are not estimated: of periodic and rigid axes, one is {count} points of {spacing:g} m"
        raise InputError(Problem("grid", what, f"{MIN_CELLS[ORDER]} or more at twice the spacing"))


def _ratio(case: Case) -> int:
    blocks = getattr(case.grid, "blocks", ())
    return round(blocks[-1].spacing / case.grid.spacing) if blocks else 1  # type: ignore[union-attr]


def _blocks(case: Case, box: Box, spacing: float) -> Settings:
    """Return settings of blocks below a first block of larger ``spacing`` [m].

    Interfaces lie at the planes nearest to the run's, and the box grows along x and y to a multiple of the largest spacing.

    Raises
    ------
    InputError
        If the bottom would reflect at another depth.
    """
    given = getattr(case.grid, "blocks", ())
    if not given:
        return {}
    if box.fixed[2]:
        what = "errors are not estimated: z- is rigid, and blocks of larger spacing end at another depth"
        raise InputError(Problem("grid.boundaries", what, "z-: absorbing"))
    found, top, above, own = list[dict[str, float]](), 0.0, spacing, box.spacing
    for block in given:
        below = top + round((block.below - top) / above) * above
        own, above, top = block.spacing, above * round(block.spacing / own), below
        found.append({"below": below, "spacing": above})
    upper = list(box.upper)
    for k, (low, high) in enumerate(zip(box.lower[:2], box.upper[:2], strict=True)):
        upper[k] = low + math.ceil((high - low) / above - 1e-6) * above
    return {"blocks": found, "upper": upper}


def _changed(case: Case, changes: Mapping[str, object]) -> Case:
    """Return the case with other settings and only receivers as output, to the same end time."""
    data = case.model_dump(exclude_unset=True)
    plain = {"precision": "single", "compensated": False, "stored_waves": None, "halo_compression": "exact"}
    _merge(data, {"numerics": plain})
    data["output"] = {"receivers": data["output"]["receivers"]}
    data.pop("stop", None)
    _merge(data, changes)
    made, problems = load_case(given(data))
    problems.raise_errors()
    assert made is not None  # it is None only where there are errors
    return made


def _merge(data: Settings, changes: Mapping[str, object]) -> None:
    """Merge ``changes`` into nested settings."""
    for name, value in changes.items():
        if isinstance(value, Mapping):
            _merge(data.setdefault(name, {}), value)
        else:
            data[name] = value
