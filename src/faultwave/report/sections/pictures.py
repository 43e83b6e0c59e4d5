"""Pictures of what has no figure of its own here: intensity maps, far fields, resonances, scattering and what packages add."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from faultwave.base.registry import modules
from faultwave.report.blocks import Picture, Section
from faultwave.report.loaded import Run

ORDER = 60


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    found: list[Picture] = []
    with tempfile.TemporaryDirectory(prefix="faultwave-report-") as folder:
        for module in modules("faultwave.plot", "faultwave.plot"):
            draw = getattr(module, "pictures", None)
            if draw is None or getattr(module, "IN_REPORT", False):
                continue
            for r in (run, other):
                if r is not None:
                    stem = str(Path(folder) / r.results.prefix)
                    drawn = [path for path in draw(r.results, stem) if path is not None]
                    found += [Picture(_title(path, r, other), path.read_bytes()) for path in drawn]
    yield Section("More pictures", found)


def _title(path: Path, run: Run, other: Run | None) -> str:
    words = path.stem.removeprefix(f"{run.results.prefix}-").replace("-", " ").capitalize()
    return words if other is None else f"{words}, {run.name}"
