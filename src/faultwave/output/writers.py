"""Registry of the formats that write the results of a run, found by scanning ``output/formats``.

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
    """Writer of certain kinds of results in one format.

    Attributes
    ----------
    kinds : tuple of str
        Kinds of results that it writes.
    write : callable
        ``write(results, folder, prefix)`` writes all results of these kinds together and returns the files.
    layouts : tuple of str
        Layouts of the run folder in which it is active: 'native', and 'seissol' for SeisSol parameter files.
    """

    kinds: tuple[str, ...]
    write: Callable[[Sequence[Result], Path, str], list[Path]]
    layouts: tuple[str, ...] = ("native", "seissol")


@cache
def writers() -> tuple[Writer, ...]:
    """Return every writer, ordered by the names of the modules, whatever their subpackages."""
    package = "faultwave.output.formats"
    found = sorted(modules(package, package, nested=True), key=lambda module: module.__name__.rpartition(".")[2])
    return tuple(writer for module in found for writer in getattr(module, "RESULTS", ()))


def write_results(results: Sequence[Result], folder: Path, prefix: str, layout: str = "native") -> list[Path]:
    """Write every result in each format that supports its kind, and return the files.

    Results that no format supports stay in memory.
    """
    files: list[Path] = []
    for writer in writers():
        found = [r for r in results if r.kind in writer.kinds]
        if found and layout in writer.layouts:
            files += writer.write(found, folder, prefix)
    return files


__all__ = ["Writer", "write_results", "writers"]
