"""Batch scripts: what Slurm reads, and when a job asks for another turn."""

from __future__ import annotations

import subprocess
import time

import pytest

from faultwave.cli.slurm import SlurmJob, script


def test_names_with_blanks(tmp_path):
    text = script(SlurmJob(tmp_path / "my case.yaml", tmp_path / "out put", 16, 8, 12, "2:00:00", account="geo"))
    for line in ("--nodes=16", "--ntasks-per-node=8", "--cpus-per-task=12", "--account=geo", "--signal=USR1@300"):
        assert f"#SBATCH {line}\n" in text
    assert "#SBATCH --partition" not in text
    assert not [line for line in text.splitlines() if line.startswith("#SBATCH") and len(line.split()) != 2]
    assert "#SBATCH --job-name=my_case\n" in text and "#SBATCH --output=my_case-%j.log\n" in text
    file = tmp_path / "a.sbatch"
    file.write_text(text)
    assert subprocess.run(["bash", "-n", str(file)]).returncode == 0


WRITES = 'mkdir -p "$OUT/run-checkpoints/000002" && sleep 0.02 && touch "$OUT/run-checkpoints/000002/index.json"; '


@pytest.mark.parametrize(
    ("does", "turns"),
    [
        ("exit 1", [False]),  # could not go on: the checkpoint of the turn before is still there
        ("exit 75", [True, False]),  # stopped in set-up, twice
        (WRITES + "exit 75", [True, True, True]),
        (WRITES + "exit 1", [False]),  # a full disk, say
        (WRITES + "exit 0", [False]),
    ],
)
def test_a_job_goes_on_only_where_that_leads_somewhere(tmp_path, does, turns):
    out, bin = tmp_path / "out put", tmp_path / "bin"
    (out / "run-checkpoints" / "000001").mkdir(parents=True)
    (out / "run-checkpoints" / "000001" / "index.json").touch()
    (out / "run-manifest.json").write_text('{"status": "interrupted"}')
    bin.mkdir()
    for name, body in (("srun", does), ("scontrol", f'echo "$@" >> {tmp_path}/again')):
        (bin / name).write_text(f'#!/bin/bash\necho "{name} $@" >> {tmp_path}/calls\n{body}\n')
        (bin / name).chmod(0o755)
    file = tmp_path / "a.sbatch"
    file.write_text(script(SlurmJob(tmp_path / "my case.yaml", out, 1, 1, 1)))
    for turn, goes_on in enumerate(turns):
        time.sleep(0.02)  # a clock tick of the file system
        environment = {
            "PATH": f"{bin}:/usr/bin:/bin", "SLURM_CPUS_PER_TASK": "3", "SLURM_JOB_ID": "42", "OUT": str(out),
            "SLURM_RESTART_COUNT": str(turn),
        }  # fmt: skip
        done = subprocess.run(["bash", str(file)], env=environment, capture_output=True, text=True)
        assert done.returncode == int(does.rsplit(" ", 1)[1]), done.stderr
        asked = tmp_path / "again"
        assert asked.exists() == goes_on
        if goes_on:
            assert asked.read_text() == "requeue 42\n"
            asked.unlink()
    assert f"faultwave resume {out} --case {tmp_path / 'my case.yaml'} --threads 3" in (tmp_path / "calls").read_text()
