"""Checks and forecast of an ensemble before its first member: everything that is wrong, at once."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from faultwave.base.errors import FaultwaveError, InputError, Problem, Problems, collect_problems, suggest
from faultwave.base.files.paths import existing_folder
from faultwave.base.processes import host
from faultwave.base.progress import duration
from faultwave.base.units import to_si
from faultwave.ensemble.executors import executor_problems, members_at_once, thread_count, worker_count
from faultwave.ensemble.folder import EnsembleFolder, Record
from faultwave.ensemble.members import Members, study_identity
from faultwave.ensemble.process import ProcessEnded, close_processes, own_process
from faultwave.ensemble.store import ABOUT, SHARED, stored_versions
from faultwave.ensemble.study import study_problem
from faultwave.ensemble.tasks import Forecast, Task, check_member, forecast
from faultwave.output.folder import check_folder

RESERVED = (
    "member",
    "station",
    "fault_station",
    "fault_sample",
    "place",
    "fault_place",
    "component",
    "seconds",
    *SHARED,
    *ABOUT,
)
"""Names in the store that variables cannot have."""
MEMORY_SHARE = 0.95
"""Largest share of the memory of a machine that all members together may take."""


@dataclass(frozen=True)
class EnsemblePlan:
    """Plan of an ensemble.

    Attributes
    ----------
    members : Members
        Members.
    digests : tuple of str
        Identity of each member.
    missing : tuple of int
        Members that have to be computed.
    finished : int
        Number of members that the folder already holds.
    forecast : Forecast or None
        Forecast of a member, None if nothing is missing.
    warnings : tuple of Problem
        Possible mistakes.
    """

    members: Members
    digests: tuple[str, ...]
    missing: tuple[int, ...]
    finished: int
    forecast: Forecast | None = None
    warnings: tuple[Problem, ...] = ()

    @property
    def seconds(self) -> float:
        """Wall-clock time of all missing members [s]."""
        if self.forecast is None:
            return 0.0
        rounds = -(-len(self.missing) // members_at_once(self.members.study.execution))
        return rounds * self.forecast.seconds

    @property
    def disk(self) -> float:
        """Size of the results of all members [bytes]."""
        results = self.members.study.results
        if self.forecast is None:
            return 0.0
        stored = len(self.members) if results.store == "members" else 1
        return float(self.forecast.disk) * stored + float(self.forecast.files) * len(self.members)

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of ``faultwave ensemble --dry-run``."""
        study = self.members.study
        execution = study.execution
        found = [
            ("members", f"{len(self.members):,} of the design {study.design.kind}, {len(self.missing):,} to compute"),
            ("variables", ", ".join(f"{n} ({', '.join(v.setting)})" for n, v in study.vary.items())),
            (
                "executor",
                f"{execution.executor}, {members_at_once(execution)} members at a time with {thread_count(execution)} threads",
            ),
            ("folder", str(study.folder)),
        ]
        if self.forecast is not None:
            found += [
                ("time of a member", duration(self.forecast.seconds)),
                ("time of all", duration(self.seconds)),
                ("memory of a member", f"{self.forecast.memory / 2**20:,.0f} MiB"),
                ("results of a member", f"{self.forecast.disk / 2**20:,.3g} MiB before compression"),
                *([("files of a run", f"{self.forecast.files / 2**20:,.3g} MiB")] if self.forecast.files else []),
                ("results of all", f"{self.disk / 2**20:,.3g} MiB before compression"),
            ]
        return found

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


def task_of(members: Members, member: int, digest: str) -> Task:
    """Return the task of a member."""
    study = members.study
    assert study.folder is not None
    execution = study.execution
    return Task(
        member, members.case(member), digest, Path(study.folder), study.results, thread_count(execution), execution.processes,
        execution.time_limit,
    )  # fmt: skip


