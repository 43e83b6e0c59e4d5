"""Report on the stencils of a step, compiled for graphics processors that need not be present: resources, data moved, modelled rates."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
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
from faultwave.base.types import Settings
from faultwave.fd.capability import observers
from faultwave.fd.method.absorbing import Absorber, AbsorberKind
from faultwave.fd.method.grid import SIDES, Grid, SideKind
from faultwave.fd.method.program import build_program
from faultwave.fd.method.scheme import Scheme
from faultwave.kernels.mathematics import write_stencil
from faultwave.kernels.stencil import Launch, Program, cost, record
from faultwave.run import simulate

ROCK = {"rho": 2600.0, "vp": 3464.0, "vs": 2000.0, "Qp": 60.0, "Qs": 50.0}
SOFT = ROCK | {"vs": 1500.0}
SEA = ROCK | {"rho": 1000.0, "vp": 1500.0, "vs": 0.0}
HILL = {"expression": "60 + 55*sin(x*0.0026)", "sources": "elevation", "receivers": "depth"}
STRENGTH = {"bulk_friction": 0.5, "plastic_cohesion": 2e6}
YIELDS = {"parameters": {"constant": STRENGTH}, "overburden": {"largest": 1.2, "smallest": 0.8, "direction": 30.0}}
WEAKENING = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_s": 70e6, "T_d": 0.0}
AGEING = {"rs_a": 0.01, "rs_sl0": 0.2, "rs_b": 0.014, "T_n": -120e6, "T_s": 75e6, "T_d": 0.0}
AT_REST = {"rs_f0": 0.6, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-9}


def _above(z: str, other: Settings) -> Settings:
    """Return a material that changes above a height, which may be an expression of x and y."""
    return {"expression": {n: f"if (z > {z}) {{ return {other[n]}; }} return {ROCK[n]};" for n in ROCK}}


def _case(lower: tuple[float, float, float], top: float = 0.0, blocks: bool = True, **changes: Any) -> Settings:
    """Return a case 2,400 m wide in single precision, with two blocks unless ``blocks`` is False.

    It has no absorbing layers at the sides unless ``grid`` sets other boundaries.
    """
    grid: Settings = {
        "lower": lower, "upper": [2400.0, 2400.0, top], "spacing": 100.0, "absorbing": {"width": 4},
        "boundaries": {"x": "rigid", "y": "rigid", "z-": "rigid", "z+": "free-surface"},
    }  # fmt: skip
    if blocks:
        grid["blocks"] = [{"below": -0.5 * lower[2], "spacing": 200.0}]
    made: Settings = {
        "engine": "fd", "end_time": 0.1, "grid": grid, "material": {"constant": ROCK},
        "numerics": {"precision": "single", "threads": 1},
    }  # fmt: skip
    grid |= changes.pop("grid", {})
    return made | changes


def _below_a_hill(**changes: Any) -> Settings:
    return _case((0.0, 0.0, -4800.0), 200.0, **{**changes, "grid": {"topography": HILL} | changes.get("grid", {})})


def _fault(law: str, parameters: Settings, **more: object) -> Settings:
    """Return a case with a surface-breaking fault in a grid of one spacing."""
    made = _case((-5500.0, -5625.0, -9000.0), blocks=False)
    made["grid"] |= {
        "upper": [5500.0, 5625.0, 0.0], "spacing": 250.0,
        "fault": {"lower": [-2500.0, 0.0, -3750.0], "upper": [2500.0, 0.0, 0.0]},
    }  # fmt: skip
    friction = {"friction": law, "reference_method": "direction", "reference": [0.0, 1.0, 0.0]}
    return made | {"fault": friction | {"parameters": {"constant": parameters}} | more}


CASES: dict[str, Callable[[], Settings]] = {
    "blocks": lambda: _case((0.0, 0.0, -4800.0), attenuation={}),
    "hill": lambda: _below_a_hill(attenuation={}),
    "hill-layers": lambda: _below_a_hill(attenuation={}, grid={"boundaries": {"z+": "free-surface"}}),
    "order-8": lambda: _case((0.0, 0.0, -6400.0), grid={"order": 8, "upper": [3200.0, 3200.0, 0.0]}, attenuation={}),
    "fluids": lambda: _case((0.0, 0.0, -3600.0), blocks=False, material=_above("-1600 + 40*sin(0.004*x)", SEA), attenuation={}),
    "drucker-prager": lambda: _case((0.0, 0.0, -4800.0), plasticity=YIELDS),
    "drucker-prager-hill": lambda: _below_a_hill(plasticity=YIELDS),
    "iwan": lambda: _case(
        (0.0, 0.0, -2400.0), blocks=False, material=_above("-500", SOFT),
        soil={"slower_than": 1900.0, "surfaces": 10, "parameters": {"constant": {"reference_strain": 1e-3}}},
    ),
    "fault-slip-weakening": lambda: _fault("linear-slip-weakening", WEAKENING),
    "fault-ageing": lambda: _fault("rate-and-state-ageing", AGEING, constants=AT_REST) | {"numerics": {"precision": "double"}},
}  # fmt: skip
"""Functions that return the cases, by the name of the program."""
DOUBLE = frozenset({"fault-ageing"})
"""Programs that run in double precision only."""


@functools.cache
def programs(name: str) -> tuple[Program, ...]:
    """Return the programs of a case, one for each block from top to bottom."""
    plan = simulate(CASES[name]()).plan
    return tuple(build_program(b.scheme, observers=observers(plan.parts, b.scheme, b.box)) for b in plan.blocks)


CELLS, WIDTH = 64, 10
"""Points along each axis of the small grid whose program is examined, and width of its absorbing layers."""


@functools.cache
def program(attenuation: bool) -> Program:
    """Return the program of a step with absorbing sides and a free surface."""
    grid = Grid((0.0, 0.0, 0.0), 100.0, (CELLS, CELLS, CELLS))
    sides: dict[str, SideKind] = dict.fromkeys(SIDES, SideKind.ABSORBING)
    sides["z+"] = SideKind.FREE_SURFACE
    return build_program(
        Scheme(grid, 0.007, 6000.0, sides, Absorber(AbsorberKind.CPML, WIDTH, along=0.01), attenuation)
    )


def launches(attenuation: bool) -> dict[str, Launch]:
    """Return every stencil of a step once, by name."""
    return {launch.stencil.name: launch for level in program(attenuation).levels for launch in level}


@dataclass(frozen=True)
class Found:
    """Stencil launch with the program that contains it; ``of`` is the program's name."""

    of: str
    program: Program
    launch: Launch

    def single(self, requested: bool) -> bool:
        """Return True if the stencil is compiled in single precision on request; some programs run in double precision only."""
        return requested and self.of not in DOUBLE


