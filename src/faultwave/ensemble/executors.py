"""Executors with the interface of ``concurrent.futures``: threads of this process, processes of MPI, workers of Dask."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

from faultwave.base.errors import BackendError, Problem
from faultwave.base.processes import host
from faultwave.ensemble.process import close_processes
from faultwave.ensemble.study import Execution, Where, study_problem

NEEDED = {"mpi": ("mpi4py", "ensemble"), "dask": ("distributed", "dask")}
"""Package that an executor needs, and the extra that brings it."""


def thread_count(execution: Execution) -> int:
    """Return the number of threads of a member."""
    if execution.threads != "auto":
        return int(execution.threads)
    return max(1, host.core_count() // ((execution.workers or 1) * execution.processes))


def worker_count(execution: Execution) -> int:
    """Return the number of members that run at the same time on this machine."""
    if execution.workers is not None:
        return execution.workers
    return max(1, host.core_count() // (thread_count(execution) * execution.processes))


def members_at_once(execution: Execution) -> int:
    """Return the number of members that run at the same time in all jobs and processes."""
    if execution.executor == "mpi":
        return max(1, _mpi_size() - 1)
    if execution.executor == "slurm":
        jobs = (
            execution.slurm.jobs
            if execution.slurm.at_once is None
            else min(execution.slurm.jobs, execution.slurm.at_once)
        )
        return jobs * (execution.workers or 1)
    return worker_count(execution)


def executor_problems(execution: Execution, where: Where) -> list[Problem]:
    """Return the reasons why an executor cannot be used here."""
    at = ("execution", "executor")
    package, extra = NEEDED.get(execution.executor, ("", ""))
    if package and importlib.util.find_spec(package) is None:
        return [
            study_problem(
                where,
                at,
                f"{execution.executor} needs the package {package}",
                advice=f"pip install 'faultwave[{extra}]'",
            )
        ]
    if execution.processes > 1 and importlib.util.find_spec("mpi4py") is None:
        what = "members of several processes need mpi4py"
        return [study_problem(where, ("execution", "processes"), what, advice="pip install 'faultwave[mpi]'")]
    if execution.executor == "mpi" and _mpi_size() < 2:
        advice = "mpiexec -n 3 python -m mpi4py.futures -m faultwave ensemble study.yaml"
        what = "mpi needs a launcher with at least two processes, of which the first one supervises the others"
        return [study_problem(where, at, what, advice=advice)]
    return []


def _mpi_size() -> int:
    from mpi4py import MPI

    return int(MPI.COMM_WORLD.Get_size())


@contextmanager
def executor_of(execution: Execution) -> Iterator[Executor]:
    """Provide the executor of a study; every process of a member has ended when the block ends."""
    try:
        if execution.executor == "mpi":
            with _mpi() as executor:
                yield executor
        elif execution.executor == "dask":
            with _dask(execution) as executor:
                yield executor
        else:
            executor = ThreadPoolExecutor(worker_count(execution), "faultwave-member")
            try:
                yield executor
            finally:
                executor.shutdown(wait=False, cancel_futures=True)
                close_processes()  # ends members in progress after an error
                executor.shutdown()
    finally:
        close_processes()


@contextmanager
def _mpi() -> Iterator[Executor]:
    from mpi4py.futures import MPIPoolExecutor

    executor = MPIPoolExecutor()
    try:
        yield executor
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _dask(execution: Execution) -> Iterator[Executor]:
    try:
        import distributed
    except ImportError:
        raise BackendError("the executor dask needs the package distributed: pip install 'faultwave[dask]'") from None
    cluster = None
    if execution.scheduler is None:
        cluster = distributed.LocalCluster(
            n_workers=worker_count(execution), threads_per_worker=1, processes=True, dashboard_address=None
        )
    client = distributed.Client(execution.scheduler or cluster)
    try:
        yield client.get_executor(pure=False, retries=execution.retries)
    finally:
        client.close()
        if cluster is not None:
            cluster.close()
