"""The stencils of a step on graphics processors that need not be here: what they take, what they move, how fast they could be."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from faultwave.backends.device.compilers import Built, build_text, target_of
from faultwave.backends.device.model import streamed
from faultwave.backends.device.stencil import StencilPlan, lower_launch
from faultwave.backends.device.target import LINE, TARGETS
from faultwave.backends.grid import GridArrays
from faultwave.base.errors import InputError, Problem, suggest
from faultwave.fd.absorbing import Absorber
from faultwave.fd.grid import SIDES, Grid, SideKind
from faultwave.fd.program import Scheme, build_program
from faultwave.kernels.stencil import Launch, Program, cost, record

CELLS, WIDTH = 64, 10
"""Points of the small grid whose program is looked at, and of its absorbing layers."""


@functools.cache
def program(attenuation: bool) -> Program:
    """A step with layers of both kinds of sides and a free surface."""
    grid = Grid((0.0, 0.0, 0.0), 100.0, (CELLS, CELLS, CELLS))
    sides: dict[str, SideKind] = dict.fromkeys(SIDES, "absorbing")
    sides["z+"] = "free-surface"
    return build_program(Scheme(grid, 0.007, 6000.0, sides, Absorber("cpml", WIDTH, along=0.01), attenuation))


def launches(attenuation: bool) -> dict[str, Launch]:
    """Every stencil of a step once, by name."""
    return {launch.stencil.name: launch for level in program(attenuation).levels for launch in level}


def all_launches() -> dict[str, tuple[bool, Launch]]:
    """Those without attenuation, then what attenuation changes; whether with attenuation, and the launch."""
    found = {name: (False, launch) for name, launch in launches(False).items()}
    return found | {name: (True, launch) for name, launch in launches(True).items() if name not in found}


def moved(made: Program, launch: Launch, single: bool) -> int:
    """Bytes of a point: every array once for reading and once for writing, coefficients in their sixteen bits."""
    reads, writes = record(launch.stencil)
    size = 4 if single else 8
    total = size * len(writes)
    for formal in {key[1] for key in reads if key[0] == "at"}:
        total += 2 if single and made.arrays[launch.names.get(formal, formal)].half else size
    return total


def lowered(name: str, arch: str, single: bool) -> StencilPlan:
    """The text of a stencil for an architecture. Raises InputError with the names there are."""
    attenuation, launch = _named(name)
    made, target = program(attenuation), TARGETS[arch] if arch == "opencl" else target_of(arch)
    dtype = np.float32 if single else np.float64
    return lower_launch(made, GridArrays(made, dtype, LINE // np.dtype(dtype).itemsize), launch, name, target)


def built(name: str, arch: str, single: bool) -> Built[StencilPlan]:
    """Compiled. Raises BackendError without a compiler, InputError for names that do not exist."""
    made = lowered(name, arch, single)
    return build_text(name, made.text, made)


def _named(name: str) -> tuple[bool, Launch]:
    known = all_launches()
    if name not in known:
        raise InputError(Problem("kernel", f"'{name}' does not exist", ", ".join(known), suggest(name, known)))
    return known[name]


def stencil_report(
    arch: str, names: Sequence[str] = (), precision: str = "single"
) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    """Title, header and rows: registers, spills and occupancy of every stencil (or those named), and its rate: at most, by the data
    sheet's memory and arithmetic, and by ``backends.device.model``; then whole steps in the interior, velocity and stress together."""
    single, target = precision == "single", target_of(arch)
    rows: list[tuple[str, ...]] = []
    for name in names or all_launches():
        attenuation, launch = _named(name)
        made = built(name, arch, single)
        size, flops = moved(program(attenuation), launch, single), cost(launch.stencil)[0]
        model = streamed(target, made.groups * made.plan.threads, size, flops, single)
        rows.append((
            name, f"{made.registers}", f"{made.spilled}", f"{made.stack}", f"{made.groups}", f"{100 * made.occupancy:.0f} %", f"{size}",
            f"{flops}", f"{1e-9 * target.roof(size, flops, single):,.1f}", f"{1e-9 * model.rate:,.1f}", model.limit,
        ))  # fmt: skip
    for attenuation, title in ((False, "a step"), (True, "a step with attenuation")) if not names else ():
        size, flops = step_cost(attenuation, single)
        rate = f"{1e-9 * target.roof(size, flops, single):,.1f}"
        rows.append((title, "", "", "", "", "", f"{size}", f"{flops}", rate, "", ""))
    header = (
        "stencil", "registers", "spilled bytes", "stack bytes", "groups", "occupancy", "bytes a point", "flops a point",
        "G points/s at most", "G points/s by the model", "limit",
    )  # fmt: skip
    return f"stencils, {precision}, {arch} ({target.device})", header, rows


def step_cost(attenuation: bool, single: bool) -> tuple[int, int]:
    """Bytes and flops of a point in a step away from all sides."""
    made, found = program(attenuation), launches(attenuation)
    inner = [found["velocity"], found["stress_q" if attenuation else "stress"]]
    return sum(moved(made, x, single) for x in inner), sum(cost(x.stencil)[0] for x in inner)


def stencil_stages(name: str, backend: str, precision: str = "single") -> list[tuple[str, str]]:
    """(stage, text): what a stencil reads and writes, then its text for a backend. Raises InputError."""
    _, launch = _named(name)
    reads, writes = record(launch.stencil)
    listed = [f"{kind} {rest}" for kind, *rest in reads]
    stages = [("reads and writes", "\n".join([*listed, "writes " + ", ".join(writes)]))]
    arch = {"cuda": "sm_90", "hip": "gfx90a", "opencl": "opencl"}.get(backend)
    if arch is None:
        raise InputError(Problem("--backend", f"'{backend}' writes no text of single stencils", "cuda, hip, opencl"))
    return [*stages, (f"{backend} source for {arch}", lowered(name, arch, precision == "single").text)]


def stencil_table() -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows: name, flops and bytes in single precision of a point."""
    rows: list[tuple[str, ...]] = []
    for name, (attenuation, launch) in all_launches().items():
        rows.append((name, f"{cost(launch.stencil)[0]}", f"{moved(program(attenuation), launch, True)}"))
    return ("stencil", "flops a point", "bytes a point in single"), rows


__all__ = [
    "all_launches",
    "built",
    "lowered",
    "moved",
    "step_cost",
    "stencil_report",
    "stencil_stages",
    "stencil_table",
]