PLAIN = {"plain": False, "attenuation": True}
"""Programs with absorbing sides, and True for attenuation."""
PROGRAMS = (*PLAIN, *CASES)


@functools.cache
def plain_launches() -> dict[str, Found]:
    """Return the stencils without attenuation, then those that differ with attenuation."""
    return _distinct({name: [program(attenuation)] for name, attenuation in PLAIN.items()}, {})


@functools.cache
def all_launches() -> dict[str, Found]:
    """Return every stencil of every program once.

    If programs or blocks have different stencils of the same name, the later ones are prefixed with their program's or block's name.
    """
    return _distinct({name: programs(name) for name in CASES}, plain_launches())


def launches_of(name: str) -> dict[str, Found]:
    """Return the stencils of a case that the plain programs do not have."""
    known = plain_launches()
    return {n: found for n, found in _distinct({name: programs(name)}, known).items() if n not in known}


def _distinct(of: Mapping[str, Sequence[Program]], known: Mapping[str, Found]) -> dict[str, Found]:
    """Return the known stencils and those that these programs add."""
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


def _signature(launch: Launch) -> tuple[object, ...]:
    """Return what identifies a stencil: its reads with their planes at ends of the grid, its writes, and its cost."""
    reads, writes = record(launch.stencil)
    return frozenset(key for key in reads if key[0] != "on"), tuple(writes), cost(launch.stencil)


