"""The stencils of a step on graphics processors that need not be here: what they take, what they move, how fast they could be."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.backends.cpu.stencil import row_source
from faultwave.backends.device.compilers import Built, build_text, target_of
from faultwave.backends.device.model import streamed
from faultwave.backends.device.stencil import StencilPlan, lower_launch
from faultwave.backends.device.target import LINE, TARGETS
from faultwave.backends.grid import GridArrays
from faultwave.base.errors import InputError, Problem, suggest
from faultwave.bench.grid_programs import CASES, DOUBLE, programs
from faultwave.fd.absorbing import Absorber
from faultwave.fd.grid import SIDES, Grid, SideKind
from faultwave.fd.program import Scheme, build_program
from faultwave.kernels.mathematics import write_stencil
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


@dataclass(frozen=True)
class Found:
    """A stencil, in the program that has it; ``of``: that program's name."""

    of: str
    program: Program
    launch: Launch

    def single(self, asked: bool) -> bool:
        """Whether it is compiled in single precision; some programs run in double precision only."""
        return asked and self.of not in DOUBLE


PLAIN = {"plain": False, "attenuation": True}
"""Programs with layers at the sides, and whether with attenuation."""
PROGRAMS = (*PLAIN, *CASES)


@functools.cache
def plain_launches() -> dict[str, Found]:
    """Those without attenuation, then what attenuation changes."""
    return _distinct({name: [program(attenuation)] for name, attenuation in PLAIN.items()}, {})


@functools.cache
def all_launches() -> dict[str, Found]:
    """Every stencil of every program once. Where programs or blocks have different ones of one name, the later have theirs before it."""
    return _distinct({name: programs(name) for name in CASES}, plain_launches())


def launches_of(name: str) -> dict[str, Found]:
    """What the programs of a case have beside the plain ones."""
    known = plain_launches()
    return {n: found for n, found in _distinct({name: programs(name)}, known).items() if n not in known}


def _distinct(of: Mapping[str, Sequence[Program]], known: Mapping[str, Found]) -> dict[str, Found]:
    """What is known, and what these programs have more."""
    found, signatures = dict(known), {name: _signature(f.launch) for name, f in known.items()}
    for program_name, blocks in of.items():
        for number, made in enumerate(blocks):
            for launch in (launch for level in made.levels for launch in level):
                own, signature = launch.stencil.name, _signature(launch)
                names = (own, f"{program_name}/{own}", f"{program_name}/block{number}/{own}")
                name = next(n for n in names if signatures.get(n, signature) == signature)
                if name not in found:
                    found[name], signatures[name] = Found(program_name, made, launch), signature
    return found


def _signature(launch: Launch) -> tuple[Any, ...]:
    """What a stencil reads, beside which planes at ends of the grid, writes and computes."""
    reads, writes = record(launch.stencil)
    return frozenset(key for key in reads if key[0] != "on"), tuple(writes), cost(launch.stencil)


def moved(made: Program, launch: Launch, single: bool) -> int:
    """Bytes of a point: every array once for reading and once for writing, coefficients in their sixteen bits."""
    reads, writes = record(launch.stencil)
    size = 4 if single else 8
    total = size * len(writes)
    for formal in {key[1] for key in reads if key[0] == "at"}:
        total += 2 if single and made.arrays[launch.names.get(formal, formal)].half else size
    return total


