"""Which case a run goes on with: what is applied, what is kept and told, what is refused, each difference by its path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.cli.main import app
from faultwave.output.results import load_results

TEXT = """\
end_time: {end}
mesh:
  generate: {{ shape: box, cells: [2, 2, 2], lower: [-2e3, -2e3, -3e3], upper: [2e3, 2e3, 0], boundaries: {{ z+: free-surface }} }}
material: {material}
sources:
  - {{ kind: force, location: [500, 500, -1500], force: [0, 0, 1e10], time_function: {{ kind: gaussian, duration: 0.1 }} }}
numerics: {{ order: 2, threads: 1 }}
output:
  folder: {folder}
  checkpoint: {{ interval: 0.1 }}
  receivers: {{ points: [[500, 500, 0]], interval: {interval} }}
"""
ROCK = "{ constant: { rho: 2700, vp: 6 km/s, vs: 3.464 km/s } }"


def write(path: Path, name: str = "case.yaml", **changes: object) -> Path:
    given = {"end": "0.4 s", "material": ROCK, "interval": "10 ms", "folder": path / "out", **changes}
    (path / name).write_text(TEXT.format(**given))
    return path / name


def run(path: Path, **changes: object) -> Path:
    """A finished run of the case; its folder."""
    fw.simulate(write(path, **changes)).run()
    return path / "out"


def cli(*words: object):
    return CliRunner().invoke(app, [str(w) for w in words])


def test_another_case_is_refused_with_every_difference(tmp_path):
    folder = run(tmp_path)
    before = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    other = "{ constant: { rho: 2700, vp: 5 km/s, vs: 3 km/s } }"
    write(tmp_path, material=other, end="1 s")
    for named in (None, write(tmp_path, "other.yaml", material=other)):
        with pytest.raises(InputError) as found:
            fw.resume(folder, named)
        told = {p.where: p.what for p in found.value.problems}
        assert told.pop(str(folder)).startswith("its checkpoint at t = 0.3")
        assert told == {
            "material.constant.vp": "6000 m/s in the checkpoint, 5000 m/s in the case",
            "material.constant.vs": "3464 m/s in the checkpoint, 3000 m/s in the case",
        }
    assert "as_recorded=True" not in str(found.value)  # the case was named: there is nothing to fall back to
    assert fw.resume(folder, as_recorded=True).case.material.constant["vs"] == 3464.0
    assert before == {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("duration: 0.1", "duration: 0.11", "sources[0].time_function.duration: 0.1 s in the checkpoint, 0.11 s"),
        ("force: [0, 0, 1e10]", "force: [0, 1e9, 1e10]", "sources[0].force[1]: 0 N in the checkpoint, 1e+09 N in the case"),
        ("free-surface", "absorbing", "mesh.generate.boundaries.z+: free-surface in the checkpoint, absorbing in the case"),
        ("upper: [2e3", "upper: [3e3", "mesh.generate.upper[0]: 2000 m in the checkpoint, 3000 m in the case"),
        ("order: 2,", "order: 2, cfl: 0.4,", "numerics.cfl: (not given) in the checkpoint, 0.4 in the case"),
        ("numerics:", "law: anisotropic\nnumerics:", "law: elastic in the checkpoint, anisotropic in the case"),
    ],
)  # fmt: skip
def test_any_other_setting_of_the_simulation_is_refused(finished, old, new, path):
    folder = finished
    case = folder.parent / "changed.yaml"
    case.write_text((folder.parent / "case.yaml").read_text().replace(old, new))
    with pytest.raises(InputError) as found:
        fw.resume(folder, case)
    assert path in str(found.value)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(tmp_path_factory.mktemp("finished"))


def test_a_case_said_in_other_words_is_the_same(finished):
    case = finished.parent / "again.yaml"
    text = (finished.parent / "case.yaml").read_text()
    case.write_text(text.replace("6 km/s", "6000").replace("threads: 1", "threads: 2, precision: double"))
    sim = fw.resume(finished, case)
    assert sim.case.numerics.threads == 2


def test_a_later_end_is_applied_and_other_outputs_are_kept_and_told(tmp_path):
    folder = run(tmp_path)
    write(tmp_path, end="0.6 s", interval="20 ms")
    sim = fw.resume(folder)
    (kept,) = [w for w in sim.warnings if w.where == "output.receivers.interval"]
    assert "0.01 s in the checkpoint, 0.02 s in the case: the run uses the value in the checkpoint" in kept.what
    sim.run()
    time = load_results(folder).traces["receiver"][1].time
    np.testing.assert_allclose(time, np.arange(61) * 0.01, atol=1e-12)
    straight = tmp_path / "straight"
    straight.mkdir()
    whole = load_results(run(straight, end="0.6 s")).traces["receiver"][1]
    for name, values in load_results(folder).traces["receiver"][1].columns.items():
        np.testing.assert_array_equal(values, whole.columns[name])
    assert fw.resume(folder).case.end_time == 0.6


def test_a_finished_run_is_left_as_it_is(tmp_path):
    folder = run(tmp_path)
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in folder.rglob("*") if p.is_file()}
    done = cli("resume", folder)
    assert done.exit_code == 0 and "already finished at t = 0.4 s" in done.output
    assert before == {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in folder.rglob("*") if p.is_file()}
    longer = cli("resume", folder, "--until", "0.5 s")
    assert longer.exit_code == 0 and "continuing from t = 0.3" in longer.output
    assert json.loads((folder / "run-manifest.json").read_text())["time_reached"] == pytest.approx(0.5)
    assert "already finished at t = 0.5 s" in cli("resume", folder).output


def test_a_run_that_was_ended_before_its_end_goes_on(tmp_path):
    fw.simulate(write(tmp_path)).run(until=0.25)  # finished as asked, but not at the case's end
    assert "continuing from" in cli("resume", tmp_path / "out").output


def test_options_of_the_first_run_hold(tmp_path):
    """The file says another order and end; so it did when the run began."""
    fw.simulate(write(tmp_path), order=3, until="0.3 s").run()
    sim = fw.resume(tmp_path / "out")
    assert (sim.case.numerics.order, sim.case.end_time) == (3, 0.3)
    sim.run()
    assert fw.resume(tmp_path / "out").case.numerics.order == 3
    named = fw.resume(tmp_path / "out", tmp_path / "case.yaml")  # a case that is named says when it ends
    assert (named.case.numerics.order, named.case.end_time) == (3, 0.4)


def test_files_count_by_content(tmp_path):
    constants = "!ConstantMap\nmap: { rho: 2700, lambda: 3.24e10, mu: 3.24e10 }\n"
    data = "0 2600 1400 2100\n500 5800 3350 2700\n"
    (tmp_path / "rock.yaml").write_text("!Include inner.yaml\n")
    (tmp_path / "inner.yaml").write_text(constants)
    (tmp_path / "layers.txt").write_text("depth vp vs rho\n" + data)
    folder = run(tmp_path, material=f"{{ easi: {tmp_path / 'rock.yaml'} }}")
    (tmp_path / "copy.yaml").write_text("!Include inner.yaml\n")
    moved = write(tmp_path, "moved.yaml", material=f"{{ easi: {tmp_path / 'copy.yaml'} }}")
    assert fw.resume(folder, moved).case.material.easi == tmp_path / "copy.yaml"  # another name of the same

    stat = (tmp_path / "inner.yaml").stat()
    (tmp_path / "inner.yaml").write_text(constants.replace("2700", "2701"))
    os.utime(tmp_path / "inner.yaml", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(
        InputError, match=r"inner.yaml: its content has changed: 62 bytes with sha256 \w{12} in the check"
    ):
        fw.resume(folder, moved)
    (tmp_path / "inner.yaml").write_text(constants)
    (tmp_path / "copy.yaml").write_text(constants)
    with pytest.raises(InputError, match=r"material.easi: .*rock.yaml in the checkpoint, .*copy.yaml in the case"):
        fw.resume(folder, moved)
    assert fw.resume(folder)


def test_layered_rock_goes_on_at_another_order(tmp_path):
    (tmp_path / "rock.txt").write_text("depth vp vs rho\n0 2600 1400 2100\n500 4200 2400 2450\n2000 5800 3350 2700\n")
    folder = run(tmp_path, material="{ layers: rock.txt }")
    sim = fw.resume(folder, order=3, until=0.5).run()
    assert sim.time == pytest.approx(0.5) and sim.case.numerics.order == 3
    (tmp_path / "rock.txt").write_text("depth vp vs rho\n0 2600 1400 2100\n500 4200 2400 2450\n2000 5800 3350 2600\n")
    with pytest.raises(InputError, match=r"material.layers: .*its content has changed"):
        fw.resume(folder, order=4, until=0.6)


def test_a_case_that_was_changed_in_python_is_its_own_record(tmp_path):
    from faultwave.case.load import load_case

    case, _ = load_case(write(tmp_path))
    changed = case.model_copy(update={"end_time": 0.2})
    fw.simulate(changed).run()
    assert fw.resume(tmp_path / "out").case.end_time == 0.2


def test_the_file_of_the_case_may_be_gone(tmp_path):
    folder = run(tmp_path)
    (tmp_path / "case.yaml").unlink()
    resumed = fw.resume(folder)
    assert resumed.case.end_time == 0.4
    assert [w for w in resumed.warnings if "no longer exists" in w.what and w.where == str(tmp_path / "case.yaml")]
    assert not [w for w in fw.resume(folder, as_recorded=True).warnings if "exists" in w.what]


def test_grids_compare_too(tmp_path):
    text = """\
