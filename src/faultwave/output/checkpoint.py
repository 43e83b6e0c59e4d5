"""Atomic, checksummed checkpoints on disk, one folder each, of which the newest ones are retained.

``FOLDER/PREFIX-checkpoints/000007`` holds ``part-000000.h5``, one for each process that wrote, and ``index.json`` with
their checksums and its own. It is written under a hidden name and renamed once every byte is on the disk, so a
checkpoint with its final name is complete unless the disk damaged it, which the checksums detect. The index also stores
the range of item numbers of every part, so that a reader of some items can skip the other parts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.digests import hash_file
from faultwave.base.files.hdf5 import BROKEN, check_size_of_dataset, naming_file_errors
from faultwave.base.files.probe import probe
from faultwave.base.log import get_logger
from faultwave.base.types import Record, Settings
from faultwave.base.wording import command, option
from faultwave.comm import World
from faultwave.output.atomic import atomic_text, translate_os_errors
from faultwave.output.field_files.hdf5 import atomic_hdf5
from faultwave.output.manifest import plain

VERSION = 1
KEEP = 2
INDEX = "index.json"


DAMAGED = "Remove it to continue from an older checkpoint, or start the case again."
_PART = re.compile(r"part-[0-9]{6,9}\.h5")
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class Form:
    """Required shape and number type of one array of a checkpoint.

    Attributes
    ----------
    shape : tuple
        Required lengths; None accepts any length, and a name stands for a length common to all arrays of the part that use it.
    kinds : str
        Accepted kinds of ``numpy.dtype.kind``, one letter each.
    needed : bool
        True if the array must be present.
    """

    shape: tuple[int | str | None, ...]
    kinds: str = "f"
    needed: bool = True


class StoredValues(dict[str, Any]):
    """Dictionary of a checkpoint's contents that raises an InputError naming the file when a key is missing."""

    def __init__(self, values: Record, where: str):
        super().__init__(values)
        self.where = where

    def __missing__(self, name: str) -> Any:
        raise InputError(Problem(self.where, f"has no entry '{name}'", advice=DAMAGED))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (dict(self), self.where)


