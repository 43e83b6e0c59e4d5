"""Fields perturbed by random fields, and statistics of the values that result."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems, suggest
from faultwave.media.field import (
    Converted,
    Field,
    Modified,
    RegionOverrides,
    Regions,
    limit_messages,
    missing,
    source_of,
)
from faultwave.media.points import Floats, Integers
from faultwave.media.random_fields import Taper, VonKarman

OTHER_FORMS = (
    (frozenset({"vp", "vs"}), frozenset({"mu", "lambda"})),
    (frozenset({"relative_permittivity"}), frozenset({"permittivity"})),
    (frozenset({"relative_permeability"}), frozenset({"permeability"})),
)
"""Pairs of forms of the same parameters; if one is perturbed, the other is derived from it."""


@dataclass(frozen=True)
class Perturbation:
    """Random field with the standard deviations of the parameters that it perturbs.

    Attributes
    ----------
    random : VonKarman
        Field of unit variance.
    relative : mapping of str to float
        Standard deviation over the unperturbed value, by parameter.
    absolute : mapping of str to float
        Standard deviation in SI units, by parameter.
    limit : float
        Largest magnitude in standard deviations, to which the field is clipped.
    taper : Taper or None
        Factor by position.
    clipped : list of int
        Number of clipped and of all evaluated points.
    """

    random: VonKarman
    relative: Mapping[str, float]
    absolute: Mapping[str, float]
    limit: float = np.inf
    taper: Taper | None = None
    clipped: list[int] = dataclasses.field(default_factory=lambda: [0, 0])

    @property
    def names(self) -> frozenset[str]:
        """Names of the perturbed parameters."""
        return frozenset((*self.relative, *self.absolute))

    def evaluate(self, points: Floats) -> Floats:
        """Return the values (n,) at points (n, 3) in standard deviations."""
        values = self.random(points)
        if np.isfinite(self.limit):
            self.clipped[0] += int((np.abs(values) > self.limit).sum())
            self.clipped[1] += len(values)
            values = np.clip(values, -self.limit, self.limit)
        return values if self.taper is None else values * self.taper(points)


@dataclass(frozen=True)
class Perturbed(Modified):
    """Field whose parameters are perturbed by random fields; fluids remain unchanged.

    Attributes
    ----------
    field : Field
        Field before the perturbation.
    perturbations : tuple of Perturbation
        Perturbations, whose effects on one parameter add up.
    hidden : frozenset of str
        Parameters of ``field`` that do not agree with the perturbed ones and are therefore not provided.
    where : str
        Path of the setting, for messages.
    """

    perturbations: tuple[Perturbation, ...]
    hidden: frozenset[str]
    where: str

    @classmethod
    def of(cls, field: Field, perturbations: tuple[Perturbation, ...], where: str) -> Perturbed:
        """Return the perturbed field.

        Raises
        ------
        InputError
            For parameters that the field does not have, and for two forms of the same parameters.
        """
        names = frozenset().union(*(one.names for one in perturbations))
        problems = Problems()
        for one in perturbations:
            for name in sorted(one.names - field.parameters):
                way = "relative" if name in one.relative else "absolute"
                allowed = ", ".join(sorted(field.parameters))
                what = f"'{name}' has no value that could be perturbed"
                problems.error(f"{one.random.where}.{way}.{name}", what, allowed, suggest(name, field.parameters))
        hidden = _derived(field) - names
        for form in OTHER_FORMS:
            for own, other in (form, form[::-1]):
                if names & own:
                    hidden = (hidden - own) | (other & field.parameters)
            if names & form[0] and names & form[1]:
                both = " and ".join(sorted(names & (form[0] | form[1])))
                problems.error(
                    where, f"perturbs {both}, which are two forms of the same parameters", "one of the forms"
                )
        problems.raise_errors()
        return cls(field, perturbations, hidden, where)

    @property
    def source(self) -> str:
        return f"{source_of(self.field)} with {self.where}"

    @property
    def parameters(self) -> frozenset[str]:
        return self.field.parameters - self.hidden

    @property
    def perturbed(self) -> frozenset[str]:
        """Names of the perturbed parameters."""
        return frozenset().union(*(one.names for one in self.perturbations))

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        if not self.parameters.issuperset(names):
            raise missing(self, names)
        if not self.perturbed.intersection(names):
            return self.field.evaluate(points, groups, names, time)
        stiffness = sorted({"vs", "mu"} & self.field.parameters)[-1:]  # zero in fluids
        values = self.field.evaluate(points, groups, sorted({*names, *stiffness}), time)
        solid = np.flatnonzero(
            np.logical_and.reduce([values[n] != 0 for n in stiffness] or [np.ones(len(points), bool)])
        )
        result = {name: np.array(values[name]) for name in names}
        for one in self.perturbations:
            if not one.names.intersection(names):
                continue
            change = one.evaluate(points[solid])
            for name in one.names.intersection(names):
                deviation = one.relative.get(name, 0.0) * values[name][solid] + one.absolute.get(name, 0.0)
                result[name][solid] += deviation * change
        return result


def _derived(field: Field) -> frozenset[str]:
    """Return the parameters that a field derives from others."""
    match field:
        case Converted():
            return frozenset(field.rules)
        case RegionOverrides():
            return _derived(field.everywhere)
        case Regions():
            return frozenset().union(*map(_derived, field.fields.values()))
    return frozenset()


@dataclass
class Statistics:
    """Moments and extremes of values that are supplied in parts."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0  # sum of squared differences from ``first``, which keeps digits
    first: float = 0.0
    least: float = np.inf
    most: float = -np.inf

    def add(self, values: Floats) -> None:
        """Include the values (n,)."""
        if not len(values):
            return
        if not self.count:
            self.first = float(values[0])
        self.count += len(values)
        self.total += float((values - self.first).sum())
        self.squares += float(((values - self.first) ** 2).sum())
        self.least, self.most = min(self.least, float(values.min())), max(self.most, float(values.max()))

    @property
    def mean(self) -> float:
        """Mean of the values."""
        return self.first + self.total / self.count

    @property
    def deviation(self) -> float:
        """Standard deviation of the values."""
        return float(np.sqrt(max(0.0, self.squares / self.count - (self.total / self.count) ** 2)))

    def __str__(self) -> str:
        relative = f" ({100 * self.deviation / abs(self.mean):.3g} %)" if self.mean else ""
        spread = f"mean {self.mean:.5g}, standard deviation {self.deviation:.4g}{relative}"
        return f"{spread}, {self.least:.5g} to {self.most:.5g}, at {self.count:,} points"


