"""Plug-ins: what a room's folder and the installed entry points offer, without a central list to edit.

A room calls ``scan('faultwave.physics.waves', Law)`` and gets every module-level instance of ``Law`` in the package's modules,
by its ``name``. A third party adds to it from an own distribution with an entry point in the group named like the
package.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil
import sys
from collections.abc import Iterator
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
def _installed(path: tuple[str, ...]) -> Any:
    """All entry points on ``path``, for which every installed package is looked at."""
    return importlib.metadata.entry_points()


def _entries(group: str) -> Iterator[Any]:
    for entry in _installed(tuple(sys.path)).select(group=group):
        yield entry.load()


@functools.cache
def _scan(package: str, kind: Any, subclasses: bool) -> dict[str, Any]:
    def fits(item: Any) -> bool:
        if subclasses:
            return isinstance(item, type) and issubclass(item, kind) and item is not kind and "name" in vars(item)
        return isinstance(item, kind)

    offers = [item for module in _modules(package) for item in vars(module).values() if fits(item)]
    offers += [item for item in _entries(package) if fits(item)]
    found: dict[str, Any] = {}
    for item in offers:
        # The same object may be seen in several modules that import it; two objects of one name are a mistake.
        if found.setdefault(item.name, item) is not item:
            raise ValueError(f"two entries of {package} are called '{item.name}'")
    return found


def scan(package: str, kind: type[T]) -> dict[str, T]:
    """All module-level instances of ``kind`` in the package's modules and entry points, by their ``name``.

    Raises ValueError when two different objects share a name.
    """
    return dict(_scan(package, kind, False))  # type: ignore[arg-type]  # mypy: types are no Hashable


def scan_classes(package: str, kind: type[T]) -> dict[str, type[T]]:
    """All subclasses of ``kind`` with an own ``name`` attribute in the package's modules and entry points."""
    return dict(_scan(package, kind, True))  # type: ignore[arg-type]


def modules(package: str, group: str) -> list[Any]:
    """All modules of the package, and those that installed entry points of ``group`` name."""
    return [*_modules(package), *_entries(group)]


def pick(entries: dict[str, T], name: str, what: str, where: str) -> T:
    """The entry called ``name``; InputError with the allowed names and the nearest one when there is none."""
    if name in entries:
        return entries[name]
    raise InputError(Problem(where, f"unknown {what} '{name}'", ", ".join(sorted(entries)), suggest(name, entries)))
