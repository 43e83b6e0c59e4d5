"""Designs: the values of every variable for every member.

Random numbers of a member depend on the seed, the member and the name of the variable alone, so that adding members or variables changes
no others. Latin hypercubes are the exception: they depend on the number of members. Rank correlations are those of a Gaussian copula
(Nelsen 2006), which correlates each member by itself.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from faultwave.base.errors import Problems, suggest
from faultwave.base.units import to_si
from faultwave.case import describe
from faultwave.case.native import location_of
from faultwave.case.settings.parameters import units_of
from faultwave.case.validate import Location
from faultwave.ensemble.study import Study, Variable, Where, study_problem

if TYPE_CHECKING:
    from scipy.stats.distributions import rv_frozen

LARGEST = 1_000_000
"""Largest number of members."""
_EDGE = 2.0**-53
"""Smallest distance of a sample from the sides of the unit interval, where distributions can be infinite."""


@dataclass(frozen=True)
class Table:
    """Values of all variables.

    Attributes
    ----------
    names : tuple of str
        Names of the variables.
    rows : tuple of tuple
        Values of each member, in the order of the names.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def values(self, member: int) -> dict[str, object]:
        """Return the values of one member by name."""
        return dict(zip(self.names, self.rows[member], strict=True))

    def column(self, name: str) -> list[object]:
        """Return the values of one variable for all members."""
        place = self.names.index(name)
        return [row[place] for row in self.rows]


