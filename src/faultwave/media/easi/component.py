"""Base class of easi components: nodes that map the dimensions they see to the dimensions that their children see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem
from faultwave.media.easi.source import Block, Source
from faultwave.media.points import Floats, Integers, PointError

Mask = NDArray[np.bool_]
Values = dict[str, Floats]


@dataclass(frozen=True)
class Roots:
    """Points as given by the caller: coordinates (n, 3) [m], groups (n,), and the root dimensions as columns."""

    points: Floats
    groups: Integers
    columns: Mapping[str, Floats]


@dataclass(frozen=True)
class Batch:
    """Points on their way through the tree: current dimensions as columns (m,), and the root row of each point."""

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
        """Return the same points with other dimensions."""
        return replace(self, columns=columns)

    def failure(self, where: str, fault: str, bad: Mask | None = None) -> PointError:
        """Return an error for all points or for the ones marked ``bad`` (m,)."""
        rows = self.rows if bad is None else self.rows[bad]
        return PointError(where, fault, self.roots.points[rows], self.roots.groups[rows], rows)


@dataclass(frozen=True, kw_only=True)
class Component:
    """Base class of all components.

    Subclasses override ``transform`` (dimensions to outputs), ``accepts`` (mask of points) or, to route differently,
    ``evaluate``.

    Attributes
    ----------
    where : str
        Place in the file.
    outputs : tuple of str
        Dimensions that its children see, or, on a leaf, the parameters delivered.
    children : tuple of Component
    """

    keys: ClassVar[frozenset[str]] = frozenset({"components"})
    uniform: ClassVar[bool] = False
    """True if all points have the same values."""

    where: str
    outputs: tuple[str, ...]
    children: tuple[Component, ...] = ()

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        """Build the component described by a YAML node that sees the dimensions ``inputs`` (sorted)."""
        raise NotImplementedError

    @property
    def supplied(self) -> frozenset[str]:
        """Union over the leaves of the parameters they deliver."""
        if not self.children:
            return frozenset(self.outputs)
        return frozenset().union(*(child.supplied for child in self.children))

    def accepts(self, batch: Batch) -> Mask | None:
        """Return a mask of the points that this component accepts; None means all."""
        return None

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        """Return at least the ``wanted`` outputs, each (m,)."""
        raise NotImplementedError

    def evaluate(self, batch: Batch, wanted: Sequence[str]) -> Values:
        """Return the ``wanted`` parameters, each (m,).

        Raises PointError where a point is not accepted or has no value.
        """
        if self.children:
            return self._route(batch.seeing(self.transform(batch, self.outputs)), wanted)
        missing = [name for name in wanted if name not in self.outputs]
        if missing:
            raise batch.failure(self.where, f"no {', '.join(missing)} here (only {', '.join(self.outputs)})")
        values = self.transform(batch, wanted)
        return {name: values[name] for name in wanted}

    def _route(self, batch: Batch, wanted: Sequence[str]) -> Values:
        """Evaluate each point with the first child that accepts it."""
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
    """Evaluate a component on its own, with the acceptance test that its parent would apply."""
    mask = component.accepts(batch)
    if mask is not None and not mask.all():
        raise batch.failure(component.where, "the point is outside this component", ~mask)
    return component.evaluate(batch, wanted)


def gather(actions: Iterable[Callable[[], T]]) -> list[T]:
    """Run all actions and return their results, or raise one InputError with the problems of all of them."""
    results: list[T] = []
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
    """Interface of the loader that components use while they are built."""

    roots: tuple[str, ...]

    def component(self, block: Block, inputs: Sequence[str]) -> Component: ...
    def children(self, block: Block, outputs: Sequence[str]) -> tuple[Component, ...]: ...
    def include(self, block: Block) -> Component: ...
    def warn(self, where: str, what: str, advice: str = "") -> None: ...
    def regrouped(self, source: Source, where: str) -> None: ...


T = TypeVar("T")
_C = TypeVar("_C", bound=type[Component])
REGISTRY: dict[str, type[Component]] = {}


def tag(*names: str) -> Callable[[_C], _C]:
    """Return a class decorator that registers a component under YAML tags."""

    def register(cls: _C) -> _C:
        for name in names:
            REGISTRY[name] = cls
        return cls

    return register


def spread(value: float | np.float64, count: int) -> Floats:
    """Return a constant as a (count,) column without using memory for it."""
    return np.broadcast_to(np.float64(value), count)
