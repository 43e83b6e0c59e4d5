"""Components that route or nest whole models: `!Switch`, `!EvalModel`, `!LayeredModel`, `!Include`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from faultwave.base.errors import suggest
from faultwave.media.easi.component import Batch, Builder, Component, Mask, Values, enter, gather, tag
from faultwave.media.easi.source import Block
from faultwave.media.points import Floats


@tag("!Switch")
@dataclass(frozen=True, kw_only=True)
class Switch(Component):
    """Component that routes by parameter: each branch is evaluated for its own names only, or not at all."""

    lists: tuple[tuple[str, ...], ...]

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        lists: list[tuple[str, ...]] = []
        taken: dict[str, str] = {}
        pairs = block.pairs(block.tag)
        for key, _ in pairs:
            names = key.names("the list of parameters") if key.is_list else [key.text("a parameter")]
            for name in names:
                if name in taken:
                    raise key.error(f"'{name}' is in two branches of {block.tag}, the other at {taken[name]}")
                taken[name] = key.where
            lists.append(tuple(names))
        branches = gather(partial(builder.component, value, inputs) for _, value in pairs)
        return cls(where=block.where, outputs=inputs, children=tuple(branches), lists=tuple(lists))

    @property
    def supplied(self) -> frozenset[str]:
        """Names that a branch both lists and delivers; no others can be requested."""
        pairs = zip(self.lists, self.children, strict=True)
        return frozenset().union(*(child.supplied.intersection(names) for names, child in pairs))

    def evaluate(self, batch: Batch, wanted: Sequence[str]) -> Values:
        listed = {name for names in self.lists for name in names}
        unknown = [name for name in wanted if name not in listed]
        if unknown:
            advice = suggest(unknown[0], listed)
            fault = f"no branch for {', '.join(unknown)}" + (f" ({advice})" if advice else "")
            raise batch.failure(self.where, fault)
        result: Values = {}
        for names, child in zip(self.lists, self.children, strict=True):
            requested = [name for name in wanted if name in names]
            if requested:
                result.update(enter(child, batch, requested))
        return {name: result[name] for name in wanted}


@tag("!EvalModel")
@dataclass(frozen=True, kw_only=True)
class EvalModel(Component):
    """Component that evaluates a model at the current dimensions.

    Its parameters become the dimensions of the children.
    """

    keys = frozenset({"parameters", "model", "components"})

    model: Component

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        given = block.require("parameters")
        parameters = tuple(sorted(given.names("'parameters'")))
        model = builder.component(block.require("model"), inputs)
        missing = [name for name in parameters if name not in model.supplied]
        if missing:
            supplied = ", ".join(sorted(model.supplied))
            advice = suggest(missing[0], model.supplied)
            raise given.error(f"the model does not provide {', '.join(missing)}", supplied, advice)
        children = builder.children(block, parameters)
        return cls(where=block.where, outputs=parameters, children=children, model=model)

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        return enter(self.model, batch, tuple(wanted))


_BETWEEN = ("lower", "upper", "linear")


@tag("!LayeredModel")
@dataclass(frozen=True, kw_only=True)
class LayeredModel(Component):
    """Values at nodes of one coordinate; constant or linear between them, constant beyond the ends."""

    keys = frozenset({"map", "interpolation", "parameters", "nodes"})

    map: Component
    interpolation: str  # one of _BETWEEN
    nodes: Floats
    table: Floats  # (number of nodes, number of parameters), columns in the order of ``names``
    names: tuple[str, ...]

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        coordinate = builder.component(block.require("map"), inputs)
        if len(coordinate.outputs) != 1 or coordinate.children:
            raise block.require("map").error("'map' does not lead to one dimension", "a map with one output")
        kind = block.require("interpolation")
        interpolation = kind.text("'interpolation'").lower()
        if interpolation not in _BETWEEN:
            raise kind.error(
                f"'interpolation' is '{interpolation}'", ", ".join(_BETWEEN), suggest(interpolation, _BETWEEN)
            )
        names = block.require("parameters").names("'parameters'")
        rows = cls._rows(block.require("nodes"), names, interpolation)
        nodes = np.array([node for node, _ in rows])
        return cls(
            where=block.where,
            outputs=tuple(sorted(names)),
            map=coordinate,
            interpolation=interpolation,
            nodes=nodes,
            table=np.array([values for _, values in rows]).reshape(len(rows), len(names)),
            names=tuple(names),
        )

    @staticmethod
    def _rows(block: Block, names: list[str], interpolation: str) -> list[tuple[float, list[float]]]:
        rows: dict[float, list[float]] = {}
        for key, entry in block.pairs("'nodes'"):
            node = key.number("a node")
            if interpolation == "linear" and np.isinf(node):
                raise key.error("interpolation towards an infinite node is impossible", "finite nodes with 'linear'")
            if node in rows:
                raise key.error(f"node {node:g} is defined twice")
            rows[node] = entry.numbers(f"node {node:g}")
            if len(rows[node]) != len(names):
                raise entry.error(f"node {node:g} has {len(rows[node])} values", f"{len(names)}: {', '.join(names)}")
        if not rows:
            raise block.error("'nodes' is empty", "at least one node")
        return sorted(rows.items())

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        position = next(iter(enter(self.map, batch, self.map.outputs).values()))
        if np.isnan(position).any():
            raise batch.failure(self.where, "the layer coordinate is NaN", np.isnan(position))
        # 'left': a point on a node belongs to the interval below it.
        above = np.searchsorted(self.nodes, position, side="left")
        low = np.clip(above - 1, 0, len(self.nodes) - 1)
        high = np.clip(above, 0, len(self.nodes) - 1)
        fraction = self._fraction(position, low, high)
        result = {}
        for name in wanted:
            column = self.table[:, self.names.index(name)]
            if self.interpolation == "linear":
                result[name] = column[low] + fraction * (column[high] - column[low])
            else:
                result[name] = column[low if self.interpolation == "lower" else high]
        return result

    def _fraction(self, position: Floats, low: np.ndarray, high: np.ndarray) -> Floats:
        """Return the relative position of a point between its nodes, 0 beyond the ends."""
        if self.interpolation != "linear":
            return np.zeros(0)
        inside = high > low
        width = np.where(inside, self.nodes[high] - self.nodes[low], 1.0)
        return np.where(inside, (position - self.nodes[low]) / width, 0.0)


@tag("!Include")
@dataclass(frozen=True, kw_only=True)
class Include(Component):
    """Another file in place of this node; its root sees the root dimensions again."""

    root: Component
    passes: bool  # the dimensions here are already named like the root's, so they are passed as they are

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        root = builder.include(block)
        return cls(where=block.where, outputs=tuple(sorted(root.supplied)), root=root, passes=inputs == builder.roots)

    @property
    def supplied(self) -> frozenset[str]:
        return self.root.supplied

    def _inner(self, batch: Batch) -> Batch:
        if self.passes:
            return batch
        return batch.seeing({name: column[batch.rows] for name, column in batch.roots.columns.items()})

    def accepts(self, batch: Batch) -> Mask | None:
        return self.root.accepts(self._inner(batch))

    def evaluate(self, batch: Batch, wanted: Sequence[str]) -> Values:
        return self.root.evaluate(self._inner(batch), wanted)
