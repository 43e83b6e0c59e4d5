"""Inputs that broke readers once, and a short walk over new ones: each is taken, or refused by an error that names its file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.fuzz import Worker, hunt, mutated

CORPUS = Path(__file__).parent / "corpus"
INPUTS = sorted(path for path in CORPUS.glob("*/*"))
SECONDS = 60.0
"""Of new inputs in the fast tests; `make verify` takes many more."""

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


def test_mutations_change_something() -> None:
    draw, data = random.Random(1), b"vp: 6000\nvs: 3464\n"
    assert len({mutated(data, Path("none"), draw) for _ in range(50)}) > 40


def test_new_inputs() -> None:
    from tools.fuzz_readers import READERS

    assert hunt(list(READERS), SECONDS, seed=20, keep=None) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_new_inputs(seed: int, tmp_path: Path) -> None:
    from tools.fuzz_readers import READERS

    assert hunt(list(READERS), 300.0, seed=seed, keep=tmp_path) == []
