"""Members of a study: the cases that result from the base case and the values of the variables."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.base.types import Settings
from faultwave.case import describe
from faultwave.case.load import load_case
from faultwave.case.native import location_of
from faultwave.case.settings.model import Case
from faultwave.case.settings.parameters import known, nearest
from faultwave.case.validate import Location, build, dotted, set_value
from faultwave.ensemble.design import Table, make_table, unit_of_setting
from faultwave.ensemble.identity import (
    SET_BY_THE_ENSEMBLE,
    Identity,
    case_identity,
    effective_settings,
    identify,
    stored_settings,
)
from faultwave.ensemble.study import Study, Where, study_problem
from faultwave.output.manifest import digest

STATIONS: tuple[Location, ...] = (("output", "receivers"), ("output", "fault_receivers"))
"""Settings that all members must have in common, so that their seismograms can be combined."""
DOMAIN = ("mesh", "grid", "engine")
"""Settings that determine the places of maps."""


@dataclass(frozen=True)
class Members:
    """Members of a valid study.

    Attributes
    ----------
    study : Study
        Study.
    where : callable
        Place of a setting of the study.
    base : dict
        Settings of the base case that the user gave.
    table : Table
        Values of the variables.
    folders : tuple of Path
        Folders in which input files are searched.
    identified : tuple of Identity
        Identity of each member when the study was loaded.
    """

    study: Study
    where: Where
    base: Settings
    table: Table
    folders: tuple[Path, ...]
    identified: tuple[Identity, ...]

    def __len__(self) -> int:
        return len(self.table)

    def settings(self, member: int) -> Settings:
        """Return the settings of one member's case, not validated."""
        data = copy.deepcopy(self.base)
        for name, value in self.table.values(member).items():
            for path in self.study.vary[name].setting:
                set_value(data, location_of(path), value)
        return data

    def case(self, member: int) -> Case:
        """Return the case of one member. Raises InputError if it is invalid."""
        problems = Problems()
        case = build(self.settings(member), self.folders, self._place, problems)
        problems.raise_errors()
        assert case is not None
        return case

    def identities(self) -> tuple[str, ...]:
        """Return the digest of each member's case with the present contents of its files."""
        found, results = enumerate(self.identified), self.study.results
        return tuple(known.digest if known.holds else case_identity(self.case(m), results) for m, known in found)

    def _place(self, location: Location) -> str:
        """Return the place of a setting of a case: the variable in the study, else its path in the base case."""
        for name, variable in self.study.vary.items():
            for path in map(location_of, variable.setting):
                if location[: len(path)] == path or path[: len(location)] == location:
                    return self.where(("vary", name))
        return dotted(location)


def load_members(study: Study, where: Where) -> tuple[Members, tuple[Problem, ...]]:
    """Return the members of a study and warnings.

    Raises
    ------
    InputError
        With every problem of the base case, the variables, the design, and the values of all members.
    """
    problems = Problems()
    case, of_case = load_case(study.case)
    problems.extend(of_case.items)
    _check_paths(study, where, problems)
    table = make_table(study, where, problems)
    if case is None or table is None:
        raise InputError(dict.fromkeys(problems.errors))
    files = case.source_files
    folders = tuple(dict.fromkeys((*(f.parent for f in files), *_study_folders(where), Path.cwd())))
    base = case.model_dump(exclude_unset=True)
    made = Members(study, where, base, table, folders, ())
    _check_locations(made, problems)
    problems.raise_errors()
    identified, invalid = _identities(made)
    problems.extend(invalid)
    problems.raise_errors()
    return replace(made, identified=identified), problems.warnings


def _study_folders(where: Where) -> Iterator[Path]:
    """Yield the folder of the study file, if it is one."""
    place, _, line = where(()).rpartition(":")
    if line.isdigit():
        yield Path(place).absolute().parent


def _check_paths(study: Study, where: Where, problems: Problems) -> None:
    """Check that every path names a setting, no two variables the same one, and none that the ensemble determines."""
    owner: dict[Location, str] = {}
    for name, variable in study.vary.items():
        for path in variable.setting:
            at, location = ("vary", name, "setting"), location_of(path)
            wrong = _unknown(path)
            if wrong:
                problems.items.append(study_problem(where, at, *wrong))
                continue
            for other, taken in owner.items():
                shared = min(len(other), len(location))
                if other[:shared] == location[:shared]:
                    problems.items.append(study_problem(where, at, f"'{path}' is also set by the variable '{taken}'"))
            owner[location] = name
            if any(location[: len(s)] == s or s[: len(location)] == location for s in SET_BY_THE_ENSEMBLE):
                problems.items.append(study_problem(where, at, f"'{path}' is set by the ensemble"))
            if study.results.stations and study.results.store == "members" and _within(location, STATIONS):
                advice = "Set results.stations: false to run without seismograms in the result."
                what = f"'{path}' changes the stations, which all members must have in common"
                problems.items.append(study_problem(where, at, what, advice=advice))
            if study.results.maps and location[0] in DOMAIN:
                what = f"'{path}' changes the places of maps, which then cannot be combined"
                problems.items.append(
                    study_problem(where, at, what, advice="Set results.maps: [] to run without maps.")
                )