def make_plan(
    members: Members, warnings: Sequence[Problem] = (), force: bool = False, retry: bool = False
) -> EnsemblePlan:
    """Check an ensemble and predict its cost; the first missing member is stepped for a few seconds.

    Parameters
    ----------
    members : Members
        Members of the study.
    warnings : sequence of Problem
        Warnings so far.
    force : bool
        If True, the results of another study in the folder may be replaced.
    retry : bool
        If True, failed members are computed again.

    Raises
    ------
    InputError
        With every problem found.
    """
    study, problems = members.study, Problems()
    problems.extend(warnings)
    problems.extend(executor_problems(study.execution, members.where))
    _check_names(members, problems)
    assert study.folder is not None
    folder = EnsembleFolder(study.folder)
    problems.extend(p for p in check_folder(folder.path) if p.severity == "error")
    with collect_problems(problems):
        refuse_other_study(folder, members, force)
    digests, missing = _missing(members, folder, retry)
    found = _forecast(members, missing, digests, problems)
    if found is not None:
        _check_results(members, found, problems)
        _check_size(members, found, len(missing), problems)
    problems.raise_errors()
    return EnsemblePlan(members, digests, missing, len(members) - len(missing), found, problems.warnings)


def plan_without_forecast(members: Members) -> EnsemblePlan:
    """Return the plan of an ensemble whose study was checked before. Raises InputError if its folder holds another study."""
    folder = EnsembleFolder(str(members.study.folder))
    refuse_other_study(folder, members, False)
    digests, missing = _missing(members, folder, False)
    return EnsemblePlan(members, digests, missing, len(members) - len(missing))


