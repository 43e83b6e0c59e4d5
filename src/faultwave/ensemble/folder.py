"""Folder of an ensemble: the record and the results of every member, each written once and completely.

The files are ``ensemble.json`` (identity of the study), ``members/000/00017.json`` (record of a member: status, reason, digest, time),
``members/000/00017.npz`` (its results, until they are in the store), ``runs/00017`` (its complete output, if requested), ``ensemble.nc``
(the store), ``statistics.nc`` (statistics of the maps) and ``members.csv`` (parameters, status and scalar results).
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Literal

import numpy as np

from faultwave.base.errors import RunError
from faultwave.base.types import Settings
from faultwave.ensemble.identity import unchanged
from faultwave.observe.dataset import Dataset, Variable
from faultwave.output.atomic import atomic_path, atomic_text, remove, remove_partial, translate_os_errors
from faultwave.output.manifest import digest

Status = Literal["done", "failed"]
Kind = Literal["", "input", "run", "time limit", "killed", "error"]
STORE, STATISTICS, TABLE, IDENTITY = "ensemble.nc", "statistics.nc", "members.csv", "ensemble.json"
SUBMITTED = "submitted.json"
PATIENCE = 1.0
"""Time within which the claim of a member succeeds if no other process computes it [s]."""
EACH = 1000
"""Number of members in a folder."""


@dataclass(frozen=True)
class Record:
    """Record of a finished member.

    Attributes
    ----------
    member : int
        Number of the member.
    digest : str
        Identity of its case.
    status : {'done', 'failed'}
        Status.
    kind : str
        Kind of a failure.
    reason : str
        Reason of a failure.
    seconds : float
        Wall-clock time [s].
    finished : float
        End, seconds since 1970.
    limit : float or None
        Time limit [s] that ended it.
    files : tuple of (str, str)
        Files that the run read, with their SHA-256.
    scalars : dict of str to float
        Scalar results.
    """

    member: int
    digest: str
    status: Status
    kind: Kind = ""
    reason: str = ""
    seconds: float = 0.0
    finished: float = 0.0
    limit: float | None = None
    files: tuple[tuple[str, str], ...] = ()
    scalars: dict[str, float] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Digest of the case and of all files that the run read, by name and contents: two results of a version are equal."""
        return digest({"case": self.digest, "files": sorted((Path(path).name, found) for path, found in self.files)})


