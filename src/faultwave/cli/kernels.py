"""Commands that list, show and analyse kernels."""

from __future__ import annotations

from typing import Annotated

import typer

from faultwave.base.errors import InputError, Problem
from faultwave.cli import screen

app = typer.Typer(cls=screen.Commands, help="Inspect the kernels that a run uses.")

Order = Annotated[int, typer.Option("--order", help="Convergence order, 2 to 8.")]
PrecisionOrOwn = Annotated[
    str, typer.Option("--precision", help="double or single; default double, on grids single.", show_default=False)
]
Engine = Annotated[str, typer.Option("--engine", help="dg, or fd: the stencils of steps on grids.")]
Law = Annotated[str, typer.Option("--law", help="Wave physics; see faultwave laws.")]


@app.command("list", epilog="Example: faultwave kernels list --order 4")
def list_kernels(order: Order = 4, law: Law = "elastic", engine: Engine = "dg") -> None:
    """List all kernels with their costs."""
    from faultwave.bench.kernel_report import kernel_table

    if _grids(engine):
        from faultwave.bench.grids.kernel_report import stencil_table

        header, rows = stencil_table()
        screen.out().print(screen.table("stencils of steps on grids", rows, header))
        return
    header, rows = kernel_table(order, law)
    screen.out().print(screen.table(f"kernels of the {law} law at order {order}", rows, header))


@app.command(epilog="Example: faultwave kernels show predict --backend cpu --order 4")
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A kernel, with --engine fd also a program; faultwave kernels list names them."
        ),
    ],
    backend: Annotated[
        str, typer.Option("--backend", help="Where it would run: cpu, cuda, hip, opencl or numpy.")
    ] = "cpu",
    order: Order = 4,
    precision: PrecisionOrOwn = "",
    law: Law = "elastic",
    engine: Engine = "dg",
    assembly: Annotated[
        bool, typer.Option("--asm", help="Show products with matrices as the assembly that is compiled (cpu, x86-64).")
    ] = False,
) -> None:
    """Print the mathematics of one kernel, then the source that the backend compiles."""
    from faultwave.bench.kernel_report import kernel_stages

    if _grids(engine):
        from faultwave.bench.grids.kernel_report import stencil_stages

        stages = stencil_stages(name, backend, precision or "single")
    else:
        stages = kernel_stages(
            name, backend=backend, order=order, precision=precision or "double", law=law, assembly=assembly
        )
    for stage, text in stages:
        screen.heading(stage)
        typer.echo(text)


WIDE = 195
"""Width of the report in characters; lines longer than the terminal are better than broken words."""


@app.command(epilog="Example: faultwave kernels report predict --backend cuda --arch sm_90 --order 4")
def report(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Kernels, on grids also programs such as hill; default all."),
    ] = None,
    backend: Annotated[str, typer.Option("--backend", help="cuda or hip; default that of --arch, or cuda.")] = "",
    arch: Annotated[str, typer.Option("--arch", help="sm_70 to sm_100, gfx90a, gfx942; default sm_90 or gfx90a.")] = "",
    order: Order = 4,
    precision: PrecisionOrOwn = "",
    law: Law = "elastic",
    engine: Engine = "dg",
) -> None:
    """Compile kernels for a graphics processor, which need not be installed, and report their use of resources.

    Registers, spills, fast memory, occupancy, and the highest rate that its memory and arithmetic allow.
    """
    from faultwave.bench.kernel_report import architecture, kernel_report

    chosen = architecture(backend, arch).name
    if _grids(engine):
        from faultwave.bench.grids.kernel_report import stencil_report

        title, header, rows = stencil_report(chosen, names or (), precision or "single")
    else:
        title, header, rows = kernel_report(chosen, names or (), order, precision or "double", law)
    out = screen.out()
    out.width = max(out.width, WIDE)
    out.print(screen.table(title, rows, header))


def _grids(engine: str) -> bool:
    """Return True for the engine fd, False for dg. Raises InputError for unknown engines."""
    if engine not in ("dg", "fd"):
        raise InputError(Problem("--engine", f"'{engine}' does not exist", "dg, fd"))
    return engine == "fd"
