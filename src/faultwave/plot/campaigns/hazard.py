"""Pictures of the hazard curves of a campaign, from its tables."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, describe_bad_values
from faultwave.plot import style

NAME = "hazard_curves.png"
SHOWN = 12
"""Largest number of sites in a panel."""
COLUMNS = 3


def draw_hazard(folder: str | Path) -> Path:
    """Draw the annual rates of exceedance of every measure at the sites and return the path of the picture.

    Raises
    ------
    InputError
        If the folder holds no hazard of a campaign.
    """
    folder = Path(folder)
    tables = sorted(folder.glob("hazard_rates-*.csv"))
    if not tables:
        raise InputError(Problem(str(folder), "contains no hazard_rates-*.csv", advice="Run the campaign first."))
    with describe_bad_values(str(folder), "cannot be drawn"), style.house():
        columns = min(COLUMNS, len(tables))
        rows = -(-len(tables) // columns)
        fig = style.figure(height=0.4 + 2.6 * rows)
        panels = np.atleast_1d(fig.subplots(rows, columns, squeeze=False)).ravel()
        for panel, table in zip(panels, tables, strict=False):
            _panel(panel, table)
        for panel in panels[len(tables) :]:
            panel.set_visible(False)
        panels[0].legend()
        return style.save(fig, folder / NAME)


def read_rates(table: Path) -> tuple[str, str, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Return measure, unit, and levels and annual rates of each site of a table."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        found.setdefault(row["site"], []).append((float(row["level"]), float(row["annual_rate"])))
    curves = {site: (np.array(c)[:, 0], np.array(c)[:, 1]) for site, c in found.items()}
    return rows[0]["measure"], rows[0]["unit"], curves


def _panel(panel: style.Axes, table: Path) -> None:
    measure, unit, curves = read_rates(table)
    for number, (site, (levels, rates)) in enumerate(list(curves.items())[:SHOWN]):
        known = rates > 0
        colour, dashes = style.COLOURS[number % len(style.COLOURS)], "-" if number < len(style.COLOURS) else "--"
        panel.loglog(levels[known], rates[known], dashes, color=colour, label=site)
    more = len(curves) - SHOWN
    panel.set_title(measure if more <= 0 else f"{measure}, {SHOWN} of {len(curves)} sites")
    panel.set_xlabel(f"level [{unit}]" if unit else "level")
    panel.set_ylabel("annual rate of exceedance")
