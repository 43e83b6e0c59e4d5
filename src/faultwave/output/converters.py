"""Converters of ``faultwave convert``, found by scanning ``output/formats`` for instances of ``Converter``.

Other packages register theirs by the entry point group ``faultwave.output.formats``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from faultwave.base.errors import InputError, Problem
from faultwave.base.registry import scan
from faultwave.base.types import Record
from faultwave.output.trace import Kind, Results, Trace


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


__all__ = ["Conversion", "Converter", "converters"]
