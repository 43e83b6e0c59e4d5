"""Figure of error against cost, with a panel for each problem."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes

from faultwave.bench.accuracy.table import Kept, distance_name, level_name, series
from faultwave.plot import style

MARKS = {"double": "o", "single": "s"}


@style.house()
def draw(table: Kept, path: Path) -> Path:
    """Write the figure as PNG: errors at the largest distance of each problem, with a line for each ladder of sizes.

    The file is written completely or not at all.
    """
    problems = [p for p in table["problems"] if p["points"]]
    columns = min(2, len(problems))
    rows = -(-len(problems) // columns)
    fig = style.figure(height=0.3 + 3.2 * rows, width=style.WIDTH if columns == 2 else 0.7 * style.WIDTH)
    axes = style.mosaic(fig, rows, columns).ravel()
    for ax, problem in zip(axes, problems, strict=False):
        _panel(ax, problem)
    for ax in axes[len(problems) :]:
        ax.set_axis_off()
    return style.save(fig, path)


def _panel(ax: Axes, problem: Kept) -> None:
    shades = style.colours("viridis")
    for (engine, order, precision), points in series(problem):
        colour = shades((order - 2) / 6.5) if engine == "dg" else style.COLOURS[1]
        single = precision == "single"
        line = "-" if engine == "dg" and not single else "--" if engine == "dg" else "-" if order == 4 else ":"
        usual = single == (engine == "fd")
        name = f"{engine} {order}" + ("" if usual else f" {precision}")
        costs, errors = [p["core_seconds"] for p in points], [p["errors"][-1] for p in points]
        face = colour if usual else "white"
        ax.loglog(costs, errors, color=colour, ls=line, marker=MARKS[precision], ms=3, mfc=face, label=name)
    for level in problem["levels"]:
        ax.axhline(level, color="#bbbbbb", lw=0.6, zorder=0)
        ax.annotate(level_name(problem, level), (0.995, level), xycoords=("axes fraction", "data"), ha="right", va="bottom",
                    fontsize=7, color="#777777")  # fmt: skip
    ax.set_title(f"{problem['name']}, {distance_name(problem, problem['distances'][-1])}")
    ax.set_xlabel("core-seconds")
    ax.set_ylabel("error" + (" [s]" if problem["unit"] == "s" else ""))
    ax.grid(color="#ececec", lw=0.5)
    ax.set_axisbelow(True)
    ax.legend(loc="lower left", fontsize=6.5, ncols=2, handlelength=1.6, columnspacing=0.8, labelspacing=0.25)
