"""Cost of features on grids: time per step with surfaces, topography, blocks, attenuation, faults or yielding against plain boxes.

The steps of all cases are timed in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import cast

import numpy as np

from faultwave.base.errors import Problems, suggest
from faultwave.base.types import Settings
from faultwave.bench.proxy import facts
from faultwave.bench.report import Section
from faultwave.bench.results import Measured, check_counts
from faultwave.fd.method import stencils
from faultwave.fd.method.program import Scheme
from faultwave.fd.operators.operator import Operator
from faultwave.fd.rheology.yielding import LOST_SHARE
from faultwave.fd.solver import FdSolver
from faultwave.run import simulate

SPACING = 100.0
ROCK = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}
SLOW = 1e4
"""Relaxation time [s] of yielding rock, so long that waves lose hardly any amplitude during the measurement."""
STRENGTH = 28.0
"""Cohesion [Pa] at a tenth of the box from its middle; with the waves of ``grids`` about 1 % of the points yield."""


@dataclass(frozen=True)
class Box:
    """Box with ``cells`` grid cells along each axis and the ``numerics`` of its cases."""

    cells: int
    numerics: Mapping[str, object] = field(default_factory=dict)

    def case(
        self, sides: Mapping[str, str], upper: float | None = None, low: float | None = None, **more: object
    ) -> Settings:
        """Return a case on a grid from ``low`` cells up to z = 0 and ``upper`` cells along x and y.

        ``more`` goes into the settings of the grid.
        """
        h, wide = SPACING, self.cells if upper is None else upper
        bottom = -self.cells if low is None else low
        grid = {
            "lower": [0, 0, bottom * h],
            "upper": [wide * h, wide * h, 0],
            "spacing": h,
            "boundaries": sides,
            **more,
        }
        return {
            "engine": "fd", "end_time": 1e4, "material": {"constant": ROCK}, "grid": grid, "sources": [], "output": {},
            "numerics": {"backend": "cpu", **self.numerics},
        }  # fmt: skip

    @property
    def edge(self) -> float:
        """Edge length of the box [m]."""
        return self.cells * SPACING


RIGID = dict.fromkeys(("x", "y", "z-", "z+"), "rigid")
FREE = RIGID | {"z+": "free-surface"}
LOSSY = {
    "attenuation": {"low": "0.05 Hz", "high": "5 Hz"},
    "material": {"constant": ROCK | {"Qp": 100.0, "Qs": 50.0}},
}


def box_cases(box: Box) -> dict[str, Settings]:
    """Return all cases by name; all but ``blocks`` have about as many points as the plain box."""
    n = box.cells
    halves = [{"below": n // 2 * SPACING, "spacing": 2 * SPACING}]
    return {
        "plain": box.case(RIGID),
        "attenuation": box.case(RIGID) | LOSSY,
        "surface": box.case(FREE),
        "hill": _hill(box),
        "blocks": box.case(FREE, blocks=halves),
        "everything": _everything(box),
        "fault": _fault(box),
        "few-yield": _yielding(box, f"{100.0 * STRENGTH / box.edge**2} * ({_from_middle(box, 'xyz')})"),
        "all-yield": _yielding(box, "1e-6"),
        "soil": _soil(box),
    }


def _from_middle(box: Box, axes: str) -> str:
    """Return, as an expression, the squared distance from the middle of the box along some axes."""
    middle = {"x": 0.5, "y": 0.5, "z": -0.5}
    away = [f"({a} - {middle[a] * box.edge})" for a in axes]
    return " + ".join(f"{d}*{d}" for d in away)


def _hill(box: Box) -> Settings:
    """Return a box below a Gaussian hill."""
    relief = 0.05 * box.edge
    shape = f"{relief} * exp(-({_from_middle(box, 'xy')}) / {(0.2 * box.edge) ** 2})"
    made = box.case(FREE, topography={"expression": shape, "receivers": "depth", "sources": "depth"})
    made["grid"]["upper"][2] = 2 * relief
    return dict(made)


def _everything(box: Box) -> Settings:
    """Return a box with absorbing layers of ten points, attenuation, a free surface and receivers."""
    n, h = box.cells, SPACING
    inner = n - 20
    points = [[inner * h * k / 11, inner * h / 2, 0.0] for k in range(1, 11)]
    layers = box.case({"z+": "free-surface"}, inner, 10 - n, absorbing={"width": 10})
    return layers | LOSSY | {"output": {"receivers": {"points": points, "interval": 1.0}}}


def _fault(box: Box) -> Settings:
    """Return a box with a vertical fault that slips everywhere, from the free surface to mid-depth."""
    n, h = box.cells, SPACING
    first, last, deep, across = n // 8, n - n // 8, n // 2, n // 2 + 0.5
    plane = {"lower": [first * h, across * h, -deep * h], "upper": [last * h, across * h, 0]}
    friction = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_s": 81.6e6, "T_d": 0.0}
    fault = {
        "friction": "linear-slip-weakening", "reference_method": "direction", "reference": [0.0, 1.0, 0.0],
        "parameters": {"constant": friction},
    }  # fmt: skip
    return box.case(FREE, fault=plane) | {"fault": fault}


def _yielding(box: Box, cohesion: str) -> Settings:
    """Return a box with plasticity, without initial stress, and with the cohesion [Pa] as an expression."""
    rest = dict.fromkeys(("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz"), 0.0)
    given = {"constant": {"bulk_friction": 0.0, **rest}, "expression": {"plastic_cohesion": cohesion}}
    return box.case(RIGID) | {"plasticity": {"parameters": given, "constants": {"relaxation_time": SLOW}}}


def _soil(box: Box) -> Settings:
    """Return a box whose uppermost tenth is soil with ten yield surfaces."""
    slow = f"if (z > {-0.1 * box.edge}) {{ return 300; }} return {ROCK['vs']};"
    material = {"expression": {n: str(v) for n, v in ROCK.items()} | {"vs": slow}}
    soil = {"slower_than": 500, "surfaces": 10, "parameters": {"constant": {"reference_strain": 1e-7}}}
    return box.case(FREE) | {"material": material, "soil": soil}


FORMAT = "faultwave-bench-grids-2"
SMALLEST, REPEAT_SECONDS = 48, 1.0
WAVES, SHORTEST = 12, 10
"""Number of plane waves in the initial state, and points per wavelength of the shortest of them."""
Seconds = Mapping[str, float]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Ratio:
    """Ratio of the costs of two cases.

    Attributes
    ----------
    told : str
        Title in the table.
    asked : str
        Limit in the table.
    of : tuple of str
        Two cases whose times per step are compared.
    each : bool
        True to compare times per step and point.
    """

    told: str
    asked: str
    of: tuple[str, str]
    each: bool = False


RATIOS = {
    "surface": Ratio("step with a surface / plain", "at most 1.05", ("surface", "plain")),
    "hill": Ratio("bent point / flat", "at most 2.2", ("hill", "surface")),
    "blocks": Ratio("point of two blocks / of one", "at most 1", ("blocks", "surface"), True),
    "everything": Ratio(
        "point with everything / with attenuation", "at most 1.14", ("everything", "attenuation"), True
    ),
    "fault": Ratio("step with a fault / with a surface", "at most 1.03", ("fault", "surface")),
    "few-yield": Ratio("step where few points yield / plain", "at most 1.1", ("few-yield", "plain")),
    "all-yield": Ratio("step where all points yield / plain", "at most 1.65", ("all-yield", "plain")),
    "soil": Ratio("step with a tenth of soil / with a surface", "at most 3", ("soil", "surface")),
}
"""Ratios by the name of their first case."""


@dataclass(frozen=True)
class Setting:
    """Settings of the benchmark; ``cells`` along each axis are a multiple of 4, ``chosen`` are names of ``RATIOS`` (none: all)."""

    cells: int = 256
    precision: str = "single"
    threads: int | None = None
    repeats: int = 5
    chosen: Sequence[str] = ()

    @property
    def ratios(self) -> dict[str, Ratio]:
        """Ratios to measure, by name."""
        return {name: r for name, r in RATIOS.items() if name in (self.chosen or RATIOS)}


def check(s: Setting) -> None:
    """Raise InputError with all problems of a setting."""
    problems = Problems()
    if s.cells < SMALLEST or s.cells % 4:
        problems.error("--cells", f"is {s.cells}", f"a multiple of 4, {SMALLEST} or more")
    if s.precision not in ("double", "single"):
        problems.error("--precision", f"'{s.precision}' does not exist", "double, single")
    for name in s.chosen:
        if name not in RATIOS:
            problems.error("--case", f"'{name}' does not exist", ", ".join(RATIOS), suggest(name, RATIOS))
    check_counts(problems, threads=s.threads, repeats=s.repeats)
    problems.raise_errors()


def cases(s: Setting) -> dict[str, Settings]:
    """Return the cases to time: the chosen ones and those that they are compared with."""
    wanted = {name for r in s.ratios.values() for name in r.of}
    made = box_cases(Box(s.cells, {"precision": s.precision, "threads": s.threads}))
    return {name: case for name, case in made.items() if name in wanted}


def bench(s: Setting, say: Say = lambda _: None) -> Measured:
    """Measure the time per step of each case, in turns, and the ratios; return plain data or raise InputError."""
    check(s)
    solvers: dict[str, FdSolver] = {}
    for name, case in cases(s).items():
        say(f"preparing: {name}")
        solvers[name] = cast(FdSolver, simulate(case).solver)
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
    share = _bent(solvers["hill"].plan.scheme) if "hill" in solvers else None
    return {
        "format": FORMAT,
        **facts(),
        "setting": asdict(s),
        "points": points,
        "seconds_per_step": medians,
        "spread": {name: (max(t) - min(t)) / medians[name] for name, t in seconds.items()},
        "bent_share": share,
        "yielding_share": {name: _yields(solver.operator) for name, solver in solvers.items() if "yield" in name},
        "ratios": {name: ratio(name, medians, points, share) for name in s.ratios},
    }


def _bent(scheme: Scheme) -> float:
    """Return the fraction of planes in the curvilinear layer."""
    assert scheme.cap is not None
    return float((scheme.grid.shape[0] - scheme.cap) / scheme.grid.shape[0])


def _yields(operator: Operator) -> float:
    """Return the fraction of points that yielded in the last step."""
    return float((operator.values(LOST_SHARE) > 0.0).mean())


def _shake(operator: Operator) -> None:
    """Fill every field with different waves everywhere, since some processors compute faster on zeros."""
    rng = np.random.default_rng(0)
    for op in operator.blocks:
        ny, nx = op.runner.view("u").shape[1:]
        y, x = np.arange(ny)[:, None], np.arange(nx)
        for name in stencils.FIELDS:
            numbers, phases = rng.uniform(-1.0, 1.0, (WAVES, 2)) * 2.0 * np.pi / SHORTEST, rng.uniform(0.0, 7.0, WAVES)
            made = sum(np.cos(a * y + b * x + c) for (a, b), c in zip(numbers, phases, strict=True))
            op.runner.view(name)[...] = made * (1e-6 if name in stencils.VELOCITY else 10.0)


def ratio(name: str, seconds: Seconds, points: Mapping[str, int], bent: float | None) -> float:
    """Return the measured value of one of ``RATIOS``.

    The ratio ``hill`` compares the costs of a point of a curvilinear plane and of a flat plane.

    Parameters
    ----------
    name : str
        Name of the ratio.
    seconds : mapping of str to float
        Time per step of each case [s].
    points : mapping of str to int
        Number of points of each case.
    bent : float or None
        Fraction of curvilinear planes of the case ``hill``.
    """
    r = RATIOS[name]
    one, other = (seconds[of] / points[of] if r.each else seconds[of] for of in r.of)
    if name == "hill":
        assert bent is not None
        return (one - (1 - bent) * other) / (bent * other)
    return one / other


def sections(r: Measured) -> list[Section]:
    """Return the result as tables."""
    s = r["setting"]
    title = f"{s['cells']}^3 points, {s['precision']}, {s['threads'] or 'all'} threads"
    yields = r["yielding_share"]
    rates: list[tuple[str, ...]] = [
        (
            f"{name}, {100 * yields[name]:.2g} % of the points" if name in yields else name,
            f"{r['points'][name]:,}",
            f"{1e3 * t:.3g}",
            f"{1e-6 * r['points'][name] / t:.3g}",
            f"{100 * r['spread'][name]:.1f} %",
        )
        for name, t in r["seconds_per_step"].items()
    ]
    found: list[tuple[str, ...]] = [
        (RATIOS[name].told, f"{value:.3f}", RATIOS[name].asked) for name, value in r["ratios"].items()
    ]
    return [
        (title, ("case", "points", "ms a step", "Mpt/s", "spread"), rates),
        ("what it costs", ("ratio of times", "measured", "wanted"), found),
    ]
