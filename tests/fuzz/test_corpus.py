"""Sound inputs, inputs that broke readers once, a short walk over new ones: each is taken, or refused by an error that names its file."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.fuzz import Worker, hunt, mutated

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
INPUTS = sorted(path for path in CORPUS.glob("*/*"))
COUNT = 8
"""Changed files a reader in the fast tests, the same ones on every machine; `make verify` takes many more."""

SOUND = {"netcdf-crash-590", "geotiff-445.tif", "geotiff-1138.tif"}
"""What only broke after other files had, and rasters whose cells are of no size that a case could have: they cover none."""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.stop()


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_what_broke_a_reader_is_refused(worker: Worker, path: Path) -> None:
    assert worker.read(path.parent.name, path) is None
    assert (worker.read(f"refused {path.parent.name}", path) is None) == (path.name not in SOUND)


def test_findings_are_told(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_text("5 km")
    wrong = worker.read("no reader", path)
    assert wrong is not None and wrong.what.startswith("KeyError")
    for name, words in (
        ("crash", "SIGSEGV"),
        ("hang", "more than 1 s"),
        ("silence", "silent: 5 km"),
        ("unnamed", "does not name"),
    ):
        found = Worker(patience=1.0) if name == "hang" else worker
        told = found.read(f"test {name}", path)
        assert told is not None and words in told.what
    assert worker.read("units", path) is None, "a new worker goes on after a crash"


def test_an_interrupted_walk_leaves_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, plain = list[subprocess.Popen[str]](), Worker.read

    def interrupted(self: Worker, reader: str, path: Path) -> None:
        plain(self, reader, path)
        assert self.process is not None
        begun.append(self.process)
        raise KeyboardInterrupt

    monkeypatch.setattr(Worker, "read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        hunt(["units"], 1, count=1)
    (process,) = begun
    ended = process.poll() is not None
    process.kill()
    assert ended


def test_mutations_change_something() -> None:
    draw, data = random.Random(1), b"vp: 6000\nvs: 3464\n"
    assert len({mutated(data, Path("none"), draw) for _ in range(50)}) > 40


def test_new_inputs() -> None:
    from tools.fuzz_readers import READERS

    assert hunt(list(READERS), seed=20, count=COUNT) == []


SAME = """
import hashlib, sys, tempfile
from itertools import islice
from pathlib import Path
from tools.fuzz import inputs
from tools.fuzz_readers import READERS
with tempfile.TemporaryDirectory() as folder:
    for name, judge, path in islice(inputs(list(READERS), 3, Path(folder)), 5 * len(READERS)):
        print(judge, path.name, hashlib.sha256(path.read_bytes()).hexdigest())
"""


def test_a_walk_meets_the_same_files_everywhere(tmp_path: Path) -> None:
    """Whatever the folder for temporary files and the seed of Python's sets are, and whatever the time is."""
    walks = []
    for number in "12":
        if walks:
            time.sleep(1.1)  # files of HDF5 and NetCDF hold times in whole seconds
        (tmp_path / number).mkdir()
        environment = os.environ | {"PYTHONHASHSEED": number, "TMPDIR": str(tmp_path / number)}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
        walks.append(
            subprocess.run(
                [sys.executable, "-c", SAME], env=environment, capture_output=True, text=True, check=True
            ).stdout
        )
    assert walks[0] == walks[1] and walks[0].count("\n") > 200


def test_a_sound_file_that_is_refused_is_a_finding(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_text("five km")
    assert worker.read("units", path) is None
    told = worker.read("sound units", path)
    assert told is not None and "a sound file is refused" in told.what


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_new_inputs(seed: int, tmp_path: Path) -> None:
    from tools.fuzz_readers import READERS

    assert hunt(list(READERS), seed, tmp_path, seconds=300.0) == []
