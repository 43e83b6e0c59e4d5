"""Meshes of the benchmarks by Gmsh: faults of any dip and strike, which may intersect each other and the free surface.

Importing this module needs Gmsh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import gmsh
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.domain.tets.assemble import Parts, assemble
from faultwave.domain.tets.generators.gmsh_planar import edges_about, elements, nodes, plane_face, session
from faultwave.domain.tets.mesh import Mesh, orient
from faultwave.verify.scec.benchmark import Array, Benchmark, Box, Domain, Fault, Resolution, box_of

FREE_SURFACE, FAULT, ABSORBING, MORE_FAULTS = 1, 3, 5, 65
"""Face tags; faults after the first have tags from 65 on."""

GROWTH = 0.45
"""Growth of element edges per metre of distance from the faults."""


ALONG = 0.15
"""Growth of element edges on the faults per metre beyond the reach of a resolution."""


def build(benchmark: Benchmark, resolution: Resolution) -> Mesh:
    """Return a tetrahedral mesh with the resolution's edge length on the faults.

    Raises
    ------
    InputError
        If Gmsh fails.
    """
    box, domain = box_of(benchmark), benchmark.domain
    with session(f"scec-{benchmark.name}"):
        try:
            faults = _geometry(benchmark, box)
            _sizes(benchmark, faults, resolution)
            gmsh.model.mesh.generate(3)
            mesh = assemble(_parts(domain, box, faults), benchmark.name)
        except InputError:
            raise
        except Exception as error:  # Gmsh raises no narrower type
            raise InputError(Problem(f"mesh of {benchmark.name}", f"Gmsh could not make it: {error}")) from None
    return _bent(mesh, domain)


def _geometry(benchmark: Benchmark, box: Box) -> list[list[int]]:
    """Build the box cut by interfaces and faults, with shared surfaces and lines, and return the surfaces of every fault."""
    occ, domain = gmsh.model.occ, benchmark.domain
    volume = occ.addBox(*box.lower, *(box.upper - box.lower))
    tools = [[plane_face(_corners(fault, fault.along, fault.down))] for fault in benchmark.faults]
    for fault, surfaces in zip(benchmark.faults, tools, strict=True):
        surfaces += [plane_face(_corners(fault, patch[:2], patch[2:])) for patch in fault.patches]
    (x0, y0, z0), (x1, y1, z1) = box.lower, box.upper
    flat = [plane_face([(x0, y0, -d), (x1, y0, -d), (x1, y1, -d), (x0, y1, -d)]) for d in domain.depths]
    flat += [plane_face([(x0, y, z0), (x1, y, z0), (x1, y, z1), (x0, y, z1)]) for y in domain.planes]
    every = [surface for surfaces in tools for surface in surfaces] + flat
    _, images = occ.fragment([(3, volume)], [(2, tag) for tag in every])
    occ.synchronize()
    found, place = [], 1
    for surfaces in tools:
        pieces = {tag for image in images[place : place + len(surfaces)] for dimension, tag in image if dimension == 2}
        found.append(sorted(pieces))
        place += len(surfaces)
    return found


def _corners(fault: Fault, along: Sequence[float], down: Sequence[float]) -> list[Array]:
    return [
        fault.point(s, d)
        for s, d in ((along[0], down[0]), (along[1], down[0]), (along[1], down[1]), (along[0], down[1]))
    ]


def _sizes(benchmark: Benchmark, faults: list[list[int]], resolution: Resolution) -> None:
    """Set the element sizes: the resolution on the faults within its reach, growing with distance."""
    size, near = float(resolution.size), ""
    if np.isfinite(resolution.reach):
        start = benchmark.start
        x, y, z = (float(v) for v in benchmark.fault(start.fault).point(*start.place))
        away = f"Sqrt((x - ({x!r}))^2 + (y - ({y!r}))^2 + (z - ({z!r}))^2)"
        near = f"({size!r} + {ALONG} * Max({away} - {float(resolution.reach)!r}, 0))"
    longest = max(fault.along[1] - fault.along[0] for fault in benchmark.faults)
    edges_about(
        [tag for surfaces in faults for tag in surfaces], longest, size, GROWTH, benchmark.domain.far_size, near
    )


def _parts(domain: Domain, box: Box, faults: list[list[int]]) -> Parts:
    ids, points = nodes()
    volumes = [elements(4, tag, 4) for _, tag in gmsh.model.getEntities(3)]
    tags = {tag: FAULT if number == 0 else MORE_FAULTS + number - 1 for number, f in enumerate(faults) for tag in f}
    slack = 1e-6 * float((box.upper - box.lower).max())
    for _, tag in gmsh.model.getEntities(2):
        low, high = np.reshape(gmsh.model.getBoundingBox(2, tag), (2, 3))
        outer = [
            i
            for i in range(3)
            for end in (box.lower, box.upper)
            if max(abs(low[i] - end[i]), abs(high[i] - end[i])) < slack
        ]
        if outer:
            on_top = outer == [2] and abs(high[2] - box.upper[2]) < slack
            tags[tag] = FREE_SURFACE if on_top and domain.free_surface else ABSORBING
    triangles = {tag: elements(2, tag, 3) for tag in tags}
    return Parts(
        ids,
        points,
        np.concatenate(volumes),
        np.repeat(np.arange(len(volumes)) + 1, [len(cells) for cells in volumes]),
        np.concatenate(list(triangles.values())),
        np.concatenate([np.full(len(found), tags[tag]) for tag, found in triangles.items()]),
    )


def _bent(mesh: Mesh, domain: Domain) -> Mesh:
    """Return the mesh with the plane y = 0 displaced sideways by the relief."""
    if domain.relief is None:
        return mesh
    x, y, z = mesh.vertices.T
    share = np.maximum(0.0, 1 - np.abs(y) / domain.fading)
    return orient(replace(mesh, vertices=np.stack([x, y + share * domain.relief(x, z), z], 1)))
