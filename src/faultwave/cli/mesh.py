"""Commands on meshes: show, convert, generate, partition."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.cli import screen

if TYPE_CHECKING:
    from faultwave.domain.tets import Geometry, Mesh

app = typer.Typer(cls=screen.Commands, help="Inspect, convert and generate meshes.")

SUFFIXES = (".h5", ".hdf5", ".puml")
"""Suffixes of mesh files that can be written."""

MeshFile = Annotated[Path, typer.Argument(metavar="MESH", help="PUML HDF5, Gmsh or SeisSol netCDF file.")]
Target = Annotated[Path, typer.Argument(metavar="FILE", help="PUML HDF5 file to write.")]
Packing = Annotated[str, typer.Option("--boundary-format", help="Packing of face tags: auto, i32, i64 or i32x4.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]


@app.command(epilog="Example: faultwave mesh info model.msh")
def info(mesh: MeshFile, boundary_format: Packing = "auto") -> None:
    """Show sizes, volumes, surfaces and the worst cells of a mesh, and all problems in it."""
    from faultwave.base.errors import collect_problems
    from faultwave.domain import tets
    from faultwave.domain.tets.connectivity.topology import check_numbers
    from faultwave.domain.tets.load import read_mesh

    read = read_mesh(mesh, boundary_format=boundary_format)
    problems = Problems()
    problems.extend(read.remarks)
    check_numbers(read, problems)
    sections = (_sizes, _volumes, _surfaces) if not problems.errors else (_sizes,)
    for title, rows, header in (section(read) for section in sections):
        screen.out().print(screen.table(title, rows, header), "")
    if not problems.errors:
        with collect_problems(problems):
            problems.extend(tets.check_mesh(read).items)
    if problems.items:
        screen.show_problems(problems.items)
    if problems.errors:
        raise typer.Exit(screen.EXIT_INPUT)
    topology = tets.build_topology(read)
    geometry = tets.geometry(read, topology)
    _show_flat(geometry)
    worst = tets.worst_cells(read, topology, geometry)
    rows = [
        (c.cell, " ".join(f"{x:.1f}" for x in c.centroid), f"{c.inradius:.4g}", f"{c.aspect:.3g}", c.reason)
        for c in worst
    ]
    header = ("cell", "centre [m]", "inradius [m]", "aspect ratio", "why")
    screen.out().print(screen.table("smallest cells", rows, header))


def _show_flat(geometry: Geometry) -> None:
    """Show flat cells, whose time step is tested before a run, with the flattest listed."""
    import numpy as np

    from faultwave.dg.checks.small_steps import FLAT
    from faultwave.domain import tets

    flat = tets.flatness(geometry)
    rows = [
        (c, " ".join(f"{x:.1f}" for x in geometry.centroid(c)), f"{geometry.inradius[c]:.4g}", f"{flat[c]:.3g}")
        for c in np.argsort(-flat, kind="stable")[:5]
        if flat[c] > FLAT
    ]
    if rows:
        title = f"flat cells: {int((flat > FLAT).sum())} with a longest edge of more than {FLAT:g} inradii"
        screen.out().print(
            screen.table(title, rows, ("cell", "centre [m]", "inradius [m]", "longest edge [inradii]")), ""
        )


Section = tuple[str, list[tuple[object, ...]], tuple[str, ...]]  # title, rows, header


def _sizes(mesh: Mesh) -> Section:
    low, high = mesh.vertices.min(0), mesh.vertices.max(0)
    rows: list[tuple[object, ...]] = [("cells", len(mesh.cells)), ("vertices", len(mesh.vertices))]
    rows += [(axis, f"{a:.6g} to {b:.6g} m") for axis, a, b in zip("xyz", low, high, strict=True)]
    rows.append(("periodic", "no" if mesh.identify is None else "yes"))
    return str(mesh.name), rows, ()


def _volumes(mesh: Mesh) -> Section:
    import numpy as np

    from faultwave.domain.tets.mesh import signed_volumes

    numbers, which, counts = np.unique(mesh.groups, return_inverse=True, return_counts=True)
    sizes = np.bincount(which.ravel(), np.abs(signed_volumes(mesh)))
    names = {number: name for name, number in mesh.named(3).items()}
    rows: list[tuple[object, ...]] = [
        (number, names.get(number, ""), count, f"{size:.6g}")
        for number, count, size in zip(numbers.tolist(), counts.tolist(), sizes.tolist(), strict=True)
    ]
    rows += [(number, name, 0, "0") for number, name in names.items() if number not in numbers]
    return "volumes", rows, ("number", "name", "cells", "volume [m^3]")


def _surfaces(mesh: Mesh) -> Section:
    """Return the table of surfaces; a face that both of its cells tag counts once."""
    import numpy as np

    from faultwave.domain.tets.connectivity.tags import UNKNOWN, TagTable, tag_table
    from faultwave.domain.tets.mesh import FILE_FACES

    tagged = mesh.tags != 0
    corners = np.sort(mesh.cells[:, FILE_FACES][tagged], axis=1)
    faces, first = np.unique(np.column_stack([mesh.tags[tagged], corners]), axis=0, return_index=True)
    x = mesh.vertices[corners[first]]
    areas = 0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)
    try:
        table = tag_table(None, mesh)
    except InputError:  # reported below
        usual, names = tag_table(None), {number: name for name, number in mesh.named(2).items()}
        table = TagTable(
            tuple(r for r in usual.ranges if not any(r[0] <= n <= r[1] for n in names)), names, mesh.written
        )
    rows: list[tuple[object, ...]] = []
    for tag in np.unique(faces[:, 0]).tolist():
        here, kind = faces[:, 0] == tag, int(table.kinds(np.array([tag], np.int32))[0])
        number = table.called(tag).split()[0]
        said = "define it in mesh.boundaries" if kind == UNKNOWN else _kind_name(kind)
        rows.append((number, table.names.get(tag, ""), int(here.sum()), f"{areas[here].sum():.6g}", said))
    return "surfaces", rows, ("number", "name", "faces", "area [m^2]", "kind without mesh.boundaries")


def _kind_name(kind: int) -> str:
    from faultwave.domain.tets import BoundaryKind

    return BoundaryKind(kind).name.lower().replace("_", " ")


@app.command(epilog="Example: faultwave mesh convert model.msh model.h5")
def convert(mesh: MeshFile, target: Target, boundary_format: Packing = "auto", force: Force = False) -> None:
    """Write a mesh as PUML HDF5, which loads faster and is smaller than Gmsh's text."""
    from faultwave.domain.tets.load import read_mesh

    read = read_mesh(mesh)
    if read.remarks:
        screen.show_problems(read.remarks)
    _write(target, read, boundary_format, force)


