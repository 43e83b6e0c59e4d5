"""Where the energy is, and where it went."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from faultwave.report.blocks import Block, Section, Table
from faultwave.report.figures import line, lines
from faultwave.report.loaded import Run

ORDER = 50
NOT_ENERGIES = ("seismic_moment", "potency", "plastic_moment")


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    energies = run.results.energies
    if energies is None or len(energies["time"]) < 2:
        return
    names = [n for n in energies.variables if n != "time" and not n.startswith("momentum") and energies[n].ndim == 1]
    moving = [n for n in names if np.nanmax(np.abs(energies[n]), initial=0.0) > 0]
    curves = []
    for number, r in enumerate(r for r in (run, other) if r is not None and r.results.energies is not None):
        found = r.results.energies
        assert found is not None
        for colour, name in enumerate(n for n in moving if n not in NOT_ENERGIES and n in found):
            known = np.isfinite(found[name])
            words = name.replace("_", " ") + (f", {r.name}" if other is not None else "")
            curves.append(line(words, found["time"][known], found[name][known], colour, number))
    rows = [
        (
            n.replace("_", " "),
            f"{_last(energies[n]):.6g}",
            f"{np.nanmax(np.abs(energies[n])):.6g}",
            energies.variables[n].unit,
        )
        for n in moving
    ]
    blocks: list[Block] = [Table("At the end, and at most", ("", "at the end", "largest", "unit"), rows)]
    if curves:
        blocks.insert(
            0,
            lines(
                "Energies", "Energies of the medium and work of the fault over time.", curves, "time [s]", "energy [J]"
            ),
        )
    yield Section("Energy budget", blocks)


def _last(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known[-1]) if len(known) else float("nan")
