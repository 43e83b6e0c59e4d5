"""The manifest of a run: case, machine, timings and rates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from faultwave.output.manifest import build_manifest, write_manifest

if TYPE_CHECKING:
    from faultwave.run.simulation import Simulation


def _paths(value: Any) -> Iterator[Path]:
    """Every file that settings name."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _paths(item)


def write_run_manifest(
    sim: Simulation, folder: Path, status: Literal["running", "finished", "interrupted", "failed"] | None = None
) -> Path:
    """PREFIX-manifest.json in ``folder``."""
    case, engine = sim.case, sim.engine
    inputs = [p for p in _paths(case.model_dump(exclude={"output": {"folder"}})) if p.is_file()]
    seconds = engine.seconds
    cells = seconds["predict"] + seconds["correct"]
    rates = {
        "element_updates": float(engine.updates),
        "element_updates_per_second": engine.updates / max(sim.wall["stepping"], 1e-9),
        "element_updates_per_second_outside_rupture_and_output": engine.updates / max(cells, 1e-9),
        "threads": float(getattr(engine.backend, "threads", 1)),
    }
    manifest = build_manifest(
        case.model_dump(mode="json"), dict.fromkeys(inputs), status=status or ("interrupted" if sim.interrupted else "finished"),
        timings={**sim.wall, **seconds}, rates=rates, outputs=[p.name for p in sim.files],
        extra={"cells": sim.plan.cells, "time_reached": sim.time, "warnings": [str(w) for w in sim.warnings]},
    )  # fmt: skip
    return write_manifest(folder / f"{case.output.prefix}-manifest.json", manifest)
