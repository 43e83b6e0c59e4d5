"""Golden runs: proof that a change of the program leaves every result as it was.

    python tools/golden.py list                              the runs, and what each covers
    python tools/golden.py record --tree DIR --name NAME     run the set with the checkout DIR and keep every output array
    python tools/golden.py compare NAME NAME                 compare two recordings
    python tools/golden.py against [REV]                     record REV and this working tree, and compare (`make golden`)

Options: --only run,run*,... for some of the runs (patterns as of a shell), --jobs for runs at a time (each has one thread), --cache DIR or
GOLDEN_CACHE for the folder of recordings, .golden by default. The runs are listed in tools/golden/runs.yaml. Faultwave is started as
a user starts it, so that any two commits can be compared whatever changed inside. Exit code 1: a run failed, an array is missing, or values
differ by more than the run's tolerance, 1e-12 of the array's largest value unless runs.yaml says otherwise.
"""

from __future__ import annotations

import argparse
import copy
import fnmatch
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools import golden_inputs, golden_outputs  # noqa: E402

SET = ROOT / "tools" / "golden"
DECKS = ROOT.parent / "shared" / "cases"
TOLERANCE = 1e-12
TIMEOUT = 600.0
"""Seconds that one command may take."""


@dataclass(frozen=True)
class Run:
    """One golden run: the case, and the commands that make its results."""

    name: str
    covers: str
    case: dict[str, Any] | None
    deck: str | None
    steps: tuple[str, ...]
    needs: tuple[str, ...]
    tolerance: float

    @property
    def digest(self) -> str:
        """Of everything that the arrays of this run depend on, but for the program."""
        made = [self.case, self.deck, self.steps, _meshes()]
        files = [Path(m.__file__ or "").read_bytes() for m in (golden_inputs, golden_outputs)]
        return hashlib.sha256(json.dumps(made, sort_keys=True, default=str).encode() + b"".join(files)).hexdigest()[:16]

    def missing(self) -> str:
        """Why the run cannot be made here, or ''."""
        reasons = {
            "decks": "" if DECKS.is_dir() else f"no reference decks at {DECKS}",
            "mpi": "" if importlib.util.find_spec("mpi4py") else "mpi4py is not installed",
            "opencl": "" if importlib.util.find_spec("pyopencl") else "pyopencl is not installed",
            "projection": "" if importlib.util.find_spec("pyproj") else "pyproj is not installed",
        }
        return "; ".join(reasons[n] for n in self.needs if reasons[n])


# The set ------------------------------------------------------------------------------------------------------------------------


def load_runs(only: str = "") -> list[Run]:
    """Return the runs of runs.yaml whose names match one of the patterns."""
    listed = yaml.safe_load((SET / "runs.yaml").read_text())
    patterns = [p for p in only.split(",") if p] or ["*"]
    unused = [p for p in patterns if not fnmatch.filter(listed, p)]
    if unused:
        sys.exit(f"no golden run is called {', '.join(unused)}; there are: {', '.join(listed)}")
    return [_run(n, listed) for n in listed if any(fnmatch.fnmatchcase(n, p) for p in patterns)]


def _run(name: str, listed: dict[str, Any]) -> Run:
    item = listed[name]
    case = None
    if "case" in item:
        case = yaml.safe_load((SET / f"{item['case']}.yaml").read_text())
        changes = item.get("change", {})
        for change in changes if isinstance(changes, list) else [changes]:
            case = merged(case, change)
    steps, needs = item.get("steps", ["run"]), list(item.get("needs", []))
    needs += ["mpi"] if any("--ranks" in s for s in steps) else []
    needs += ["opencl"] if any("opencl" in s for s in steps) else []
    needs += ["decks"] if "deck" in item else []
    needs += ["projection"] if case and "projection" in case else []
    tolerance = float(item.get("tolerance", TOLERANCE))
    return Run(name, " ".join(item["covers"].split()), case, item.get("deck"), tuple(steps), tuple(needs), tolerance)


