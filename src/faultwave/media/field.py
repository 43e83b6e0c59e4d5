"""Fields: named parameters as functions of place, mesh group and, where asked, time."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.media.easi.compile import Mask, compile_program
from faultwave.media.easi.component import gather
from faultwave.media.easi.language import parse, parse_expression
from faultwave.media.easi.source import Source
from faultwave.media.points import Floats, Integers, PointError

Values = dict[str, Floats]


class Field(Protocol):
    """A set of parameters in space."""

    @property
    def parameters(self) -> frozenset[str]:
        """Every parameter that can be asked for."""
        ...

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        """Values (n,) of ``names`` in SI at ``points`` (n,3) [m] of mesh groups or fault tags ``groups`` (n,).

        Raises InputError with coordinates where there is no value, and for a name the field does not have.
        """
        ...


def source_of(field: Field) -> str:
    """Where a field comes from, for messages."""
    return str(getattr(field, "source", type(field).__name__))


def missing(field: Field, names: Sequence[str]) -> InputError:
    """One problem; near names are suggested of those that nobody asked for: the others mean what they say."""
    lacking = [name for name in names if name not in field.parameters]
    stated = field.field.parameters if isinstance(field, Converted) else field.parameters
    given = ", ".join(sorted(stated)) or "nothing"
    what = f"no parameter {', '.join(lacking)}: it gives {given}, and {', '.join(names)} are needed"
    left = stated - set(names)
    near = dict.fromkeys(suggest(name, left) for name in lacking)
    return InputError(Problem(source_of(field), what, advice="; ".join(n for n in near if n)))


@dataclass(frozen=True)
class Constant:
    """The same values everywhere."""

    values: Mapping[str, float]
    source: str = "constant"

    @property
    def parameters(self) -> frozenset[str]:
        return frozenset(self.values)

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        if not self.parameters.issuperset(names):
            raise missing(self, names)
        return {name: np.full(len(points), self.values[name]) for name in names}


@dataclass(frozen=True)
class Expression:
    """Each parameter a function of x, y, z [m] (and t [s]) in the easi function language, whose numbers may also be 1e8 here."""

    functions: Mapping[str, Callable[[Mapping[str, Floats], int], tuple[Floats, Mask]]]
    timed: frozenset[str]
    source: str = "expression"
    axes: frozenset[str] = frozenset("xyz")

    @classmethod
    def of(cls, bodies: Mapping[str, str], source: str = "expression") -> Expression:
        """From function bodies (``return 2*z;``) or bare expressions (``2*z``).

        Raises InputError with setting, line and column of every mistake.
        """

        def compiled(name: str) -> Callable[[Mapping[str, Floats], int], tuple[Floats, Mask]]:
            text = Source.of(Path(f"{source}.{name}"), bodies[name])
            read = parse if re.search(r";|\breturn\b", bodies[name]) else parse_expression
            return compile_program(read(bodies[name], ("t", "x", "y", "z"), text.place, exponents=True))

        functions = gather(partial(compiled, name) for name in bodies)
        timed = frozenset(name for name, body in bodies.items() if re.search(r"\bt\b", body))
        axes = frozenset(axis for axis in "xyz" if any(re.search(rf"\b{axis}\b", body) for body in bodies.values()))
        return cls(dict(zip(bodies, functions, strict=True)), timed, source, axes)

    @property
    def parameters(self) -> frozenset[str]:
        return frozenset(self.functions)

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        if not self.parameters.issuperset(names):
            raise missing(self, names)
        if time is None and self.timed.intersection(names):
            needy = ", ".join(sorted(self.timed.intersection(names)))
            raise InputError(
                Problem(
                    self.source, f"{needy} depends on time t, which this use does not have", "a function of x, y, z"
                )
            )
        columns = {axis: np.ascontiguousarray(points[:, k]) for k, axis in enumerate("xyz")}
        columns["t"] = np.full(len(points), np.nan if time is None else time)
        result = {}
        for name in names:
            values, returned = self.functions[name](columns, len(points))
            if not returned.all():
                rows = np.flatnonzero(~returned)
                where = f"{self.source}.{name}"
                raise PointError(where, "the function ends without 'return'", points[rows], groups[rows], rows)
            result[name] = values
        return result


@dataclass(frozen=True)
class Layers:
    """Values by depth below z = 0: each row of ``table`` (layers, columns) holds from its top down to the next top.

    ``tops`` (layers,) are depths [m], ascending. Above the first top the first layer goes on, below the last top the
    last. A point exactly on a top belongs to the layer below.
    """

    tops: Floats
    table: Floats
    names: tuple[str, ...]
    source: str = "layers"

    @property
    def parameters(self) -> frozenset[str]:
        return frozenset(self.names)

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        if not self.parameters.issuperset(names):
            raise missing(self, names)
        layer = np.clip(np.searchsorted(self.tops, -points[:, 2], side="right") - 1, 0, None)
        return {name: self.table[layer, self.names.index(name)] for name in names}


@dataclass(frozen=True)
class Regions:
    """A field of its own in every mesh group; ``defaults`` where one says nothing of a parameter."""

    fields: Mapping[int, Field]
    labels: Mapping[int, str]
    defaults: Mapping[str, float]
    source: str = "regions"

    @property
    def parameters(self) -> frozenset[str]:
        return frozenset().union(*(field.parameters for field in self.fields.values()))

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        lost = ~np.isin(groups, list(self.fields))
        if lost.any():
            rows = np.flatnonzero(lost)
            fault = f"nothing is said of {self.labels.get(int(groups[rows[0]]), f'group {groups[rows[0]]}')}"
            raise PointError(self.source, fault, points[rows], groups[rows], rows)
        result = {name: np.empty(len(points)) for name in names}
        for group in np.unique(groups).tolist():
            field, rows = self.fields[group], np.flatnonzero(groups == group)
            own = [n for n in names if n in field.parameters or n not in self.defaults]
            found = field.evaluate(points[rows], groups[rows], own, time)
            for name in names:
                result[name][rows] = found.get(name, self.defaults.get(name, np.nan))
        return result


@dataclass(frozen=True)
class Overlaid:
    """A field that holds everywhere but in the mesh groups that ``regions`` name, as the water of a sea."""

    everywhere: Field
    regions: Regions

    @property
    def source(self) -> str:
        return f"{source_of(self.everywhere)} + {self.regions.source}"

    @property
    def parameters(self) -> frozenset[str]:
        return self.everywhere.parameters

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        inside = np.isin(groups, list(self.regions.fields))
        result = {name: np.empty(len(points)) for name in names}
        for field, here in ((self.everywhere, ~inside), (self.regions, inside)):
            rows = np.flatnonzero(here)
            if not len(rows):
                continue
            try:
                found = field.evaluate(points[rows], groups[rows], names, time)
            except PointError as error:
                raise PointError(error.place, error.fault, error.points, error.groups, rows[error.rows]) from None
            for name in names:
                result[name][rows] = found[name]
        return result


@dataclass(frozen=True)
class Merged:
    """Several fields side by side, each with parameters of its own."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        owners: dict[str, str] = {}
        problems = []
        for field in self.fields:
            for name in sorted(field.parameters):
                if name in owners:
                    what = f"parameter {name} is given twice, also by {owners[name]}"
                    problems.append(Problem(source_of(field), what, advice="Remove one of the two"))
                owners.setdefault(name, source_of(field))
        if problems:
            raise InputError(problems)

    @property
    def source(self) -> str:
        return " + ".join(source_of(field) for field in self.fields)

    @property
    def parameters(self) -> frozenset[str]:
        return frozenset().union(*(field.parameters for field in self.fields))

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        if not self.parameters.issuperset(names):
            raise missing(self, names)
        result: Values = {}
        for field in self.fields:
            own = [name for name in names if name in field.parameters]
            if own:
                result.update(field.evaluate(points, groups, own, time))
        return {name: result[name] for name in names}


