"""Summary of the run and its results in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from faultwave.base.formulas import magnitude
from faultwave.output.formats.rupture_files import read_parameters
from faultwave.report.blocks import Block, Section, Table, Text
from faultwave.report.loaded import Run

ORDER = 0

Value = TypeVar("Value")


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    """Yield the section that summarises one run or two."""
    runs = [run] if other is None else [run, other]
    reported = [_facts(r) for r in runs]
    names = list(dict.fromkeys(name for facts in reported for name in facts))
    rows = [(name, *[facts.get(name, "") for facts in reported]) for name in names]
    title = "The run" if other is None else "The two runs"
    blocks: list[Block] = [Table(title, ("", *[r.name for r in runs]), rows)] if rows else []
    for r in runs:
        blocks += [Text(f"{r.name} warns: {text}") for text in r.manifest.get("warnings", [])]
    yield Section("Summary", blocks)


def _facts(run: Run) -> dict[str, str]:
    m, case = run.manifest, run.case
    numerics, rates = case.get("numerics") or {}, m.get("rates") or {}
    facts = {
        "status": str(m.get("status", "")),
        "physics": " ".join(str(case[k]) for k in ("engine", "law") if case.get(k)),
        "simulated time": _with(m.get("time_reached"), lambda t: f"{t:.6g} s of {case.get('end_time', t):.6g} s"),
        "cells": _with(m.get("cells"), lambda n: f"{n:,}"),
        "points": _with(m.get("points"), lambda n: f"{n:,}"),
        "order": "" if case.get("engine") == "fd" else str(numerics.get("order") or ""),
        "precision": str(numerics.get("precision") or ""),
        "ran on": str(m.get("runs_on", "")),
        "processes": _with(rates.get("processes"), lambda n: f"{n:.0f}"),
        "wall time": _with(
            m.get("timings_s"), lambda t: f"{t.get('setup', 0) + t.get('stepping', 0) + t.get('write', 0):,.1f} s"
        ),
        "updates a second": _with(rates.get("element_updates_per_second"), lambda n: f"{n:,.0f}"),
    }
    facts |= _source(run)
    return {name: text for name, text in facts.items() if text}


SOURCE = (
    ("moment_magnitude", "moment magnitude", 1.0, ""),
    ("seismic_moment", "seismic moment", 1.0, "N m"),
    ("duration", "duration (5 to 95 % of the moment)", 1.0, "s"),
    ("corner_frequency", "corner frequency", 1.0, "Hz"),
    ("ruptured_area", "ruptured area", 1e-6, "km²"),
    ("mean_slip", "mean slip", 1.0, "m"),
    ("largest_slip", "largest slip", 1.0, "m"),
    ("mean_stress_drop", "mean stress drop", 1e-6, "MPa"),
    ("mean_rupture_speed", "mean rupture speed", 1e-3, "km/s"),
    ("radiated_energy", "radiated energy", 1.0, "J"),
    ("fracture_energy", "fracture energy", 1.0, "J"),
)
"""Parameters of PREFIX-rupture.json: name, description, factor from SI, unit."""


def _source(run: Run) -> dict[str, str]:
    path, energies = run.file("rupture.json"), run.results.energies
    if path is not None:
        found = read_parameters(path)
        return {
            words: f"{factor * found[name]:.4g} {unit}".strip()
            for name, words, factor, unit in SOURCE
            if np.isfinite(found.get(name, np.nan))
        }
    if energies is None or "seismic_moment" not in energies:
        return {}
    moment = energies["seismic_moment"][np.isfinite(energies["seismic_moment"])]
    if not len(moment) or moment[-1] <= 0:
        return {}
    return {
        "moment magnitude": f"{magnitude(moment[-1]):.2f}",
        "seismic moment": f"{moment[-1]:.4g} N m",
    }


def _with(value: Value | None, text: Callable[[Value], str]) -> str:
    return "" if value is None else text(value)
