"""User's cache folder, and temporary folders that are removed when the program ends.

Every file ends with a checksum of its content, which is verified at each use. The cache is disposable: a file that cannot be read or
written, is damaged or could have been written by others is created again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faultwave.base.log import get_logger
from faultwave.base.processes.signals import WATCHDOG

log = get_logger(__name__)


def cache_root() -> Path:
    """Return the cache folder: $FAULTWAVE_CACHE, else a folder in the system's cache directory."""
    own = os.environ.get("FAULTWAVE_CACHE")
    return Path(own or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "faultwave")


def writable_by_others(path: Path) -> str:
    """Return how users other than this one and root could have written a path, or an empty text if they could not.

    Raises
    ------
    OSError
        If the path does not exist.
    """
    about = path.stat()
    if about.st_uid not in (os.geteuid(), 0):
        return f"belongs to user {about.st_uid}"
    if about.st_mode & stat.S_IWOTH or (about.st_mode & stat.S_IWGRP and about.st_gid not in _own_groups()):
        return "can be written by others"
    return ""


@functools.cache
def _own_groups() -> frozenset[int]:
    """Return the group ids that contain only this user (many systems create one such group for each user)."""
    try:
        import grp
        import pwd

        me = pwd.getpwuid(os.geteuid())
        alone = set(grp.getgrgid(me.pw_gid).gr_mem) <= {me.pw_name}
        return frozenset({me.pw_gid}) if alone and grp.getgrgid(me.pw_gid).gr_name == me.pw_name else frozenset()
    except (ImportError, KeyError):
        return frozenset()


SEAL = b"faultwave sha256"
"""Marker before the checksum at the end of every cache file; loaders of shared libraries ignore trailing bytes."""
LENGTH = len(SEAL) + 32


def is_sealed(path: Path) -> bool:
    """Return True if a file ends with the checksum of everything before it, and log a damaged file.

    Raises
    ------
    OSError
        If the file does not exist.
    """
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        left = file.tell() - LENGTH
        file.seek(0)
        made = hashlib.sha256(path.name.encode())  # a file under the name of another counts as damaged
        while left > 0 and (block := file.read(min(left, 1 << 20))):
            made.update(block)
            left -= len(block)
        sound = left == 0 and file.read() == SEAL + made.digest()
    if not sound:
        log.warning("%s in the cache is damaged: its checksum does not match; it is created again", path)
    return sound


def read_sealed(path: Path) -> bytes | None:
    """Return the content of a cache file, None if it is absent, damaged or writable by others."""
    try:
        if writable_by_others(path.parent) or writable_by_others(path) or not is_sealed(path):
            return None
        return path.read_bytes()[:-LENGTH]
    except (OSError, RuntimeError):
        return None


def write_sealed(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a cache file atomically with its checksum. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(content + SEAL + hashlib.sha256(path.name.encode() + content).digest())
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.replace(file.name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(file.name)
            raise


def _place(kind: str, key: tuple[object, ...]) -> Path:
    name = hashlib.sha256(repr(key).encode()).hexdigest()[:32]
    return cache_root() / kind / name


def load_text(kind: str, *key: object) -> str | None:
    """Return the text stored by ``store_text`` under a key, None if it is absent, damaged or writable by others."""
    try:
        content = read_sealed(_place(kind, key))
        return None if content is None else content.decode("utf-8")
    except (ValueError, RuntimeError):  # RuntimeError: a user without a home directory
        return None


def store_text(text: str, kind: str, *key: object) -> None:
    """Store a text under a key of numbers and texts."""
    with contextlib.suppress(OSError, RuntimeError):
        write_sealed(_place(kind, key), text.encode("utf-8"))


@contextmanager
def scratch_folder(inside: str | Path | None = None) -> Iterator[Path]:
    """Create a folder that is removed at the end of the block, or when a signal ends the program within it.

    Parameters
    ----------
    inside : str or Path, optional
        Parent folder; by default the system's folder for temporary files.
    """
    with tempfile.TemporaryDirectory(prefix="faultwave-", dir=inside) as folder, WATCHDOG.removing(folder):
        yield Path(folder)
