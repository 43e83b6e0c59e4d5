"""Roofline figures (Williams et al. 2009): kernels and whole updates below the roofs measured with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from faultwave.base.types import Settings
from faultwave.bench.results import Measured
from faultwave.plot import style

MIN_SHARE = 0.02
"""Smallest share of the time of a step for which a kernel is drawn."""


@style.house()
def draw(results: Sequence[Measured], path: Path) -> Path:
    """Draw one panel for each precision and number of threads among the proxy results; write a PNG, completely or not at all.

    Filled circles: kernels alone, sized by their share of a step. Filled squares: whole updates, executed flops; open squares: useful
    flops. Intensity is flops per byte that the kernels declare to move.
    """
    groups: dict[tuple[str, int], list[Measured]] = {}
    for r in results:
        groups.setdefault((r["setting"]["precision"], r["setting"]["threads"]), []).append(r)
    columns = min(2, len(groups))
    rows = -(-len(groups) // columns)
    fig = style.figure(height=0.2 + 3.7 * rows, width=style.WIDTH if columns == 2 else 0.75 * style.WIDTH)
    axes = style.mosaic(fig, rows, columns).ravel()
    for ax, ((precision, threads), members) in zip(axes, groups.items(), strict=False):
        _panel(ax, members)
        ax.set_title(f"{precision} precision, {threads} thread{'s' * (threads > 1)}")
    for ax in axes[len(groups) :]:
        ax.set_axis_off()
    between = ";  " if columns == 2 else ";\n"
    fig.supxlabel(
        f"circles: kernels alone, with an area proportional to their fraction of a step{between}full squares: "
        "whole updates, executed flops;  open squares: useful flops",
        fontsize=7.5, color=style.INK,
    )  # fmt: skip
    return style.save(fig, path)


def _panel(ax: Axes, results: list[Measured]) -> None:
    points = [
        _point(ax, r, colour, len(results) == 1) for r, colour in zip(results, _colours(len(results)), strict=True)
    ]
    x = np.concatenate([p[0] for p in points])
    y = np.concatenate([p[1] for p in points])
    roofs = {n: float(np.median([r["roofs"][n]["value"] for r in results])) * 1e-9 for n in results[0]["roofs"]}
    left, right = 0.25 * x.min(), max(2.5 * x.max(), 4.0 * roofs["fma"] / roofs["copy"])
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(left, right)
    lowest, top = min(0.7 * y.min(), roofs["copy"] * left), 1.5 * roofs["fma"]
    legend = 0.06 + 0.055 * len(results)  # share of the height, below all points
    ax.set_ylim(lowest * (lowest / top) ** (legend / (1 - legend)), top)
    _roofs(ax, roofs, left, right)
    ax.set_xlabel("flops a byte")
    ax.set_ylabel("GFLOP/s")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda v, _: f"{v:g}")
        axis.set_minor_formatter(lambda v, _: f"{v:g}" if f"{v:.0e}"[0] in "25" else "")
    ax.tick_params(which="minor", labelsize=7)
    ax.grid(color="#ececec", lw=0.5, which="both")
    ax.set_axisbelow(True)
    ax.legend(loc="lower right", handletextpad=0.3)


def _colours(count: int) -> list[str]:
    return [style.COLOURS[i % len(style.COLOURS)] for i in range(count)]


def _point(ax: Axes, r: Measured, colour: str, only: bool) -> tuple[np.ndarray, np.ndarray]:
    """Draw the kernels and the update of one result; return all intensities and rates drawn."""
    shown = [k for k in r["kernels"] if k["share"] >= MIN_SHARE]
    x = [k["flops_per_item"] / k["bytes_per_item"] for k in shown]
    y = [1e-9 * k["flops_per_second"] for k in shown]
    ax.scatter(x, y, [20 + 160 * k["share"] for k in shown], color=colour, alpha=0.55, linewidths=0, zorder=3)
    moved = r["bytes_per_update"]
    update = [
        (r[f"{kind}_flops_per_update"] / moved, 1e-9 * r[f"{kind}_flops_per_second"]) for kind in ("executed", "useful")
    ]
    ax.plot(*update[0], "s", color=colour, ms=6, zorder=4, label=label(r))
    ax.plot(*update[1], "s", color=colour, ms=6, mfc="white", zorder=4)
    if only:
        for k, kx, ky in zip(shown, x, y, strict=True):
            ax.annotate(
                k["kernel"],
                (kx, ky),
                (-9, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=7.5,
                color=style.INK,
            )
    return np.array([*x, *(u[0] for u in update)]), np.array([*y, *(u[1] for u in update)])


def label(r: Measured) -> str:
    """Return the label of a result, such as 'elastic, order 4, out of cache'."""
    s = r["setting"]
    faults = f", {100 * s['faults']:g} % faults" if s["faults"] else ""
    return f"{s['law']}, order {s['order']}, {'in' if r['in_cache'] else 'out of'} cache{faults}"


def _roofs(ax: Axes, roofs: dict[str, float], left: float, right: float) -> None:
    """Draw compute roofs from where the fastest memory reaches them, and memory roofs up to the highest compute roof."""
    top = roofs["fma"]
    memory = [m for m in _MEMORY if m[0] in roofs]
    fastest = max(roofs[name] for name, *_ in memory)
    for name, line, text, above in _COMPUTE:
        value = roofs[name]
        ax.plot([max(left, value / fastest), right], [value, value], line, color=style.INK, lw=1.0)
        place: Settings = {
            "textcoords": "offset points",
            "ha": "right",
            "va": "bottom" if above else "top",
            "fontsize": 7.5,
        }
        ax.annotate(f"{text}: {value:.0f}", (right, value), (-2, 2 if above else -3), **place)
    for name, line, text, above in memory:
        value = roofs[name]
        ax.plot([left, top / value], [left * value, top], line, color=style.INK, lw=1.0)
        x, adjacent = 1.05 * left, value * (1.12 if above else 0.89)
        slope = np.degrees(np.arctan(adjacent))  # slope of the line y = (offset roof) * x, in data units
        ax.text(
            x, x * adjacent, f"{text}: {value:.0f} GB/s", fontsize=7.5, rotation=slope,
            rotation_mode="anchor", transform_rotates_text=True, va="baseline" if above else "top",
        )  # fmt: skip


_COMPUTE = (("fma", "-", "multiply-add", True), ("fma_memory", "--", "operands in cache", False))
_MEMORY = (("copy", "-", "copy", False), ("copy_streaming", "--", "copy, streaming stores", True))