def _within(location: Location, groups: tuple[Location, ...]) -> bool:
    return any(location[: len(g)] == g for g in groups)


def _unknown(path: str) -> tuple[str, str, str] | None:
    """Return description, allowed names and advice if a path names no setting."""
    location = location_of(path)
    if not location or dotted(location) != path:
        return f"'{path}' is no path of a setting", "names and [indices], such as sources[0].location[2]", ""
    for end in range(1, len(location) + 1):
        if describe.at(location[:end]):
            continue
        group, names = dotted(location[: end - 1]), describe.names_at(location[: end - 1])
        inside = f"'{group}'" if end > 1 else "a case"
        return (
            f"'{location[end - 1]}' of '{path}' is not a setting of {inside}",
            ", ".join(names),
            suggest(str(location[end - 1]), names),
        )
    if len(location) > 1 and location[-2] in ("constant", "expression") and not known(str(location[-1])):
        return (
            f"'{location[-1]}' of '{path}' is not a parameter",
            "names that 'faultwave laws' lists",
            nearest(str(location[-1])),
        )
    return None


def _check_locations(members: Members, problems: Problems) -> None:
    """Check on the first member that every variable can be set in the base case."""
    data = copy.deepcopy(members.base)
    for name, value in members.table.values(0).items():
        for path in members.study.vary[name].setting:
            try:
                set_value(data, location_of(path), value)
            except KeyError as error:
                place = ("vary", name, "setting")
                problems.items.append(study_problem(members.where, place, f"'{path}': {error.args[0]}"))


def _identities(members: Members) -> tuple[tuple[Identity, ...], list[Problem]]:
    """Return the identities of all valid members, and the problems of the others.

    There is one problem for each kind of invalid member, with the number and share of the members that have it.
    """
    identified: list[Identity] = []
    found: dict[tuple[str, str, str], list[tuple[int, Problem]]] = {}
    for number in range(len(members)):
        try:
            identified.append(identify(members.case(number), members.study.results))
        except InputError as error:
            for problem in error.problems:
                key = (problem.where, problem.allowed, _without_numbers(problem.what))
                found.setdefault(key, []).append((number, problem))
        except ValidationError as error:  # not translated by the case's own validation
            found.setdefault(("case", "", str(error)), []).append((number, Problem("case", str(error))))
    made = []
    for (where, allowed, _), listed in found.items():
        first, problem = listed[0]
        share = 100 * len(listed) / len(members)
        what = f"{len(listed):,} of {len(members):,} members ({share:.3g} %) are impossible; the first is member {first}: {problem.what}"
        drawn = any(v.distribution for v in members.study.vary.values())
        advice = problem.advice or ("Limit the distribution with lower and upper." if drawn else "Change the values.")
        made.append(Problem(where, what, allowed, advice))
    return tuple(identified), made


def _without_numbers(text: str) -> str:
    """Return a message without its numbers, so that equal mistakes of many members are recognised."""
    return "".join(c for c in text if c not in "0123456789.+-e")


def parameter_columns(members: Members) -> Mapping[str, list[object]]:
    """Return the values of each variable for all members; texts with units are converted to SI numbers where possible."""
    from faultwave.base.units import to_si
    from faultwave.ensemble.design import unit_of_setting

    found: dict[str, list[object]] = {}
    for name, variable in members.study.vary.items():
        column, unit = members.table.column(name), unit_of_setting(variable.setting[0])
        try:
            found[name] = [to_si(value, unit) for value in column]
        except ValueError:
            found[name] = [str(value) for value in column]
    return found


def study_identity(members: Members) -> str:
    """Return the digest of what two ensembles must have in common to use one folder.

    These are the base case, the variables and the results. Numbers of members and values may differ: their members are recognised by
    their own digests.
    """
    study = members.study
    variables = {n: {"setting": v.setting, "unit": unit_of_setting(v.setting[0])} for n, v in study.vary.items()}
    return digest(
        {
            "base": effective_settings(members.base, {}),
            "variables": variables,
            "results": stored_settings(study.results),
        }
    )
