"""Plug-ins: what a room's folder and the installed entry points offer, without a central list to edit.

``scan('faultwave.physics.friction', FrictionLaw)`` gives every module-level instance of ``FrictionLaw`` in the package's modules, by
its ``name``. ``entries('faultwave.backends')`` gives names alone, so that only what a case asks for is imported. Another distribution adds
to a room by an entry point in the group that is named like the room's package: see docs/extending.md.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from faultwave.base.errors import InputError, Problem, suggest

T = TypeVar("T")


def _modules(package: str) -> Iterator[Any]:
    """The package's own modules, in alphabetical order; names with a leading underscore are private."""
    root = importlib.import_module(package)
    for info in sorted(pkgutil.iter_modules(root.__path__), key=lambda i: i.name):
        if not info.name.startswith("_"):
            yield importlib.import_module(f"{package}.{info.name}")


@functools.cache
def _everything(path: tuple[str, ...]) -> Any:
    """All entry points on ``path``, for which every installed package is looked at."""
    return importlib.metadata.entry_points()


def installed(group: str) -> list[EntryPoint]:
    """The entry points of a group, by name; one that is seen twice, as where a folder stands twice on the path, counts once."""
    found = {(entry.name, entry.value): entry for entry in _everything(tuple(sys.path)).select(group=group)}
    return [found[key] for key in sorted(found)]


def _entries(group: str) -> Iterator[Any]:
    for entry in installed(group):
        yield entry.load()


@functools.cache
def entries(package: str, holding: str = "", group: str = "") -> dict[str, EntryPoint]:
    """What a package and the entry points of ``group`` (default: named like it) offer, found without importing any of it.

    Of the package: its modules, or with ``holding`` its folders that have a module of that name. Names have hyphens where files have
    underscores. Raises ValueError when two have one name.
    """
    root, *below = package.split(".")
    folders = [str(Path(path, *below)) for path in importlib.import_module(root).__path__]
    own = [m.name for m in pkgutil.iter_modules(folders) if not m.name.startswith("_")]
    if holding:
        own = [n for n in own if any(Path(folder, n, f"{holding}.py").exists() for folder in folders)]
    group = group or package
    found: dict[str, EntryPoint] = {}
    for entry in (*(EntryPoint(n.replace("_", "-"), f"{package}.{n}", group) for n in sorted(own)), *installed(group)):
        if entry.name in found:
            raise ValueError(f"two entries of {group} are called '{entry.name}'")
        found[entry.name] = entry
    return found


def offers(package: str) -> Iterator[Any]:
    """All that stands at the top of the package's modules and of those that entry points name, and other objects that these name."""
    for found in (*_modules(package), *_entries(package)):
        if isinstance(found, ModuleType):
            yield from vars(found).values()
        else:
            yield found


@functools.cache
def _scan(package: str, kind: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in (offer for offer in offers(package) if isinstance(offer, kind)):
        # The same object may be seen in several modules that import it; two objects of one name are a mistake.
        if found.setdefault(item.name, item) is not item:
            raise ValueError(f"two entries of {package} are called '{item.name}'")
    return found


def forget() -> None:
    """Look through folders and entry points again when next asked."""
    for remembered in (_everything, entries, _scan):
        remembered.cache_clear()


def scan(package: str, kind: type[T]) -> dict[str, T]:
    """All module-level instances of ``kind`` in the package's modules and entry points, by their ``name``.

    Raises ValueError when two different objects share a name.
    """
    return dict(_scan(package, kind))  # type: ignore[arg-type]  # mypy: types are no Hashable


def modules(package: str, group: str) -> list[Any]:
    """All modules of the package, and those that installed entry points of ``group`` name."""
    return [*_modules(package), *_entries(group)]


def pick(entries: dict[str, T], name: str, what: str, where: str) -> T:
    """The entry called ``name``; InputError with the allowed names and the nearest one when there is none."""
    if name in entries:
        return entries[name]
    raise InputError(Problem(where, f"unknown {what} '{name}'", ", ".join(sorted(entries)), suggest(name, entries)))