def merged(case: Any, change: Any) -> Any:
    """``case`` with the groups of ``change`` merged in; null removes a setting."""
    if not isinstance(case, dict) or not isinstance(change, dict):
        return copy.deepcopy(change)
    made = {k: v for k, v in case.items() if change.get(k, 0) is not None}
    return made | {k: merged(case.get(k), v) for k, v in change.items() if v is not None}


def _meshes() -> dict[str, Any]:
    return yaml.safe_load((SET / "meshes.yaml").read_text())


# Recording ----------------------------------------------------------------------------------------------------------------------


def record(tree: Path, target: Path, runs: Sequence[Run], jobs: int = 2, keep: bool = False) -> bool:
    """Run ``runs`` with the checkout ``tree``, arrays into ``target``; keep: leave those that are recorded already."""
    _check_tree(tree)
    target.mkdir(parents=True, exist_ok=True)
    wanted = [r for r in runs if not (keep and _recorded(target, r))]
    print(f"{target.name}: {len(wanted)} runs of {tree}, {len(runs) - len(wanted)} recorded already", flush=True)
    with tempfile.TemporaryDirectory(prefix="golden-") as scratch, ThreadPoolExecutor(jobs) as pool:
        shared = Path(scratch) / "inputs"
        shared.mkdir()
        golden_inputs.write_inputs(shared, _meshes())
        started = [pool.submit(_record_one, tree, target, run, Path(scratch) / run.name) for run in wanted]
        finished = [job.result() for job in started]
    return all(finished)


def _check_tree(tree: Path) -> None:
    """Check that the interpreter takes the package from the checkout, not an installed one."""
    command = [sys.executable, "-c", "import faultwave; print(faultwave.__file__)"]
    found = subprocess.run(command, env=_environment(tree), capture_output=True, text=True, cwd="/")
    if found.returncode or not Path(found.stdout.strip()).is_relative_to(tree):
        sys.exit(f"{tree}: no checkout of Faultwave; python took {found.stdout.strip() or found.stderr[-500:]}")


def _environment(tree: Path) -> dict[str, str]:
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **threads, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}


def _recorded(target: Path, run: Run) -> bool:
    file = target / f"{run.name}.json"
    return (
        file.exists()
        and json.loads(file.read_text()).get("digest") == run.digest
        and (target / f"{run.name}.npz").exists()
    )


def _record_one(tree: Path, target: Path, run: Run, folder: Path) -> bool:
    """Make one run and keep its arrays; whether it went well."""
    for suffix in ("json", "npz"):
        (target / f"{run.name}.{suffix}").unlink(missing_ok=True)
    reason = run.missing()
    if reason:
        print(f"  {run.name:<28} SKIPPED: {reason}", flush=True)
        return True
    begin = time.monotonic()
    shutil.copytree(folder.parent / "inputs", folder)
    case = _case(run, folder)
    for step in run.steps:
        problem = _step(step, case, folder, _environment(tree))
        if problem:
            print(f"  {run.name:<28} FAILED in '{step}':\n{problem}", flush=True)
            return False
    save(target, run.name, golden_outputs.read_folder(folder / "out"), digest=run.digest)
    shutil.rmtree(folder)
    print(f"  {run.name:<28} {time.monotonic() - begin:6.1f} s", flush=True)
    return True


def _case(run: Run, folder: Path) -> Path:
    if run.deck:
        return DECKS / run.deck / "parameters.par"
    path = folder / "case.yaml"
    path.write_text(yaml.safe_dump(run.case, sort_keys=False))
    return path


