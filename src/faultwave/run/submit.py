"""A batch script for Slurm: so many nodes, processes and threads bound to cores, stopped in time, going on by itself."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """What to ask for. ``tasks`` a node; ``cores`` each, one thread a core; ``time`` as Slurm writes it; ``more``: further
    lines of #SBATCH."""

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


def script(job: Job) -> str:
    """The text. Five minutes before its end Slurm tells the run to write a checkpoint; the job then asks for another turn
    and goes on from it."""
    options = {
        "job-name": job.case.stem,
        "nodes": job.nodes,
        "ntasks-per-node": job.tasks,
        "cpus-per-task": job.cores,
        "hint": "nomultithread",
        "time": job.time,
        "partition": job.partition,
        "account": job.account,
        "signal": "USR1@300",
        "output": f"{job.case.stem}-%j.log",
    }
    head = [f"#SBATCH --{name}={value}" for name, value in options.items() if value != ""]
    head += [f"#SBATCH {line}" for line in ("--requeue", "--open-mode=append", *job.more)]
    folder, case = shlex.quote(str(job.folder)), shlex.quote(str(job.case))
    more = "".join(" " + shlex.quote(a) for a in job.arguments)
    prefix = "srun --cpu-bind=cores --distribution=block:block faultwave"
    return "\n".join(
        [
            "#!/bin/bash",
            *head,
            "",
            "export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK OMP_PLACES=cores OMP_PROC_BIND=close",
            f"if ls {folder}/*-checkpoints/[0-9]*/index.json > /dev/null 2>&1; then",
            f"  {prefix} resume {folder} --threads $SLURM_CPUS_PER_TASK",
            "else",
            f"  {prefix} run {case} --output {folder} --threads $SLURM_CPUS_PER_TASK --force{more}",
            "fi",
            "status=$?",
            "# 1: stopped by the signal, with a checkpoint; whatever else failed would fail again",
            f'if [ $status -eq 1 ] && grep -q \'"status": "interrupted"\' {folder}/*-manifest.json; then',
            "  scontrol requeue $SLURM_JOB_ID",
            "fi",
            "exit $status",
            "",
        ]
    )
