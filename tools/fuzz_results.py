"""Damaged results for ``plot``, ``report``, ``compare`` and ``convert``: each is answered by files or a message, never by a traceback.

    python tools/fuzz_results.py [--count 5000] [--seed 0] [--keep FOLDER] [--only COMMAND]

Folders of small runs are made from sound files (``tests/fuzz/sound`` and the writers of the product), and in each one file is damaged:
bits, bytes and words changed, cut short, emptied, exchanged for a file of another kind, and in HDF5 files datasets and attributes removed
or exchanged for others of other shapes, types, units and values. A worker process with limits of memory (2 GiB) and of processor time
(10 s an input) uses it. Prints counts, findings and the longest time; exit code 1 if there are findings.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.fuzz import Worker, mutated  # noqa: E402

MEMORY = 2 << 30
SECONDS = 10
"""Of the processor, for one input."""
PATIENCE = 300.0
"""Seconds on the clock, on a busy machine, too."""
DPI = 20
SOUND = ROOT / "tests" / "fuzz" / "sound"
CONVERTED = ("csv", "sac", "mseed", "stationxml", "motions", "scec", "dtopo")


class Slow(BaseException):
    """An input took more than its time."""


def sound_runs(folder: Path) -> dict[str, Path]:
    """Write folders of small runs with the prefix 'run' and return them by name."""
    for name in ("run", "sea"):
        shutil.copytree(SOUND / name, folder / name)
    _write_rupture(folder / "rupture")
    _write_maps(folder / "maps")
    _write_waves(folder / "waves")
    return {path.name: path for path in sorted(folder.iterdir()) if path.is_dir()}


def _write_rupture(folder: Path) -> None:
    """Write results of a crack with 48 faces: snapshots, histories, moment rate, energies."""
    import numpy as np

    from faultwave.observe.dataset import energies_from_arrays
    from faultwave.observe.rupture import INNER, FaultHistory, FinishedRupture, rupture_results
    from faultwave.output.formats import write_results
    from faultwave.output.formats.csv_tables import write_energies
    from faultwave.output.formats.receivers_hdf5 import write_receivers
    from faultwave.output.formats.vtkhdf import VtkHdfWriter
    from faultwave.output.manifest import build_manifest, write_manifest
    from tests.plot.conftest import END, fault_values, grid, receivers

    folder.mkdir()
    xy, cells = grid(np.linspace(-15e3, 15e3, 7), np.linspace(0.0, 15e3, 5))
    corners = np.column_stack([xy[:, 0], np.zeros(len(xy)), -xy[:, 1]])[cells]
    points, centres = corners.reshape(-1, 3), corners.mean(axis=1)
    own = np.arange(len(points)).reshape(-1, 3)
    with VtkHdfWriter(
        folder / "run-fault.vtkhdf", points, own, {"fault-tag": np.full(len(own), 3)}, list(fault_values(centres, 0.0))
    ) as writer:
        for at in (0.0, 3.0, END):
            writer.append(at, fault_values(centres, at))
    inner = (
        corners[:, :1]
        + INNER[None, :, :1] * (corners[:, 1:2] - corners[:, :1])
        + INNER[None, :, 1:] * (corners[:, 2:] - corners[:, :1])
    )
    times, now = fault_values(inner.reshape(-1, 3), END)["RT"].reshape(-1, 3), fault_values(centres, END)
    slip, full = np.hypot(now["Sls"], now["Sld"]), np.ones(len(corners))
    faces = {
        "corners": corners, "tag": 3 * full, "area": 9e6 * full, "spacing": 2e3 * full, "share": full, "rupture_time": times,
        "weakened": times.mean(axis=1) + 0.2, "slip_strike": now["Sls"], "slip_dip": now["Sld"], "slip": slip, "path": slip,
        "peak_slip_rate": now["PSR"], "slip_rate": now["SRs"], "drop_times_slip": 7e6 * slip, "breakdown": 3e6 + 0.5e6 * slip,
        "dissipated": 63e6 * slip, "rigidity": 32e9 * full, "shear_speed": 3464 * full,
    }  # fmt: skip
    time_ = np.linspace(0.0, 12.0, 61)
    potency = float(slip @ faces["area"]) * (1 - (1 + 2 * time_) * np.exp(-2 * time_))
    history = FaultHistory(time_, 6e6 * potency, 3.5e6 * potency, 32e9 * potency, potency)
    write_results(list(rupture_results(FinishedRupture(faces, history))), folder, "run")
    write_receivers(folder / "run-receivers.h5", receivers())
    columns = {"elastic_energy": time_, "seismic_moment": 2.6e17 * time_}
    write_energies(folder / "run-energy.csv", energies_from_arrays(time_, columns))
    write_manifest(folder / "run-manifest.json", build_manifest({"title": "A crack"}))


def _write_maps(folder: Path) -> None:
    import numpy as np

    from faultwave.observe.dataset import Dataset, Variable
    from faultwave.output.formats.maps_netcdf import write_maps
    from faultwave.output.manifest import build_manifest, write_manifest

    folder.mkdir()
    x, y = np.arange(8) * 500.0, np.arange(6) * 500.0
    r = np.hypot(x - 2e3, (y - 1e3)[:, None])
    axes = {"x": Variable(x, ("x",), "m", "x"), "y": Variable(y, ("y",), "m", "y")}
    names = ["PGA", "PGV", "PGV_max", "SA_1s", "SA_3s", "D5_95", "elevation"]
    found = {n: Variable(np.exp(-r / 4e3) * (k + 1), ("y", "x"), "m/s", n) for k, n in enumerate(names)}
    attrs = {"end_time": 3.0, "resolved_frequency": 1.5, "case": "made up"}
    write_maps(folder / "run-intensity.nc", Dataset("maps", axes | found, attrs))
    strain = {n: Variable(1e-4 * r, ("y", "x"), "", n) for n in ("peak_strain", "peak_strain_depth")}
    write_maps(folder / "run-soil.nc", Dataset("soil", axes | strain, {}))
    write_manifest(folder / "run-manifest.json", build_manifest({"title": "Maps"}))
    shutil.copy(SOUND / "run" / "run-energy.csv", folder)


def _write_waves(folder: Path) -> None:
    """Of electromagnetic runs: resonances, scattering, far field."""
    import numpy as np

    from faultwave.observe.dataset import receivers_from_arrays
    from faultwave.output.formats.receivers_hdf5 import write_receivers
    from faultwave.output.formats.touchstone import write_touchstone
    from faultwave.output.manifest import build_manifest, write_manifest

    folder.mkdir()
    t = np.arange(300) * 5e-12
    values = np.stack([np.sin(2 * np.pi * 9e9 * t)] * 6, -1)[:, None]
    names = ["E1", "E2", "E3", "H1", "H2", "H3"]
    write_receivers(folder / "run-receivers.h5", [receivers_from_arrays(t, values, names, [[0.0, 0, 0]])])
    (folder / "run-resonances.csv").write_text("frequency,quality,amplitude,share\n9e9,1e3,1,1\n12e9,inf,0.5,0.5\n")
    s = np.full((4, 2, 2), 0.3 + 0.1j)
    write_touchstone(folder / "run.s2p", np.linspace(8e9, 12e9, 4), s)
    rows = [f"9e9,{theta},{phi},0.1,0.2" for phi in (0, 90) for theta in range(0, 181, 30)]
    (folder / "run-far-field.csv").write_text("\n".join(["frequency,theta,phi,cross_section,exact", *rows, ""]))
    write_manifest(folder / "run-manifest.json", build_manifest({"title": "Waves"}))


def commands(folder: Path, other: Path) -> dict[str, Callable[[], Any]]:
    """Return what is done with a folder of results, by name; ``other`` is a sound run."""
    from faultwave.output.results import convert
    from faultwave.plot import plot
    from faultwave.plot.style import Look
    from faultwave.report import write_report
    from faultwave.verify.compare import compare

    found: dict[str, Callable[[], Any]] = {
        "plot": lambda: plot(folder, folder / "pictures", Look(dpi=DPI)),
        "report": lambda: write_report(folder, folder / "page.html"),
        "report-compare": lambda: write_report(folder, folder / "page.html", compare=other),
        "compare": lambda: repr(compare(folder, other)) + str(compare(other, folder).as_dict()),
        "compare-band": lambda: compare(folder, other, band=(None, 2.0)).as_dict(),
    }
    for kind in CONVERTED:
        found[f"convert-{kind}"] = lambda kind=kind: convert(folder, kind, folder / "converted")
    return found


USED = {
    "receivers.h5": (
        "plot",
        "report",
        "report-compare",
        "compare",
        "compare",
        "compare-band",
        *(f"convert-{k}" for k in CONVERTED[:-1]),
    ),
    "energy.csv": ("plot", "report", "compare", "compare"),
    "manifest.json": ("plot", "report", "compare", "convert-csv", "convert-mseed", "convert-motions"),
    "surface.vtkhdf": ("plot", "report", "report-compare", "convert-dtopo", "convert-dtopo"),
    "fault.vtkhdf": ("plot", "report", "convert-scec", "convert-scec"),
}
"""Commands that read a file, by the end of its name; of others: plot and report."""


BESIDE = {
    "resonances.csv": ("run-manifest.json", "run-receivers.h5"),
    "moment-rate.csv": ("run-manifest.json", "run-moment-spectrum.csv", "run-rupture.json"),
    "moment-spectrum.csv": ("run-manifest.json", "run-moment-rate.csv", "run-rupture.json"),
    "rupture.json": ("run-manifest.json", "run-moment-rate.csv", "run-moment-spectrum.csv"),
    "manifest.json": ("run-energy.csv", "run-receivers.h5"),
}
"""Files that a damaged one is given together with, by the end of its name; of others: the manifest."""


def inputs(runs: dict[str, Path], seed: int, folder: Path, only: str = "") -> Iterator[tuple[str, str, Path]]:
    """Yield a command, what was damaged, and a folder with one damaged file, without end; number n follows from ``seed`` and n alone."""
    files = [path for run in runs.values() for path in sorted(run.iterdir())]
    number = -1
    while True:
        number += 1
        draw = random.Random(f"{seed} {number}")
        source = draw.choice(files)
        kind = source.name.removeprefix("run-")
        command = draw.choice(USED.get(kind, ("plot", "report")))
        if not command.startswith(only):
            continue
        target = folder / f"input-{number}"
        target.mkdir()
        for beside in BESIDE.get(
            kind, ("run-manifest.json",)
        ):  # what is drawn of other files costs time and finds nothing
            if (source.parent / beside).is_file():
                shutil.copy(source.parent / beside, target)
        content, way = source.read_bytes(), draw.random()
        path = target / source.name
        if way < 0.03:
            changed: bytes | None = b""
        elif way < 0.06:
            changed = draw.choice(files).read_bytes()
        elif way < 0.08:
            changed = None
            path.unlink(missing_ok=True)
            path.mkdir()
        else:
            changed = mutated(content, path, draw)
        if changed is not None:
            path.write_bytes(changed)
        yield command, f"{source.parent.name}/{source.name}", target


def work() -> None:
    """Answer requests as a worker: a command and two folders a line."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    warnings.simplefilter("ignore")

    def late(*_: object) -> None:
        raise Slow

    signal.signal(signal.SIGPROF, late)
    from faultwave.base.errors import FaultwaveError

    out, sys.stdout = sys.stdout, sys.stderr
    print("ready", file=out, flush=True)
    for line in sys.stdin:
        command, folder, other = json.loads(line)
        started = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        answer, detail = "files", ""
        try:
            commands(Path(folder), Path(other))[command]()
        except FaultwaveError as error:
            answer, detail = "message", str(error)
            if error.__cause__ is not None and "do not go together" in detail:
                answer, detail = "explained", _place(error.__cause__)
        except Slow:
            answer, detail = "slow", f"more than {SECONDS} s"
        except BaseException as error:
            answer, detail = "traceback", _place(error)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        print(json.dumps([answer, detail, time.process_time() - started]), file=out, flush=True)


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "faultwave" in f.filename] or frames
    last = own[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.name}:{last.lineno}: {str(error)[:200]}"