def _step(step: str, case: Path, folder: Path, environment: dict[str, str]) -> str:
    """Run one command; return '' or the end of its output.

    'kill NUMBER run ...' kills the command once that checkpoint exists; 'rewind NUMBER' removes later checkpoints, so that the run
    continues from there.
    """
    words, out = step.split(), str(folder / "out")
    awaited = None
    if words[0] == "rewind":
        return _rewind(Path(out), words[1])
    if words[0] == "kill":
        awaited, words = words[1], words[2:]
    place = {"resume": [out], "convert": [out]}.get(words[0], [str(case)])
    output = [] if words[0] in ("resume", "convert") else ["--output", out]
    command = [sys.executable, "-m", "faultwave", words[0], *place, *output, *words[1:]]
    log = folder / "log.txt"
    with log.open("w") as file:
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            killed = awaited is not None and _kill_at(process, Path(out), awaited)
            code = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"took more than {TIMEOUT:g} s"
    if awaited is not None and not killed:
        return f"ended before checkpoint {awaited}:\n{log.read_text()[-2000:]}"
    return "" if killed or code == 0 else log.read_text()[-2000:]


def _rewind(out: Path, checkpoint: str) -> str:
    found = sorted(p for p in out.glob("*checkpoints/*") if p.name.isdigit())
    for path in found:
        if path.name > checkpoint:
            shutil.rmtree(path)
    return "" if any(p.name == checkpoint for p in found) else f"there are checkpoints {[p.name for p in found]} only"


def _kill_at(process: subprocess.Popen[bytes], out: Path, checkpoint: str) -> bool:
    """Kill the process without warning once the checkpoint is whole; False where it ended before."""
    begin = time.monotonic()
    while process.poll() is None and time.monotonic() - begin < TIMEOUT:
        if list(out.glob(f"*checkpoints/{checkpoint}")):
            os.killpg(process.pid, signal.SIGKILL)
            return True
        time.sleep(0.002)
    return False


def save(target: Path, name: str, arrays: dict[str, np.ndarray], digest: str = "") -> None:
    """Keep the arrays of a run, and beside them what they are."""
    told = {
        n: {"shape": list(a.shape), "dtype": a.dtype.str, "sha256": hashlib.sha256(a.tobytes()).hexdigest()}
        for n, a in arrays.items()
    }
    if not told:
        raise ValueError(f"{name} wrote nothing")
    numbered = {f"a{i}": a for i, a in enumerate(arrays.values())}
    np.savez_compressed(target / f"{name}.npz", **numbered)  # type: ignore[arg-type]
    (target / f"{name}.json").write_text(json.dumps({"digest": digest, "arrays": told}, indent=1))


# Comparing ----------------------------------------------------------------------------------------------------------------------


def compare(old: Path, new: Path, runs: Sequence[Run]) -> bool:
    """Print a line a run; whether every run of ``new`` is that of ``old``."""
    good = True
    for run in runs:
        verdict, fine = compare_run(old, new, run)
        good &= fine
        print(f"{run.name:<28} {verdict}", flush=True)
    print("all runs are the same" if good else "RESULTS DIFFER", flush=True)
    return good


