"""Error tables of smooth solutions on refined grids, and their acceptance criteria."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultwave.verify.case import Row, at_least, at_most, rate

Errors = Mapping[int, Mapping[int, np.ndarray]]
"""Errors of the judged quantities: order -> cells per side -> errors."""


def rate_limit(order: int) -> float:
    """Return the smallest rate accepted: O - 0.3 up to order 5, O - 0.7 above, where grids are far from the asymptotic range."""
    return order - (0.3 if order <= 5 else 0.7)


def judged_pair(errors: Mapping[int, np.ndarray]) -> tuple[int, int] | None:
    """Return the two finest grids of which the finer has every error within (1e-10, 5e-2), resolved and above rounding."""
    grids = sorted(errors)
    for coarse, fine in zip(grids[-2::-1], grids[:0:-1], strict=True):
        if np.all(errors[fine] < 5e-2) and np.all(errors[fine] > 1e-10):
            return coarse, fine
    return None


def rate_rows(errors: Errors, names: tuple[str, ...]) -> list[Row]:
    """Return rows with the observed rates of every order; an order without a pair of grids to judge fails."""
    rows = []
    for order, by_grid in sorted(errors.items()):
        pair = judged_pair(by_grid)
        for i, name in enumerate(names):
            if pair is None:
                rows.append(at_least(f"O={order} rate of {name}: no grid resolves the wave", np.nan, rate_limit(order)))
                continue
            coarse, fine = pair
            observed = rate(by_grid[coarse][i], by_grid[fine][i], fine / coarse)
            rows.append(at_least(f"O={order} rate of {name}, n={coarse} to {fine}", observed, rate_limit(order), order))
    return rows


def table_rows(
    errors: Errors,
    names: tuple[str, ...],
    table: Mapping[int, Mapping[int, tuple[float, ...]]],
    factor: float = 1.3,
) -> list[Row]:
    """Return rows that compare every measured error with ``factor`` times its entry in ``table``, where it has one."""
    rows = []
    for order, by_grid in sorted(errors.items()):
        for n, measured in sorted(by_grid.items()):
            for name, value, expected in zip(names, measured, table.get(order, {}).get(n, ()), strict=False):
                rows.append(at_most(f"O={order} n={n} error of {name}", value, factor * expected, expected))
    return rows


def table_text(errors: Errors, names: tuple[str, ...]) -> list[str]:
    """Return the measured table, one line per order."""
    lines = [f"relative L2 errors of {', '.join(names)}"]
    for order, by_grid in sorted(errors.items()):
        cells = (f"n={n} " + "/".join(f"{e:.3g}" for e in values) for n, values in sorted(by_grid.items()))
        lines.append(f"O={order}: " + "; ".join(cells))
    return lines


def markdown(errors: Errors, names: tuple[str, ...]) -> list[str]:
    """Return the measured table for the documentation: errors by order and grid, and the smallest rate of the judged grids."""
    grids = sorted({n for by_grid in errors.values() for n in by_grid})
    lines = [
        f"| order | {' | '.join(f'{n}^3' for n in grids)} | rates of {', '.join(names)} |",
        "|---" * (len(grids) + 2) + "|",
    ]
    for order, by_grid in sorted(errors.items()):
        cells = [", ".join(f"{e:.1e}" for e in by_grid[n]) if n in by_grid else "" for n in grids]
        pair, shown = judged_pair(by_grid), ""
        if pair is not None:
            coarse, fine = pair
            found = (rate(by_grid[coarse][i], by_grid[fine][i], fine / coarse) for i in range(len(names)))
            shown = ", ".join(f"{r:.2f}" for r in found)
        lines.append(f"| {order} | {' | '.join(cells)} | {shown} |")
    return lines
