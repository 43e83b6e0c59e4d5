"""Commands on kernels: what is computed, stage by stage."""

from __future__ import annotations

from typing import Annotated

import typer

from faultwave.cli import screen

app = typer.Typer(help="Look at the kernels that a run would use.", no_args_is_help=True)

Order = Annotated[int, typer.Option("--order", help="Convergence order, 2 to 8.")]
Precision = Annotated[str, typer.Option("--precision", help="double or single.")]
Law = Annotated[str, typer.Option("--law", help="Wave physics; see faultwave laws.")]


@app.command("list", epilog="Example: faultwave kernels list --order 4")
def list_kernels(order: Order = 4, law: Law = "elastic") -> None:
    """Name every kernel with what it costs."""
    from faultwave.run.kernels import kernel_table

    header, rows = kernel_table(order, law)
    screen.out().print(screen.table(f"kernels of the {law} law at order {order}", rows, header))


@app.command(epilog="Example: faultwave kernels show predict --backend cpu --order 4")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A kernel; faultwave kernels list names them.")],
    backend: Annotated[
        str, typer.Option("--backend", help="Where it would run: cpu, cuda, hip, opencl or numpy.")
    ] = "cpu",
    order: Order = 4,
    precision: Precision = "double",
    law: Law = "elastic",
) -> None:
    """Print one kernel at every stage of its lowering: the statements, then what the backend makes of them."""
    from faultwave.run.kernels import kernel_stages

    for stage, text in kernel_stages(name, backend=backend, order=order, precision=precision, law=law):
        screen.heading(stage)
        typer.echo(text)


@app.command(epilog="Example: faultwave kernels report turn --backend cuda --arch sm_90 --order 4")
def report(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Kernels; default all.")] = None,
    backend: Annotated[str, typer.Option("--backend", help="cuda or hip.")] = "cuda",
    arch: Annotated[str, typer.Option("--arch", help="sm_70 to sm_100, gfx90a, gfx942; default sm_90 or gfx90a.")] = "",
    order: Order = 4,
    precision: Precision = "double",
    law: Law = "elastic",
) -> None:
    """Compile kernels for a graphics processor that need not be here: registers, spills, fast memory, occupancy, and the rate
    that its memory and arithmetic allow at most."""
    from faultwave.run.kernels import kernel_report

    chosen = arch or {"cuda": "sm_90", "hip": "gfx90a"}.get(backend, backend)
    title, header, rows = kernel_report(chosen, names or (), order, precision, law)
    screen.out().print(screen.table(title, rows, header))
