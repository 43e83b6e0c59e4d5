"""Options that commands share, and records of options.

A command takes a record as one parameter; on its command line each field is an option.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from faultwave.base.types import Settings

CaseName = Annotated[
    str,
    typer.Argument(
        metavar="CASE", help="A native YAML file, a SeisSol parameters.par, an SW4 .in, or the name of an example."
    ),
]
EngineName = Annotated[str | None, typer.Option("--engine", help="dg or fd.")]
Order = Annotated[int | None, typer.Option("--order", help="Convergence order, 2 to 8.")]
Precision = Annotated[str | None, typer.Option("--precision", help="double, single or auto.")]
Backend = Annotated[
    str | None, typer.Option("--backend", help="Where kernels run: cpu, cuda, hip, opencl, numpy or auto.")
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Simulated time in seconds, or with a unit.")
]
Output = Annotated[Path | None, typer.Option("--output", metavar="DIR", help="Folder for all files that are written.")]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads; default all cores.")]
Ranks = Annotated[
    int | None, typer.Option("--ranks", min=1, help="Number of processes, started with mpiexec; omit under a launcher.")
]
Progress = Annotated[
    str | None, typer.Option("--progress", help="polling, or thread: a core of each process progresses messages.")
]
Halo = Annotated[
    str | None,
    typer.Option("--halo", help="Messages between devices: direct, host (through its pinned memory) or auto."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the results of an earlier run in the folder.")]
Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        metavar="FILE",
        help="Write a trace of phases, steps, kernels, waiting and output of every process, for ui.perfetto.dev.",
    ),
]
Every = Annotated[
    str | None,
    typer.Option(
        "--checkpoint-every", metavar="TIME", help="Simulated time between checkpoints in seconds, or with a unit."
    ),
]


@dataclass(frozen=True)
class Changes:
    """Options that replace settings of a case."""

    engine: EngineName = None
    order: Order = None
    precision: Precision = None
    backend: Backend = None
    until: Until = None
    output: Output = None
    threads: Threads = None


@dataclass(frozen=True)
class ResumedChanges:
    """Options that replace settings of a run when it resumes."""

    order: Order = None
    precision: Precision = None
    backend: Backend = None
    until: Until = None
    threads: Threads = None


@dataclass(frozen=True)
class Processes:
    """Options on the number of processes and their messages."""

    ranks: Ranks = None
    progress: Progress = None
    halo: Halo = None


def given(**options: object) -> Settings:
    """Return the options that were given on the command line, without None."""
    return {name: value for name, value in options.items() if value is not None}


def with_record_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command`` with each record parameter replaced by an option for each of its fields, as typer expects.

    Types, help texts and defaults of the options come from the fields.

    Raises
    ------
    TypeError
        If two options have the same name.
    """
    hints = get_type_hints(command, include_extras=True)
    records: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    options: list[tuple[str, object, object]] = []
    for name, parameter in inspect.signature(command).parameters.items():
        options += _fields(records[name]) if name in records else [(name, hints[name], parameter.default)]
    names = [name for name, _, _ in options]
    if len(names) > len(set(names)):
        raise TypeError(f"{command.__name__}: options of the same name in {', '.join(names)}")

    @functools.wraps(command)
    def from_options(**values: Any) -> None:
        for name, record in records.items():
            values[name] = record(**{field: values.pop(field) for field, _, _ in _fields(record)})
        command(**values)

    kind = inspect.Parameter.KEYWORD_ONLY  # required options may follow optional ones
    parameters = [inspect.Parameter(name, kind, default=default, annotation=hint) for name, hint, default in options]
    from_options.__dict__["__signature__"] = inspect.Signature(parameters)
    from_options.__annotations__ = {name: hint for name, hint, _ in options}
    return from_options


def _fields(record: Any) -> list[tuple[str, object, object]]:
    """Return name, annotation and default of every field of a record."""
    hints = get_type_hints(record, include_extras=True)
    return [
        (f.name, hints[f.name], inspect.Parameter.empty if f.default is dataclasses.MISSING else f.default)
        for f in dataclasses.fields(record)
    ]