def lowered(found: Found, arch: str, single: bool) -> StencilPlan:
    """The text of a stencil for an architecture."""
    target = TARGETS[arch] if arch == "opencl" else target_of(arch)
    made, dtype = found.program, np.float32 if found.single(single) else np.float64
    arrays = GridArrays(made, dtype, LINE // np.dtype(dtype).itemsize)
    return lower_launch(made, arrays, found.launch, found.launch.stencil.name, target)


def compiled(found: Found, arch: str, single: bool) -> Built[StencilPlan]:
    """For an architecture. Raises BackendError without a compiler."""
    made = lowered(found, arch, single)
    return build_text(found.launch.stencil.name, made.text, made)


def built(name: str, arch: str, single: bool) -> Built[StencilPlan]:
    """Compiled. Raises BackendError without a compiler, InputError for names that do not exist."""
    return compiled(_named(name), arch, single)


def _named(name: str) -> Found:
    known = plain_launches()
    known = known if name in known else all_launches()
    if name not in known:
        names = (*known, *PROGRAMS)
        raise InputError(Problem("kernel", f"'{name}' does not exist", ", ".join(names), suggest(name, names)))
    return known[name]


def _asked(names: Sequence[str]) -> list[str]:
    """Names of stencils; a program's name stands for those that it has first. All without any."""
    found: list[str] = []
    for name in names:
        of_program = [n for n, one in all_launches().items() if one.of == name] if name in PROGRAMS else []
        found += of_program or [name]
    return found or list(all_launches())


def stencil_report(
    arch: str, names: Sequence[str] = (), precision: str = "single"
) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    """Title, header and rows: registers, spills and occupancy of every stencil (or those named, or of programs named), and its rate: at
    most, by the data sheet's memory and arithmetic, and by ``backends.device.model``; then whole steps in the interior, velocity and
    stress together."""
    single, target = precision == "single", target_of(arch)
    rows: list[tuple[str, ...]] = []
    for name in _asked(names):
        found = _named(name)
        made, own = compiled(found, arch, single), found.single(single)
        size, flops = moved(found.program, found.launch, own), cost(found.launch.stencil)[0]
        model = streamed(target, made.groups * made.plan.threads, size, flops, own)
        rows.append((
            found.of, name, f"{made.registers}", f"{made.spilled}", f"{made.stack}", f"{made.groups}", f"{100 * made.occupancy:.0f} %",
            f"{size}", f"{flops}", f"{1e-9 * target.roof(size, flops, own):,.1f}", f"{1e-9 * model.rate:,.1f}", model.limit,
        ))  # fmt: skip
    for attenuation, title in ((False, "a step"), (True, "a step with attenuation")) if not names else ():
        size, flops = step_cost(attenuation, single)
        rate = f"{1e-9 * target.roof(size, flops, single):,.1f}"
        rows.append(("", title, "", "", "", "", "", f"{size}", f"{flops}", rate, "", ""))
    header = (
        "program", "stencil", "registers", "spilled bytes", "stack bytes", "groups", "occupancy", "bytes a point", "flops a point",
        "G points/s at most", "G points/s by the model", "limit",
    )  # fmt: skip
    other = f" ({', '.join(sorted(DOUBLE))}: double)" * single
    return f"stencils, {precision}{other}, {arch} ({target.device})", header, rows


def step_cost(attenuation: bool, single: bool) -> tuple[int, int]:
    """Bytes and flops of a point in a step away from all sides."""
    made, found = program(attenuation), launches(attenuation)
    inner = [found["velocity"], found["stress_q" if attenuation else "stress"]]
    return sum(moved(made, x, single) for x in inner), sum(cost(x.stencil)[0] for x in inner)


ARCHITECTURES = {"cuda": "sm_90", "hip": "gfx90a", "opencl": "opencl"}
"""The architecture for which ``stencil_stages`` writes the text of a backend."""


def stencil_stages(name: str, backend: str, precision: str = "single") -> list[tuple[str, str]]:
    """Return the stages of a stencil, or the mathematics of all stencils of a program.

    Parameters
    ----------
    name : str
        A stencil, or a program such as ``plain`` or ``hill``.
    backend : {"cpu", "cuda", "hip", "opencl", "numpy"}
        Where the stencil would run.
    precision : {"single", "double"}, optional
        Precision of the arrays.

    Returns
    -------
    list of (str, str)
        Title and text of each stage: the mathematics, then the source of the backend (none for ``numpy``, which evaluates the formulas).

    Raises
    ------
    InputError
        If the stencil or the backend does not exist.
    """
    backends = ("cpu", *ARCHITECTURES, "numpy")
    if backend not in backends:
        raise InputError(
            Problem("--backend", f"'{backend}' does not exist", ", ".join(backends), suggest(backend, backends))
        )
    if name in PROGRAMS:
        every = {n: f.launch.stencil for n, f in all_launches().items() if f.of == name}
        return [(f"{n}: mathematics", "\n".join(write_stencil(stencil))) for n, stencil in every.items()]
    found = _named(name)
    stages = [("mathematics", "\n".join(write_stencil(found.launch.stencil)))]
    if backend == "cpu":
        own = "single" if found.single(precision == "single") else "double"
        return [*stages, ("cpu source", row_source(found.program, found.launch, own))]
    if backend == "numpy":
        return stages
    arch = ARCHITECTURES[backend]
    return [*stages, (f"{backend} source for {arch}", lowered(found, arch, precision == "single").text)]


def stencil_table() -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows: program, name, flops and bytes of a point, in single precision where the program has it."""
    rows: list[tuple[str, ...]] = []
    for name, found in all_launches().items():
        size = moved(found.program, found.launch, found.single(True))
        rows.append((found.of, name, f"{cost(found.launch.stencil)[0]}", f"{size}"))
    return ("program", "stencil", "flops a point", "bytes a point"), rows


__all__ = [
    "all_launches",
    "built",
    "compiled",
    "launches_of",
    "lowered",
    "moved",
    "step_cost",
    "stencil_report",
    "stencil_stages",
    "stencil_table",
]
