"""Run manifest: a JSON file with the case, versions, machine, inputs with checksums, timings and outputs of a run.

A file of one piece has the checksum that ``sha256sum`` prints. Each piece of a larger file is hashed separately, and the checksum of the
file is computed from the concatenated piece checksums (a two-level hash tree), so that many processes share the reading.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import math
import os
import platform
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.digests import hash_file
from faultwave.base.processes import host
from faultwave.base.types import Settings
from faultwave.comm import World
from faultwave.output.atomic import atomic_text

VERSION = 1
_KINDS = {"case": dict, "versions": dict, "machine": dict, "inputs": dict, "timings_s": dict, "rates": dict, "outputs": list,
          "status": str}  # fmt: skip
"""Types of the entries of a manifest, by name."""
_PACKAGES = ("numpy", "scipy", "h5py", "pydantic", "mpi4py", "gmsh")


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Faultwave, Python and the installed packages that results depend on."""
    from faultwave.base.version import __version__

    found = {"faultwave": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            about = importlib.metadata.distribution(package).read_text("METADATA") or ""
        except importlib.metadata.PackageNotFoundError:
            continue
        said = re.search(r"^Version:\s*(\S+)", about, re.MULTILINE)  # parsing all metadata takes ten times as long
        if said:
            found[package] = said[1]
    return found


def digest(settings: Mapping[str, object]) -> str:
    """Return the SHA-256 of settings as JSON with sorted keys, used to recognise runs of the same case."""
    text = json.dumps(plain(settings), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def checkout() -> Settings | None:
    """Return the commit of the Git checkout that contains this package and whether the package has local changes.

    The result is None for an installed package and if Git does not answer.
    """
    package = Path(__file__).resolve().parents[1]
    root = next((p for p in package.parents if (p / ".git").exists()), None)
    if root is None or not (root / "pyproject.toml").is_file():
        return None
    commit = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=normal", "--", str(package))
    if commit is None or changed is None or _git(root, "ls-files", "--", str(package / "__init__.py")) == "":
        return None
    return {"commit": commit, "dirty": bool(changed)}


def _git(root: Path, *words: str) -> str | None:
    """Return the output of a Git command, or None if Git is absent, fails or takes longer than 10 s."""
    command = ["git", "--no-optional-locks", "-C", str(root), "-c", "core.fsmonitor=false", *words]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=10, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def machine() -> Settings:
    """Return processor model, number of usable cores, memory [bytes] and operating system."""
    return {
        "cpu": _cpu_model(),
        "cores": host.core_count(),
        "memory_bytes": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
    }


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.lower().startswith(("model name", "cpu model")):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def build_manifest(
    case: Mapping[str, object],
    inputs: Iterable[str | Path] | Mapping[str, Mapping[str, object]] = (),
    *,
    status: Literal["running", "finished", "interrupted", "failed"] = "finished",
    timings: Mapping[str, float] | None = None,
    rates: Mapping[str, float] | None = None,
    outputs: Iterable[str | Path] = (),
    started: datetime | None = None,
    extra: Mapping[str, object] | None = None,
) -> Settings:
    """Return the contents of a manifest.

    A manifest written with status 'running' when the first output is opened also marks the folder as in use.

    Parameters
    ----------
    case : mapping
        Settings of the case.
    inputs : iterable of paths, or mapping
        Input files, which are hashed now, or the known properties of each.
    status : str
        State of the run.
    timings : mapping, optional
        Times [s] by name.
    rates : mapping, optional
        Rates by name; the name includes the unit.
    outputs : iterable of paths
        Output files.
    started : datetime, optional
        Start of the run, by default now.
    extra : mapping, optional
        Further entries.

    Raises
    ------
    InputError
        If an input file cannot be read.
    """
    now = datetime.now(UTC)
    if not isinstance(inputs, Mapping):
        inputs = {path: {"sha256": hash_file(path)} for path in dict.fromkeys(map(str, inputs))}
    return {
        "manifest": VERSION,
        "status": status,
        "started": (started or now).isoformat(timespec="seconds"),
        "written": now.isoformat(timespec="seconds"),
        "command": sys.argv,
        "versions": versions(),
        "checkout": checkout(),
        "machine": machine(),
        "inputs": dict(inputs),
        "timings_s": dict(timings or {}),
        "rates": dict(rates or {}),
        "outputs": sorted({Path(path).name for path in outputs}),
        **(extra or {}),
        "case_sha256": digest(case),
        "case": dict(case),
    }


def write_manifest(path: str | Path, manifest: Mapping[str, object]) -> Path:
    """Write a manifest atomically; paths, NumPy numbers and non-finite floats become plain JSON."""
    path = Path(path)
    with atomic_text(path) as file:
        json.dump(plain(manifest), file, indent=1, allow_nan=False)
        file.write("\n")
    return path


def read_manifest(path: str | Path) -> Settings:
    """Return the contents of a manifest, or raise InputError if the file is not a manifest."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from error
    except (ValueError, RecursionError) as error:
        raise InputError(Problem(str(path), f"is not JSON: {error}")) from error
    if not isinstance(content, dict) or "manifest" not in content:
        raise InputError(Problem(str(path), "is not a run manifest", "PREFIX-manifest.json of a run"))
    wrong = [name for name, kind in _KINDS.items() if name in content and not isinstance(content[name], kind)]
    if wrong:
        raise InputError(Problem(str(path), f"is not a valid run manifest: wrong type of {', '.join(wrong)}"))
    return content


def plain(value: object) -> Any:
    """Convert a value to plain JSON types."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no infinity; parameter files use it for 'never'
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def given(settings: object) -> Any:
    """Return the settings of a case without those that are None."""
    if isinstance(settings, dict):
        return {name: given(value) for name, value in settings.items() if value is not None}
    return [given(value) for value in settings] if isinstance(settings, list) else settings


PIECE = 1 << 30
"""Size of a piece [bytes]."""

BLOCK = 1 << 20
"""Size of a block read at once [bytes]."""


class Digests:
    """Checksums of files, computed collectively by all processes.

    The first process lists the files. A file that cannot be read is reported in the result and does not stop the run.
    """

    def __init__(self, world: World, paths: Iterable[Path]):
        self.world = world
        self.sizes: dict[Path, int] = world.broadcast({p: p.stat().st_size for p in paths} if world.first else None)
        pieces = [(path, start) for path, size in self.sizes.items() for start in range(0, max(size, 1), PIECE)]
        self._mine = pieces[world.rank :: world.size]
        self._found: list[tuple[Path, int, bytes | str]] = []
        self._content: dict[str, Settings] | None = None
        self._thread = threading.Thread(target=self._work, name="faultwave-digests", daemon=True)
        if self._mine:
            self._thread.start()

    def _work(self) -> None:
        host.use_all_cores()
        for path, start in self._mine:
            try:
                self._found.append((path, start, _digest(path, start)))
            except OSError as error:
                self._found.append((path, start, error.strerror or str(error)))

    def before(self) -> dict[str, Settings]:
        """Return the size [bytes] of each file, available before any checksum."""
        return {str(path): {"bytes": size} for path, size in self.sizes.items()}

    def found(self) -> dict[str, Settings]:
        """Return sizes and hexadecimal checksums on the first process; wait until they are complete.

        Collective: all processes must call it.
        """
        if self._content is None:
            self._content = self._gathered()
        return self._content

    def _gathered(self) -> dict[str, Settings]:
        if self._mine:
            self._thread.join()
        reported = self.world.gather(self._found)
        found = self.before()
        parts = sorted((str(path), start, part) for each in reported or [] for path, start, part in each)
        for path, entry in found.items():
            mine = [part for name, _, part in parts if name == path]
            wrong = [part for part in mine if isinstance(part, str)]
            if wrong:
                entry["unreadable"] = wrong[0]
            elif len(mine) == 1:
                entry["sha256"] = mine[0].hex()
            else:
                entry[f"sha256_of_pieces_of_{PIECE}_bytes"] = hashlib.sha256(b"".join(mine)).hexdigest()
        return found


def _digest(path: Path, start: int) -> bytes:
    """Return the SHA-256 of the piece of a file that begins at ``start``."""
    made, left = hashlib.sha256(), PIECE
    with open(path, "rb") as file:
        file.seek(start)
        while left and (block := file.read(min(BLOCK, left))):
            made.update(block)
            left -= len(block)
    return made.digest()
