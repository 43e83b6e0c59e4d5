"""From a mesh to its topology: sorted cells, neighbours, kinds of faces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faultwave.base.errors import Problems
from faultwave.domain.tets.checks import check_connections, check_numbers, check_places, check_volumes
from faultwave.domain.tets.matching import match_faces
from faultwave.domain.tets.mesh import Mesh, Topology, narrowed, sorted_tags
from faultwave.domain.tets.tags import tag_table


def build_topology(
    mesh: Mesh,
    boundaries: Mapping[str, Sequence[int | str]] | None = None,
    volumes: bool = False,
    warned: Problems | None = None,
) -> Topology:
    """Put the vertices of cells in order (``Topology``) and find every face's neighbour and kind.

    boundaries: kind of boundary -> face tags or ranges; None takes the community's tags. Raises InputError listing
    cells and coordinates where the connectivity is broken, with ``volumes`` also cells of no or negative volume and cells
    that overlap: all that ``checks.check_mesh`` finds. Warnings are added to ``warned``.
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