@dataclass(frozen=True)
class Checkpoint:
    """Verified checkpoint of a run.

    A run that resumes from it calls ``require`` before it reads anything, and reads inside ``reading``.

    Attributes
    ----------
    folder : Path
        Folder of the checkpoint.
    notes : StoredValues
        Scalars and settings that the run stored in the index.
    parts : tuple of str
        File names of the parts, one for each process that wrote.
    spans : tuple of dict
        Smallest and largest number of each kind of item in each part; may be empty.
    """

    folder: Path
    notes: StoredValues
    parts: tuple[str, ...]
    spans: tuple[dict[str, tuple[int, int]], ...]

    @property
    def number(self) -> int:
        """Number of the checkpoint within the run, the name of its folder."""
        return int(self.folder.name)

    def part(self, number: int) -> dict[str, np.ndarray]:
        """Return all arrays of one part, by name."""
        with self.opened(number) as part:
            return StoredValues(
                {name: dataset[()] for name, dataset in part.items()}, str(self.folder / self.parts[number])
            )

    def require(self, notes: Mapping[str, type | tuple[type, ...]], arrays: Mapping[str, Form]) -> None:
        """Check that the checkpoint holds the required notes and arrays.

        Only the metadata of the files is read; no array is loaded.

        Parameters
        ----------
        notes : mapping of str to type
            Accepted types of each required note; floating-point notes must also be finite.
        arrays : mapping of str to Form
            Required form of each array, in every part.

        Raises
        ------
        InputError
            If anything is missing or has another form; lists all problems.
        """
        problems = Problems()
        for name, kinds in notes.items():
            value = self.notes.get(name)
            if name not in self.notes:
                problems.error(str(self.folder / INDEX), f"has no entry '{name}'", advice=DAMAGED)
            elif not isinstance(value, kinds) or (isinstance(value, float) and not math.isfinite(value)):
                problems.error(str(self.folder / INDEX), f"contains '{name}' = {value!r:.60}", advice=DAMAGED)
        for number, part in enumerate(self.parts if arrays else ()):
            with self.opened(number) as found:
                _compare(str(self.folder / part), found, arrays, problems)
        problems.raise_errors()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Convert errors of the block, raised when the stored data do not fit this run, into an InputError."""
        try:
            yield
        except BROKEN as error:
            what = f"does not fit this run ({type(error).__name__}: {' '.join(str(error).split())})"
            raise InputError(Problem(str(self.folder), what, advice=DAMAGED)) from error

    @contextmanager
    def opened(self, number: int) -> Iterator[dict[str, h5py.Dataset]]:
        """Open one part and yield its datasets by name, so that single rows can be read.

        Raises
        ------
        InputError
            If a dataset does not hold numbers or names, or claims to be larger than the file can hold.
        """
        path = self.folder / self.parts[number]
        found = StoredValues({}, str(path))

        def take(name: str, item: object) -> None:
            if isinstance(item, h5py.Dataset):
                if item.shape is None or item.dtype.kind not in "fiubS":
                    raise InputError(
                        Problem(
                            f"{path}:/{name}", f"holds {item.dtype}, not an array of numbers or names", advice=DAMAGED
                        )
                    )
                found[name] = check_size_of_dataset(path, item)

        with naming_file_errors(path, "part of a checkpoint"):
            file = h5py.File(path, "r")
        with file:
            with naming_file_errors(path, "part of a checkpoint"):
                file.visititems(take)
            yield found


def checkpoints_folder(folder: str | Path, prefix: str) -> Path:
    """Return the folder of the checkpoints of a run."""
    return Path(folder) / f"{prefix}-checkpoints"


class CheckpointWriter:
    """Writer of the numbered checkpoints of a run.

    Numbering continues after the checkpoints already in the folder.

    Parameters
    ----------
    folder : Path
        Folder of all checkpoints of the run.
    keep : int
        Number of newest checkpoints to retain.
    after : int
        Number of the checkpoint from which this run resumed, 0 if none. Newer ones were skipped because they are damaged;
        they are removed when the first new checkpoint is complete.
    """

    def __init__(self, folder: Path, keep: int = KEEP, after: int = 0):
        self.folder, self.keep = folder, keep
        there = _numbers(folder)
        self.passed = [n for n in there if after and n > after]
        self.number = max(there, default=0) + 1

    def target(self) -> Path:
        """Return the hidden folder in which the next checkpoint is written."""
        return _hidden(self.folder, self.number)

    def begin(self) -> None:
        """Create the folder for the parts of the next checkpoint and remove the remains of unfinished ones."""
        with translate_os_errors(self.folder):
            _remove_hidden(self.folder)
            self.target().mkdir(parents=True)

    @staticmethod
    def write_part(target: Path, number: int, arrays: Mapping[str, np.ndarray]) -> tuple[str, str]:
        """Write the arrays of one process and return the name and the checksum of the file."""
        name = f"part-{number:06d}.h5"
        with atomic_hdf5(target / name) as file:
            for key, values in arrays.items():
                file[key] = values
        return name, hash_file(target / name)

    def commit(
        self, notes: Record, parts: Mapping[str, str], spans: Sequence[Mapping[str, tuple[int, int]]] = ()
    ) -> Path:
        """Write the index, rename the finished checkpoint to its final name and remove the oldest ones.

        Parameters
        ----------
        notes : mapping
            Scalars and settings to store in the index.
        parts : mapping of str to str
            Checksum of each part, by file name.
        spans : sequence of mapping
            Ranges of item numbers of each part, as in ``Checkpoint``.

        Returns
        -------
        Path
            Final folder of the checkpoint.
        """
        target = self.target()
        index: Settings = {
            "checkpoint": VERSION,
            "parts": dict(parts),
            "spans": plain(list(spans)),
            "notes": plain(dict(notes)),
        }
        with atomic_text(target / INDEX) as file:
            json.dump(index | {"checksum": _digest(index)}, file, indent=1, allow_nan=False)
        final = self.folder / f"{self.number:06d}"
        with translate_os_errors(final):
            _sync(target)
            os.replace(target, final)
            _sync(self.folder)
        self.number += 1
        whole = [n for n in _numbers(self.folder) if n not in self.passed]
        for old in [*self.passed, *whole[: -self.keep]]:
            _remove(self.folder, old)
        self.passed = []
        return final

    def drop(self) -> None:
        """Remove the unfinished checkpoint from the disk."""
        shutil.rmtree(self.target(), ignore_errors=True)


def latest(folder: Path, world: World | None = None) -> Checkpoint:
    """Return the newest undamaged checkpoint; all processes must call this together.

    Damaged checkpoints are skipped with a warning.

    Raises
    ------
    InputError
        If the folder holds no undamaged checkpoint.
    """
    world, damaged = world or World(), 0
    for number in world.broadcast(sorted(_numbers(folder), reverse=True)):
        try:
            return read(folder / f"{number:06d}", world)
        except InputError as error:
            damaged += 1
            get_logger(__name__).warning("%s; searching for an older checkpoint", error)
    what = f"none of its {damaged} checkpoints is complete" if damaged else "there is no checkpoint"
    advice = f"Write checkpoints with {option('checkpoint_every')}, or start the case again with '{command('run')}'."
    raise InputError(Problem(str(folder), what, advice=advice))


def read(folder: Path, world: World | None = None) -> Checkpoint:
    """Verify the checksums of one checkpoint and return it; the processes share the parts among them.

    Raises
    ------
    InputError
        If the index or a part is damaged or missing.
    """
    world = world or World()
    index = world.broadcast(world.together(lambda: _index(folder)))

    def check() -> None:
        for name in list(index["parts"])[world.rank :: world.size]:
            if hash_file(folder / name) != index["parts"][name]:
                raise InputError(Problem(str(folder / name), "is damaged: its checksum does not match"))
            probe(folder / name, "part of a checkpoint")

    world.agree(check)
    spans = tuple({group: (low, high) for group, (low, high) in part.items()} for part in index["spans"])
    return Checkpoint(folder, StoredValues(index["notes"], str(folder / INDEX)), tuple(index["parts"]), spans)


def _compare(where: str, found: Mapping[str, h5py.Dataset], arrays: Mapping[str, Form], problems: Problems) -> None:
    """Add to ``problems`` every array of a part that is missing or has another form than required."""
    lengths: dict[str, int] = {}
    for name, form in arrays.items():
        if name not in found:
            if form.needed:
                problems.error(where, f"has no '{name}'", advice=DAMAGED)
            continue
        shape, kind = found[name].shape, found[name].dtype
        fits = len(shape) == len(form.shape) and kind.kind in form.kinds
        for given, length in zip(shape, form.shape, strict=False):
            if isinstance(length, str):
                fits &= lengths.setdefault(length, given) == given
            elif length is not None:
                fits &= given == length
        if not fits:
            wanted = " x ".join(
                "n" if n is None else str(lengths.get(n, n) if isinstance(n, str) else n) for n in form.shape
            )
            problems.error(f"{where}:/{name}", f"holds {kind} of shape {shape}", wanted or "one number", DAMAGED)


def _index(folder: Path) -> Settings:
    """Read and verify the index of a checkpoint; raise an InputError if it is damaged or of another version."""
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        if not isinstance(index, dict):
            raise ValueError("it is not a set of names and values")
        sound = index.pop("checksum", "") == _digest(index)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(Problem(str(folder / INDEX), f"is damaged: {error}")) from None
    if not sound:
        raise InputError(Problem(str(folder / INDEX), "is damaged: its checksum does not match"))
    if index.get("checkpoint") != VERSION:
        what = f"was written by another version of Faultwave, in checkpoint format {index.get('checkpoint')}"
        advice = f"Resume with that version, or start the case again with '{command('run')}'."
        raise InputError(Problem(str(folder), what, f"format {VERSION}", advice))
    index.setdefault("spans", [])
    wrong = [name for name, good in _validate_index(index).items() if not good]
    if wrong:
        raise InputError(Problem(str(folder / INDEX), f"is damaged: {', '.join(wrong)} cannot be understood"))
    return index


def _validate_index(index: Record) -> dict[str, bool]:
    """Return, for each entry of an index, True if it has the format that ``commit`` writes.

    Parts must be plain file names within the folder of the checkpoint.
    """
    parts, notes, spans = index.get("parts"), index.get("notes"), index["spans"]
    time = notes.get("time", 0.0) if isinstance(notes, dict) else None
    return {
        "parts": isinstance(parts, dict)
        and bool(parts)
        and all(_PART.fullmatch(name) and isinstance(checksum, str) for name, checksum in parts.items()),
        "notes": isinstance(notes, dict) and isinstance(notes.get("case", {}), dict),
        "time": isinstance(time, int | float) and not isinstance(time, bool) and math.isfinite(time),
        "spans": isinstance(spans, list)
        and (not spans or (isinstance(parts, dict) and len(spans) == len(parts)))
        and all(isinstance(part, dict) and all(_is_span(span) for span in part.values()) for part in spans),
    }


def _is_span(span: object) -> bool:
    return isinstance(span, list) and len(span) == 2 and all(type(n) is int and abs(n) < 2**63 for n in span)


def remove_all(folder: Path) -> None:
    """Remove the checkpoints of an earlier run that is being replaced."""
    for number in _numbers(folder):
        _remove(folder, number)
    _remove_hidden(folder)


def has_checkpoints(folder: Path) -> bool:
    """Return True if the folder holds checkpoints, damaged or not."""
    return bool(_numbers(folder))


def _hidden(folder: Path, number: int) -> Path:
    """Return the hidden folder of a checkpoint that is incomplete."""
    return folder / f".{number:06d}.partial"


def _remove(folder: Path, number: int) -> None:
    """Rename a checkpoint to its hidden name, then delete it, so that an interruption leaves none that looks complete."""
    shutil.rmtree(_hidden(folder, number), ignore_errors=True)
    with contextlib.suppress(OSError):
        os.replace(folder / f"{number:06d}", _hidden(folder, number))
    shutil.rmtree(_hidden(folder, number), ignore_errors=True)


def _remove_hidden(folder: Path) -> None:
    for left in folder.glob(".*.partial"):
        shutil.rmtree(left, ignore_errors=True)


def _numbers(folder: Path) -> list[int]:
    return sorted(int(p.name) for p in folder.iterdir() if _NUMBER.fullmatch(p.name)) if folder.is_dir() else []


def _digest(index: Record) -> str:
    return hashlib.sha256(json.dumps(index, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _sync(folder: Path) -> None:
    """Flush the directory entries of a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