@dataclass(frozen=True)
class Limited:
    """A field whose values are kept from ``least`` to ``most``; ``moved`` counts the points where that changed something.

    Values that are not finite or not positive stay as they are: they are mistakes, not extremes.
    """

    field: Field
    least: Mapping[str, float]
    most: Mapping[str, float]
    where: str
    moved: dict[str, list[int]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = sorted((self.least.keys() | self.most.keys()) - self.field.parameters)
        if unknown:
            allowed = ", ".join(sorted(self.field.parameters))
            raise InputError(
                Problem(
                    f"{self.where}.{'minimum' if n in self.least else 'maximum'}",
                    f"'{n}' is not given by the material",
                    allowed,
                )
                for n in unknown
            )

    @property
    def source(self) -> str:
        return source_of(self.field)

    @property
    def parameters(self) -> frozenset[str]:
        return self.field.parameters

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        result = dict(self.field.evaluate(points, groups, names, time))
        for name in names:
            if name in self.least or name in self.most:
                old = result[name]
                kept = np.clip(old, self.least.get(name, -np.inf), self.most.get(name, np.inf))
                result[name] = np.where(old > 0, kept, old)
                count = self.moved.setdefault(name, [0, 0])
                count[0] += int((result[name] != old).sum())
                count[1] += len(old)
        return result

    def told(self) -> list[str]:
        """Of each limit that changed something, in words."""
        return [
            f"{name} kept {self._range(name)} at {100 * some / all_:.3g} % of the points looked at"
            for name, (some, all_) in self.moved.items() if some
        ]  # fmt: skip

    def _range(self, name: str) -> str:
        parts = [f"above {self.least[name]:g}"] if name in self.least else []
        return " and ".join([*parts, *([f"below {self.most[name]:g}"] if name in self.most else [])])


# What follows from what, tried in this order: name, ingredients, rule. mu and lambda come first because a material
# given by velocities must answer for moduli; a fluid without vs or mu has lambda = rho vp^2 (its bulk modulus).
VACUUM_PERMITTIVITY, VACUUM_PERMEABILITY = 8.8541878128e-12, 1.25663706212e-6  # F/m, H/m (CODATA 2018)

Rule = tuple[str, tuple[str, ...], Callable[[Values], Floats]]
"""What a parameter is made of, and how."""

_RULES: tuple[Rule, ...] = (
    ("permittivity", ("relative_permittivity",), lambda v: VACUUM_PERMITTIVITY * v["relative_permittivity"]),
    ("permeability", ("relative_permeability",), lambda v: VACUUM_PERMEABILITY * v["relative_permeability"]),
    ("mu", ("rho", "vs"), lambda v: v["rho"] * v["vs"] ** 2),
    ("lambda", ("rho", "vp", "mu"), lambda v: v["rho"] * v["vp"] ** 2 - 2 * v["mu"]),
    ("lambda", ("rho", "vp"), lambda v: v["rho"] * v["vp"] ** 2),
    ("vs", ("rho", "mu"), lambda v: np.sqrt(v["mu"] / v["rho"])),
    ("vp", ("rho", "lambda", "mu"), lambda v: np.sqrt((v["lambda"] + 2 * v["mu"]) / v["rho"])),
    ("vp", ("rho", "lambda"), lambda v: np.sqrt(v["lambda"] / v["rho"])),
)


def ways_to_give(names: Iterable[str], more: Sequence[Rule] | None = ()) -> frozenset[str]:
    """``names`` and the parameters they can be worked out from, by ``more`` rules too; None: nothing is worked out."""
    if more is None:
        return frozenset(names)
    found, rules = set(names), (*more, *_RULES)
    for _ in rules:
        found.update(part for name, parts, _ in rules if name in found for part in parts)
    return frozenset(found)


def _stated(field: Field) -> frozenset[str]:
    """Parameters that a field states for every place; regions state their own, each for itself."""
    match field:
        case Regions():
            return frozenset()
        case Merged():
            return frozenset().union(*(_stated(part) for part in field.fields))
    return field.parameters


@dataclass(frozen=True)
class Converted:
    """A material that also answers for moduli given velocities (rho, vp, vs -> mu, lambda) and the other way round."""

    field: Field
    rules: Mapping[str, tuple[tuple[str, ...], Callable[[Values], Floats]]]

    @classmethod
    def of(cls, field: Field, more: Sequence[Rule] | None = ()) -> Field:
        """``field`` itself when nothing can be derived, or ``more`` is None. ``more`` rules are for what is given whole or not at all.
        Raises InputError where one parameter is given in two ways."""
        if more is None:
            return field
        given = _stated(field)
        twice = [(name, parts[0]) for name, parts, _ in _RULES if len(parts) == 1 and given.issuperset((name, *parts))]
        if twice:
            what = "{} is given twice, also as {}"
            raise InputError(
                Problem(source_of(field), what.format(*pair), advice="Remove one of the two") for pair in twice
            )
        rules: dict[str, tuple[tuple[str, ...], Callable[[Values], Floats]]] = {}
        some = any(name in field.parameters for name, _, _ in more)
        for name, ingredients, rule in (*_RULES, *(() if some else more)):
            known = field.parameters | rules.keys()
            if name not in known and known.issuperset(ingredients):
                rules[name] = (ingredients, rule)
        return cls(field, rules) if rules else field

    @property
    def source(self) -> str:
        return source_of(self.field)

    @property
    def parameters(self) -> frozenset[str]:
        return self.field.parameters | self.rules.keys()

    def _needed(self, name: str) -> frozenset[str]:
        """``name`` and all that it is made of: parameters of the field, and what follows from these."""
        parts = self.rules[name][0] if name in self.rules else ()
        return frozenset({name}).union(*map(self._needed, parts))

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        if not self.parameters.issuperset(names):
            raise missing(self, names)
        needed = frozenset().union(*map(self._needed, names))
        values = self.field.evaluate(points, groups, sorted(needed - self.rules.keys()), time)
        for name in ("vp", "vs"):  # their squares would pass
            if name not in values:
                continue
            for bad, fault in (
                (~np.isfinite(values[name]), f"{name} is not a finite number"),
                (values[name] < 0, f"{name} is negative (down to {values[name].min(initial=0):g})"),
            ):
                if bad.any():
                    rows = np.flatnonzero(bad)
                    raise PointError(self.source, fault, points[rows], groups[rows], rows)

        with np.errstate(all="ignore"):
            for name, (_, rule) in self.rules.items():  # in an order in which parts come before what is made of them
                if name in needed:
                    values[name] = rule(values)
        return {name: values[name] for name in names}


def axes_of(field: Field) -> frozenset[str]:
    """The axes along which a field may vary, of x, y and z: those it is known not to depend on are left out."""
    match field:
        case Constant():
            return frozenset()
        case Layers():
            return frozenset("z")
        case Merged():
            return frozenset().union(*(axes_of(part) for part in field.fields))
        case Converted() | Limited():
            return axes_of(field.field)
    return getattr(field, "axes", frozenset("xyz"))  # expressions and easi files know theirs


def limits_told(field: Field) -> list[str]:
    """What the limits of a material changed at the points looked at so far, in words."""
    match field:
        case Limited():
            return field.told()
        case Converted():
            return limits_told(field.field)
        case Overlaid():
            return limits_told(field.everywhere)
    return []


def leaves(field: Field) -> list[Any]:
    """What a field is put together from: constants, expressions, models and so on."""
    if isinstance(field, Converted | Limited):
        return leaves(field.field)
    if isinstance(field, Overlaid):
        return leaves(field.everywhere) + leaves(field.regions)
    if isinstance(field, Regions):
        return [leaf for part in field.fields.values() for leaf in leaves(part)]
    inner = getattr(field, "fields", None) or getattr(field, "models", None)
    return [leaf for part in inner for leaf in leaves(part)] if inner is not None else [field]


def check_physics(field: Field, readers: Mapping[str, str], user: str, problems: Problems) -> None:
    """An error for each way of ``readers`` to read parameters that the field has and ``user`` does not: they would change nothing."""
    for reader in dict.fromkeys(readers.values()):
        names = sorted(name for name, by in readers.items() if by == reader)
        sources = [leaf.source for leaf in leaves(field) if set(names) & leaf.parameters]
        what = f"gives {', '.join(names)}, which {user} does not read"
        advice = f"Read by {reader}. Choose that physics, or leave {'it' if len(names) == 1 else 'them'} out."
        problems.error(sources[-1] if sources else str(getattr(field, "source", user)), what, advice=advice)


def check_used(
    field: Field, known: Collection[str], user: str, problems: Problems, elsewhere: Mapping[str, str] | None = None
) -> None:
    """An error for every parameter that a case states by itself, in constants, expressions or regions, and ``user`` does not read.

    Files, which may serve several programs, may hold more than is ``known``. ``elsewhere``: what to do for some that are not, by name.
    """
    stated = [leaf for leaf in leaves(field) if isinstance(leaf, Constant | Expression)]
    for source, name in sorted({(leaf.source, name) for leaf in stated for name in leaf.parameters - set(known)}):
        what = f"'{name}' is not a parameter of {user}, so it would do nothing"
        advice = (elsewhere or {}).get(name) or suggest(name, known)
        problems.error(f"{source}.{name}", what, ", ".join(sorted(known)), advice)