@dataclass(frozen=True)
class Surveyed(Modified):
    """Field that collects statistics of its perturbed parameters as they are evaluated."""

    perturbed: Perturbed
    statistics: dict[str, Statistics] = dataclasses.field(default_factory=dict)

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        values = self.field.evaluate(points, groups, names, time)
        for name in sorted(self.perturbed.perturbed.intersection(names)):
            self.statistics.setdefault(name, Statistics()).add(values[name])
        return values

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of a report on a plan."""
        found = [(name, str(values)) for name, values in sorted(self.statistics.items()) if values.count]
        for one in self.perturbed.perturbations:
            what = f"{100 * one.random.resolved:.0f} % of von Karman's variance is at scales that the shortest wavelength resolves"
            some, all_ = one.clipped
            if some:
                what += f"; clipped to {one.limit:g} standard deviations at {100 * some / all_:.3g} % of the points"
            found.append((one.random.name, what))
        return found + [("limits", text) for text in limit_messages(self.field)]


def perturbation_rows(field: Field) -> list[tuple[str, str]]:
    """Return the statistics of all perturbed parameters that were evaluated so far, as rows of a report."""
    match field:
        case Surveyed():
            return field.rows()
        case Converted():
            return perturbation_rows(field.field)
    return [row for part in getattr(field, "fields", ()) for row in perturbation_rows(part)]


def check_read(field: Field, problems: Problems) -> None:
    """Report an error for each perturbed parameter that no evaluation has read, as the setting would do nothing."""
    match field:
        case Surveyed():
            unread = sorted(field.perturbed.perturbed - field.statistics.keys())
            if unread:
                problems.error(field.perturbed.where, f"perturbs {', '.join(unread)}, which the case does not read")
        case Converted():
            check_read(field.field, problems)