class ResultsWorker(Worker):
    """A worker process of this file."""

    def ask(self, command: str, folder: Path, other: Path) -> tuple[str, str, float]:
        """Return the answer to a command on a folder: its kind, detail and processor time [s]."""
        import subprocess

        if self.process is None:
            call = [sys.executable, "-P", str(Path(__file__).resolve()), "--worker"]
            self.process = subprocess.Popen(
                call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
            )
            self._line(PATIENCE)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([command, str(folder), str(other)]) + "\n")
        self.process.stdin.flush()
        line = self._line(self.patience)
        if line:
            kind, detail, seconds = json.loads(line)
            return kind, detail, seconds
        code = self.process.poll()
        self.stop()
        return "hang" if code is None else "crash", f"exit code {code}", self.patience


FINDINGS = ("traceback", "slow", "hang", "crash")


def tried(
    count: int, seed: int, keep: Path | None = None, only: str = "", told: bool = False
) -> tuple[collections.Counter[str], list[str], float]:
    """Give ``count`` damaged folders to the commands; return how many got which answer, the findings and the longest time [s]."""
    answers: collections.Counter[str] = collections.Counter()
    explained: collections.Counter[str] = collections.Counter()
    findings, longest = [], 0.0
    with tempfile.TemporaryDirectory() as temporary, ResultsWorker(PATIENCE) as worker:
        base = Path(temporary)
        (base / "sound").mkdir()
        runs = sound_runs(base / "sound")
        for number, (command, what, folder) in zip(range(count), inputs(runs, seed, base, only), strict=False):
            other = runs[what.partition("/")[0]]
            answer, detail, seconds = worker.ask(command, folder, other)
            answers[answer] += 1
            longest = max(longest, seconds)
            if answer == "explained":
                explained[f"{command} {what}: {detail.rpartition(': ')[0][:120]}"] += 1
            if answer in FINDINGS:
                findings.append(f"{number} {command} {what}: {answer}: {detail}")
                if keep is not None:
                    shutil.copytree(folder, keep / folder.name, dirs_exist_ok=True)
            if told and (answer in FINDINGS or number % 100 == 99):
                print(
                    findings[-1] if answer in FINDINGS else f"{number + 1}: {dict(answers)}, longest {longest:.1f} s",
                    flush=True,
                )
            shutil.rmtree(folder)
    if told:
        for text, times in explained.most_common(60):
            print(f"explained {times} x {text}")
    return answers, findings, longest


def main() -> int:
    """Damage, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        work()
        return 0
    answers, findings, longest = tried(asked.count, asked.seed, asked.keep, asked.only, told=True)
    print(
        f"{sum(answers.values())} inputs: {dict(answers)}; {len(findings)} findings; longest {longest:.1f} s of the processor"
    )
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
