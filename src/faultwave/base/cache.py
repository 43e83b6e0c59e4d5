"""What is kept between runs in the user's cache folder: compiled kernels, meshes, and short texts that take long to find out.

Every file ends with a checksum of its content, which is compared whenever the file is used. Nothing is lost with them: what cannot be read
or written, is damaged, or could have been written by others, is made again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from faultwave.base.log import get_logger

log = get_logger(__name__)


def cache_root() -> Path:
    """$FAULTWAVE_CACHE, else the system's folder for caches."""
    own = os.environ.get("FAULTWAVE_CACHE")
    return Path(own or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "faultwave")


def owned_by_others(path: Path) -> str:
    """How others than this user and root could have written a file or folder; empty where they could not. OSError where there is none."""
    about = path.stat()
    if about.st_uid not in (os.geteuid(), 0):
        return f"belongs to user {about.st_uid}"
    if about.st_mode & stat.S_IWOTH or (about.st_mode & stat.S_IWGRP and about.st_gid not in _own_groups()):
        return "can be written by others"
    return ""


@functools.cache
def _own_groups() -> frozenset[int]:
    """Groups that hold nobody but this user, as many systems make one for each."""
    try:
        import grp
        import pwd

        me = pwd.getpwuid(os.geteuid())
        alone = set(grp.getgrgid(me.pw_gid).gr_mem) <= {me.pw_name}
        return frozenset({me.pw_gid}) if alone and grp.getgrgid(me.pw_gid).gr_name == me.pw_name else frozenset()
    except (ImportError, KeyError):
        return frozenset()


SEAL = b"faultwave sha256"
"""Before the checksum at the end of every file of the cache; programs that load libraries ignore what follows them."""
LENGTH = len(SEAL) + 32


def is_sealed(path: Path) -> bool:
    """Return whether a file ends with the checksum of everything before it; logs a damaged one. Raises OSError where there is none."""
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        left = file.tell() - LENGTH
        file.seek(0)
        made = hashlib.sha256(path.name.encode())  # one file under the name of another is damage, too
        while left > 0 and (block := file.read(min(left, 1 << 20))):
            made.update(block)
            left -= len(block)
        sound = left == 0 and file.read() == SEAL + made.digest()
    if not sound:
        log.warning("%s in the cache is damaged: its checksum does not match; it is made anew", path)
    return sound


def read_sealed(path: Path) -> bytes | None:
    """Return the content of a file of the cache; None where there is none, it is damaged, or others could have written it."""
    try:
        if owned_by_others(path.parent) or owned_by_others(path) or not is_sealed(path):
            return None
        return path.read_bytes()[:-LENGTH]
    except (OSError, RuntimeError):
        return None


def write_sealed(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file of the cache with its checksum, whole or not at all. Raises OSError."""
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


def recall(kind: str, *key: object) -> str | None:
    """Return the text that ``keep`` was given for this key; None where there is none, it is damaged, or others could have written it."""
    try:
        content = read_sealed(_place(kind, key))
        return None if content is None else content.decode("utf-8")
    except (ValueError, RuntimeError):  # the last: a user without a home
        return None


def keep(text: str, kind: str, *key: object) -> None:
    """Remember a text by its key, a row of numbers and texts."""
    with contextlib.suppress(OSError, RuntimeError):
        write_sealed(_place(kind, key), text.encode("utf-8"))


__all__ = ["cache_root", "is_sealed", "keep", "owned_by_others", "read_sealed", "recall", "write_sealed"]
