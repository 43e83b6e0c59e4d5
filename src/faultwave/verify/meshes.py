"""Meshes beyond the built-in box: graded cubes, boxes with a fault and concentric balls, written as files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.types import Settings
from faultwave.domain.tets import Mesh, write_puml
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.gmsh.reader import read_gmsh
from faultwave.domain.tets.mesh import FILE_FACES, signed_volumes

if TYPE_CHECKING:
    from types import ModuleType


def graded_cube(n: int, grading: float) -> Mesh:
    """Return the periodic cube [-1, 1]^3 of n bricks a side, graded by x -> x + grading sin(pi x)/pi on every axis.

    Edges shrink by 1 - grading towards the sides and grow by 1 + grading in the middle; opposite sides stay congruent.
    """
    periodic = dict.fromkeys("xyz", "periodic")
    mesh = box_mesh(Box((n, n, n), (-1.0,) * 3, (1.0,) * 3, periodic, shuffle=True), "graded cube")
    return replace(mesh, vertices=mesh.vertices + grading * np.sin(np.pi * mesh.vertices) / np.pi)


def fault_column(cells: tuple[int, int, int], edge: float) -> Mesh:
    """Return a centred column along y with a fault across it at y = 0.

    The column is periodic in x and z and absorbing at its ends; cells[1] must be even.
    """
    half = tuple(0.5 * n * edge for n in cells)
    lower, upper = (-half[0], -half[1], -half[2]), (half[0], half[1], half[2])
    kinds = {"x": "periodic", "z": "periodic", "y": "absorbing"}
    return box_mesh(Box(cells, lower, upper, kinds, shuffle=True, fault=("y", 0.0)), "fault column")


@contextmanager
def as_setting(mesh: Mesh) -> Iterator[Settings]:
    """Yield the ``mesh`` group of a case that reads this mesh from a temporary PUML file, deleted on exit."""
    with tempfile.TemporaryDirectory(prefix="faultwave-verify-") as folder:
        path = Path(folder) / "mesh.puml.h5"
        write_puml(path, mesh)
        yield {"file": str(path)}


def shells(
    radii: Sequence[float], sizes: tuple[float, float], names: Sequence[str], octant: bool = False, box: bool = False
) -> Mesh:
    """Mesh concentric balls with Gmsh.

    Vertices are scaled so that the innermost volume equals the volume of its ball.

    Parameters
    ----------
    radii : sequence of float
        Radii of the balls, from the inside out.
    sizes : tuple of float
        Edge length within the first radius, and the length that it grows to at the last one.
    names : sequence of str
        Names of the volumes, from the inside out.
    octant : bool
        True if only an octant is meshed; the planes through the centre are then surfaces 'x', 'y' and 'z'.
    box : bool
        True if the outermost volume is a cube of half width ``radii[-1]``.

    Returns
    -------
    Mesh
        Mesh whose outer surface is named 'outside'.

    Raises
    ------
    ImportError, OSError
        If Gmsh is not available.
    """
    import gmsh

    gmsh.initialize(argv=[], readConfigFiles=False, interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        occ = gmsh.model.occ
        extent = (0.0, np.pi / 2, np.pi / 2) if octant else (-np.pi / 2, np.pi / 2, 2 * np.pi)
        balls = [(3, occ.addSphere(0, 0, 0, r, -1, *extent)) for r in (radii[:-1] if box else radii)]
        if box:
            balls.append((3, occ.addBox(*[-radii[-1]] * 3, *[2 * radii[-1]] * 3)))
        if len(balls) > 1:
            occ.fragment(balls[:1], balls[1:])
        occ.synchronize()

        def reach(entity: tuple[int, int]) -> float:
            return float(gmsh.model.getBoundingBox(*entity)[3])

        for entity, name in zip(sorted(gmsh.model.getEntities(3), key=reach), names, strict=True):
            gmsh.model.addPhysicalGroup(3, [entity[1]], name=name)
        _name_sides(gmsh, radii[-1], octant)
        _graded(gmsh, radii, sizes)
        mesh = _generated(gmsh)
    finally:
        gmsh.finalize()
    inner = signed_volumes(mesh)[mesh.groups == mesh.named(3)[names[0]]].sum()
    exact = 4 / 3 * np.pi * radii[0] ** 3 / (8 if octant else 1)
    return replace(mesh, vertices=mesh.vertices * (exact / inner) ** (1 / 3))


def _generated(gmsh: ModuleType) -> Mesh:
    """Generate the mesh of the present model and read it."""
    gmsh.model.mesh.generate(3)
    with tempfile.TemporaryDirectory(prefix="faultwave-verify-") as folder:
        path = Path(folder) / "shells.msh"
        gmsh.write(str(path))
        return read_gmsh(path)


def _name_sides(gmsh: ModuleType, radius: float, octant: bool) -> None:
    """Name the outer surface 'outside', and of an octant the planes through the centre 'x', 'y' and 'z'."""
    sides: dict[str, list[int]] = {}
    for dimension, tag in gmsh.model.getEntities(2):
        extremes = np.reshape(gmsh.model.getBoundingBox(dimension, tag), (2, 3))
        flat = [axis for i, axis in enumerate("xyz") if octant and np.ptp(extremes[:, i]) < 1e-3 * radius]
        outer = not flat and extremes[1].max() > 0.99 * radius
        if flat or outer:
            sides.setdefault(flat[0] if flat else "outside", []).append(tag)
    for name, tags in sides.items():
        gmsh.model.addPhysicalGroup(2, tags, name=name)


def _graded(gmsh: ModuleType, radii: Sequence[float], sizes: tuple[float, float]) -> None:
    for option in ("MeshSizeExtendFromBoundary", "MeshSizeFromPoints", "MeshSizeFromCurvature"):
        gmsh.option.setNumber(f"Mesh.{option}", 0)
    field = gmsh.model.mesh.field.add("MathEval")
    slope = (sizes[1] - sizes[0]) / max(radii[-1] - radii[0], 1e-9)
    growth = f"{sizes[0]} + {slope} * Max(0, Sqrt(x*x + y*y + z*z) - {radii[0]})"
    gmsh.model.mesh.field.setString(field, "F", growth)
    gmsh.model.mesh.field.setAsBackgroundMesh(field)


@contextmanager
def as_gmsh(mesh: Mesh) -> Iterator[Settings]:
    """Yield the ``mesh`` group of a case that reads a temporary Gmsh file, with the names of surfaces and volumes."""
    with tempfile.TemporaryDirectory(prefix="faultwave-verify-") as folder:
        path = Path(folder) / "mesh.msh"
        write_gmsh(path, mesh)
        yield {"file": str(path)}


def write_gmsh(path: Path, mesh: Mesh) -> None:
    """Write a mesh as Gmsh 2.2 text, with tags from 1 on and names of surfaces and volumes."""
    corners = mesh.cells[:, FILE_FACES]
    tagged = mesh.tags > 0
    elements = [
        f"2 2 {tag} {tag} {a} {b} {c}" for tag, (a, b, c) in zip(mesh.tags[tagged], corners[tagged] + 1, strict=True)
    ]
    elements += [f"4 2 {g} {g} {a} {b} {c} {d}" for g, (a, b, c, d) in zip(mesh.groups, mesh.cells + 1, strict=True)]
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", str(len(mesh.names))]
    lines += [f'{d} {number} "{name}"' for (d, name), number in mesh.names.items()]
    lines += ["$EndPhysicalNames", "$Nodes", str(len(mesh.vertices))]
    lines += [f"{i} {x:.17g} {y:.17g} {z:.17g}" for i, (x, y, z) in enumerate(mesh.vertices, 1)]
    lines += [
        "$EndNodes",
        "$Elements",
        str(len(elements)),
        *[f"{i} {e}" for i, e in enumerate(elements, 1)],
        "$EndElements",
    ]
    path.write_text("\n".join(lines) + "\n")
