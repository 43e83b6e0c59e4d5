"""Section on the cost of the run: seconds by activity, and rates."""

from __future__ import annotations

from collections.abc import Iterator

from faultwave.report.blocks import Block, Figure, Section, Table
from faultwave.report.figures import axis
from faultwave.report.loaded import Run

ORDER = 80

SHOWN = 8
"""Number of processes that are listed from each end of the order."""


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
        blocks += [table for r in runs for table in (*_balance(r), *_energy(r))]
    yield Section("Cost", blocks)


def _balance(run: Run) -> list[Table]:
    """Return the tables of the work of processes and time clusters; of many processes, the busiest and the least busy ones."""
    found, tables = run.manifest.get("balance") or {}, list[Table]()
    busy, waiting = found.get("busy_s", []), found.get("waiting_s", [])
    if len(busy) > 1:
        order = sorted(range(len(busy)), key=lambda k: -busy[k])
        shown = order if len(order) <= 2 * SHOWN else [*order[:SHOWN], *order[-SHOWN:]]
        rows = [(str(k), f"{busy[k]:.4g}", f"{waiting[k]:.4g}") for k in shown]
        title = f"Processes of {run.name}, the busiest first (imbalance {found['imbalance']:.2f})"
        tables.append(Table(title, ("process", "busy [s]", "waiting [s]"), rows))
    clusters = found.get("clusters") or {}
    if len(clusters.get("busy_s", [])) > 1:
        columns = [clusters[name] for name in ("busy_s", "updates", "seconds_per_update", "imbalance")]
        costs = [
            (str(k), f"{seconds:.4g}", f"{updates:,}", f"{1e9 * each:.4g}", f"{unequal:.2f}")
            for k, (seconds, updates, each, unequal) in enumerate(zip(*columns, strict=True))
        ]
        header = ("time cluster", "busy [s]", "updates", "ns/update", "imbalance of the processes")
        tables.append(Table(f"Time clusters of {run.name}, the fastest first", header, costs))
    return tables


def _energy(run: Run) -> list[Table]:
    """Return the table of the energy of the machines during the steps, if it was measured."""
    found = run.manifest.get("energy") or {}
    if "joules" not in found:
        return []
    rows = [(f"{name} [J]", f"{joules:,.6g}") for name, joules in found["domains"].items()]
    rows += [("sum [J]", f"{found['joules']:,.6g}")]
    if "updates_per_joule" in found:
        rows += [("updates/J", f"{found['updates_per_joule']:,.6g}")]
    title = f"Energy during the steps of {run.name}: machines {found['machines']}, other programs included"
    return [Table(title, ("", "value"), rows)]
