"""Checkpoints on disk: a folder each, whole or not at all, checksummed; the last ones are kept.

``FOLDER/PREFIX-checkpoints/000007`` holds ``part-000000.h5``, one for each process that wrote, and ``index.json`` with
their checksums and its own. It is written under a hidden name and renamed once every byte is on the disk, so a
checkpoint that is there by name is whole unless the disk damaged it, which the checksums find.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.log import get_logger
from faultwave.output.atomic import atomic_text, explaining
from faultwave.output.hdf5 import whole_hdf5
from faultwave.output.manifest import hash_file, plain

VERSION = 1
KEEP = 2
INDEX = "index.json"


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was found whole: its folder, what the run noted (``notes``), names of its parts."""

    folder: Path
    notes: dict[str, Any]
    parts: tuple[str, ...]

    def part(self, number: int) -> dict[str, np.ndarray]:
        """Every array of one part, by name."""
        found: dict[str, np.ndarray] = {}

        def take(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                found[name] = item[()]

        with h5py.File(self.folder / self.parts[number], "r") as file:
            file.visititems(take)
        return found


def checkpoints_folder(folder: str | Path, prefix: str) -> Path:
    """Where the checkpoints of a run lie."""
    return Path(folder) / f"{prefix}-checkpoints"


class CheckpointWriter:
    """Writes checkpoints into ``folder``; the number goes on from those that are there."""

    def __init__(self, folder: Path, keep: int = KEEP):
        self.folder, self.keep = folder, keep
        self.number = max(_numbers(folder), default=0) + 1

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

    def commit(self, notes: Mapping[str, Any], parts: Mapping[str, str]) -> Path:
        """Give the finished checkpoint its name and remove the oldest ones. ``parts``: name -> checksum."""
        target = self.target()
        index: dict[str, Any] = {"checkpoint": VERSION, "parts": dict(parts), "notes": plain(dict(notes))}
        with atomic_text(target / INDEX) as file:
            json.dump(index | {"checksum": _digest(index)}, file, indent=1, allow_nan=False)
        final = self.folder / f"{self.number:06d}"
        with explaining(final):
            _sync(target)
            os.replace(target, final)
            _sync(self.folder)
        self.number += 1
        for old in _numbers(self.folder)[: -self.keep]:
            shutil.rmtree(self.folder / f"{old:06d}", ignore_errors=True)
        return final

    def drop(self) -> None:
        """Forget an unfinished checkpoint."""
        shutil.rmtree(self.target(), ignore_errors=True)


def latest(folder: Path) -> Checkpoint:
    """The newest checkpoint that is whole; damaged ones are told and passed over. InputError where there is none."""
    damaged: list[str] = []
    for number in reversed(_numbers(folder)):
        try:
            found = read(folder / f"{number:06d}")
        except InputError as error:
            damaged.append(str(error))
            get_logger(__name__).warning("%s; an older checkpoint is looked for", error)
            continue
        return found
    what = f"none of its {len(damaged)} checkpoints is whole" if damaged else "there is no checkpoint"
    advice = "Write some with --checkpoint-every, or start the case anew with 'faultwave run'."
    raise InputError(Problem(str(folder), what, advice=advice))


def read(folder: Path) -> Checkpoint:
    """Check one checkpoint to the last byte. Raises InputError saying what is wrong with it."""
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        checksum = index.pop("checksum")
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise InputError(Problem(str(folder / INDEX), f"is damaged: {error}")) from None
    if checksum != _digest(index):
        raise InputError(Problem(str(folder / INDEX), "is damaged: its checksum does not match"))
    if index["checkpoint"] != VERSION:
        raise InputError(Problem(str(folder), f"is a checkpoint of version {index['checkpoint']}", f"{VERSION}"))
    for name, known in index["parts"].items():
        if hash_file(folder / name) != known:
            raise InputError(Problem(str(folder / name), "is damaged: its checksum does not match"))
    return Checkpoint(folder, index["notes"], tuple(index["parts"]))


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