engine: fd
end_time: 0.2 s
grid: { spacing: 250 m, lower: [-2 km, -2 km, -2 km], upper: [2 km, 2 km, 0] }
material: { constant: { rho: 2700, vp: 6 km/s, vs: 3.464 km/s } }
sources:
  - { kind: force, location: [0, 0, -1000], force: [0, 0, 1e10], time_function: { kind: gaussian, duration: 0.1 } }
numerics: { threads: 1 }
output: { folder: OUT, checkpoint: { interval: 0.05 }, receivers: { points: [[500, 500, 0]], interval: 0.01 } }
""".replace("OUT", str(tmp_path / "out"))
    case = tmp_path / "grid.yaml"
    case.write_text(text)
    fw.simulate(case).run()
    case.write_text(text.replace("0.2 s", "0.3 s"))
    sim = fw.resume(tmp_path / "out").run()
    assert sim.time >= 0.3 * (1 - 1e-9)
    assert "already finished" in cli("resume", tmp_path / "out").output  # whose step is that of the first run
    case.write_text(text.replace("3.464", "3").replace("250 m", "200 m"))
    with pytest.raises(InputError) as found:
        fw.resume(tmp_path / "out")
    assert {"grid.spacing", "material.constant.vs"} <= {p.where for p in found.value.problems}


# ---- the batch script -----------------------------------------------------------------------------------------------


def batch(path: Path, script: Path, turn: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a batch script with stand-ins for Slurm's programs."""
    bin = path / "bin"
    bin.mkdir(exist_ok=True)
    for name, body in (
        ("srun", 'while [ "${1:0:2}" = "--" ]; do shift; done\nexec "$@"'),
        ("scontrol", "exit 0"),
        ("faultwave", f'exec {sys.executable} -m faultwave "$@"'),
    ):
        (bin / name).write_text(f"#!/bin/bash\n{body}\n")
        (bin / name).chmod(0o755)
    more = {
        "PATH": f"{bin}:{os.environ['PATH']}",
        "SLURM_CPUS_PER_TASK": "1",
        "SLURM_JOB_ID": "1",
        "SLURM_RESTART_COUNT": str(turn),
    }
    return subprocess.run(["bash", script], env={**os.environ, **more}, capture_output=True, text=True, timeout=600)


