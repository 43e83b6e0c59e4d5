"""Section on energies: their distribution and dissipation over time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from faultwave.observe.dataset import Dataset
from faultwave.report.blocks import Block, Section, Table, Text
from faultwave.report.figures import line, lines
from faultwave.report.loaded import Run

ORDER = 50
NOT_ENERGIES = ("seismic_moment", "potency", "plastic_moment")


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    """Yield the sections on energies."""
    found = [(r, r.results.energies) for r in (run, other) if r is not None]
    tables = [(r.name, e) for r, e in found if e is not None and len(e["time"]) > 1]
    moving = list(dict.fromkeys(name for _, energies in tables for name in _moving(energies)))
    shown = [name for name in moving if name not in NOT_ENERGIES]
    curves, rows = [], []
    for number, (called, energies) in enumerate(tables):
        for name in (n for n in moving if n in energies):
            values, words = energies[name], name.replace("_", " ") + (f", {called}" if len(tables) > 1 else "")
            known = np.isfinite(values)
            if name in shown:
                curves.append(line(words, energies["time"][known], values[known], shown.index(name), number))
            largest = np.abs(values[known]).max(initial=0.0)
            rows.append((words, f"{_last(values):.6g}", f"{largest:.6g}", energies.variables[name].unit))
    blocks: list[Block] = []
    infinite = sum(int(np.isinf(energies[n]).sum()) for _, energies in tables for n in moving if n in energies)
    if infinite:
        blocks.append(
            Text(f"{infinite} values are infinite and omitted: the run was unstable, or its table is damaged.")
        )
    if curves:
        reported = "Energies of the medium and work of the fault over time."
        blocks.append(lines("Energies", reported, curves, "time [s]", "energy [J]"))
    if rows:
        blocks.append(Table("At the end, and at most", ("", "at the end", "largest", "unit"), rows))
    yield Section("Energy budget", blocks)


def _moving(energies: Dataset) -> list[str]:
    """Return the names of energies that are not zero throughout."""
    names = [n for n in energies.variables if n != "time" and "momentum" not in n and energies[n].ndim == 1]
    return [n for n in names if energies[n][np.isfinite(energies[n])].any()]


def _last(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known[-1]) if len(known) else float("nan")