def moved(made: Program, launch: Launch, single: bool) -> int:
    """Return the bytes moved per point: every array is read and written once, coefficients in 16 bits."""
    reads, writes = record(launch.stencil)
    size = 4 if single else 8
    total = size * len(writes)
    for formal in {key[1] for key in reads if key[0] == "at"}:
        total += 2 if single and made.arrays[launch.names.get(formal, formal)].half else size
    return total


def lowered(found: Found, arch: str, single: bool) -> StencilPlan:
    """Return the source text of a stencil for an architecture."""
    target = TARGETS[arch] if arch == "opencl" else target_of(arch)
    made, dtype = found.program, np.float32 if found.single(single) else np.float64
    arrays = GridArrays(made, dtype, LINE // np.dtype(dtype).itemsize)
    return lower_launch(made, arrays, found.launch, found.launch.stencil.name, target)


def compiled(found: Found, arch: str, single: bool) -> Built[StencilPlan]:
    """Compile a stencil for an architecture; raise BackendError without a compiler."""
    made = lowered(found, arch, single)
    return build_text(found.launch.stencil.name, made.text, made)


def built(name: str, arch: str, single: bool) -> Built[StencilPlan]:
    """Compile a stencil by name; raise BackendError without a compiler, InputError for an unknown name."""
    return compiled(_named(name), arch, single)


def _named(name: str) -> Found:
    known = plain_launches()
    known = known if name in known else all_launches()
    if name not in known:
        names = (*known, *PROGRAMS)
        raise InputError(Problem("kernel", f"'{name}' does not exist", ", ".join(names), suggest(name, names)))
    return known[name]


def _requested_launches(names: Sequence[str]) -> list[str]:
    """Return the names of stencils; a program's name stands for the stencils that it is the first to have, no name for all."""
    found: list[str] = []
    for name in names:
        of_program = [n for n, one in all_launches().items() if one.of == name] if name in PROGRAMS else []
        found += of_program or [name]
    return found or list(all_launches())


def stencil_report(
    arch: str, names: Sequence[str] = (), precision: str = "single"
) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    """Return title, header and rows of the report on stencils.

    Parameters
    ----------
    arch : str
        Architecture, such as ``sm_90``.
    names : sequence of str, optional
        Stencils or programs; all by default.
    precision : {'single', 'double'}, optional

    Returns
    -------
    title : str
    header : tuple of str
    rows : list of tuple
        Registers, spills and occupancy of every stencil and its rates: the limit by the data sheet's memory and arithmetic, and the
        prediction of ``backends.device.model``; then whole steps in the interior, velocity and stress together.
    """
    single, target = precision == "single", target_of(arch)
    rows: list[tuple[str, ...]] = []
    for name in _requested_launches(names):
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
    """Return the bytes and flops per point of a step in the interior."""
    made, found = program(attenuation), launches(attenuation)
    inner = [found["velocity"], found["stress_q" if attenuation else "stress"]]
    return sum(moved(made, x, single) for x in inner), sum(cost(x.stencil)[0] for x in inner)


ARCHITECTURES = {"cuda": "sm_90", "hip": "gfx90a", "opencl": "opencl"}
"""Architecture for which ``stencil_stages`` generates the source of a backend."""


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
    """Return header and rows: program, name, flops and bytes per point, in single precision if the program supports it."""
    rows: list[tuple[str, ...]] = []
    for name, found in all_launches().items():
        size = moved(found.program, found.launch, found.single(True))
        rows.append((found.of, name, f"{cost(found.launch.stencil)[0]}", f"{size}"))
    return ("program", "stencil", "flops a point", "bytes a point"), rows
