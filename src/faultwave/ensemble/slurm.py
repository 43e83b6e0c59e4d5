"""Job arrays of Slurm: each job computes its part of the missing members, and a last one combines the results.

Job k of n computes each n-th of the missing members from the k-th on. Jobs that are ended leave their members missing; the same
command distributes these among new jobs.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

from faultwave.base.errors import BackendError, RunError
from faultwave.ensemble.executors import thread_count
from faultwave.ensemble.study import Study
from faultwave.output.atomic import atomic_text

ARRAY, COMBINE = "members.sbatch", "combine.sbatch"


def array_script(study: Study, source: Path, missing: int) -> str:
    """Return the script of the job array.

    Parameters
    ----------
    study : Study
        Study.
    source : Path
        Study file.
    missing : int
        Number of missing members.
    """
    slurm, execution = study.execution.slurm, study.execution
    jobs = min(slurm.jobs, missing)
    limit = f"%{slurm.at_once}" if slurm.at_once is not None else ""
    workers = execution.workers or 1
    options = {
        "job-name": _name(study), "array": f"0-{jobs - 1}{limit}", "ntasks": 1, "cpus-per-task": _cores(study, workers), "time": slurm.time,
        "partition": slurm.partition, "account": slurm.account, "output": _log(study, "%A_%a"),
    }  # fmt: skip
    more = f" --workers {workers} --threads {thread_count(execution)} --job $SLURM_ARRAY_TASK_ID --jobs {jobs}"
    if execution.time_limit is not None:
        more += f" --time-limit {shlex.quote(f'{execution.time_limit:g} s')}"
    return _script(options, slurm.options, _command(study, source) + more)


def combine_script(study: Study, source: Path) -> str:
    """Return the script of the job that combines the results after all members."""
    slurm = study.execution.slurm
    options = {
        "job-name": f"{_name(study)}-combine", "ntasks": 1, "cpus-per-task": 1, "time": slurm.time, "partition": slurm.partition,
        "account": slurm.account, "output": _log(study, "%j"),
    }  # fmt: skip
    return _script(options, slurm.options, _command(study, source) + " --combine")


def _cores(study: Study, workers: int) -> int:
    return workers * thread_count(study.execution) * study.execution.processes


def _name(study: Study) -> str:
    """Return a job name without blanks and %, which Slurm interprets."""
    return re.sub(r"[^\w.+-]+", "_", Path(str(study.folder)).name)


def _log(study: Study, number: str) -> str:
    return shlex.quote(f"{Path(str(study.folder)) / 'log'}/{number}.log")


def _command(study: Study, source: Path) -> str:
    return f"faultwave ensemble {shlex.quote(str(source.absolute()))} --output {shlex.quote(str(study.folder))}"


def _script(options: dict[str, object], more: tuple[str, ...], command: str) -> str:
    head = [f"#SBATCH --{key}={value}" for key, value in options.items() if value != ""]
    return "\n".join(["#!/bin/bash", *head, *(f"#SBATCH {line}" for line in more), "", f"exec {command}", ""])


def submit(study: Study, source: Path, missing: int) -> tuple[str, list[Path]]:
    """Write both scripts into the folder of the ensemble, submit them and return the number of the job array and the scripts.

    Raises
    ------
    BackendError
        If sbatch is not installed.
    RunError
        If Slurm refuses a job.
    """
    folder = Path(str(study.folder))
    (folder / "log").mkdir(parents=True, exist_ok=True)
    scripts = {ARRAY: array_script(study, source, missing), COMBINE: combine_script(study, source)}
    for name, text in scripts.items():
        with atomic_text(folder / name) as file:
            file.write(text)
    written = [folder / name for name in scripts]
    if shutil.which("sbatch") is None:
        raise BackendError(
            f"sbatch is not installed here: submit {written[0]}, then {written[1]} after its end, where Slurm is"
        )
    job = _sbatch(str(written[0]))
    _sbatch(f"--dependency=afterany:{job}", str(written[1]))
    return job, written


def _sbatch(*words: str) -> str:
    """Submit a script and return the number of its job."""
    done = subprocess.run(
        ["sbatch", "--parsable", *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    job = done.stdout.strip().split(";")[0]
    if done.returncode or not job:
        raise RunError(f"sbatch refused {words[-1]}: {done.stderr.strip() or 'no number of a job'}")
    return job
