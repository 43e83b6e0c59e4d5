"""Creation, locking and search of the output folder of a run."""

from __future__ import annotations

import fcntl
import json
import os
import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from faultwave.base.errors import InputError, Problem
from faultwave.base.wording import option
from faultwave.output.atomic import remove, translate_os_errors

MANIFEST = "-manifest.json"
RUNNING = ".faultwave-running"
"""Name of the lock file in the folder of a run in progress."""
RUN_FOLDER_ADVICE = "Use the folder that a run wrote: output.folder of its case."


def manifests(path: Path) -> list[Path]:
    """Return the manifests of the runs in a folder, sorted by name."""
    return sorted(path.glob(f"*{MANIFEST}")) if path.is_dir() else []


def prepare_folder(
    path: str | Path, force: bool = False, prefix: str | None = None, held: ExitStack | None = None
) -> Path:
    """Create the output folder if needed and make sure a run may write there; returns it absolute.

    A folder that already holds a run's manifest is refused unless ``force``. With ``force`` and the ``prefix`` of the
    new run, files that the manifest of that prefix lists as its outputs are removed, so that old and new results never
    mix; nothing else is ever deleted. Until ``held`` is closed no other run can take the folder. Raises InputError.
    """
    path = Path(path).absolute()
    refuse_folder(path, force)
    with translate_os_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        probe = path / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
    if held is not None:
        held.enter_context(_lock_folder(path))
    if prefix is not None:
        _remove_outputs(path, path / f"{prefix}{MANIFEST}")
    return path


def create_folder(path: Path) -> None:
    """Create a folder with its parents; failures raise the error that ``translate_os_errors`` makes of them."""
    with translate_os_errors(path):
        path.mkdir(parents=True, exist_ok=True)


def refuse_folder(path: str | Path, force: bool = False) -> None:
    """Raise InputError where ``prepare_folder`` would, as far as that is known without touching the folder."""
    path = Path(path).absolute()
    if path.exists() and not path.is_dir():
        raise InputError(
            Problem(
                str(path),
                "is a file, but a folder for output is needed",
                "a folder, which may not exist yet",
                "Choose another one with output.folder.",
            )
        )
    found = manifests(path)
    if found and not force:
        advice = f"Choose another folder, or replace its results with {option('force', True)}."
        raise InputError(Problem(str(path), f"already holds a run ({found[0].name})", advice=advice))


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder against other runs.

    The lock of a run that was killed is void. On file systems without locks the folder is not protected.
    """
    path = folder / RUNNING
    with translate_os_errors(folder):
        file = path.open("a+")
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            other = file.read(100).strip()
            what = "another run is writing there" + (f", process {other}" if other else "")
            raise InputError(Problem(str(folder), what, advice="Choose another folder, or wait for its end.")) from None
        except OSError:
            pass
        with suppress(OSError):  # a full disk is reported by the first output that needs space
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), f"{os.getpid()} on {platform.node()}".encode())
        try:
            yield
        finally:
            remove(path)
    finally:
        file.close()


def check_folder(path: str | Path) -> list[Problem]:
    """Return the problems that prevent a run from writing into a folder, without touching it.

    A run that the folder already holds is reported as a warning.
    """
    path = Path(path).absolute()
    place = path
    while not os.path.lexists(place):
        place = place.parent
    if not place.is_dir():
        what = "is a file" if place.is_file() else "is no folder"
        return [
            Problem(str(place), f"{what}, but a folder for output is needed", advice="Choose another output.folder.")
        ]
    if not os.access(place, os.W_OK | os.X_OK):
        advice = "Choose another output.folder or change its permissions."
        return [Problem(str(place), "cannot be written: permission denied", advice=advice)]
    found = manifests(path)
    if not found:
        return []
    what = f"already holds a run ({found[0].name}): a run needs {option('force', True)} to replace its results"
    return [Problem(str(path), what, severity="warning")]


def _remove_outputs(folder: Path, manifest: Path) -> None:
    if not manifest.exists():
        return
    try:
        outputs = json.loads(manifest.read_text(encoding="utf-8")).get("outputs", [])
    except (OSError, ValueError, AttributeError):
        outputs = []  # an unreadable manifest lists nothing that could be removed safely
    # only plain names: a manifest must never lead to files outside its own folder
    remove(*(folder / name for name in outputs if isinstance(name, str) and Path(name).name == name), manifest)


def _require_run_folder(folder: str | Path) -> Path:
    """Return the folder as a path; raise an InputError if it is not a folder."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(Problem(str(folder), "is not a folder with results of a run", advice=RUN_FOLDER_ADVICE))
    return folder


def find_prefix(folder: str | Path) -> str:
    """Return the prefix of the only run in a folder; raise an InputError if there is none, or several."""
    folder = _require_run_folder(folder)
    patterns = {
        f"*{MANIFEST}": MANIFEST,
        "*-energy.csv": "-energy.csv",
        "*-receivers.h5": "-receivers.h5",
        "*-fault.vtkhdf": "-fault.vtkhdf",
        "*-surface.vtkhdf": "-surface.vtkhdf",
        "*-receiver-[0-9]*.dat": "-receiver-",
        "*-faultreceiver-[0-9]*.dat": "-faultreceiver-",
    }
    prefixes = {
        file.name[: file.name.rindex(mark)]
        for pattern, mark in patterns.items()
        for file in folder.glob(pattern)
        if not file.name.startswith(".")
    }
    if not prefixes:
        raise InputError(
            Problem(
                str(folder), "contains no results of a run (manifest, receivers or energies)", advice=RUN_FOLDER_ADVICE
            )
        )
    if len(prefixes) > 1:
        allowed = ", ".join(sorted(prefixes))
        raise InputError(Problem(str(folder), "holds several runs", allowed, "Select one of them by its prefix"))
    return prefixes.pop()


def find_checkpoints(folder: str | Path) -> Path:
    """Return the checkpoint folder of the only run in a folder; raise an InputError if there is none, or several."""
    folder = _require_run_folder(folder)
    found = sorted(p for p in folder.glob("*-checkpoints") if p.is_dir())
    if not found:
        advice = f"Write checkpoints with {option('checkpoint_every')}; a run that a signal stops also writes one."
        raise InputError(Problem(str(folder), "contains no checkpoints of a run", advice=advice))
    if len(found) > 1:
        raise InputError(Problem(str(folder), "contains checkpoints of several runs", ", ".join(p.name for p in found)))
    return found[0]
