"""Formats of grid snapshots and maps, found by scanning ``output/formats`` for ``SeriesFormat`` and ``MapFormat``.

Other packages register theirs by the entry point group ``faultwave.output.formats``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faultwave.base.errors import Problems, suggest
from faultwave.base.projection import Projection
from faultwave.base.registry import scan


@dataclass(frozen=True)
class SeriesFormat:
    """Format of snapshots on a lattice.

    Attributes
    ----------
    name : str
        Name in the case.
    open : callable
        ``open(series, opening)`` returns a writer with ``fields``, ``times``, ``path``, ``append``, ``settle`` and a context: see
        ``engine.capability.LatticeSeries`` and ``run.files.Opening``.
    fields : tuple of str
        Fields that it always writes, regardless of the requested ones, if any.
    number_bytes : int, optional
        Size of a stored value [bytes], None for the precision of the case's field files.
    """

    name: str
    open: Callable[[Any, Any], Any]
    fields: tuple[str, ...] = ()
    number_bytes: int | None = None


def series_formats() -> dict[str, SeriesFormat]:
    """Return every format of snapshots by name."""
    return scan("faultwave.output.formats", SeriesFormat)


@dataclass(frozen=True)
class MapFormat:
    """Format of maps that a case may choose; a ``Writer`` of the same module writes them.

    Attributes
    ----------
    name : str
        Name in the case.
    projected : bool
        True if longitude and latitude are required.
    refused : callable
        ``refused(projection)`` returns why a projection is unsuitable and what is allowed, both empty if it is suitable.
    """

    name: str
    projected: bool = False
    refused: Callable[[Projection], tuple[str, str]] = lambda projection: ("", "")


def map_formats() -> dict[str, MapFormat]:
    """Return every format of maps by name."""
    return scan("faultwave.output.formats", MapFormat)


def check_formats(where: str, names: Sequence[str], known: Mapping[str, object], problems: Problems) -> None:
    """Report one error for each name without a format."""
    for number, name in enumerate(names):
        if name not in known:
            what, allowed = f"unknown format '{name}'", ", ".join(sorted(known))
            problems.error(f"{where}.formats[{number}]", what, allowed, suggest(name, known))


__all__ = ["MapFormat", "SeriesFormat", "check_formats", "map_formats", "series_formats"]
