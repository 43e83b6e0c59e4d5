"""Maps and filters: components that compute new dimensions from the ones they see, or accept only some points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from faultwave.media.easi.component import Batch, Builder, Component, Mask, Values, gather, spread, tag
from faultwave.media.easi.language import compile_program, parse
from faultwave.media.easi.source import Block
from faultwave.media.points import Floats


@tag("!IdentityMap", "!Any")
@dataclass(frozen=True, kw_only=True)
class IdentityMap(Component):
    """Identity: passes its dimensions on; as a leaf it delivers them."""

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        return cls(where=block.where, outputs=inputs, children=builder.children(block, inputs))

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        return dict(batch.columns)


@tag("!ConstantMap")
@dataclass(frozen=True, kw_only=True)
class ConstantMap(Component):
    """Component that gives constants, the tag ``!ConstantMap``."""

    keys = frozenset({"map", "components"})
    uniform = True

    values: Mapping[str, float]

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        given = block.require("map").mapping("'map'")
        outputs = tuple(sorted(given))
        reads: list[Callable[[], Any]] = [partial(value.number, f"'{name}'") for name, value in given.items()]
        *values, children = gather([*reads, lambda: builder.children(block, outputs)])
        return cls(where=block.where, outputs=outputs, children=children, values=dict(zip(given, values, strict=True)))

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        return {name: spread(self.values[name], len(batch)) for name in wanted}


@tag("!AffineMap")
@dataclass(frozen=True, kw_only=True)
class AffineMap(Component):
    """Affine map p = row . inputs + translation, with the inputs in sorted order."""

    keys = frozenset({"matrix", "translation", "components"})

    rows: Mapping[str, tuple[float, ...]]
    shifts: Mapping[str, float]
    inputs: tuple[str, ...]

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        matrix, translation = block.require("matrix").mapping("'matrix'"), block.require("translation")
        shifts = {name: value.number(f"'{name}'") for name, value in translation.mapping("'translation'").items()}
        if set(matrix) != set(shifts):
            odd = ", ".join(sorted(set(matrix) ^ set(shifts)))
            raise block.error(f"'matrix' and 'translation' name different dimensions: {odd}", "the same names in both")
        rows = {}
        for name, entry in matrix.items():
            rows[name] = tuple(entry.numbers(f"the row of '{name}'"))
            if len(rows[name]) != len(inputs):
                allowed = f"{len(inputs)}, one for each of {', '.join(inputs)}"
                raise entry.error(f"the row of '{name}' has {len(rows[name])} numbers", allowed)
        outputs = tuple(sorted(rows))
        children = builder.children(block, outputs)
        return cls(where=block.where, outputs=outputs, children=children, rows=rows, shifts=shifts, inputs=inputs)

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        result = {}
        for name in wanted:
            total: Floats = spread(self.shifts[name], len(batch))
            for factor, dimension in zip(self.rows[name], self.inputs, strict=True):
                if factor != 0.0:  # 0 * inf from an earlier component must not invalidate the sum
                    total = total + factor * batch.columns[dimension]
            result[name] = total
        return result


@tag("!PolynomialMap")
@dataclass(frozen=True, kw_only=True)
class PolynomialMap(Component):
    """Polynomials of the one dimension it sees, highest power first."""

    keys = frozenset({"map", "components"})

    coefficients: Mapping[str, tuple[float, ...]]
    variable: str

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        if len(inputs) != 1:
            raise block.error(f"{block.tag} receives {len(inputs)} dimensions: {', '.join(inputs)}", "exactly one")
        given = block.require("map")
        polynomials = {name: tuple(entry.numbers(f"'{name}'")) for name, entry in given.mapping("'map'").items()}
        if len({len(c) for c in polynomials.values()}) > 1 or () in polynomials.values():
            lengths = ", ".join(f"{name}: {len(c)}" for name, c in polynomials.items())
            raise given.error(f"coefficient lists differ in length ({lengths})", "equal lengths of at least 1")
        outputs = tuple(sorted(polynomials))
        children = builder.children(block, outputs)
        return cls(where=block.where, outputs=outputs, children=children, coefficients=polynomials, variable=inputs[0])

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        x = batch.columns[self.variable]
        result = {}
        for name in wanted:
            total: Floats = spread(self.coefficients[name][0], len(batch))
            for coefficient in self.coefficients[name][1:]:
                total = total * x + coefficient
            result[name] = total
        return result


Function = Callable[[Mapping[str, Floats], int], tuple[Floats, Mask]]


@tag("!FunctionMap")
@dataclass(frozen=True, kw_only=True)
class FunctionMap(Component):
    """Map with one function of the inputs for each output."""

    keys = frozenset({"map", "components"})

    functions: Mapping[str, Function]
    places: Mapping[str, str]

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        bodies = block.require("map").mapping("'map'")
        outputs = tuple(sorted(bodies))
        compiled: list[Callable[[], Any]] = [
            partial(cls.function, name, body, inputs, builder) for name, body in bodies.items()
        ]
        *functions, children = gather([*compiled, lambda: builder.children(block, outputs)])
        return cls(
            where=block.where,
            outputs=outputs,
            children=children,
            functions=dict(zip(bodies, functions, strict=True)),
            places={name: body.where for name, body in bodies.items()},
        )

    @staticmethod
    def function(name: str, body: Block, inputs: tuple[str, ...], builder: Builder) -> Function:
        program = parse(body.text(f"'{name}'"), inputs, body.locate)
        if program.regrouped:
            builder.regrouped(body.source, body.locate(program.regrouped[0]))
        return compile_program(program)

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        result = {}
        for name in wanted:
            values, returned = self.functions[name](batch.columns, len(batch))
            if not returned.all():
                fault = f"the function of '{name}' ends without 'return'"
                raise batch.failure(self.places[name], fault, np.logical_not(returned))
            result[name] = values
        return result


@dataclass(frozen=True, kw_only=True)
class Filter(Component):
    """Component that passes its inputs on unchanged and accepts some points only."""

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
        reported += [f"names {', '.join(extra)}, which it does not receive"] if extra else []
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
