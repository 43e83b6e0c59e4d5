"""Section of figures without an interactive version: intensity maps, far fields, resonances, scattering and plug-in figures."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from faultwave.plot.run import drawn
from faultwave.report.blocks import Picture, Section, Text
from faultwave.report.loaded import Run

ORDER = 60


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    """Yield the sections with further pictures."""
    found: list[Picture] = []
    notes: list[Text] = []
    with tempfile.TemporaryDirectory(prefix="faultwave-report-") as folder:
        for r in (run, other):
            if r is not None:
                stem = str(Path(folder) / r.results.prefix)
                made = drawn(r.results, stem, lambda module: getattr(module, "IN_REPORT", False))
                found += [Picture(_title(path, r, other), path.read_bytes()) for path in made]
                notes += [Text(str(note)) for note in made.notes]
    yield Section("More pictures", [*found, *notes])


def _title(path: Path, run: Run, other: Run | None) -> str:
    words = path.stem.removeprefix(f"{run.results.prefix}-").replace("-", " ").capitalize()
    return words if other is None else f"{words}, {run.name}"
