"""Registry of plug-ins: objects found in a package's folder and in installed entry points, without a central list.

``scan('faultwave.physics.friction', FrictionLaw)`` returns every module-level instance of ``FrictionLaw`` in the modules of the package and
its subpackages, by its ``name``. ``entries('faultwave.backends')`` returns names alone, so that only what a case needs is imported.
Another distribution extends a package by an entry point in the group of the package's name: see docs/extending.md.
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


def _modules(package: str) -> Iterator[ModuleType]:
    """Yield the package's own modules in alphabetical order; names with a leading underscore are private."""
    root = importlib.import_module(package)
    for info in sorted(pkgutil.iter_modules(root.__path__), key=lambda i: i.name):
        if not info.name.startswith("_"):
            yield importlib.import_module(f"{package}.{info.name}")


def _all_modules(package: str) -> Iterator[ModuleType]:
    """Yield the package's own modules as ``_modules`` does, each subpackage followed by its modules."""
    for module in _modules(package):
        yield module
        if hasattr(module, "__path__"):
            yield from _all_modules(module.__name__)


@functools.cache
def _everything(path: tuple[str, ...]) -> Any:
    """Return all entry points on ``path``; every installed package is searched."""
    return importlib.metadata.entry_points()


def installed(group: str) -> list[EntryPoint]:
    """Return the entry points of a group by name, without duplicates from a folder that is on the path twice."""
    found = {(entry.name, entry.value): entry for entry in _everything(tuple(sys.path)).select(group=group)}
    return [found[key] for key in sorted(found)]


def _entries(group: str) -> Iterator[Any]:
    for entry in installed(group):
        yield entry.load()


@functools.cache
def entries(package: str, holding: str = "", group: str = "") -> dict[str, EntryPoint]:
    """Return the modules of a package and the entry points of a group by name, without importing them.

    Names have hyphens where files have underscores.

    Parameters
    ----------
    package : str
        Name of the package.
    holding : str
        If given, only subfolders that contain a module of this name are listed instead of modules.
    group : str
        Group of the entry points, by default the name of the package.

    Raises
    ------
    ValueError
        If two have the same name.
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


def offers(package: str) -> Iterator[object]:
    """Yield all module-level objects of the package, its subpackages and entry points, and objects that entry points name."""
    for found in (*_all_modules(package), *_entries(package)):
        if isinstance(found, ModuleType):
            yield from vars(found).values()
        else:
            yield found


@functools.cache
def _scan(package: str, kind: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in (offer for offer in offers(package) if isinstance(offer, kind)):
        # One object may be imported by several modules; two objects of one name are an error.
        if found.setdefault(item.name, item) is not item:
            raise ValueError(f"two entries of {package} are called '{item.name}'")
    return found


def clear_registry_caches() -> None:
    """Clear the caches, so that folders and entry points are searched again."""
    for remembered in (_everything, entries, _scan):
        remembered.cache_clear()


def scan(package: str, kind: type[T]) -> dict[str, T]:
    """Return all module-level instances of ``kind`` in the modules of the package and of its subpackages and entry points, by ``name``.

    Raises
    ------
    ValueError
        If two different objects share a name.
    """
    return dict(_scan(package, kind))  # type: ignore[arg-type]  # mypy: types are no Hashable


def modules(package: str, group: str, nested: bool = False) -> list[ModuleType]:
    """Return all modules of the package, and the modules that installed entry points of ``group`` name.

    Subpackages are modules too; with ``nested`` each is followed by its own modules.
    """
    return [*(_all_modules(package) if nested else _modules(package)), *_entries(group)]


def get_entry(entries: dict[str, T], name: str, what: str, where: str) -> T:
    """Return the entry called ``name``.

    Parameters
    ----------
    entries : dict
        Entries by name.
    name : str
        Requested name.
    what, where : str
        Kind of the entry and path of the setting, for messages.

    Raises
    ------
    InputError
        With the allowed names and the nearest one if there is none.
    """
    if name in entries:
        return entries[name]
    raise InputError(Problem(where, f"unknown {what} '{name}'", ", ".join(sorted(entries)), suggest(name, entries)))