Quantile: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Function from probabilities (n,) to the values of a variable that have them."""


def stream(seed: int, member: int, name: str) -> np.random.Generator:
    """Return the random numbers of one variable of one member, independent of all others."""
    words = np.frombuffer(hashlib.sha256(name.encode()).digest()[:16], "<u4")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(member, *map(int, words))))


def unit_of_setting(path: str) -> str:
    """Return the SI unit of a setting, '' if it has none."""
    location = location_of(path)
    declared = [str(node["unit"]) for node in describe.at(location) if node.get("unit")]
    if declared:
        return declared[0]
    found = units_of(str(location[-1])) if location else []
    return found[0] if len(found) == 1 else ""


def make_table(study: Study, where: Where, problems: Problems) -> Table | None:
    """Return the values of all members; None with problems if the design is impossible."""
    before = len(problems.errors)
    columns = _read_table(study, where, problems) if study.design.kind == "table" else {}
    _check_units(study, where, problems)
    drawn = {name: _distribution(study, name, where, problems) for name, v in study.vary.items() if v.distribution}
    _check_sources(study, columns, where, problems)
    factor = _correlation_factor(study, where, problems)
    if len(problems.errors) > before:
        return None
    count, listed = _listed(study, columns)
    unit = _uniform(study, count, factor)
    found: dict[str, Sequence[object]] = {}
    for name, variable in study.vary.items():
        if name in listed:
            found[name] = listed[name]
        elif variable.seed:
            found[name] = [int(stream(study.seed, m, name).integers(2**31)) for m in range(count)]
        elif variable.values is not None:  # equally probable in a sample
            found[name] = [variable.values[int(u * len(variable.values))] for u in unit[name]]
        else:
            quantile = drawn[name]
            assert quantile is not None  # or there would be a problem
            found[name] = _typed(variable, quantile(unit[name]))
    names = tuple(study.vary)
    return Table(names, tuple(zip(*(found[n] for n in names), strict=True)))


def _check_units(study: Study, where: Where, problems: Problems) -> None:
    """Report variables whose settings have different units, so that one number cannot be right for all."""
    for name, variable in study.vary.items():
        units = {setting: unit_of_setting(setting) for setting in variable.setting}
        if len(set(units.values())) > 1:
            listed = ", ".join(f"{setting} in {unit or 'no unit'}" for setting, unit in units.items())
            what = f"the settings have different units: {listed}"
            problems.items.append(study_problem(where, ("vary", name, "setting"), what, "settings of one unit"))


def _listed(study: Study, columns: Mapping[str, Sequence[object]]) -> tuple[int, dict[str, Sequence[object]]]:
    """Return the number of members, and the values of variables that a design without sampling states."""
    valued = {n: v.values for n, v in study.vary.items() if v.values is not None}
    kind = study.design.kind
    if kind == "list":
        return len(next(iter(valued.values()))), dict(valued)
    if kind == "grid":
        product = list(itertools.product(*valued.values()))
        return len(product), dict(zip(valued, zip(*product, strict=True), strict=True))
    if kind == "table":
        return len(next(iter(columns.values()))), dict(columns)
    assert study.design.members is not None
    return study.design.members, {}


def _check_sources(study: Study, columns: Mapping[str, Sequence[object]], where: Where, problems: Problems) -> None:
    """Check that every variable has values that suit the design."""
    kind = study.design.kind
    for name, v in study.vary.items():
        at = ("vary", name)
        if v.column is not None and kind != "table":
            problems.items.append(
                study_problem(where, (*at, "column"), f"does nothing with the design {kind}", "kind: table")
            )
        elif v.values is not None and kind == "table":
            problems.items.append(study_problem(where, (*at, "values"), "does nothing with the design table", "column"))
        elif v.values is None and v.distribution is None and not v.seed and kind != "table":
            problems.items.append(study_problem(where, at, "has no values", "values, distribution or seed"))
    valued = {n: len(v.values) for n, v in study.vary.items() if v.values is not None}
    if kind in ("list", "grid") and not valued:
        problems.items.append(
            study_problem(where, ("design", "kind"), f"{kind} needs at least one variable with values")
        )
    if kind == "list" and len(set(valued.values())) > 1:
        lengths = ", ".join(f"{n} has {k}" for n, k in valued.items())
        problems.items.append(
            study_problem(where, ("design",), f"lists of different lengths: {lengths}", "one value for each member")
        )
    if kind == "grid" and math.prod(valued.values()) > LARGEST:
        problems.items.append(
            study_problem(
                where, ("design",), f"has {math.prod(valued.values()):,} combinations", f"at most {LARGEST:,}"
            )
        )
    if kind == "table" and not columns and not problems.errors:
        problems.items.append(study_problem(where, ("design", "file"), "no variable takes a column of the table"))


def _read_table(study: Study, where: Where, problems: Problems) -> dict[str, list[object]]:
    """Return the columns of the table by variable, numbers as numbers."""
    path = study.design.file
    assert path is not None
    taken = {
        n: v.column or n for n, v in study.vary.items() if v.distribution is None and not v.seed and v.values is None
    }
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file, skipinitialspace=True) if row and not row[0].startswith("#")]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problems.error(str(path), f"cannot be read: {getattr(error, 'strerror', None) or error}", "a CSV file (UTF-8)")
        return {}
    if len(rows) < 2:
        problems.error(str(path), "has no rows", "a header and a row for each member")
        return {}
    header = [cell.strip() for cell in rows[0]]
    if len(header) == 1 and (separator := next((s for s in ";\t" if s in header[0]), "")):
        what = "has one column, whose name contains a " + {";": "semicolon", "\t": "tab"}[separator]
        problems.error(f"{path}:1", what, "columns separated by commas, and decimal points")
        return {}
    for name, column in taken.items():
        if header.count(column) != 1:
            what = f"{path} has {'no' if column not in header else 'more than one'} column '{column}'"
            problems.items.append(
                study_problem(where, ("vary", name), what, ", ".join(header), suggest(column, header))
            )
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            problems.error(f"{path}:{number}", f"has {len(row)} cells, the header has {len(header)}")
    if problems.errors:
        return {}
    return {n: [_cell(row[header.index(c)], path) for row in rows[1:]] for n, c in taken.items()}


def _cell(text: str, path: Path) -> object:
    """Return the value of a cell; a file is searched next to the table."""
    text = text.strip()
    for kind in (int, float) if "_" not in text else ():
        try:
            return kind(text)
        except ValueError:
            continue
    if text in ("true", "false"):
        return text == "true"
    near = path.parent / text
    return str(near) if text and near.is_file() else text


def _distribution(study: Study, name: str, where: Where, problems: Problems) -> Quantile | None:
    """Return the quantile function of a variable, a function of probabilities (n,)."""
    from scipy import stats

    variable, at = study.vary[name], ("vary", name)
    known = [n for n in dir(stats) if isinstance(getattr(stats, n), stats.rv_continuous | stats.rv_discrete)]
    if variable.distribution not in known:
        what, advice = f"'{variable.distribution}' is no distribution", suggest(str(variable.distribution), known)
        problems.items.append(
            study_problem(
                where, (*at, "distribution"), what, "norm, uniform, lognorm and others of scipy.stats", advice
            )
        )
        return None
    family = getattr(stats, str(variable.distribution))
    shapes = [s.strip() for s in (family.shapes or "").split(",") if s.strip()]
    scaled = ["loc", "scale"] if isinstance(family, stats.rv_continuous) else ["loc"]
    for parameter in [n for n in variable.parameters if n not in (*shapes, *scaled)]:
        what = f"'{parameter}' is no parameter of {variable.distribution}"
        names = [*shapes, *scaled]
        problems.items.append(
            study_problem(where, (*at, "parameters", parameter), what, ", ".join(names), suggest(parameter, names))
        )
    for shape in [s for s in shapes if s not in variable.parameters]:
        problems.items.append(study_problem(where, (*at, "parameters"), f"{variable.distribution} needs '{shape}'"))
    unit = unit_of_setting(variable.setting[0])
    numbers: dict[str, float] = {}
    named = [("parameters", n, v, unit if n in scaled else "") for n, v in variable.parameters.items()]
    limits = [(n, n, v, unit) for n, v in (("lower", variable.lower), ("upper", variable.upper)) if v is not None]
    for group, parameter, value, its in [*named, *limits]:
        try:
            numbers[parameter] = to_si(value, its)
        except ValueError as error:
            place = (*at, group) if group == parameter else (*at, group, parameter)
            problems.items.append(study_problem(where, place, str(error)))
    if any(
        p.where == where((*at, *more)) for p in problems.errors for more in ((), ("parameters",), ("distribution",))
    ):
        return None
    lower, upper = numbers.pop("lower", -math.inf), numbers.pop("upper", math.inf)
    if len(numbers) < len(variable.parameters) or set(shapes) - set(numbers) or set(numbers) - {*shapes, *scaled}:
        return None
    frozen = family(**numbers)
    quantile = _truncated(frozen, lower, upper, isinstance(family, stats.rv_discrete))
    if not np.isfinite(frozen.ppf(0.5)) or quantile is None:
        what = (
            f"{variable.distribution} has no such parameters: {', '.join(f'{k} = {v:g}' for k, v in numbers.items())}"
            if not np.isfinite(frozen.ppf(0.5))
            else f"the distribution has no values between {lower:g} and {upper:g} {unit}".rstrip()
        )
        problems.items.append(study_problem(where, (*at, "parameters"), what))
        return None
    return quantile


def _truncated(frozen: rv_frozen, lower: float, upper: float, discrete: bool) -> Quantile | None:
    """Return the quantiles of a distribution between two limits, which belong to it; None if it has no values there."""
    # The distribution function of a discrete distribution includes its argument.
    before = math.ceil(lower) - 1 if discrete and math.isfinite(lower) else lower
    begin, end = float(frozen.cdf(before)), float(frozen.cdf(upper))
    above, beyond = float(frozen.sf(before)), float(frozen.sf(upper))

    def quantile(unit: np.ndarray) -> np.ndarray:
        inside = np.clip(unit, _EDGE, 1 - _EDGE)
        if begin > 0.5:  # probabilities near 1 have no digits left: count from above
            found = frozen.isf(above - inside * (above - beyond))
        else:
            found = frozen.ppf(begin + inside * (end - begin))
        return np.clip(found, lower, upper)

    return quantile if begin < end or (begin > 0.5 and above > beyond) else None


def _typed(variable: Variable, values: np.ndarray) -> list[object]:
    """Return samples as plain numbers, integers for settings that are integers."""
    kinds = {
        branch.get("type")
        for node in describe.at(location_of(variable.setting[0]))
        for branch in describe.branches(node)
    }
    whole = "integer" in kinds and "number" not in kinds
    return [int(x) if whole and float(x).is_integer() else float(x) for x in values]


def _correlation_factor(study: Study, where: Where, problems: Problems) -> tuple[tuple[str, ...], np.ndarray] | None:
    """Return the correlated names and the Cholesky factor of their normal scores, None without correlations."""
    if not study.correlations:
        return None
    mentioned = {n for c in study.correlations for n in c.variables}
    names = (*(n for n in study.vary if n in mentioned), *sorted(mentioned - study.vary.keys()))
    sampled = [n for n, v in study.vary.items() if v.distribution or (v.values is not None and study.design.samples)]
    matrix, pairs = np.eye(len(names)), set[frozenset[str]]()
    for number, c in enumerate(study.correlations):
        at: Location = ("correlations", number)
        for name in c.variables:
            if name not in sampled:
                what = f"'{name}' is no sampled variable"
                problems.items.append(study_problem(where, at, what, ", ".join(sampled), suggest(name, sampled)))
        if len(set(c.variables)) < 2 or frozenset(c.variables) in pairs:
            problems.items.append(
                study_problem(where, at, f"{' and '.join(c.variables)}: each pair of two variables once")
            )
        pairs.add(frozenset(c.variables))
        i, j = (names.index(n) for n in c.variables)
        matrix[i, j] = matrix[j, i] = 2 * math.sin(math.pi * c.rank / 6) if i != j else 1.0
    if np.linalg.eigvalsh(matrix)[0] < -1e-9:
        what = "no variables can be correlated in this way: the correlation matrix has a negative eigenvalue"
        problems.items.append(study_problem(where, ("correlations",), what, advice="Use weaker correlations."))
    return names, cholesky(matrix)


def cholesky(matrix: np.ndarray) -> np.ndarray:
    """Return the lower triangular factor L of a positive semidefinite matrix L L', with zeros for dependent columns."""
    factor = np.zeros_like(matrix)
    for j in range(len(matrix)):
        factor[j, j] = math.sqrt(max(0.0, matrix[j, j] - factor[j, :j] @ factor[j, :j]))
        if factor[j, j] > 1e-7:
            factor[j + 1 :, j] = (matrix[j + 1 :, j] - factor[j + 1 :, :j] @ factor[j, :j]) / factor[j, j]
    return factor


