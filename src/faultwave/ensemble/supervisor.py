"""Supervisor of an ensemble: it submits missing members, counts what returns, and combines the results.

All results are on disk before they are counted, written by the process of the member. A supervisor that ends at any time therefore loses
nothing, and the next one computes only what is missing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from faultwave.base.errors import FaultwaveError, InputError, RunError
from faultwave.base.units import to_si
from faultwave.ensemble.checks import EnsemblePlan, plan_without_forecast, task_of
from faultwave.ensemble.design import unit_of_setting
from faultwave.ensemble.executors import executor_of, members_at_once, worker_count
from faultwave.ensemble.folder import STATISTICS, STORE, TABLE, EnsembleFolder, Record
from faultwave.ensemble.members import Members, parameter_columns, study_identity
from faultwave.ensemble.process import Outcome, compute_member, fail
from faultwave.ensemble.slurm import submit
from faultwave.ensemble.statistics import Statistics
from faultwave.ensemble.status import EnsembleStatus
from faultwave.ensemble.store import (
    StoreReader,
    exact_percentiles,
    forget_damaged,
    statistics_state,
    stored_versions,
    write_statistics,
    write_store,
    write_table,
)
from faultwave.observe.dataset import Dataset
from faultwave.output.atomic import remove, remove_partial
from faultwave.output.folder import prepare_folder
from faultwave.output.manifest import digest

SAVED = 30.0
"""Wall-clock time between writes of statistics [s]."""
IN_FLIGHT = 4
"""Number of members that are submitted for each worker."""
FAR = 1000
"""Number of members that are submitted to executors with an unknown number of workers."""
Report = Callable[[EnsembleStatus], None]


class Supervisor:
    """Execution of the missing members of a plan.

    Parameters
    ----------
    plan : EnsemblePlan
        Plan.
    report : callable, optional
        Receives the status after every member.
    """

    def __init__(self, plan: EnsemblePlan, report: Report | None = None):
        self.plan, self.report = plan, report
        self.members: Members = plan.members
        self.study = plan.members.study
        assert self.study.folder is not None
        self.folder = EnsembleFolder(self.study.folder)
        self.statistics = Statistics()
        self.folded: list[Record] = []  # members in the statistics whose files still exist
        self.damaged: list[int] = []  # members whose results could not be added to the statistics
        self.saved = time.monotonic()
        self.attempts: dict[int, int] = {}
        self.done = self.failed = 0
        self.begun = time.monotonic()
        self.combining = False  # True if this process combines the results
        self.full = ""  # first reason why results could not be written

    def run(self) -> EnsembleStatus:
        """Compute all missing members and combine the results of all.

        Raises
        ------
        InputError
            If another process uses the folder, or members cannot be combined.
        RunError
            If results cannot be written.
        """
        with ExitStack() as held:
            prepare_folder(self.folder.path, True, held=held)
            self.combining = True
            remove_partial(self.folder.path)
            write_identity(self.folder, self.members, self.plan.digests)
            if self.study.results.store == "statistics":
                self._resume_statistics()
            if self.plan.missing:
                self.compute()
            return self.combine()

    def compute(self) -> None:
        """Compute all missing members. Raises RunError if results cannot be written."""
        with executor_of(self.study.execution) as executor:
            self._submit(executor)
        if self.full:
            raise RunError(self._not_stored())

    def _submit(self, executor: Executor) -> None:
        """Submit the missing members, a few for each worker at a time, and count what returns."""
        waiting, futures = deque(self.plan.missing), dict[Future[Outcome], int]()
        local = self.study.execution.executor == "local"
        most = IN_FLIGHT * worker_count(self.study.execution) if local else FAR
        while (waiting and not self.full) or futures:
            while waiting and len(futures) < most and not self.full:
                member = waiting.popleft()
                futures[executor.submit(compute_member, task_of(self.members, member, self.plan.digests[member]))] = (
                    member
                )
            finished = wait(futures, return_when=FIRST_COMPLETED).done
            for future in sorted(finished, key=futures.__getitem__):
                member = futures.pop(future)
                if self._again(member, _outcome(future, member)):
                    waiting.append(member)
            if self.report is not None:
                self.report(self.status(len(futures)))
            if self.full:
                for future in [f for f in futures if f.cancel()]:  # these never began
                    del futures[future]

    def _again(self, member: int, outcome: Outcome) -> bool:
        """Count the outcome of a member; return True if it is to be computed once more."""
        if outcome.status == "killed":
            self.attempts[member] = self.attempts.get(member, 0) + 1
            if self.attempts[member] <= self.study.execution.retries:
                return True
            task = task_of(self.members, member, self.plan.digests[member])
            try:
                fail(
                    self.folder, task, "killed", f"{outcome.reason} ({self.attempts[member]} attempts)", outcome.seconds
                )
            except FaultwaveError as error:
                self.full = self.full or str(error)
            self.failed += 1
        elif outcome.status == "not stored":
            self.full = self.full or outcome.reason
        elif outcome.status == "failed":
            self.failed += 1
        elif outcome.status == "done":
            self.done += 1
            if self.study.results.store == "statistics" and self.combining:
                self._fold(self.folder.record(member))
        return False

    def status(self, running: int = 0) -> EnsembleStatus:
        """Return the present status."""
        spent = time.monotonic() - self.begun
        rate = (self.done + self.failed) / spent if spent > 0 else 0.0
        running = min(running, members_at_once(self.study.execution))
        return EnsembleStatus(len(self.members), self.plan.finished + self.done, self.failed, running, rate)

    def _not_stored(self) -> str:
        stored = self.plan.finished + self.done
        return f"{self.full} {stored} of {len(self.members)} members are stored; the same command computes the rest."

    # ---- statistics of members that are not stored -----------------------------------------------------------------------

    def _resume_statistics(self) -> None:
        """Continue the statistics of an earlier run, unless one of its members has changed."""
        found = Statistics.load(statistics_state(self.folder))
        present = {r.member: r for r in self.folder.records() if r.status == "done" and r.member < len(self.members)}
        for member in self.plan.missing:
            present.pop(member, None)
        if all(m in present and present[m].version == version for m, version in found.members.items()):
            self.statistics = found
        for record in present.values():
            if record.digest != self.plan.digests[record.member]:
                continue
            if record.member in self.statistics.members:
                remove(self.folder.results_file(record.member))  # was counted before the supervisor ended
            else:
                self._fold(record)

    def _fold(self, record: Record | None) -> None:
        """Add a member to the statistics; its file is removed once the statistics are on disk."""
        found = self.folder.results(record) if record is not None else None
        if record is None or found is None:
            self.damaged += [record.member] if record is not None else []
            return
        results = self.study.results
        levels = levels_of(results.exceedance, found)
        self.statistics.add(record.member, record.version, maps_of(found), levels, bool(results.percentiles))
        self.folded.append(record)
        if time.monotonic() - self.saved > SAVED:
            self._save_statistics()

    def _save_statistics(self) -> None:
        if not self.folded:
            return
        about = self.folder.results(self.folded[0])  # units and places, before any file is removed
        if about is not None and self.folder.about() is None:
            self.folder.write_about(about)
        self.statistics.save(statistics_state(self.folder))
        for record in self.folded:
            remove(self.folder.results_file(record.member))
        self.folded, self.saved = [], time.monotonic()

    # ---- results ------------------------------------------------------------------------------------------------------------

    def combine(self) -> EnsembleStatus:
        """Write the store, the statistics and the table of all members that have a record."""
        forget_damaged(self.folder, self.damaged)
        stored = stored_versions(self.folder, self.study.results.store) | self.statistics.members
        records = [
            r for r in self.folder.records()
            if r.member < len(self.members) and self.folder.is_current(r, self.plan.digests[r.member], stored)
        ]  # fmt: skip
        failed = [r for r in records if r.status == "failed"]
        reasons = tuple((r.member, r.reason) for r in failed)
        state = EnsembleStatus(len(self.members), len(records) - len(failed), len(failed), 0, 0.0, reasons)
        parameters = self._parameters(records)
        combined = digest(
            {"records": [[r.version, r.status, r.reason] for r in records], "results": self.study.results.model_dump(mode="json"),
             "parameters": {n: [[str(v) for v in values], unit] for n, (values, unit) in parameters.items()}, "title": self.study.title}
        )  # fmt: skip
        written = self.folder.identity()
        if not records or (written.get("combined") == combined and self._exist(written.get("outputs", ()))):
            return state
        if self.study.results.store == "statistics":
            self._save_statistics()
            write_store(self.folder, records, parameters, None, self.study.title)
            about = self.folder.about()
            if self.statistics.maps and about is None:
                raise RunError(
                    f"{self.folder.path}/places.npz is missing or damaged: compute the ensemble in another folder"
                )
            if about is not None and self.statistics.maps:
                write_statistics(self.folder, self.statistics, self.study.results.percentiles, about, {})
        else:
            self._combine_members(records, parameters)
        write_table(self.folder, records, parameters)
        outputs = [n for n in (STORE, TABLE, STATISTICS) if self._exist([n])]
        self.folder.write_identity(self.folder.identity() | {"combined": combined, "outputs": outputs})
        return state

    def _exist(self, names: Sequence[str]) -> bool:
        """Return True if all files of some names exist in the folder."""
        return all((self.folder.path / name).is_file() for name in (STORE, *names))

    def _parameters(self, records: Sequence[Record]) -> dict[str, tuple[list[object], str]]:
        columns = parameter_columns(self.members)
        return {
            name: ([values[r.member] for r in records], unit_of_setting(self.study.vary[name].setting[0]))
            for name, values in columns.items()
        }

    def _combine_members(self, records: Sequence[Record], parameters: Mapping[str, tuple[list[object], str]]) -> None:
        with StoreReader(self.folder.store) as store:

            def results(record: Record) -> Dataset | None:
                found = self.folder.results(record)
                return store.results(record) if found is None else found

            write_store(self.folder, records, parameters, results, self.study.title)
        for record in records:
            remove(self.folder.results_file(record.member))
        self._statistics_of_store([r for r in records if r.status == "done"])

    def _statistics_of_store(self, records: Sequence[Record]) -> None:
        """Write the statistics of stored members, in their order."""
        statistics, about = Statistics(), None
        with StoreReader(self.folder.store) as store:
            for record in records:
                found = store.results(record)
                if found is None:
                    continue
                about = about or found
                levels = levels_of(self.study.results.exceedance, found)
                statistics.add(record.member, record.version, maps_of(found), levels, False)
        if about is not None and statistics.maps:
            exact = exact_percentiles(self.folder.store, list(statistics.maps), self.study.results.percentiles)
            write_statistics(self.folder, statistics, self.study.results.percentiles, about, exact)


def compute_part(members: Members, job: int, jobs: int) -> None:
    """Compute the members of one of several jobs that are still missing on this machine, without combining results.

    A job has each ``jobs``-th of the submitted members. Several jobs may run at the same time in one folder. Raises RunError if
    results cannot be written.
    """
    plan = plan_without_forecast(members)
    own = set(EnsembleFolder(str(members.study.folder)).submitted(len(members))[job::jobs])
    mine = replace(plan, missing=tuple(m for m in plan.missing if m in own))
    supervisor = Supervisor(mine)
    if mine.missing:
        supervisor.compute()


def submit_jobs(plan: EnsemblePlan, source: Path) -> tuple[str, list[Path]]:
    """Submit the missing members as a job array of Slurm, and return its number and the scripts."""
    folder = EnsembleFolder(str(plan.members.study.folder))
    with ExitStack() as held:
        prepare_folder(folder.path, True, held=held)
        write_identity(folder, plan.members, plan.digests)
        for member in plan.missing:
            record = folder.record(member)
            if record is not None and record.status == "failed":  # otherwise the jobs would not compute it again
                folder.forget(member)
        folder.write_submitted(plan.missing)
    return submit(plan.members.study, source, len(plan.missing))


def write_identity(folder: EnsembleFolder, members: Members, digests: Sequence[str]) -> None:
    """Write the identity of a study into its folder."""
    contents = {
        "study": study_identity(members),
        "title": members.study.title,
        "members": len(members),
        "digests": list(digests),
    }
    folder.write_identity({**{k: v for k, v in folder.identity().items() if k in ("combined", "outputs")}, **contents})


def levels_of(exceedance: Mapping[str, Sequence[float | str]], found: Dataset) -> dict[str, tuple[float, ...]]:
    """Return the levels of exceedance in the SI units of the maps."""
    return {n: tuple(to_si(v, found.variables[n].unit) for v in given) for n, given in exceedance.items() if n in found}


def maps_of(found: Dataset) -> dict[str, np.ndarray]:
    """Return the maps of a member by name."""
    return {n: v.data for n, v in found.variables.items() if v.dims in (("place",), ("fault_place",))}


def _outcome(future: Future[Outcome], member: int) -> Outcome:
    """Return the outcome of a future; an executor that lost a worker counts as a killed process."""
    try:
        return future.result()
    except InputError:
        raise
    except Exception as error:
        return Outcome(member, "killed", f"the executor lost it: {type(error).__name__}: {error}")
