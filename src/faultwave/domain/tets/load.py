"""Mesh of a case: read from a file or generated, then scaled and moved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.paths import similar
from faultwave.domain.tets.formats.netcdf import is_netcdf_mesh, read_netcdf
from faultwave.domain.tets.formats.puml import read_puml
from faultwave.domain.tets.generators.generate import SCRIPTS, SHAPES, generate, mesh_geometry
from faultwave.domain.tets.gmsh.reader import read_gmsh
from faultwave.domain.tets.mesh import Mesh, permute_vertices, turn_mirrored

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_HDF5 = b"\x89HDF\r\n\x1a\n"
_READ = "PUML HDF5, Gmsh 2.2, Gmsh 4.1, netCDF of SeisSol"


def load_mesh(setting: object) -> Mesh:
    """Return the mesh of a case, read or generated; it is not checked (see ``check_mesh``).

    Vertices become scaling @ x + displacement; a mapping that mirrors keeps cells positively oriented.

    Parameters
    ----------
    setting
        Has file, format, generate, boundary_format, topology_format, scaling, displacement as declared for a case;
        missing attributes take their defaults.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    source, built_in = getattr(setting, "file", None), getattr(setting, "generate", None)
    if (source is None) == (built_in is None):
        raise InputError(Problem("mesh", "needs either file or generate"))
    if source is None:
        mesh = generate(built_in)
    else:
        mesh = read_mesh(
            source,
            getattr(setting, "format", "auto"),
            getattr(setting, "boundary_format", "auto"),
            getattr(setting, "topology_format", "auto"),
            getattr(setting, "size", None),
        )
    return transform(mesh, getattr(setting, "scaling", np.eye(3)), getattr(setting, "displacement", (0.0, 0.0, 0.0)))


def read_mesh(
    path: str | Path,
    format: str = "auto",
    boundary_format: str = "auto",
    topology_format: str = "auto",
    size: float | None = None,
) -> Mesh:
    """Read a PUML, Gmsh or netCDF file; 'auto' detects the format.

    A geometry (.geo, .step, .brep, .iges) is meshed by Gmsh with edges up to ``size`` [m]. ``boundary_format`` and
    ``topology_format`` are as in ``read_puml``.
    """
    path = Path(path)
    if format == "auto" and path.suffix.lower() in (*SCRIPTS, *SHAPES):
        return mesh_geometry(path, size)
    if size is not None:
        raise InputError(
            Problem("mesh.size", f"has no effect with '{path.name}', which is already a mesh", "geometry files")
        )
    if format == "auto":
        format = _recognise(path)
    if format == "puml":
        return turn_mirrored(read_puml(path, boundary_format, topology_format))
    if format not in ("gmsh", "netcdf"):
        raise InputError(Problem("mesh.format", f"'{format}'", "auto, puml, gmsh, netcdf"))
    kind = "Gmsh" if format == "gmsh" else "netCDF"
    for name, value in (("boundary_format", boundary_format), ("topology_format", topology_format)):
        if value != "auto":
            raise InputError(
                Problem(f"mesh.{name}", f"'{value}' has no effect with a {kind} mesh", "PUML files have one")
            )
    return read_gmsh(path) if format == "gmsh" else turn_mirrored(read_netcdf(path))


def _recognise(path: Path) -> str:
    try:
        with path.open("rb") as file:
            start = file.read(512)
    except OSError as error:
        raise InputError(
            Problem(
                str(path),
                f"the mesh file cannot be opened: {error.strerror}",
                advice=similar([path]),
            )
        ) from None
    if start.startswith(_HDF5):
        return "netcdf" if is_netcdf_mesh(path) else "puml"
    if start.lstrip().startswith(b"$MeshFormat"):
        return "gmsh"
    if start.startswith(b"CDF"):
        raise InputError(Problem(str(path), "is a classic netCDF file, which cannot contain a mesh of SeisSol", _READ))
    raise InputError(Problem(str(path), "is not a known mesh file" if start else "is empty", _READ))


def transform(mesh: Mesh, scaling: ArrayLike, displacement: ArrayLike) -> Mesh:
    """Return the mesh with vertices scaling (3, 3) @ x + displacement (3,); a mirrored mesh is oriented again."""
    matrix, shift = np.asarray(scaling, float), np.asarray(displacement, float)
    if (matrix == np.eye(3)).all() and not shift.any():
        return mesh
    determinant = float(np.linalg.det(matrix))
    if not np.isfinite(determinant) or abs(determinant) <= 1e-14 * np.abs(matrix).max() ** 3:
        raise InputError(
            Problem("mesh.scaling", f"{matrix.tolist()} flattens the mesh", "a matrix that can be inverted")
        )
    # Axis by axis: rounding of a matrix product depends on the number of rows, which is smaller in a part of a mesh.
    x = mesh.vertices
    moved = replace(
        mesh,
        vertices=np.stack(
            [x[:, 0] * a + x[:, 1] * b + x[:, 2] * c + s for (a, b, c), s in zip(matrix, shift, strict=True)], 1
        ),
    )
    # Only the mirroring is undone: cells that were wrong in the file must still be found by the checks.
    return permute_vertices(moved, np.broadcast_to([0, 2, 1, 3], mesh.cells.shape)) if determinant < 0 else moved
