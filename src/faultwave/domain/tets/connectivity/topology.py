"""Construction of the topology of a mesh: sorted cells, neighbours, kinds of faces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faultwave.base.errors import Problems
from faultwave.domain.tets.connectivity.checks import check_connections, check_numbers, check_places, check_volumes
from faultwave.domain.tets.connectivity.matching import match_faces
from faultwave.domain.tets.connectivity.tags import tag_table
from faultwave.domain.tets.mesh import Mesh, Topology, narrowed, sorted_tags


def build_topology(
    mesh: Mesh,
    boundaries: Mapping[str, Sequence[int | str]] | None = None,
    volumes: bool = False,
    warned: Problems | None = None,
) -> Topology:
    """Sort the vertices of cells (``Topology``) and find the neighbour and kind of every face.

    Parameters
    ----------
    mesh
        Mesh.
    boundaries
        Face tags or ranges by kind of boundary; None: the default tags.
    volumes
        True to check volumes and overlaps as well, as in ``checks.check_mesh``.
    warned
        Receives warnings.

    Raises
    ------
    InputError
        With cells and coordinates where the connectivity is invalid.
    """
    table = tag_table(boundaries, mesh)
    problems = Problems()
    check_numbers(mesh, problems)
    problems.raise_errors()
    if volumes:
        sizes, flat = check_volumes(mesh, problems)
    match = match_faces(mesh)
    tags = sorted_tags(mesh, match.order)
    check_connections(mesh, match, tags, table, problems)
    if volumes:
        check_places(mesh, match, sizes, flat, problems)
    problems.raise_errors()
    if warned is not None:
        warned.extend(problems.warnings)
    cells, neighbours = narrowed(match.cells, len(mesh.vertices)), narrowed(match.neighbours, len(mesh.cells))
    return Topology(cells, match.order, neighbours, match.neighbour_faces, table.kinds(tags), tags)
