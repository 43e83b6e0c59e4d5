"""Manifest of a run: case, machine, timings and rates."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from faultwave.output.manifest import build_manifest, read_manifest, write_manifest

PATIENCE = 5.0
"""Time limit [s] of the note on a failure; a file system that hangs must not delay the end of a run."""


def _paths(value: object) -> Iterator[Path]:
    """Yield every file that settings name."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _paths(item)


def inputs(sim: Any) -> list[Path]:
    """Return the files that the case reads, without duplicates."""
    settings = sim.case.model_dump(exclude={"output": {"folder"}})
    return list(dict.fromkeys(p for p in (*_paths(settings), *sim.files_read) if p.is_file()))


def write_run_manifest(
    sim: Any, folder: Path, status: Literal["running", "finished", "interrupted", "failed"] | None = None
) -> Path:
    """Write the manifest of a run and return its path.

    Parameters
    ----------
    sim : Session
        Run.
    folder : Path
        Output folder.
    status : {'running', 'finished', 'interrupted', 'failed'}, optional
        Status; by default finished or interrupted, as the session states.
    """
    case, solver = sim.case, sim.solver
    halo = {} if solver.halo is None else {"halo": solver.halo}
    manifest = build_manifest(
        case.model_dump(mode="json"), sim.inputs, status=status or ("interrupted" if sim.interrupted else "finished"),
        timings=solver.timings(), rates=solver.rates(), outputs=[p.name for p in sim.files],
        started=sim.started, extra=halo | {"cells": solver.size, "runs_on": solver.runs_on, "resolved_frequency_hz": sim.resolved_frequency,
                      "time_reached": sim.time,
                      "stopped_early": status is None and not sim.interrupted and sim.time < sim.end * (1 - 1e-9),
                      "warnings": [str(w) for w in sim.warnings],
                      "case_as_given": case.model_dump(mode="json", exclude_unset=True)},
    )  # fmt: skip
    return write_manifest(_path(sim, folder), manifest)


def _path(sim: Any, folder: Path) -> Path:
    return folder / f"{sim.case.output.prefix}-manifest.json"


def record_failure(sim: Any, folder: Path, error: BaseException) -> None:
    """Record the failure of a run in its manifest, from any process.

    It runs while the error propagates: any obstacle is ignored, and the wait is limited to ``PATIENCE``.
    """

    def note() -> None:
        with contextlib.suppress(Exception):
            path = _path(sim, folder)
            known = read_manifest(path)
            now = {
                "status": "failed", "error": str(error) or type(error).__name__, "timings_s": sim.solver.timings(),
                "rates": sim.solver.rates(),
                "written": datetime.now(UTC).isoformat(timespec="seconds"), "time_reached": sim.time,
                "outputs": sorted({*known["outputs"], *(p.name for p in sim.files)}),
            }  # fmt: skip
            write_manifest(path, known | now)

    thread = threading.Thread(target=note, name="faultwave-failure", daemon=True)
    thread.start()
    thread.join(PATIENCE)
