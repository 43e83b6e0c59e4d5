"""Reuse of the results of pure functions in a process that computes many similar runs.

``reused(function, *arguments)`` is ``function(*arguments)``. Inside ``reusing(store)`` the result is taken from the store if the
arguments have the same contents as in an earlier call: numbers, texts, arrays, records, groups of settings, and files, which count with
the contents that they have now. Files that only other files name belong to a result as well (``base.files.paths.record_file``).
A function may read nothing else. If an argument has no known contents, such as a function, the result is computed and not stored.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from pydantic import BaseModel

from faultwave.base.files.digests import file_digest
from faultwave.base.files.paths import record_file, reporting_files, search_folders

P = ParamSpec("P")
R = TypeVar("R")

RESULTS = 3
"""Number of results of each function that a store holds."""
ABSENT = "absent"
"""Digest of a file that does not exist."""
PLAIN = (bool, int, float, complex, str, bytes, Enum, np.generic, type(None))
"""Types whose contents ``repr`` shows completely."""


class UnknownContents(Exception):
    """Raised if the contents of a value cannot be determined."""


@dataclasses.dataclass(frozen=True)
class Stored:
    """Result of a function, its size [bytes], and the digests of files that only other files name."""

    value: object
    size: int
    files: dict[Path, str]


class Store:
    """Last results of functions, at most ``RESULTS`` of each.

    Parameters
    ----------
    limit : float
        Largest size of all results [bytes]; those that were used least recently are removed first.

    Attributes
    ----------
    hits, misses : dict of str to int
        Numbers of calls by name of the function, with and without a stored result.
    """

    def __init__(self, limit: float):
        self.limit = limit
        self.hits: dict[str, int] = {}
        self.misses: dict[str, int] = {}
        self._stored: OrderedDict[tuple[str, str], Stored] = OrderedDict()

    @property
    def size(self) -> int:
        """Size of all results [bytes]."""
        return sum(stored.size for stored in self._stored.values())

    def find(self, name: str, key: str) -> Stored | None:
        """Return the result of a call, None if it is not stored or one of its files has changed."""
        stored = self._stored.get((name, key))
        if stored is None or any(digest != digest_of(path) for path, digest in stored.files.items()):
            self.misses[name] = self.misses.get(name, 0) + 1
            return None
        self.hits[name] = self.hits.get(name, 0) + 1
        self._stored.move_to_end((name, key))
        return stored

    def add(self, name: str, key: str, stored: Stored) -> None:
        """Store the result of a call unless it alone exceeds the limit."""
        if stored.size > self.limit:
            return
        self._stored[name, key] = stored
        self._stored.move_to_end((name, key))
        same = [at for at in self._stored if at[0] == name]
        for at in same[:-RESULTS]:
            del self._stored[at]
        while self.size > self.limit:
            self._stored.popitem(last=False)


_store: ContextVar[Store | None] = ContextVar("store", default=None)


def current_store() -> Store | None:
    """Return the store in use, None if results are not reused."""
    return _store.get()


@contextmanager
def reusing(store: Store) -> Iterator[Store]:
    """Within the block, take results of ``reused`` from a store, and add new ones to it."""
    token = _store.set(store)
    try:
        yield store
    finally:
        _store.reset(token)


def reused(function: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
    """Return the result of a pure function, from the store in use if it holds the result for these arguments.

    Arrays of a result that is stored cannot be written to.
    """
    store = _store.get()
    if store is None:
        return function(*arguments, **options)
    name = f"{function.__module__}.{function.__qualname__}"
    try:
        key = contents((arguments, options, search_folders()))
        found = store.find(name, key)
        if found is None:
            found = _computed(function, *arguments, **options)
            if contents((arguments, options, search_folders())) == key:  # no file or array has changed in the meantime
                store.add(name, key, found)
    except UnknownContents:
        return function(*arguments, **options)
    for path in found.files:
        record_file(path)
    value: R = _copied(found.value)
    return value


def _computed(function: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> Stored:
    """Return the result of a function with the digests that its files had when they were opened."""
    files: dict[Path, str] = {}
    with reporting_files(lambda path: files.setdefault(path, digest_of(path))):
        value = function(*arguments, **options)
    if any(digest != digest_of(path) for path, digest in files.items()):
        raise UnknownContents
    return Stored(value, _freeze(value), files)


def digest_of(path: Path) -> str:
    """Return the digest of a file, ``ABSENT`` if there is none. Raises UnknownContents for folders."""
    with suppress(FileNotFoundError, NotADirectoryError):
        if not path.is_file() and path.exists():
            raise UnknownContents
        return file_digest(path)
    return ABSENT


def contents(value: object) -> str:
    """Return the SHA-256 of the contents of a value. Raises UnknownContents if it has parts of unknown types."""
    total = hashlib.sha256()
    for piece in _pieces(value):
        total.update(piece)
    return total.hexdigest()


def _pieces(value: object) -> Iterator[bytes | memoryview]:
    """Yield the type and the contents of a value as bytes, such that different values differ."""
    yield f"({type(value).__module__}.{type(value).__qualname__} ".encode()
    if isinstance(value, PLAIN):
        yield repr(value).encode()
    elif isinstance(value, Path):
        yield f"{str(value)!r} {digest_of(value)}".encode()
    elif isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise UnknownContents
        yield f"{value.dtype.descr} {value.shape} ".encode()
        yield np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
    elif isinstance(value, Mapping):
        for item in value.items():
            yield from _pieces(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _pieces(item)
    elif isinstance(value, set | frozenset):
        yield from _pieces(sorted(contents(item) for item in value))
    elif isinstance(value, BaseModel):
        yield from _pieces([dict(value), value.model_fields_set])
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _pieces((field.name, getattr(value, field.name)))
    else:
        raise UnknownContents
    yield b")"


def _freeze(value: object) -> int:
    """Protect all arrays of a value from changes and return their size [bytes]. Raises UnknownContents for unknown types."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
        return value.nbytes
    if isinstance(value, Mapping):
        return sum(_freeze(item) for item in value.values())
    if isinstance(value, list | tuple):
        return sum(_freeze(item) for item in value)
    if dataclasses.is_dataclass(value):
        return sum(_freeze(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, PLAIN):
        return 0
    raise UnknownContents


def _copied(value: Any) -> Any:
    """Return a value with copies of its dictionaries and lists, which a caller may change, and the same arrays."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if type(value) is tuple:
        return tuple(_copied(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.init]
        return dataclasses.replace(value, **{name: _copied(getattr(value, name)) for name in names})
    return value
