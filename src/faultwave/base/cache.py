"""What is kept between runs in the user's cache folder: short texts that take long to find out, by all that they depend on.

Nothing is lost with them: what cannot be read or written, or what others could have written, is found out again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import tempfile
from pathlib import Path


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


def _place(kind: str, key: tuple[object, ...]) -> Path:
    name = hashlib.sha256(repr(key).encode()).hexdigest()[:32]
    return cache_root() / kind / name


def recall(kind: str, *key: object) -> str | None:
    """The text that ``keep`` was given for this key; None where there is none, or where others could have written it."""
    try:
        path = _place(kind, key)
        if owned_by_others(path.parent) or owned_by_others(path):
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError, RuntimeError):  # the last: a user without a home
        return None


def keep(text: str, kind: str, *key: object) -> None:
    """Remember a text by its key, a row of numbers and texts."""
    with contextlib.suppress(OSError, RuntimeError):
        path = _place(kind, key)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            file.write(text)
        os.replace(file.name, path)


__all__ = ["cache_root", "keep", "owned_by_others", "recall"]