def test_a_job_does_not_go_on_with_another_case(tmp_path):
    folder, script = run(tmp_path), tmp_path / "job.sbatch"
    other = write(tmp_path, "other.yaml", material="{ constant: { rho: 2700, vp: 5 km/s, vs: 3.464 km/s } }")
    asked = ("submit", other, "--nodes", 1, "--script", script)
    refused = cli(*asked, "--output", folder)
    assert refused.exit_code == 2 and not script.exists()
    assert cli(*asked, "--output", tmp_path / "elsewhere").exit_code == 0
    script.write_text(script.read_text().replace("/elsewhere", "/out"))  # the run came after the script
    before = (folder / "run-manifest.json").read_bytes()
    done = batch(tmp_path, script)
    assert done.returncode == 2, done.stderr
    assert "material.constant.vp" in done.stderr and "6000 m/s in the checkpoint, 5000 m/s in the case" in done.stderr
    assert (folder / "run-manifest.json").read_bytes() == before


def test_a_job_replaces_no_results_of_others(tmp_path):
    folder, script = tmp_path / "out", tmp_path / "job.sbatch"
    case = write(tmp_path)
    assert cli("submit", case, "--nodes", 1, "--script", script, "--output", folder).exit_code == 0
    folder.mkdir()
    (folder / "run-manifest.json").write_text('{"manifest": 1, "status": "finished", "outputs": []}')
    again = cli("submit", case, "--nodes", 1, "--script", tmp_path / "b.sbatch", "--output", folder)
    assert again.exit_code == 2 and not (tmp_path / "b.sbatch").exists()
    assert batch(tmp_path, script).returncode == 2  # the first turn finds a run that is not its own
    assert batch(tmp_path, script, turn=1).returncode == 0  # a later one what the turn before has left
