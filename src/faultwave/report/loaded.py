"""Run as needed by a report: its results, its manifest and its files."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from faultwave.base.types import Settings
from faultwave.observe.motions.processing import Processing
from faultwave.output.folder import MANIFEST
from faultwave.output.formats.image import PlaneReader, is_image
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.pairs import Pair, pairs
from faultwave.output.results import Results, load_results


@dataclass(frozen=True)
class Run:
    """Run with its results.

    Attributes
    ----------
    name : str
        Name in figures.
    results : Results
        Results.
    records : tuple of Pair
        Observed records paired with receivers.
    data : str
        Folder of the observed records.
    """

    name: str
    results: Results
    records: tuple[Pair, ...] = ()
    data: str = ""

    def file(self, kind: str) -> Path | None:
        """Return the path of PREFIX-kind, or None if the run has not written it."""
        path = self.results.folder / f"{self.results.prefix}-{kind}"
        return path if path.exists() else None

    @cached_property
    def manifest(self) -> Settings:
        """Manifest, empty if missing, as for results of another program, or unreadable."""
        try:
            found = json.loads((self.results.folder / f"{self.results.prefix}{MANIFEST}").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def case(self) -> Settings:
        """Case as it was run, with every default filled in."""
        found = self.manifest.get("case")
        return found if isinstance(found, dict) else {}

    def surface(self) -> VtkHdfReader | PlaneReader | None:
        """Return a reader of the snapshots of the surface, or None if there are none."""
        path = self.file("surface.vtkhdf")
        if path is None:
            return None
        return PlaneReader(path) if is_image(path) else VtkHdfReader(path)


def load(folder: Path, prefix: str | None = None) -> Run:
    """Load the results of a folder, or raise InputError if it has none."""
    results = load_results(folder, prefix)
    return Run("/".join(_parts(results)[-2:]), results)


def with_records(run: Run, folder: str | Path) -> Run:
    """Return a run with the records of a folder that belong to its receivers, or raise InputError if there are none."""
    found, _ = pairs(run.results, folder, Processing())
    return replace(run, records=tuple(found), data=str(folder))


def _parts(results: Results) -> tuple[str, ...]:
    return (*results.folder.resolve().parts, results.prefix)


def with_distinct_names(run: Run, other: Run) -> tuple[Run, Run]:
    """Return both runs with distinct names, the shortest distinct ends of their paths."""
    mine, theirs = _parts(run.results), _parts(other.results)
    longest = max(len(mine), len(theirs))
    count = next((n for n in range(2, longest + 1) if mine[-n:] != theirs[-n:]), longest)
    return replace(run, name="/".join(mine[-count:])), Run("/".join(theirs[-count:]), other.results)
