"""File formats, found by scanning this folder: writers of results, and converters of ``faultwave convert``.

A format module that writes results has ``RESULTS``, a list of ``Writer``; one that converts has an instance of ``Converter``. Modules
of other packages register by the entry point group ``faultwave.output.formats``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from faultwave.base.errors import InputError, Problem
from faultwave.base.registry import modules, scan
from faultwave.base.types import Record
from faultwave.observe.dataset import Result
from faultwave.output.trace import Kind, Results, Trace


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
    """Return every writer in the order of the names of the modules."""
    package = "faultwave.output.formats"
    return tuple(
        writer for module in modules(package, package, nested=True) for writer in getattr(module, "RESULTS", ())
    )


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


@dataclass(frozen=True)
class Conversion:
    """Results to convert, output folder and options of the format.

    Attributes
    ----------
    results : Results
        Results of the run.
    folder : Path
        Folder of the files to write.
    options : mapping
        Options of the format by name, None if not given.
    """

    results: Results
    folder: Path
    options: Record = field(default_factory=dict)

    def traces(self, *kinds: Kind, what: str = "receivers", needed: bool = True) -> list[Trace]:
        """Return the traces of the receivers of these kinds.

        Raises InputError if there are none although ``needed`` is set; ``what`` names them in the message.
        """
        found = [trace for kind in kinds for trace in self.results.traces[kind].values()]
        if needed and not found:
            text = f"the run '{self.results.prefix}' has no {what} to convert"
            raise InputError(Problem(str(self.results.folder), text))
        return found


@dataclass(frozen=True)
class Converter:
    """Output format of ``faultwave convert``.

    Attributes
    ----------
    name : str
        Name on the command line.
    write : callable
        Function that writes a ``Conversion`` and returns the files written.
    options : tuple of str
        Names of the accepted options.
    """

    name: str
    write: Callable[[Conversion], list[Path]]
    options: tuple[str, ...] = ()


def converters() -> dict[str, Converter]:
    """Return every converter by name."""
    return scan("faultwave.output.formats", Converter)