@app.command(epilog="Example: faultwave mesh generate tpv5 tpv5.h5 size=400m far_size=8km")
def generate(
    shape: Annotated[str, typer.Argument(metavar="SHAPE", help="box or tpv5.")],
    target: Target,
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Settings of mesh.generate, as in a case; values are YAML."),
    ] = None,
    boundary_format: Packing = "auto",
    force: Force = False,
) -> None:
    """Generate a built-in mesh and write it as PUML HDF5."""
    from faultwave.case.validate import build, dotted
    from faultwave.domain.tets import load_mesh

    problems = Problems()
    mesh = {"generate": {"shape": shape, **dict(map(_pair, settings or ()))}}
    # The settings of a mesh are declared within a case, whose other settings are not used.
    case = build({"mesh": mesh, "end_time": 1.0, "material": {"constant": {"rho": 1.0}}}, (), dotted, problems)
    problems.raise_errors()
    assert case is not None
    _write(target, load_mesh(case.mesh), boundary_format, force)


@app.command(epilog="Example: faultwave mesh partition model.h5 model-parts.h5 -n 64 -n 128 --case parameters.par")
def partition(
    mesh: MeshFile,
    target: Target,
    parts: Annotated[
        list[int],
        typer.Option("-n", "--parts", min=1, help="Number of parts; may be repeated, each dividing the next."),
    ],
    case: Annotated[
        str | None, typer.Option("--case", help="Case whose time steps, fault and order determine the cost of cells.")
    ] = None,
    order: Annotated[
        int, typer.Option("--order", min=2, max=8, help="Order for the cost of cells, without a case.")
    ] = 4,
    method: Annotated[str, typer.Option("--method", help="auto, metis or curve.")] = "auto",
    force: Force = False,
) -> None:
    """Store a mesh in parts, so that every process of a run opens its own part only.

    Work (by time-step cluster, friction included) and memory are balanced; both cells of a fault face stay together.
    The file remains an ordinary PUML mesh. Without a case the time step of a cell is assumed to be proportional to its size.
    """
    from faultwave.cli.partition import partition_mesh

    _check_target(target, force)
    with screen.status(str(mesh)) as say:
        say("reading and cutting")
        rows = partition_mesh(mesh, target, parts, case, order, method)
    header = ("parts", "cells a part", "work, largest/mean", "memory, largest/mean", "faces cut")
    screen.out().print(screen.table(f"{mesh} in parts", rows, header))
    screen.files([target])


def _pair(text: str) -> tuple[str, object]:
    """Return key and value of 'key=value', with the value read as YAML: number, text with a unit, list or mapping."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(Problem("mesh generate", f"'{text}' is not of the form KEY=VALUE", advice="e.g. size=400m"))
    try:
        return key.strip(), YAML(typ="safe").load(value)
    except YAMLError as error:
        raise InputError(
            Problem(
                f"mesh generate {key}",
                f"'{value}' is not valid YAML: {error}",
                "a value as in a case file, e.g. [2, 2, 2]",
            )
        ) from None


def _check_target(target: Path, force: bool) -> None:
    if target.suffix.lower() not in SUFFIXES:
        what = f"'{target.suffix}' is not a file name extension of PUML HDF5, the only output format"
        raise InputError(Problem(str(target), what, " or ".join(SUFFIXES)))
    if target.exists() and not force:
        raise InputError(Problem(str(target), "is there already", advice="Use --force to replace it"))


def _write(target: Path, mesh: Mesh, boundary_format: str, force: bool) -> None:
    from faultwave.domain.tets import write_puml
    from faultwave.output.atomic import translate_os_errors

    _check_target(target, force)
    with translate_os_errors(target):
        write_puml(target, mesh, boundary_format)
    screen.files([target])
