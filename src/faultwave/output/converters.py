"""What ``faultwave convert`` writes: converters found by scanning ``output/formats`` for instances of ``Converter``.

Those of other packages register by the entry point group ``faultwave.output.formats``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faultwave.base.errors import InputError, Problem
from faultwave.base.registry import scan
from faultwave.output.trace import Kind, Results, Trace


@dataclass(frozen=True)
class Conversion:
    """What is converted, the folder for the files, and options of the format by name, None where nothing is said."""

    results: Results
    folder: Path
    options: Mapping[str, Any] = field(default_factory=dict)

    def traces(self, *kinds: Kind, what: str = "receivers", needed: bool = True) -> list[Trace]:
        """Traces of the receivers of these kinds; InputError where there are none but they are ``needed``."""
        found = [trace for kind in kinds for trace in self.results.traces[kind].values()]
        if needed and not found:
            text = f"the run '{self.results.prefix}' has no {what} to convert"
            raise InputError(Problem(str(self.results.folder), text))
        return found


@dataclass(frozen=True)
class Converter:
    """``write(conversion)`` gives the files it has written, for ``faultwave convert DIR name``; ``options``: those that it takes."""

    name: str
    write: Callable[[Conversion], list[Path]]
    options: tuple[str, ...] = ()


def converters() -> dict[str, Converter]:
    """Every converter by name."""
    return scan("faultwave.output.formats", Converter)


__all__ = ["Conversion", "Converter", "converters"]