def _missing(members: Members, folder: EnsembleFolder, retry: bool) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the identities of all members, and those that have to be computed."""
    digests = members.identities()
    stored = stored_versions(folder, members.study.results.store)
    records = {m: folder.record(m) for m in range(len(members))}
    if members.study.results.store == "statistics":
        unchanged = [
            m in records and records[m] is not None and folder.is_current(records[m], digests[m], stored)
            for m in stored
        ]
        stored = stored if all(unchanged) else {}  # a member cannot be taken out of statistics
    limit = members.study.execution.time_limit

    def is_missing(member: int, record: Record | None) -> bool:
        if record is None or not folder.is_current(record, digests[member], stored):
            return True
        return record.status == "failed" and (retry or _can_succeed(record, limit))

    return digests, tuple(m for m, record in records.items() if is_missing(m, record))


def refuse_other_study(folder: EnsembleFolder, members: Members, force: bool) -> None:
    """Raise InputError if the folder holds the ensemble of another study, unless ``force``."""
    known = folder.identity().get("study")
    if known is None or known == study_identity(members) or force:
        return
    what = "holds the ensemble of another study: its base case, its variables or its results differ"
    advice = "Choose another folder, or replace the members that differ with --force (force=True)."
    raise InputError(Problem(str(folder.path), what, advice=advice))


def _can_succeed(record: Record, limit: float | None) -> bool:
    """Return True for failures that another attempt may avoid: a killed process, or a shorter time limit than now."""
    longer = limit is None or record.limit is None or limit > record.limit
    return record.kind == "killed" or (record.kind == "time limit" and longer)


def _check_names(members: Members, problems: Problems) -> None:
    study = members.study
    for name in study.vary:
        if name in RESERVED or name.startswith("scalar_"):
            problems.items.append(
                study_problem(members.where, ("vary", name), "is the name of a result", "another name")
            )
    count = study.design.members
    if study.design.kind == "sobol" and count is not None and count & (count - 1):
        what = f"{count} points of a Sobol sequence are less even than a power of two"
        near = f"{1 << (count.bit_length() - 1)} or {1 << count.bit_length()}"
        problems.items.append(Problem(members.where(("design", "members")), what, near, severity="warning"))


def _forecast(members: Members, missing: Sequence[int], digests: Sequence[str], problems: Problems) -> Forecast | None:
    """Check the case of the first missing member with all inputs, and return its forecast.

    If it cannot run, others are tried: its problems are errors only if these cannot run either.
    """
    if not missing or problems.errors:
        return None
    found, failed = Problems(), Problems()
    for member in dict.fromkeys((missing[0], missing[len(missing) // 2], missing[-1])):
        forecasted = _forecast_member(task_of(members, member, digests[member]), found, failed)
        if forecasted is not None:
            problems.extend(p for p in found.warnings if p not in problems.items)
            for problem in dict.fromkeys((*found.errors, *failed.items)):
                problems.warn(problem.where, problem.what, problem.allowed, problem.advice)
            return forecasted
    problems.extend(dict.fromkeys((*found.items, *failed.items)))
    return None


def _forecast_member(task: Task, problems: Problems, failed: Problems) -> Forecast | None:
    """Return the forecast of a member, None with problems if its input is wrong or its run fails."""
    process = own_process(task.threads)
    try:
        checked: Problems = process.call(check_member, task)
        problems.extend(checked.items)
        if checked.errors:
            return None
        found: Forecast = process.call(forecast, task)
        return found
    except InputError as error:
        problems.extend(error.problems)
    except (FaultwaveError, ProcessEnded) as error:
        failed.warn(f"member {task.member}", f"its first steps failed, so that time and memory are unknown: {error}")
    finally:
        close_processes()
    return None


def _check_results(members: Members, found: Forecast, problems: Problems) -> None:
    """Check the names of maps, and the names and units of levels."""
    results, where = members.study.results, members.where
    maps = {n: unit for n, (dims, unit, _) in found.variables.items() if dims in (("place",), ("fault_place",))}
    there = ", ".join(maps) or "none: add output.rupture or output.intensity to the case"
    for name in results.maps if results.maps != "all" else ():
        if name not in maps:
            what = f"the members have no map '{name}'"
            problems.items.append(study_problem(where, ("results", "maps"), what, there, suggest(name, maps)))
    for name, given in results.exceedance.items():
        at = ("results", "exceedance", name)
        if name not in maps:
            problems.items.append(
                study_problem(where, at, f"the members have no map '{name}'", ", ".join(maps), suggest(name, maps))
            )
            continue
        if results.maps != "all" and name not in results.maps:
            what = f"the map '{name}' is not among results.maps, so that it is not computed"
            problems.items.append(study_problem(where, at, what, advice=f"Add {name} to results.maps."))
        try:
            for value in given:
                to_si(value, maps[name])
        except ValueError as error:
            problems.items.append(study_problem(where, at, str(error)))
    if results.percentiles and max(results.percentiles) < 1:
        what = f"percentiles {', '.join(f'{p:g}' for p in results.percentiles)} are in percent: all are below 1 %"
        problems.items.append(
            Problem(where(("results", "percentiles")), what, advice="Write 16 for 16 %.", severity="warning")
        )
    if results.store == "statistics" and results.maps != "all" and not results.maps:
        problems.items.append(
            study_problem(where, ("results", "maps"), "statistics needs maps, and results.maps is empty")
        )
    if results.store == "statistics" and not maps:
        what = "statistics needs maps, and the members have none"
        problems.items.append(
            study_problem(
                where, ("results", "store"), what, advice="Add output.rupture or output.intensity to the case."
            )
        )
    for name in members.study.vary:
        if name in found.variables:
            problems.items.append(study_problem(where, ("vary", name), "is the name of a result", "another name"))


def _check_size(members: Members, found: Forecast, missing: int, problems: Problems) -> None:
    """Check that the memory of this machine and the disk hold the members."""
    study, memory = members.study, host.machine_memory()
    here = study.execution.executor == "local" or (
        study.execution.executor == "dask" and study.execution.scheduler is None
    )
    workers = min(worker_count(study.execution), missing) if here else 1
    needed = workers * found.memory * (study.execution.processes if study.execution.processes > 1 else 1)
    if memory is not None and needed > MEMORY_SHARE * memory:
        what = (
            f"{workers} members at a time need {needed / 2**30:.3g} GiB of memory, {found.memory / 2**30:.3g} GiB each, "
            f"and this machine has {memory / 2**30:.3g} GiB"
        )
        most = int(MEMORY_SHARE * memory // max(found.memory, 1))
        allowed = f"at most {most} workers" if most else "smaller members"
        problems.items.append(study_problem(members.where, ("execution", "workers"), what, allowed))
    place = existing_folder(EnsembleFolder(str(study.folder)).path)
    free, count = shutil.disk_usage(place).free, missing if study.results.store == "members" else workers
    size = (
        2 * count * found.disk + missing * found.files
    )  # results of members, the store that is made of them, files of runs
    if size > free:
        what = f"the results need up to {size / 2**30:.3g} GiB, and the disk has {free / 2**30:.3g} GiB"
        advice = "Set results.store: statistics, results.runs: false, fewer results.maps, or another folder."
        problems.items.append(study_problem(members.where, ("results",), what, advice=advice))