class EnsembleFolder:
    """Folder of an ensemble at ``path``."""

    def __init__(self, path: str | Path):
        self.path = Path(path).absolute()

    def _file(self, member: int, suffix: str) -> Path:
        return self.path / "members" / f"{member // EACH:03d}" / f"{member:05d}{suffix}"

    @property
    def store(self) -> Path:
        """Path of the store."""
        return self.path / STORE

    def run_folder(self, member: int) -> Path:
        """Return the folder of the complete output of a member."""
        return self.path / "runs" / f"{member:05d}"

    def results_file(self, member: int) -> Path:
        """Return the file of a member's results."""
        return self._file(member, ".npz")

    # ---- records ------------------------------------------------------------------------------------------------------

    def write(self, record: Record, results: Dataset | None = None) -> None:
        """Write the results of a member, then its record. Raises RunError on a full disk."""
        path = self._file(record.member, ".json")
        with translate_os_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        if results is not None:
            write_results_file(self.results_file(record.member), results, record.version)
        with atomic_text(path) as file:
            json.dump(asdict(record), file)

    def record(self, member: int) -> Record | None:
        """Return the record of a member, None if it is missing or damaged."""
        return _read_record(self._file(member, ".json"))

    def records(self) -> Iterator[Record]:
        """Yield all records in the order of the members."""
        for path in sorted(self.path.glob("members/*/*.json")):
            found = _read_record(path)
            if found is not None:
                yield found

    def forget(self, member: int) -> None:
        """Remove record and results of a member."""
        remove(self._file(member, ".json"), self.results_file(member))

    def results(self, record: Record) -> Dataset | None:
        """Return the results of a record that are not yet in the store, None if there are none or they are damaged.

        Raises
        ------
        RunError
            If the file exists and cannot be read.
        """
        return read_results_file(self.results_file(record.member), record.version)

    def about(self) -> Dataset | None:
        """Return the results of any member, for units and places of statistics, None if there are none."""
        return read_results_file(self.path / "places.npz")

    def write_about(self, results: Dataset) -> None:
        """Write the results of a member for ``about``."""
        write_results_file(self.path / "places.npz", results)

    def is_current(self, record: Record | None, digest: str, stored: dict[int, str]) -> bool:
        """Return True if a member's record belongs to its present case and files, and its results exist.

        ``stored`` has the versions of the members in the store or in the statistics.
        """
        if record is None or record.digest != digest or not unchanged(record.files):
            return False
        return (
            record.status == "failed"
            or self.results_file(record.member).is_file()
            or stored.get(record.member) == record.version
        )

    # ---- job arrays ---------------------------------------------------------------------------------------------------

    def write_submitted(self, members: Sequence[int]) -> None:
        """Write the members that are distributed among the jobs of an array."""
        with atomic_text(self.path / SUBMITTED) as file:
            json.dump(list(members), file)

    def submitted(self, count: int) -> list[int]:
        """Return the members that are distributed among the jobs of an array, all ``count`` ones if none were written."""
        path = self.path / SUBMITTED
        return [int(m) for m in json.loads(path.read_text(encoding="utf-8"))] if path.is_file() else list(range(count))

    # ---- running members ----------------------------------------------------------------------------------------------

    @contextmanager
    def claim(self, member: int) -> Iterator[bool]:
        """Claim a member for this process; yield False if another process is computing it.

        The claim of a process that ends is void.
        """
        path = self._file(member, ".running")
        with translate_os_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("a+")
        try:
            if not _lock_soon(file):
                yield False
                return
            with suppress(OSError):
                os.ftruncate(file.fileno(), 0)
                os.write(file.fileno(), f"{os.getpid()} on {platform.node()} since {time.time():.0f}".encode())
            remove_partial(path.parent, f"{path.stem}.*")
            try:
                yield True
            finally:
                remove(path)
        finally:
            file.close()

    def running(self) -> list[int]:
        """Return the members that are being computed now, by any process."""
        found = []
        for path in sorted(self.path.glob("members/*/*.running")):
            try:
                with path.open("r+") as file:
                    if not _lock(file):
                        found.append(int(path.stem))
            except (OSError, ValueError):  # finished in the meantime
                continue
        return found

    # ---- identity -----------------------------------------------------------------------------------------------------

    def identity(self) -> Settings:
        """Return the contents of ``ensemble.json``, {} if it is missing or damaged."""
        try:
            found = json.loads((self.path / IDENTITY).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write_identity(self, contents: Settings) -> None:
        """Write ``ensemble.json``."""
        with atomic_text(self.path / IDENTITY) as file:
            json.dump(contents, file, indent=1)


def _lock(file: IO[str]) -> bool:
    """Lock a file against other processes; True also on file systems without locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _lock_soon(file: IO[str]) -> bool:
    """Lock a file; retry for a second, because queries of the status lock it for an instant."""
    end = time.monotonic() + PATIENCE
    while not _lock(file):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def _read_record(path: Path) -> Record | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Record(**{**found, "files": tuple((str(a), str(b)) for a, b in found["files"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_results_file(path: Path, results: Dataset, version: str = "") -> None:
    """Write a Dataset as an npz file with dimensions, units and descriptions, and the version of its record."""
    about = {n: [v.dims, v.unit, v.description] for n, v in results.variables.items()}
    header = np.frombuffer(
        json.dumps({"variables": about, "attrs": results.attrs, "version": version}).encode(), np.uint8
    )
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, header, *(v.data for v in results.variables.values()))


def read_results_file(path: Path, version: str = "") -> Dataset | None:
    """Return the Dataset of an npz file, None if it does not exist, is damaged or belongs to another version.

    Raises
    ------
    RunError
        If the file exists and cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(file["arr_0"].tobytes())
            if header.get("version", "") != version:
                return None
            variables = {
                name: Variable(file[f"arr_{number}"], tuple(dims), unit, text)
                for number, (name, (dims, unit, text)) in enumerate(header["variables"].items(), 1)
            }
        return Dataset("member", variables, header["attrs"])
    except FileNotFoundError:
        return None
    except (OSError, MemoryError) as error:  # it may be readable again
        raise RunError(f"{path} cannot be read: {error}") from None
    except Exception:  # zip files raise many kinds of errors when they are damaged
        return None
