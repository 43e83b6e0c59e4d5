"""Checkpoints on disk: a folder each, whole or not at all, checksummed; the last ones are kept.

``FOLDER/PREFIX-checkpoints/000007`` holds ``part-000000.h5``, one for each process that wrote, and ``index.json`` with
their checksums and its own. It is written under a hidden name and renamed once every byte is on the disk, so a
checkpoint that is there by name is whole unless the disk damaged it, which the checksums find. The index also says
between which numbers the items of every part lie, so that who wants some of them need not read all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.log import get_logger
from faultwave.comm import World
from faultwave.output.atomic import atomic_text, explaining
from faultwave.output.hdf5 import whole_hdf5
from faultwave.output.manifest import hash_file, plain

VERSION = 1
KEEP = 2
INDEX = "index.json"


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was found whole: its folder, what the run noted (``notes``), names of its parts, and the least and the
    largest number of each kind of item in each (``spans``)."""

    folder: Path
    notes: dict[str, Any]
    parts: tuple[str, ...]
    spans: tuple[dict[str, tuple[int, int]], ...]

    @property
    def number(self) -> int:
        """Its place among the checkpoints of the run."""
        return int(self.folder.name)

    def part(self, number: int) -> dict[str, np.ndarray]:
        """Every array of one part, by name."""
        with self.opened(number) as part:
            return {name: dataset[()] for name, dataset in part.items()}

    @contextmanager
    def opened(self, number: int) -> Iterator[dict[str, h5py.Dataset]]:
        """The arrays of one part, by name, to read rows of."""
        found: dict[str, h5py.Dataset] = {}

        def take(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                found[name] = item

        with h5py.File(self.folder / self.parts[number], "r") as file:
            file.visititems(take)
            yield found


def checkpoints_folder(folder: str | Path, prefix: str) -> Path:
    """Where the checkpoints of a run lie."""
    return Path(folder) / f"{prefix}-checkpoints"


class CheckpointWriter:
    """Writes checkpoints into ``folder``; the number goes on from those that are there. ``after``: the one this run goes on
    from; what is newer was passed over because it is damaged, and makes room for the first that is written."""

    def __init__(self, folder: Path, keep: int = KEEP, after: int = 0):
        self.folder, self.keep = folder, keep
        there = _numbers(folder)
        self.passed = [n for n in there if after and n > after]
        self.number = max(there, default=0) + 1

    def target(self) -> Path:
        """The hidden folder of the next checkpoint."""
        return self.folder / f".{self.number:06d}.partial"

    def begin(self) -> None:
        """Make the folder for the parts of the next checkpoint."""
        with explaining(self.folder):
            shutil.rmtree(self.target(), ignore_errors=True)
            self.target().mkdir(parents=True)

    @staticmethod
    def write_part(target: Path, number: int, arrays: Mapping[str, np.ndarray]) -> tuple[str, str]:
        """Write one process's arrays; returns the file's name and checksum."""
        name = f"part-{number:06d}.h5"
        with whole_hdf5(target / name) as file:
            for key, values in arrays.items():
                file[key] = values
        return name, hash_file(target / name)

    def commit(
        self, notes: Mapping[str, Any], parts: Mapping[str, str], spans: Sequence[Mapping[str, tuple[int, int]]] = ()
    ) -> Path:
        """Give the finished checkpoint its name and remove the oldest ones. ``parts``: name -> checksum; ``spans`` as in
        ``Checkpoint``."""
        target = self.target()
        index: dict[str, Any] = {
            "checkpoint": VERSION,
            "parts": dict(parts),
            "spans": plain(list(spans)),
            "notes": plain(dict(notes)),
        }
        with atomic_text(target / INDEX) as file:
            json.dump(index | {"checksum": _digest(index)}, file, indent=1, allow_nan=False)
        final = self.folder / f"{self.number:06d}"
        with explaining(final):
            _sync(target)
            os.replace(target, final)
            _sync(self.folder)
        self.number += 1
        whole = [n for n in _numbers(self.folder) if n not in self.passed]
        for old in [*self.passed, *whole[: -self.keep]]:
            shutil.rmtree(self.folder / f"{old:06d}", ignore_errors=True)
        self.passed = []
        return final

    def drop(self) -> None:
        """Forget an unfinished checkpoint."""
        shutil.rmtree(self.target(), ignore_errors=True)


def latest(folder: Path, world: World | None = None) -> Checkpoint:
    """The newest checkpoint that is whole, which all processes look for; damaged ones are told and passed over. InputError
    where there is none."""
    world, damaged = world or World(), 0
    for number in world.share(sorted(_numbers(folder), reverse=True)):
        try:
            return read(folder / f"{number:06d}", world)
        except InputError as error:
            damaged += 1
            get_logger(__name__).warning("%s; an older checkpoint is looked for", error)
    what = f"none of its {damaged} checkpoints is whole" if damaged else "there is no checkpoint"
    advice = "Write some with --checkpoint-every, or start the case anew with 'faultwave run'."
    raise InputError(Problem(str(folder), what, advice=advice))


def read(folder: Path, world: World | None = None) -> Checkpoint:
    """Check one checkpoint to the last byte, every process some of its parts. Raises InputError saying what is wrong with it."""
    world = world or World()
    index = world.share(world.together(lambda: _index(folder)))

    def check() -> None:
        for name in list(index["parts"])[world.rank :: world.size]:
            if hash_file(folder / name) != index["parts"][name]:
                raise InputError(Problem(str(folder / name), "is damaged: its checksum does not match"))

    world.agree(check)
    spans = tuple({group: (low, high) for group, (low, high) in part.items()} for part in index.get("spans", ()))
    return Checkpoint(folder, index["notes"], tuple(index["parts"]), spans)


def _index(folder: Path) -> dict[str, Any]:
    """The index of a checkpoint. Raises InputError where it is damaged."""
    try:
        index: dict[str, Any] = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        checksum = index.pop("checksum")
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise InputError(Problem(str(folder / INDEX), f"is damaged: {error}")) from None
    if checksum != _digest(index):
        raise InputError(Problem(str(folder / INDEX), "is damaged: its checksum does not match"))
    if index["checkpoint"] != VERSION:
        raise InputError(Problem(str(folder), f"is a checkpoint of version {index['checkpoint']}", f"{VERSION}"))
    return index


def remove_all(folder: Path) -> None:
    """Remove the checkpoints of an earlier run that is being replaced."""
    for number in _numbers(folder):
        shutil.rmtree(folder / f"{number:06d}", ignore_errors=True)


def _numbers(folder: Path) -> list[int]:
    return sorted(int(p.name) for p in folder.glob("[0-9]*") if p.name.isdigit()) if folder.is_dir() else []


def _digest(index: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(index, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _sync(folder: Path) -> None:
    """Bring a folder's entries to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
