"""Material blocks of SW4 as the material of a case.

A later block replaces earlier ones inside its bounds. Speeds and density are linear in depth from z = 0, or from the ground unless
``absdepth=1``, wherever the block begins (MaterialBlock of SW4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from faultwave.case.sw4.reader import Command, Reader

AXES = "xyz"
ROCK = ("rho", "vp", "vs")
QUALITY = ("Qp", "Qs")
MOST_CELLS = 50_000_000
"""Largest number of boxes between the bounds of all blocks for which their coverage is examined."""
EPSILON = 1e-5
"""Tolerance of bounds [m], as in SW4."""


@dataclass(frozen=True)
class MaterialBlock:
    """Block of an input.

    Attributes
    ----------
    lower, upper : tuple of float
        Bounds of x, y and depth [m]; infinite at and beyond the sides of the grid.
    values : dict of str to (float, float)
        Value at depth 0 and gradient with depth of each parameter.
    line : Command
        Line of the block.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    values: dict[str, tuple[float, float]]
    line: Command

    @property
    def unbounded(self) -> bool:
        """True if the block covers the grid."""
        return not np.isfinite([*self.lower, *self.upper]).any()

    def condition(self) -> str:
        """Return the condition that a point of the case is inside, in the function language of materials."""
        parts = list[str]()
        for name, low, high in zip("yxz", self.lower, self.upper, strict=True):  # x of SW4 is y of the case
            low, high = (-high, -low) if name == "z" else (low, high)
            parts += [f"{name} >= {_number(low)}"] if math.isfinite(low) else []
            parts += [f"{name} <= {_number(high)}"] if math.isfinite(high) else []
        return " && ".join(parts)


def _number(value: float) -> str:
    return f"({value!r})" if value < 0 else repr(value)


def read_material(r: Reader, extent: tuple[float, float, float], highest: float, hilly: bool) -> float | None:
    """Set the material and return the largest P speed [m/s], or None with errors.

    Parameters
    ----------
    r : Reader
        Input.
    extent : tuple of float
        Largest x, y and z of the grid [m].
    highest : float
        Highest elevation of the ground [m].
    hilly : bool
        True if the ground is not flat, so that ``absdepth`` matters.
    """
    lines = list(r.all("block"))
    if not lines:
        r.problems.error(r.name, "has no line 'block'", "the material in blocks")
        return None
    absolute = {line.real("absdepth") != 0 for line in lines}
    if hilly and len(absolute) > 1:
        lines[-1].error("absdepth differs between blocks below a topography", "the same absdepth in all blocks")
        return None
    if hilly:
        r.put(("grid", "topography", "material"), "elevation" if absolute == {True} else "depth", lines[0])
    top = -highest if hilly and absolute == {True} else 0.0
    blocks = [b for line in lines if (b := _block(line, extent, top)) is not None]
    attenuation = r.last("attenuation")
    factor = 1.0 if attenuation is None else attenuation.positive("qmultiplier", 1.0)
    names = ROCK if attenuation is None else (*ROCK, *QUALITY)
    if attenuation is None and any(set(QUALITY) & b.values.keys() for b in blocks):
        first = next(b for b in blocks if set(QUALITY) & b.values.keys())
        first.line.warn("qp and qs have no effect without a line 'attenuation', as in SW4")
    if len(blocks) < len(lines):
        return None
    for name in names:
        _parameter(r, name, blocks, (extent, top), factor if name in QUALITY else 1.0)
    _limits(r)
    deepest = extent[2]
    return max(max(v, v + g * deepest) for v, g in (b.values["vp"] for b in blocks))


