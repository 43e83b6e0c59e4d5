"""Formats of what is seen on grids: found by scanning ``output/formats`` for instances of ``SeriesFormat`` and ``MapFormat``.

Those of other packages register by the entry point group ``faultwave.output.formats``.
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
    """``open(series, opening)`` gives a writer with ``fields``, ``times``, ``path``, ``append``, ``settle`` and a context: see
    ``engine.part.LatticeSeries`` and ``run.lattice_files.Opening``. ``fields``: what it writes whatever is asked for, if it has such;
    ``number_bytes``: of each of its numbers, None for the precision of the case's field files."""

    name: str
    open: Callable[[Any, Any], Any]
    fields: tuple[str, ...] = ()
    number_bytes: int | None = None


def series_formats() -> dict[str, SeriesFormat]:
    """Every format by name."""
    return scan("faultwave.output.formats", SeriesFormat)


@dataclass(frozen=True)
class MapFormat:
    """A format of maps that a case may choose; ``projected``: needs longitude and latitude. ``refused(projection)``: what is wrong with
    one and what is allowed, both empty where it will do. A ``Writer`` of the same module writes the maps."""

    name: str
    projected: bool = False
    refused: Callable[[Projection], tuple[str, str]] = lambda projection: ("", "")


def map_formats() -> dict[str, MapFormat]:
    """Every format by name."""
    return scan("faultwave.output.formats", MapFormat)


def check_formats(where: str, names: Sequence[str], known: Mapping[str, Any], problems: Problems) -> None:
    """One error for each name that no format has."""
    for number, name in enumerate(names):
        if name not in known:
            what, allowed = f"unknown format '{name}'", ", ".join(sorted(known))
            problems.error(f"{where}.formats[{number}]", what, allowed, suggest(name, known))


__all__ = ["MapFormat", "SeriesFormat", "check_formats", "map_formats", "series_formats"]
