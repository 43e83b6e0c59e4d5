"""Public class of ensembles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.case.settings.model import Case
from faultwave.ensemble.checks import EnsemblePlan, make_plan
from faultwave.ensemble.design import Table
from faultwave.ensemble.folder import STATISTICS, EnsembleFolder
from faultwave.ensemble.members import Members, load_members
from faultwave.ensemble.status import EnsembleStatus, read_status
from faultwave.ensemble.study import Study, load_study

if TYPE_CHECKING:
    import xarray


class Ensemble:
    """Many runs of one case with varied settings, and their combined results.

    Parameters
    ----------
    study : str, Path or dict
        Study file, or its contents.
    **changes
        Settings of ``execution`` to replace (executor, workers, threads, processes, time_limit, retries, scheduler), and ``folder``.

    Raises
    ------
    InputError
        With every problem of the study and of the values of all members.
    """

    def __init__(self, study: str | Path | Mapping[str, object], **changes: object):
        self.source = None if isinstance(study, Mapping) else Path(study)
        loaded, where = load_study(study, changes)
        self._members, self.warnings = load_members(loaded, where)

    def __repr__(self) -> str:
        return f"<Ensemble '{self.study.title or self.folder.name}': {len(self)} members in {self.folder}>"

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self._members)

    @property
    def study(self) -> Study:
        """Settings of the study."""
        return self._members.study

    @property
    def members(self) -> Members:
        """Members with their cases."""
        return self._members

    @property
    def folder(self) -> Path:
        """Folder of the ensemble."""
        return Path(str(self.study.folder))

    @property
    def design(self) -> Table:
        """Values of the variables for every member."""
        return self._members.table

    def case(self, member: int) -> Case:
        """Return the case of a member."""
        return self._members.case(member)

    def plan(self, force: bool = False, retry: bool = False) -> EnsemblePlan:
        """Return the number of members to compute, and a forecast of time, memory and disk; nothing is written.

        The first missing member is stepped for a few seconds.

        Parameters
        ----------
        force : bool
            If True, the folder may hold the ensemble of another study.
        retry : bool
            If True, failed members are counted as missing.

        Raises
        ------
        InputError
            With every problem found.
        """
        return make_plan(self._members, self.warnings, force, retry)

    def check(self) -> Problems:
        """Return every problem of the ensemble; nothing is written."""
        problems = Problems()
        try:
            problems.extend(self.plan().warnings)
        except InputError as error:
            problems.extend(error.problems)
        return problems

    def run(
        self, progress: Callable[[EnsembleStatus], None] | None = None, force: bool = False, retry: bool = False
    ) -> EnsembleStatus:
        """Compute all missing members, combine the results and return the status; failed members do not stop the others.

        Parameters
        ----------
        progress : callable, optional
            Receives the status after every member.
        force : bool
            If True, members of another study in the folder are replaced.
        retry : bool
            If True, failed members are computed again.

        Raises
        ------
        InputError
            With every problem found, before anything is written.
        RunError
            If results cannot be written.
        """
        if self.study.execution.executor == "slurm":
            advice = "Use `faultwave ensemble STUDY`, which submits jobs, or executor='local'."
            raise InputError(
                Problem("execution.executor", "slurm computes in jobs, not in this process", advice=advice)
            )
        from faultwave.ensemble.supervisor import Supervisor

        return Supervisor(self.plan(force, retry), progress).run()

    def run_part(self, job: int, jobs: int) -> None:
        """Compute the missing members m with m mod ``jobs`` = ``job``, without combining results, as jobs of an array do."""
        from faultwave.ensemble.supervisor import compute_part

        compute_part(self._members, job, jobs)

    def combine(self) -> EnsembleStatus:
        """Combine the results of the members computed so far."""
        from faultwave.ensemble.checks import plan_without_forecast
        from faultwave.ensemble.supervisor import Supervisor

        return Supervisor(replace(plan_without_forecast(self._members), missing=())).run()

    def status(self) -> EnsembleStatus:
        """Return the number of members done, failed and running, and the time left."""
        return read_status(self.folder)

    @cached_property
    def _files(self) -> EnsembleFolder:
        return EnsembleFolder(self.folder)

    def open(self) -> xarray.Dataset:
        """Return the results of all members, read from disk only where they are used.

        Dimensions are member, station, time, place (on the ground) and fault_place; parameters are coordinates.
        """
        return _open(self._files.store)

    def statistics(self) -> xarray.Dataset:
        """Return mean, standard deviation, extremes, percentiles and probabilities of exceedance of the maps."""
        return _open(self.folder / STATISTICS)


def _open(path: Path) -> xarray.Dataset:
    if not path.is_file():
        raise InputError(Problem(str(path), "does not exist", advice="Run the ensemble first."))
    try:
        import xarray
    except ImportError:
        raise ImportError("this needs the package xarray: pip install 'faultwave[ensemble]'") from None
    return xarray.open_dataset(path, engine="netcdf4")
