"""Filters: components that pass their dimensions on, but accept only some points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.media.easi.component import Batch, Builder, Component, Mask, Values, tag
from faultwave.media.easi.source import Block


@dataclass(frozen=True, kw_only=True)
class Filter(Component):
    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        return dict(batch.columns)


@tag("!GroupFilter")
@dataclass(frozen=True, kw_only=True)
class GroupFilter(Filter):
    """Filter of points whose group (mesh group or fault tag) is listed."""

    keys = frozenset({"groups", "components"})

    groups: tuple[int, ...]

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        given = block.require("groups")
        items = list(given.items()) if given.is_list else [given]
        groups = tuple(item.integer("a group") for item in items)
        return cls(where=block.where, outputs=inputs, children=builder.children(block, inputs), groups=groups)

    def accepts(self, batch: Batch) -> Mask | None:
        return np.isin(batch.groups, self.groups)


def _check_dimensions(block: Block, given: Iterable[str], inputs: tuple[str, ...]) -> None:
    """Raise an error unless every dimension is named, as in the reference implementation.

    A missing dimension is more often a mistake than a request for no limit.
    """
    if set(given) != set(inputs):
        missing, extra = sorted(set(inputs) - set(given)), sorted(set(given) - set(inputs))
        reported = [f"lacks {', '.join(missing)}"] if missing else []
        reported += [f"names {', '.join(extra)}, which it does not see"] if extra else []
        raise block.error(
            " and ".join(reported), ", ".join(inputs), "Use [-.inf, .inf] for no limit" if missing else ""
        )


@tag("!AxisAlignedCuboidalDomainFilter")
@dataclass(frozen=True, kw_only=True)
class CuboidFilter(Filter):
    """Filter of points in a closed box in the dimensions it sees."""

    keys = frozenset({"limits", "components"})

    limits: Mapping[str, tuple[float, float]]

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        given = block.require("limits")
        entries = given.mapping("'limits'")
        _check_dimensions(given, entries, inputs)
        limits = {}
        for name, entry in entries.items():
            numbers = entry.numbers(f"the limits of '{name}'")
            if len(numbers) != 2:
                raise entry.error(f"the limits of '{name}' are {len(numbers)} numbers", "[lowest, highest]")
            limits[name] = (numbers[0], numbers[1])
            if numbers[0] > numbers[1]:
                builder.warn(entry.where, f"the lower limit of '{name}' is above the upper: the box is empty")
        return cls(where=block.where, outputs=inputs, children=builder.children(block, inputs), limits=limits)

    def accepts(self, batch: Batch) -> Mask | None:
        mask = np.ones(len(batch), dtype=bool)
        for name, (low, high) in self.limits.items():
            if low > -np.inf:
                mask &= batch.columns[name] >= low
            if high < np.inf:
                mask &= batch.columns[name] <= high
        return mask


@tag("!SphericalDomainFilter")
@dataclass(frozen=True, kw_only=True)
class SphereFilter(Filter):
    """Filter of points in a closed ball in the dimensions it sees."""

    keys = frozenset({"radius", "centre", "components"})

    radius: float
    centre: Mapping[str, float]

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        radius = block.require("radius").number("'radius'")
        if radius < 0:
            raise block.require("radius").error(f"'radius' is {radius:g}", "0 or more")
        given = block.require("centre")
        centre = {name: value.number(f"'{name}'") for name, value in given.mapping("'centre'").items()}
        _check_dimensions(given, centre, inputs)
        children = builder.children(block, inputs)
        return cls(where=block.where, outputs=inputs, children=children, radius=radius, centre=centre)

    def accepts(self, batch: Batch) -> Mask | None:
        squares = sum((batch.columns[name] - c) ** 2 for name, c in self.centre.items())
        return np.asarray(squares <= self.radius**2)
