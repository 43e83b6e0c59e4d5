"""Errors at points, with their kind, their number and the first few places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import SHOWN, InputError, Problem, as_places

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAXIMUM_EXAMPLES = 10


def coordinates(point: Sequence[float] | Floats) -> str:
    """Return '(x, y, z)' with enough digits to find the place."""
    return "(" + ", ".join(f"{float(value):.10g}" for value in point) + ")"


def describe_points(points: Floats, groups: Integers, rows: Integers) -> str:
    """Return coordinates and groups of the first few of ``rows`` in words."""
    shown = [f"{coordinates(points[row])} in group {int(groups[row])}" for row in rows[:MAXIMUM_EXAMPLES]]
    more = f" and {len(rows) - len(shown)} more" if len(rows) > len(shown) else ""
    return ", ".join(shown) + more


class PointError(InputError):
    """Error of an evaluation in which some points have no value.

    Attributes
    ----------
    place : str
        Location of the component in its file, as file:line.
    fault : str
        Description of the error.
    points : ndarray (m, 3)
        Coordinates [m].
    groups : ndarray (m,)
        Mesh groups.
    rows : ndarray (m,)
        Row of each point in the arrays that the caller passed.
    """

    def __init__(self, place: str, fault: str, points: Floats, groups: Integers, rows: Integers):
        self.place, self.fault = place, fault
        self.points, self.groups, self.rows = points, groups, rows
        listed = describe_points(points, groups, np.arange(len(rows)))
        super().__init__(Problem(place, f"{fault} at {len(rows)} point(s): {listed}", places=as_places(points)))

    def shifted(self, first: int) -> PointError:
        """Return the error with rows counted from ``first``, for callers that evaluate in chunks."""
        return PointError(self.place, self.fault, self.points, self.groups, self.rows + first)


@dataclass
class Findings:
    """Collector of bad points, which counts every point by kind and stores only the first examples, in bounded memory."""

    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    examples: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    places: dict[tuple[str, str], list[Floats]] = field(default_factory=dict)
    complete: bool = True  # False: the search was cut short, counts are lower bounds
    of: str = " point(s)"  # noun for the counted points
    most: int = MAXIMUM_EXAMPLES  # number of examples; one is enough for a uniform material

    def add(
        self, place: str, fault: str, points: Floats, cells: Integers | None, values: np.ndarray | None = None
    ) -> None:
        """Add ``points`` (m, 3) with their ``cells`` (m,) and, optionally, ``values`` (m,)."""
        key = (place, fault)
        self.counts[key] = self.counts.get(key, 0) + len(points)
        retained = self.places.setdefault(key, [])
        if len(retained) < MAXIMUM_EXAMPLES:
            retained.append(np.array(points[:SHOWN]))
        listed = self.examples.setdefault(key, [])
        # one point per cell is enough to find it
        shown = range(len(points)) if cells is None else np.sort(np.unique(cells, return_index=True)[1])
        for row in shown[: self.most - len(listed)]:
            text = coordinates(points[row])
            if cells is not None:
                text = f"cell {int(cells[row])} at {text}"
            if values is not None:
                text += f" = {float(values[row]):.10g}"
            if text not in listed:
                listed.append(text)

    def raise_errors(self) -> None:
        least = "" if self.complete else "at least "
        if self.counts:
            raise InputError(
                Problem(
                    place,
                    f"{fault} at {least}{count:,}{self.of}: " + "; ".join(self.examples[place, fault]),
                    places=as_places(np.concatenate(self.places[place, fault])),
                )
                for (place, fault), count in self.counts.items()
            )
