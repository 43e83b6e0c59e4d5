"""What free surfaces, hills, blocks, layers and attenuation cost on grids: times of a step beside those of plain boxes, taken in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.bench.proxy import facts
from faultwave.bench.report import Section
from faultwave.fd import stencils
from faultwave.run import simulate

FORMAT = "faultwave-bench-grids-1"
SMALLEST, SPACING, REPEAT_SECONDS = 48, 100.0, 1.0
ROCK = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}
ASKED = {"surface": "at most 1.05", "hill": "at most 2.2", "blocks": "at most 1", "everything": "at most 1.14"}
"""Of each ratio, what the engine is made for."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Setting:
    """``cells`` along each axis of the box, a multiple of 4."""

    cells: int = 256
    precision: str = "single"
    threads: int | None = None
    repeats: int = 5


def check(s: Setting) -> None:
    """Raises InputError with everything wrong."""
    problems = Problems()
    if s.cells < SMALLEST or s.cells % 4:
        problems.error("--cells", f"is {s.cells}", f"a multiple of 4, {SMALLEST} or more")
    if s.precision not in ("double", "single"):
        problems.error("--precision", f"'{s.precision}' does not exist", "double, single")
    for name, number in (("threads", s.threads), ("repeats", s.repeats)):
        if number is not None and number < 1:
            problems.error(f"--{name}", f"is {number}", "at least 1")
    problems.raise_errors()


def cases(s: Setting) -> dict[str, dict[str, Any]]:
    """A plain box of so many cells, and others of as many with one thing more, or with everything."""
    n, h = s.cells, SPACING
    rigid = dict.fromkeys(("x", "y", "z-", "z+"), "rigid")
    free = rigid | {"z+": "free-surface"}
    relief = 0.05 * n * h
    square = " + ".join(f"({axis}-{n * h / 2})*({axis}-{n * h / 2})" for axis in "xy")
    hill = f"{relief} * exp(-({square}) / {(0.2 * n * h) ** 2})"
    inner, width = n - 20, {"width": 10}
    receivers = {
        "receivers": {"points": [[inner * h * k / 11, inner * h / 2, 0.0] for k in range(1, 11)], "interval": 1.0}
    }

    def box(upper: float, low: float, sides: Mapping[str, str], **more: Any) -> dict[str, Any]:
        grid = {"lower": [0, 0, low * h], "upper": [upper * h, upper * h, 0], "spacing": h, "boundaries": sides, **more}
        return {
            "engine": "fd", "end_time": 1e4, "material": {"constant": ROCK}, "grid": grid, "sources": [], "output": {},
            "numerics": {"backend": "cpu", "precision": s.precision, "threads": s.threads},
        }  # fmt: skip

    topography = {"expression": hill, "receivers": "depth", "sources": "depth"}
    bent = box(n, -n, free, topography=topography)
    bent["grid"]["upper"][2] = 2 * relief
    lossy = {
        "attenuation": {"low": "0.05 Hz", "high": "5 Hz"},
        "material": {"constant": ROCK | {"Qp": 100.0, "Qs": 50.0}},
    }
    layers = box(inner, 10 - n, {"z+": "free-surface"}, absorbing=width) | lossy | {"output": receivers}
    return {
        "plain": box(n, -n, rigid),
        "attenuation": box(n, -n, rigid) | lossy,
        "surface": box(n, -n, free),
        "hill": bent,
        "blocks": box(n, -n, free, blocks=[{"below": n // 2 * h, "spacing": 2 * h}]),
        "everything": layers,
    }  # fmt: skip


def bench(s: Setting, say: Say = lambda _: None) -> dict[str, Any]:
    """Seconds of a step of each case, in turns, and the ratios that matter, as plain data. Raises InputError."""
    check(s)
    solvers: dict[str, Any] = {}
    for name, case in cases(s).items():
        say(f"preparing: {name}")
        solvers[name] = simulate(case).solver
    seconds: dict[str, list[float]] = {name: [] for name in solvers}
    steps: dict[str, int] = {}
    for name, solver in solvers.items():
        _shake(solver.operator)
        solver.operator.advance(12)  # whole passes
        started = time.perf_counter()
        solver.operator.advance(12)
        steps[name] = 12 * max(1, round(REPEAT_SECONDS / (time.perf_counter() - started)))
    for repeat in range(s.repeats):
        say(f"measuring, {repeat + 1} of {s.repeats}")
        for name, solver in solvers.items():
            started = time.perf_counter()
            solver.operator.advance(steps[name])
            seconds[name].append((time.perf_counter() - started) / steps[name])
    points = {name: solver.plan.points for name, solver in solvers.items()}
    medians = {name: float(np.median(taken)) for name, taken in seconds.items()}
    scheme = solvers["hill"].plan.scheme
    share = (scheme.grid.shape[0] - scheme.cap) / scheme.grid.shape[0]
    return {
        "format": FORMAT,
        **facts(),
        "setting": asdict(s),
        "points": points,
        "seconds_per_step": medians,
        "spread": {name: (max(t) - min(t)) / medians[name] for name, t in seconds.items()},
        "bent_share": share,
        "ratios": ratios(medians, points, share),
    }


def _shake(operator: Any) -> None:
    """Numbers of every size: zeros would be no work for some processors."""
    for op in operator.blocks:
        noise = np.random.default_rng(0).normal(size=op.runner.view("u").shape[1:])
        for name in stencils.FIELDS:
            op.runner.view(name)[...] = noise * (1e-6 if name in stencils.VELOCITY else 10.0)


def ratios(seconds: Mapping[str, float], points: Mapping[str, int], bent: float) -> dict[str, float]:
    """With a surface, times of a step over plain; a point of a bent plane over a flat one, where ``bent`` is the share of
    such planes; a point with blocks over one in one block; one with layers, attenuation and all else over one with attenuation alone."""
    flat = seconds["surface"]
    return {
        "surface": flat / seconds["plain"],
        "hill": (seconds["hill"] - (1 - bent) * flat) / (bent * flat),
        "blocks": seconds["blocks"] / points["blocks"] / (flat / points["surface"]),
        "everything": seconds["everything"] / points["everything"] / (seconds["attenuation"] / points["attenuation"]),
    }


TELLS = {
    "surface": "step with a surface / plain",
    "hill": "bent point / flat",
    "blocks": "point of two blocks / of one",
    "everything": "point with everything / with attenuation",
}


def sections(r: Mapping[str, Any]) -> list[Section]:
    """The result as tables."""
    s = r["setting"]
    title = f"{s['cells']}^3 points, {s['precision']}, {s['threads'] or 'all'} threads"
    rates: list[tuple[str, ...]] = [
        (
            name,
            f"{r['points'][name]:,}",
            f"{1e3 * t:.3g}",
            f"{1e-6 * r['points'][name] / t:.3g}",
            f"{100 * r['spread'][name]:.1f} %",
        )
        for name, t in r["seconds_per_step"].items()
    ]
    found: list[tuple[str, ...]] = [(TELLS[name], f"{ratio:.3f}", ASKED[name]) for name, ratio in r["ratios"].items()]
    return [
        (title, ("case", "points", "ms a step", "Mpt/s", "spread"), rates),
        ("what it costs", ("ratio of times", "measured", "wanted"), found),
    ]


__all__ = ["Setting", "bench", "cases", "check", "ratios", "sections"]
