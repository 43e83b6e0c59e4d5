"""Section on the cost of the run: seconds by activity, and rates."""

from __future__ import annotations

from collections.abc import Iterator

from faultwave.report.blocks import Block, Figure, Section, Table
from faultwave.report.figures import axis
from faultwave.report.loaded import Run

ORDER = 80


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    """Yield the sections on the cost of a run."""
    runs = [r for r in (run, other) if r is not None and r.manifest.get("timings_s")]
    blocks: list[Block] = []
    if runs:
        names = list(dict.fromkeys(n for r in runs for n in r.manifest["timings_s"]))
        data = [
            {"type": "bar", "orientation": "h", "name": r.name, "y": [n.replace("_", " ") for n in names],
             "x": [r.manifest["timings_s"].get(n, 0.0) for n in names]}
            for r in runs
        ]  # fmt: skip
        layout = {"xaxis": axis("seconds"), "yaxis": {"autorange": "reversed", "automargin": True}}
        blocks.append(
            Figure(
                "Wall time",
                "Set-up, stepping and writing follow each other; the other bars are parts of the stepping.",
                data,
                layout,
                140 + 30 * len(names),
            )
        )
        rates = list(dict.fromkeys(n for r in runs for n in r.manifest.get("rates", {})))
        rows = [
            (n.replace("_", " "), *[f"{r.manifest.get('rates', {}).get(n, float('nan')):,.6g}" for r in runs])
            for n in rates
        ]
        blocks.append(Table("Rates", ("", *[r.name for r in runs]), rows))
    yield Section("Cost", blocks)
