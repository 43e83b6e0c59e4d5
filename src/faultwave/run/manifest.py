"""The manifest of a run: case, machine, timings and rates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from faultwave.output.manifest import build_manifest, write_manifest

if TYPE_CHECKING:
    from faultwave.run.session import Session


def _paths(value: Any) -> Iterator[Path]:
    """Every file that settings name."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _paths(item)


def write_run_manifest(
    sim: Session, folder: Path, status: Literal["running", "finished", "interrupted", "failed"] | None = None
) -> Path:
    """PREFIX-manifest.json in ``folder``."""
    case = sim.case
    inputs = [p for p in _paths(case.model_dump(exclude={"output": {"folder"}})) if p.is_file()]
    manifest = build_manifest(
        case.model_dump(mode="json"), dict.fromkeys(inputs), status=status or ("interrupted" if sim.interrupted else "finished"),
        timings=sim.timings(), rates=sim.rates(), outputs=[p.name for p in sim.files],
        extra={"cells": sim.cells, "runs_on": sim.runs_on, "time_reached": sim.time, "warnings": [str(w) for w in sim.warnings]},
    )  # fmt: skip
    return write_manifest(folder / f"{case.output.prefix}-manifest.json", manifest)
