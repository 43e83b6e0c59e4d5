"""Fields: named parameters as functions of position, mesh group and, optionally, time."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.media.easi.component import gather
from faultwave.media.easi.language import Mask, compile_program, parse, parse_expression
from faultwave.media.easi.source import Source
from faultwave.media.points import Floats, Integers, PointError

Values = dict[str, Floats]


class Field(Protocol):
    """Set of parameters in space."""

    @property
    def parameters(self) -> frozenset[str]:
        """Names of all parameters that the field provides."""
        ...

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        """Return the values of parameters at points.

        Parameters
        ----------
        points : ndarray (n, 3)
            Places [m].
        groups : ndarray (n,)
            Mesh groups or fault tags of the points.
        names : sequence of str
            Parameters.
        time : float, optional
            Time [s], for fields that depend on it.

        Returns
        -------
        dict of str to ndarray (n,)
            Values in SI units.

        Raises
        ------
        InputError
            With coordinates where there is no value, and for a name that the field does not have.
        """
        ...


class Leaf(Field, Protocol):
    """Elementary field: constants, expressions, models and so on."""

    @property
    def source(self) -> str:
        """Setting or file that gives the values, for messages."""
        ...


def source_of(field: Field) -> str:
    """Return the origin of a field, for messages."""
    return str(getattr(field, "source", type(field).__name__))


def missing(field: Field, names: Sequence[str]) -> InputError:
    """Return the error for parameters that a field lacks.

    It suggests similar names, but only names that were not requested themselves, as these are correct.
    """
    lacking = [name for name in names if name not in field.parameters]
    stated = field.field.parameters if isinstance(field, Converted) else field.parameters
    given = ", ".join(sorted(stated)) or "nothing"
    what = f"parameter {', '.join(lacking)} is missing: the field defines {given}; required are {', '.join(names)}"
    left = stated - set(names)
    near = dict.fromkeys(suggest(name, left) for name in lacking)
    return InputError(Problem(source_of(field), what, advice="; ".join(n for n in near if n)))


@dataclass(frozen=True)
class Constant:
    """Field with the same values everywhere."""

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
    """Field whose parameters are functions of x, y, z [m] (and t [s]) in the easi function language.

    Unlike in easi files, numbers may have exponents (1e8).
    """

    functions: Mapping[str, Callable[[Mapping[str, Floats], int], tuple[Floats, Mask]]]
    timed: frozenset[str]
    source: str = "expression"
    axes: frozenset[str] = frozenset("xyz")

    @classmethod
    def of(cls, bodies: Mapping[str, str], source: str = "expression") -> Expression:
        """Compile function bodies (``return 2*z;``) or bare expressions (``2*z``).

        Raises
        ------
        InputError
            With setting, line and column of every mistake.
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
                Problem(self.source, f"{needy} depends on time t, which is not available here", "a function of x, y, z")
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
    """Field of layers by depth below z = 0.

    A point exactly on a top belongs to the layer below. The first layer extends upwards, the last one downwards.

    Attributes
    ----------
    tops : ndarray (layers,)
        Depths of the layers' tops [m], ascending.
    table : ndarray (layers, columns)
        Values in each layer.
    names : tuple of str
        Parameters of the columns.
    source : str
        Origin of the field, for messages.
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
    """Field composed of one field per mesh group; ``defaults`` replace parameters that a group's field lacks."""

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
            fault = f"no parameters are defined for {self.labels.get(int(groups[rows[0]]), f'group {groups[rows[0]]}')}"
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
class RegionOverrides:
    """Field that holds everywhere except in the mesh groups of ``regions``, such as the water of a sea."""

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
    """Union of several fields with distinct parameters."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        owners: dict[str, str] = {}
        problems = []
        for field in self.fields:
            for name in sorted(field.parameters):
                if name in owners:
                    what = f"parameter {name} is defined twice, also by {owners[name]}"
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
class Modified:
    """Base of fields that change values of another field, without new parameters."""

    field: Field

    @property
    def source(self) -> str:
        return source_of(self.field)

    @property
    def parameters(self) -> frozenset[str]:
        return self.field.parameters


@dataclass(frozen=True)
class Limited(Modified):
    """Field whose values are clipped to limits.

    Values that are not finite or not positive are left unchanged: they are mistakes, not extremes.

    Attributes
    ----------
    field : Field
    least, most : mapping of str to float
        Lower and upper limits by parameter.
    where : str
        Path of the setting, for messages.
    moved : dict of str to list
        Number of clipped and of all evaluated points by parameter.
    """

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
                    f"the material does not define '{n}'",
                    allowed,
                )
                for n in unknown
            )

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        result = dict(self.field.evaluate(points, groups, names, time))
        for name in names:
            if name in self.least or name in self.most:
                old = result[name]
                retained = np.clip(old, self.least.get(name, -np.inf), self.most.get(name, np.inf))
                result[name] = np.where(old > 0, retained, old)
                count = self.moved.setdefault(name, [0, 0])
                count[0] += int((result[name] != old).sum())
                count[1] += len(old)
        return result

    def messages(self) -> list[str]:
        """Return a sentence for each limit that has changed values."""
        return [
            f"{name} limited to {self._range(name)} at {100 * some / all_:.3g} % of the checked points"
            for name, (some, all_) in self.moved.items() if some
        ]  # fmt: skip

    def _range(self, name: str) -> str:
        parts = [f"above {self.least[name]:g}"] if name in self.least else []
        return " and ".join([*parts, *([f"below {self.most[name]:g}"] if name in self.most else [])])


# Derived parameters, tried in this order: name, ingredients, rule. mu and lambda come first because a material
# given by velocities must provide moduli; a fluid without vs or mu has lambda = rho vp^2 (its bulk modulus).
VACUUM_PERMITTIVITY, VACUUM_PERMEABILITY = 8.8541878128e-12, 1.25663706212e-6  # F/m, H/m (CODATA 2018)

Rule = tuple[str, tuple[str, ...], Callable[[Values], Floats]]
"""Rule of a derived parameter: name, ingredients and formula."""

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


def derivable_parameters(names: Iterable[str], more: Sequence[Rule] | None = ()) -> frozenset[str]:
    """Return ``names`` and the parameters from which they can be derived, also by the rules ``more``.

    None: no derivation.
    """
    if more is None:
        return frozenset(names)
    found, rules = set(names), (*more, *_RULES)
    for _ in rules:
        found.update(part for name, parts, _ in rules if name in found for part in parts)
    return frozenset(found)


def _stated(field: Field) -> frozenset[str]:
    """Return the parameters that a field states for every place; regions state their own separately."""
    match field:
        case Regions():
            return frozenset()
        case Merged():
            return frozenset().union(*(_stated(part) for part in field.fields))
        case Modified():
            return _stated(field.field) & field.parameters
    return field.parameters


@dataclass(frozen=True)
class Converted:
    """Material that also provides moduli if given by velocities (rho, vp, vs -> mu, lambda), and the reverse."""

    field: Field
    rules: Mapping[str, tuple[tuple[str, ...], Callable[[Values], Floats]]]

    @classmethod
    def of(cls, field: Field, more: Sequence[Rule] | None = ()) -> Field:
        """Return the field with derived parameters, or the field itself if there are none.

        Parameters
        ----------
        field : Field
        more : sequence of Rule or None
            Additional rules, for parameters that are given either all together or not at all; None: derive nothing.

        Raises
        ------
        InputError
            If one parameter is given in two ways.
        """
        if more is None:
            return field
        given = _stated(field)
        twice = [(name, parts[0]) for name, parts, _ in _RULES if len(parts) == 1 and given.issuperset((name, *parts))]
        if twice:
            what = "{} is defined twice, also as {}"
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
        """Return ``name`` and all its ingredients, direct and derived."""
        parts = self.rules[name][0] if name in self.rules else ()
        return frozenset({name}).union(*map(self._needed, parts))

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        if not self.parameters.issuperset(names):
            raise missing(self, names)
        needed = frozenset().union(*map(self._needed, names))
        values = self.field.evaluate(points, groups, sorted(needed - self.rules.keys()), time)
        for name in ("vp", "vs"):  # negative values would be hidden by their squares
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
            for name, (_, rule) in self.rules.items():  # ingredients come before derived parameters
                if name in needed:
                    values[name] = rule(values)
        return {name: values[name] for name in names}


def axes_of(field: Field) -> frozenset[str]:
    """Return the axes x, y and z along which a field may vary; axes without any influence are left out."""
    match field:
        case Constant():
            return frozenset()
        case Layers():
            return frozenset("z")
        case Merged():
            return frozenset().union(*(axes_of(part) for part in field.fields))
        case Converted() | Limited():
            return axes_of(field.field)
    return getattr(field, "axes", frozenset("xyz"))  # expressions and easi files have this attribute


def limit_messages(field: Field) -> list[str]:
    """Return sentences on the values that the limits of a material have changed so far."""
    match field:
        case Limited():
            return field.messages()
        case Converted() | Modified():
            return limit_messages(field.field)
        case RegionOverrides():
            return limit_messages(field.everywhere)
    return []


def leaves(field: Field) -> list[Leaf]:
    """Return the elementary fields of a composed field: constants, expressions, models and so on."""
    if isinstance(field, Converted | Modified):
        return leaves(field.field)
    if isinstance(field, RegionOverrides):
        return leaves(field.everywhere) + leaves(field.regions)
    if isinstance(field, Regions):
        return [leaf for part in field.fields.values() for leaf in leaves(part)]
    inner = getattr(field, "fields", None) or getattr(field, "models", None)
    return [leaf for part in inner for leaf in leaves(part)] if inner is not None else [cast(Leaf, field)]


def check_physics(field: Field, readers: Mapping[str, str], user: str, problems: Problems) -> None:
    """Report an error for parameters of other physics in a field, which would have no effect.

    Parameters
    ----------
    field : Field
    readers : mapping of str to str
        Physics that reads a parameter, by parameter.
    user : str
        Physics of the case, which does not.
    problems : Problems
    """
    for reader in dict.fromkeys(readers.values()):
        names = sorted(name for name, by in readers.items() if by == reader)
        sources = [leaf.source for leaf in leaves(field) if set(names) & leaf.parameters]
        what = f"defines {', '.join(names)}, which {user} does not read"
        advice = f"Read by {reader}. Choose that physics, or remove {'it' if len(names) == 1 else 'them'}."
        problems.error(sources[-1] if sources else source_of(field), what, advice=advice)


def check_used(
    field: Field, known: Collection[str], user: str, problems: Problems, elsewhere: Mapping[str, str] | None = None
) -> None:
    """Report an error for each parameter in constants, expressions or regions that ``user`` does not read.

    Files may have more parameters than are ``known``, because several programs may use them.

    Parameters
    ----------
    field : Field
    known : collection of str
        Parameters that ``user`` reads.
    user : str
        Name of the consumer, for messages.
    problems : Problems
    elsewhere : mapping of str to str, optional
        Advice for some unknown parameters, by name.
    """
    stated = [leaf for leaf in leaves(field) if isinstance(leaf, Constant | Expression)]
    for source, name in sorted({(leaf.source, name) for leaf in stated for name in leaf.parameters - set(known)}):
        what = f"'{name}' is not a parameter of {user}, so it would have no effect"
        advice = (elsewhere or {}).get(name) or suggest(name, known)
        problems.error(f"{source}.{name}", what, ", ".join(sorted(known)), advice)