def _uniform(study: Study, count: int, factor: tuple[tuple[str, ...], np.ndarray] | None) -> dict[str, np.ndarray]:
    """Return samples (members,) in the unit interval for each variable that is sampled."""
    from scipy.special import ndtr, ndtri

    names = [n for n, v in study.vary.items() if v.distribution or (v.values is not None and study.design.samples)]
    if not names:
        return {}
    kind = study.design.kind
    if kind in ("latin-hypercube", "sobol"):
        found = dict(zip(names, _quasi_random(kind, len(names), count, study.seed).T, strict=True))
    else:
        found = {n: np.array([stream(study.seed, m, n).random() for m in range(count)]) for n in names}
    if factor is not None:
        correlated, root = factor
        scores = ndtri(np.clip(np.stack([found[n] for n in correlated], 1), _EDGE, 1 - _EDGE)) @ root.T
        for name, mixed in zip(correlated, np.minimum(ndtr(scores), 1 - _EDGE).T, strict=True):
            # A hypercube keeps one sample in each stratum: its samples take the ranks of the correlated ones (Iman and Conover 1982).
            found[name] = np.sort(found[name])[mixed.argsort().argsort()] if kind == "latin-hypercube" else mixed
    return found


def _quasi_random(kind: str, dimensions: int, count: int, seed: int) -> np.ndarray:
    """Return points (count, dimensions) of a Latin hypercube, or of a scrambled Sobol sequence, whose first points never change."""
    from scipy.stats import qmc

    sampler = qmc.Sobol if kind == "sobol" else qmc.LatinHypercube
    made = sampler(dimensions, seed=np.random.default_rng(np.random.SeedSequence(seed)))
    with warnings.catch_warnings():  # the study's checks report numbers of members that are no power of two
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(made.random(count))
