"""Which formats write the results of a run: found by scanning ``output/formats``.

A format module that writes results has ``RESULTS``, a list of ``Writer``. Modules of other packages register by the entry point group
``faultwave.output.formats``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from faultwave.base.registry import modules
from faultwave.observe.result import Result


@dataclass(frozen=True)
class Writer:
    """``write(results, folder, prefix)`` gives the files it has written, for all results of ``kinds`` together; ``layouts``: of a run's
    folder in which it writes: 'native', and 'seissol' for decks."""

    kinds: tuple[str, ...]
    write: Callable[[Sequence[Result], Path, str], list[Path]]
    layouts: tuple[str, ...] = ("native", "seissol")


@cache
def writers() -> tuple[Writer, ...]:
    """Every writer, module by module in the order of their names."""
    package = "faultwave.output.formats"
    return tuple(writer for module in modules(package, package) for writer in getattr(module, "RESULTS", ()))


def write_results(results: Sequence[Result], folder: Path, prefix: str, layout: str = "native") -> list[Path]:
    """Write every result in each format that takes its kind; returns the files. Results that no format takes stay in memory."""
    files: list[Path] = []
    for writer in writers():
        found = [r for r in results if r.kind in writer.kinds]
        if found and layout in writer.layouts:
            files += writer.write(found, folder, prefix)
    return files


__all__ = ["Writer", "write_results", "writers"]