def compare_run(old: Path, new: Path, run: Run) -> tuple[str, bool]:
    """Return the report on a run, and True if it is as before."""
    files = [folder / f"{run.name}.json" for folder in (old, new)]
    if not all(f.exists() for f in files):
        reason = run.missing()
        without = " and ".join(f.parent.name for f in files if not f.exists())
        return (f"skipped: {reason}", True) if reason else (f"NOT RECORDED in {without}", False)
    told = [json.loads(f.read_text()) for f in files]
    if told[0]["digest"] != told[1]["digest"]:
        return "recorded with different settings of the run; record both anew", False
    a, b = (t["arrays"] for t in told)
    lost, more = sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys())
    changed = [n for n in a if n in b and a[n] != b[n]]
    worst, where = _worst(old, new, run.name, [list(a), list(b)], changed)
    parts = [f"MISSING {len(lost)} arrays: {_some(lost)}"] if lost else []
    if changed:
        beyond = " TOO MUCH" if worst > run.tolerance else ""
        parts.append(f"{len(changed)} of {len(a)} arrays differ, at most {worst:.1e} relative in {where}{beyond}")
    if more:
        parts.append(f"{len(more)} new arrays: {_some(more)}")
    return "; ".join(parts) or f"equal bits in {len(a)} arrays", not lost and worst <= run.tolerance


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _worst(old: Path, new: Path, run: str, names: list[list[str]], changed: list[str]) -> tuple[float, str]:
    """Largest difference of the changed arrays, and the array that has it."""
    if not changed:
        return 0.0, ""
    with np.load(old / f"{run}.npz") as a, np.load(new / f"{run}.npz") as b:
        found = [(difference(a[f"a{names[0].index(n)}"], b[f"a{names[1].index(n)}"]), n) for n in changed]
    return max(found)


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference over the largest finite value of ``a``; infinite where shapes, types, places of NaN or text differ."""
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype == np.uint8:
        return np.inf
    x, y = a.astype(complex if a.dtype.kind == "c" else float), b.astype(complex if b.dtype.kind == "c" else float)
    if not np.array_equal(np.isnan(x), np.isnan(y)):
        return np.inf
    here = np.isfinite(x) & np.isfinite(y)
    if not np.array_equal(x[~here], y[~here], equal_nan=True):
        return np.inf
    size = np.abs(x[here]).max(initial=0.0)
    most = np.abs(x[here] - y[here]).max(initial=0.0)
    return float(most / size) if size else (0.0 if most == 0 else np.inf)


# Against another commit ---------------------------------------------------------------------------------------------------------


def git(*words: str) -> str:
    """Return the output of a git command."""
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout.strip()


def default_base() -> str:
    """Where this branch left main; on main itself the last commit, or the one before where nothing is changed."""
    head = git("rev-parse", "HEAD")
    for main in ("main", "origin/main"):
        try:
            base = git("merge-base", main, "HEAD")
        except subprocess.CalledProcessError:
            continue
        if base != head:
            return base
    return head if git("status", "--porcelain") else git("rev-parse", "HEAD~1")


@contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """Provide a checkout of a commit that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="golden-tree-") as folder:
        path = Path(folder).resolve() / "tree"
        git("worktree", "add", "--detach", str(path), commit)
        try:
            yield path
        finally:
            git("worktree", "remove", "--force", str(path))


def against(revision: str, cache: Path, runs: Sequence[Run], jobs: int) -> bool:
    """Record a commit (once) and this working tree, and compare."""
    commit = git("rev-parse", "--verify", f"{revision or default_base()}^{{commit}}")
    base, here = cache / commit[:12], cache / "working-tree"
    if not all(_recorded(base, r) or r.missing() for r in runs):
        with worktree(commit) as tree:
            record(tree, base, runs, jobs, keep=True)
    record(ROOT, here, runs, jobs)
    return compare(base, here, runs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("list", "record", "compare", "against"))
    parser.add_argument("names", nargs="*", help="compare: two recordings; against: a commit")
    parser.add_argument("--tree", type=Path, default=ROOT, help="record: the checkout")
    parser.add_argument("--name", help="record: what the recording is called")
    parser.add_argument("--keep", action="store_true", help="record: leave runs that are recorded already")
    parser.add_argument("--only", default="", help="runs, by names or patterns with commas between")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, 1 or 2")
    parser.add_argument("--cache", type=Path, default=Path(os.environ.get("GOLDEN_CACHE", ROOT / ".golden")))
    given = parser.parse_args(arguments)
    runs, cache = load_runs(given.only), given.cache.resolve()
    if (given.command == "compare") != (len(given.names) == 2) or (given.command == "record") != bool(given.name):
        parser.error("compare takes two names, record takes --name")
    actions: dict[str, Callable[[], bool]] = {
        "list": lambda: all(print(f"{r.name:<28} {r.covers}") is None for r in runs),
        "record": lambda: record(given.tree.resolve(), cache / given.name, runs, given.jobs, given.keep),
        "compare": lambda: compare(cache / given.names[0], cache / given.names[1], runs),
        "against": lambda: against(given.names[0] if given.names else "", cache, runs, given.jobs),
    }
    return 0 if actions[given.command]() else 1


if __name__ == "__main__":
    sys.exit(main())