def _block(line: Command, extent: tuple[float, float, float], top: float) -> MaterialBlock | None:
    """Return the block of a line, or None with errors."""
    values = dict[str, tuple[float, float]]()
    if line.given("rho") and line.given("r"):
        line.error("contains rho and r, which are the same", "one of them")
        return None
    keys = {"rho": "r" if line.given("r") else "rho", "vp": "vp", "vs": "vs"}
    for name, key in keys.items():
        value = line.number(key, -1.0)
        if value is None:
            return None
        if value <= 0:
            line.error(f"{name} is {line.values.get(key, 'missing')}", "a number above 0, as in SW4")
            return None
        values[name] = value, line.real(f"{name}grad")
    for name in QUALITY:
        key = name.lower()
        if line.given(key) and line.real(key, -1.0) != -1.0:
            values[name] = line.positive(key, 1.0), 0.0
    lower, upper = list[float](), list[float]()
    for axis, least, most in zip(AXES, (0.0, 0.0, top), extent, strict=True):
        low, high = line.real(f"{axis}1", -math.inf), line.real(f"{axis}2", math.inf)
        if low > high:
            line.error(f"{axis}1={low:g} is above {axis}2={high:g}", f"{axis}1 below {axis}2")
            return None
        lower.append(-math.inf if low <= least + EPSILON else low)
        upper.append(math.inf if high >= most - EPSILON else high)
    return MaterialBlock(tuple(lower), tuple(upper), values, line)


def _parameter(
    r: Reader,
    name: str,
    blocks: list[MaterialBlock],
    box: tuple[tuple[float, float, float], float],
    factor: float,
) -> None:
    """Set a parameter: a constant, or an expression with the blocks from the last that covers the grid on."""
    stating = [b for b in blocks if name in b.values]
    covering = [i for i, b in enumerate(stating) if b.unbounded]
    if not covering and not _covered(r, name, stating, box):
        return
    used = stating[covering[-1] :] if covering else stating

    def formula(block: MaterialBlock) -> str:
        value, gradient = (factor * v for v in block.values[name])
        return f"{_number(value)} - {_number(gradient)} * z" if gradient else _number(value)

    if len(used) == 1 and not used[0].values[name][1]:
        r.put(("material", "constant", name), factor * used[0].values[name][0], used[0].line)
        return
    body = [f"v = {formula(used[0])};"]
    body += [f"if ({b.condition()}) {{ v = {formula(b)}; }}" for b in used[1:]]
    r.put(("material", "expression", name), " ".join([*body, "return v;"]), used[0].line)


def _covered(r: Reader, name: str, blocks: list[MaterialBlock], box: tuple[tuple[float, float, float], float]) -> bool:
    """Return True if the blocks cover the grid; otherwise add an error with a place that they do not cover."""
    extent, top = box
    edges = []
    for k, (least, most) in enumerate(zip((0.0, 0.0, top), extent, strict=True)):
        bounds = [*(b.lower[k] for b in blocks), *(b.upper[k] for b in blocks)]
        edges.append(np.unique([least, most, *(x for x in bounds if least < x < most)]))
    shape = tuple(len(e) - 1 for e in edges)
    if math.prod(shape) > MOST_CELLS:
        r.problems.error(
            blocks[0].line.where, f"no block covers the whole grid with {name}", "a first block without bounds"
        )
        return False
    covered = np.zeros(shape, bool)
    for b in blocks:
        inside = tuple(
            slice(int(np.searchsorted(e, max(low, e[0]))), int(np.searchsorted(e, min(high, e[-1]))))
            for e, low, high in zip(edges, b.lower, b.upper, strict=True)
        )
        covered[inside] = True
    if covered.all():
        return True
    first = np.argwhere(~covered)[0]
    x, y, z = (0.5 * (e[i] + e[i + 1]) for e, i in zip(edges, first, strict=True))
    attenuation = r.last("attenuation")
    where = blocks[0].line.where if blocks or attenuation is None else attenuation.where
    what = f"no block defines {name.lower()} at x={x:g} y={y:g} z={z:g}"
    needed = "blocks that cover the grid; with attenuation each place needs qp and qs"
    r.problems.error(where, what, needed if name in QUALITY else "blocks that cover the grid")
    return False


def _limits(r: Reader) -> None:
    """Set the smallest speeds."""
    line = r.last("globalmaterial")
    for key, name in (("vpmin", "vp"), ("vsmin", "vs")):
        if line is not None and line.real(key) > 0:
            r.put(("material", "minimum", name), line.real(key), line)
