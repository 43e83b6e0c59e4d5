"""Formats of snapshots on lattices: found by scanning ``output/formats`` for instances of ``SeriesFormat``.

Those of other packages register by the entry point group ``faultwave.output.formats``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


__all__ = ["SeriesFormat", "series_formats"]
