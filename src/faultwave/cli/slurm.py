"""Batch script for Slurm that binds processes to cores, checkpoints before its time limit and requeues itself.

The progress of a turn is determined in the folder of the run, by that file system's own clock: a checkpoint newer than ``.turn``, which is
touched when the turn begins. A run that is requested to stop ends with a specific exit code; the job is requeued only after that code, and
only if there is such a checkpoint, or if the previous turn had one.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from faultwave.base.errors import Interrupted


@dataclass(frozen=True)
class SlurmJob:
    """Slurm job.

    Attributes
    ----------
    case, folder : Path
        Case file and output folder.
    nodes, tasks, cores : int
        Nodes, processes per node, and cores per process with one thread each.
    time : str
        Time limit in Slurm's format.
    partition, account : str
        Slurm's partition and account.
    more : tuple of str
        Further lines of #SBATCH.
    arguments : tuple of str
        Further arguments of ``faultwave run``.
    """

    case: Path
    folder: Path
    nodes: int
    tasks: int
    cores: int
    time: str = "24:00:00"
    partition: str = ""
    account: str = ""
    more: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


def script(job: SlurmJob) -> str:
    """Return the text of the batch script.

    Five minutes before the time limit Slurm signals the run to write a checkpoint; the job then requeues itself and resumes from it.
    """
    name = re.sub(r"[^\w.+-]+", "_", job.case.stem)  # Slurm interprets % as a pattern, and blanks end a word
    options = {
        "job-name": name,
        "nodes": job.nodes,
        "ntasks-per-node": job.tasks,
        "cpus-per-task": job.cores,
        "hint": "nomultithread",
        "time": job.time,
        "partition": job.partition,
        "account": job.account,
        "signal": "USR1@300",
        "output": f"{name}-%j.log",
    }
    head = [f"#SBATCH --{key}={value}" for key, value in options.items() if value != ""]
    head += [f"#SBATCH {line}" for line in ("--requeue", "--open-mode=append", *job.more)]
    case, more = shlex.quote(str(job.case)), "".join(" " + shlex.quote(a) for a in job.arguments)
    return "\n".join(
        [
            "#!/bin/bash",
            *head,
            "",
            BODY.format(folder=shlex.quote(str(job.folder)), case=case, more=more, stopped=Interrupted.code),
        ]
    )


BODY = """\
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK OMP_PLACES=cores OMP_PROC_BIND=close
folder={folder}
mkdir -p "$folder" && touch "$folder/.turn"
[ "${{SLURM_RESTART_COUNT:-0}}" -gt 0 ] || rm -f "$folder/.in-vain"
faultwave() {{ srun --cpu-bind=cores --distribution=block:block faultwave "$@" --threads "$SLURM_CPUS_PER_TASK"; }}
if ls "$folder"/*-checkpoints/[0-9]*/index.json > /dev/null 2>&1; then
  # refused where the checkpoint is of another case
  faultwave resume "$folder" --case {case}{more}
elif [ "${{SLURM_RESTART_COUNT:-0}}" -gt 0 ]; then
  # what the last turn of this job has left may be replaced
  faultwave run {case} --output "$folder" --force{more}
else
  faultwave run {case} --output "$folder"{more}
fi
status=$?
# {stopped}: stopped by a signal; after other failures the job is not queued again
if [ $status -eq {stopped} ]; then
  if [ -n "$(find "$folder" -maxdepth 3 -path '*-checkpoints/[0-9]*/index.json' -newer "$folder/.turn")" ]; then
    rm -f "$folder/.in-vain"
    scontrol requeue "$SLURM_JOB_ID"
  elif [ ! -e "$folder/.in-vain" ]; then # stopped before the first checkpoint of this turn: once more, not for ever
    touch "$folder/.in-vain" && scontrol requeue "$SLURM_JOB_ID"
  else
    echo "two turns in a row were stopped before they had a checkpoint: --time is too short" >&2
  fi
fi
exit $status
"""
