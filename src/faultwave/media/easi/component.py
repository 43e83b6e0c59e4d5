"""What every easi component is: a node that turns the dimensions it sees into those its children see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem
from faultwave.media.easi.source import Block, Source
from faultwave.media.points import Floats, Integers, PointError

Mask = NDArray[np.bool_]
Values = dict[str, Floats]


@dataclass(frozen=True)
class Roots:
    """The points as the caller gave them: (n,3) [m], groups (n,), and the root dimensions as columns."""

    points: Floats
    groups: Integers
    columns: Mapping[str, Floats]


@dataclass(frozen=True)
class Batch:
    """Points on their way through the tree: current dimensions as (m,) columns, and the root row of each."""

    roots: Roots
    columns: Mapping[str, Floats]
    rows: Integers

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def groups(self) -> Integers:
        return self.roots.groups[self.rows]

    def take(self, selection: Integers) -> Batch:
        columns = {name: column[selection] for name, column in self.columns.items()}
        return Batch(self.roots, columns, self.rows[selection])

    def seeing(self, columns: Mapping[str, Floats]) -> Batch:
        """The same points with other dimensions."""
        return replace(self, columns=columns)

    def failure(self, where: str, fault: str, bad: Mask | None = None) -> PointError:
        """An error for all points or for those marked ``bad`` (m,)."""
        rows = self.rows if bad is None else self.rows[bad]
        return PointError(where, fault, self.roots.points[rows], self.roots.groups[rows], rows)


@dataclass(frozen=True, kw_only=True)
class Component:
    """Base of all components.

    ``outputs``: the dimensions its children see, or, on a leaf, the parameters delivered. Subclasses override
    ``transform`` (dimensions to outputs), ``accepts`` (which points it takes) or, to route differently, ``evaluate``.
    """

    keys: ClassVar[frozenset[str]] = frozenset({"components"})
    uniform: ClassVar[bool] = False
    """Whether all points get the same values."""

    where: str
    outputs: tuple[str, ...]
    children: tuple[Component, ...] = ()

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        """The component described by a YAML node that sees ``inputs`` (sorted)."""
        raise NotImplementedError

    @property
    def supplied(self) -> frozenset[str]:
        """Union over the leaves of the parameters they deliver."""
        if not self.children:
            return frozenset(self.outputs)
        return frozenset().union(*(child.supplied for child in self.children))

    def accepts(self, batch: Batch) -> Mask | None:
        """Which points this component takes; None means all."""
        return None

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        """At least the ``wanted`` outputs, each (m,)."""
        raise NotImplementedError

    def evaluate(self, batch: Batch, wanted: Sequence[str]) -> Values:
        """The ``wanted`` parameters, each (m,). Raises PointError where a point is not accepted or has no value."""
        if self.children:
            return self._route(batch.seeing(self.transform(batch, self.outputs)), wanted)
        missing = [name for name in wanted if name not in self.outputs]
        if missing:
            raise batch.failure(self.where, f"no {', '.join(missing)} here (only {', '.join(self.outputs)})")
        values = self.transform(batch, wanted)
        return {name: values[name] for name in wanted}

    def _route(self, batch: Batch, wanted: Sequence[str]) -> Values:
        """Each point goes to the first child that accepts it."""
        result: Values = {}
        left = np.arange(len(batch))
        for child in self.children:
            current = batch if len(left) == len(batch) else batch.take(left)
            mask = child.accepts(current)
            if mask is None or mask.all():
                values = child.evaluate(current, wanted)
                if not result:
                    return values
                _scatter(result, values, left)
                return result
            if mask.any():
                if not result:
                    result = {name: np.empty(len(batch)) for name in wanted}
                chosen = np.flatnonzero(mask)
                _scatter(result, child.evaluate(current.take(chosen), wanted), left[chosen])
                left = left[~mask]
        raise batch.take(left).failure(self.where, "no component accepts the point")


def _scatter(result: Values, values: Values, rows: Integers) -> None:
    for name, column in values.items():
        result[name][rows] = column


def enter(component: Component, batch: Batch, wanted: Sequence[str]) -> Values:
    """Evaluate a component on its own, applying its acceptance test as its parent would."""
    mask = component.accepts(batch)
    if mask is not None and not mask.all():
        raise batch.failure(component.where, "the point is outside this component", ~mask)
    return component.evaluate(batch, wanted)


def gather(actions: Iterable[Callable[[], Any]]) -> list[Any]:
    """Run all actions, then raise one InputError with every problem they met, or return their results."""
    results: list[Any] = []
    problems: list[Problem] = []
    for action in actions:
        try:
            results.append(action())
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return results


class Builder(Protocol):
    """What a component needs from the loader while it is built."""

    roots: tuple[str, ...]

    def component(self, block: Block, inputs: Sequence[str]) -> Component: ...
    def children(self, block: Block, outputs: Sequence[str]) -> tuple[Component, ...]: ...
    def include(self, block: Block) -> Component: ...
    def warn(self, where: str, what: str, advice: str = "") -> None: ...
    def regrouped(self, source: Source, where: str) -> None: ...


_C = TypeVar("_C", bound=type[Component])
REGISTRY: dict[str, type[Component]] = {}


def tag(*names: str) -> Callable[[_C], _C]:
    """Class decorator: this component is written with these YAML tags."""

    def register(cls: _C) -> _C:
        for name in names:
            REGISTRY[name] = cls
        return cls

    return register


def spread(value: Any, count: int) -> Floats:
    """A constant as a (count,) column without using memory for it."""
    return np.broadcast_to(np.float64(value), count)
