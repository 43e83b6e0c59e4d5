"""Mesh of a SeisSol deck: a file, or the box of the cube generator."""

from __future__ import annotations

from pathlib import Path

from ruamel.yaml import YAML

from faultwave.base.files.paths import is_file
from faultwave.case.seissol.reader import Reader


def read_mesh(r: Reader, folders: tuple[Path, ...]) -> None:
    """Read the mesh and the meaning of its face tags."""
    block = "meshnml"
    generator = r.get(block, "meshgenerator", "puml").lower()
    if generator == "cubegenerator":
        _cubes(r)
        return
    if generator not in ("puml", "netcdf"):
        advice = "Neither does SeisSol read it any longer: convert the mesh to PUML"
        r.report_unsupported(block, "meshgenerator", "this mesh source", "puml, netcdf, cubegenerator", advice)
    elif not r.given(block, "MeshFile"):
        r.missing(block, "MeshFile", "a PUML mesh" if generator == "puml" else "a netCDF mesh")
    if not r.given(block, "MeshFile"):
        r.data["mesh"] = {"generate": {"shape": "tpv5"}}  # placeholder; the case is rejected anyway
        return
    name = r.get(block, "MeshFile")
    if generator == "netcdf" and not name.endswith(".nc"):
        name += ".nc"  # as SeisSol does
    r.put(("mesh", "file"), name, block, "MeshFile")
    r.put(("mesh", "format"), "netcdf" if generator == "netcdf" else "puml")
    for name, key in (("boundary_format", "pumlboundaryformat"), ("topology_format", "pumltopologyformat")):
        if r.given(block, key):
            r.put(("mesh", name), r.get(block, key).lower(), block, key)
    r.copy(("mesh", "displacement"), block, "displacement")
    rows = ("scalingmatrixx", "scalingmatrixy", "scalingmatrixz")
    if any(r.given(block, row) for row in rows):
        unit = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
        scaling = [r.get(block, row, default) for row, default in zip(rows, unit, strict=True)]
        r.put(("mesh", "scaling"), scaling, block, next(row for row in rows if r.given(block, row)))
    if r.given(block, "facemapfile"):
        _face_map(r, folders)


_FACE_KINDS = {
    "regular": "regular",
    "freeSurface": "free-surface",
    "dynamicRupture": "fault",
    "outflow": "absorbing",
    "freeSurfaceGravity": "gravity",
    "dirichlet": "dirichlet",
    "analytical": "analytic",
}
"""Boundary kinds by their names in a face map."""


def _face_map(r: Reader, folders: tuple[Path, ...]) -> None:
    block, key = "meshnml", "facemapfile"
    name = r.get(block, key)
    path = next((folder / name for folder in folders if is_file(folder / name)), None)
    if path is None:
        r.wrong(block, key, "a YAML file", "No such file")
        return
    try:
        table = YAML(typ="safe").load(path)
    except Exception as error:  # the parser raises many kinds
        r.problems.error(str(path), f"not valid YAML: {' '.join(str(error).split())}")
        return
    if not isinstance(table, dict) or not set(table) <= set(_FACE_KINDS):
        r.problems.error(str(path), "is no face map", ", ".join(_FACE_KINDS))
        return
    boundaries: dict[str, list[object]] = {}
    for kind, tags in table.items():
        tags = tags if isinstance(tags, list) else [tags]
        boundaries[_FACE_KINDS[kind]] = tags
    r.put(("mesh", "boundaries"), boundaries, block, key)


_CUBE_SIDES = {1: "free-surface", 2: "gravity", 4: "dirichlet", 5: "absorbing", 6: "periodic", 7: "analytic"}


def _cubes(r: Reader) -> None:
    """Read SeisSol's box of cubes around the origin, five tetrahedra each; ``cubes`` is the edge length of the box."""
    block, where = "cubegenerator", ("mesh", "generate")
    counts = [r.get(block, f"cube{axis}", 2) for axis in "xyz"]
    lengths = [r.get(block, f"cubes{axis}", r.get(block, "cubes", 100.0)) for axis in "xyz"]
    shifts = [r.get(block, f"cubet{axis}", 0.0) for axis in "xyz"]
    sides: dict[str, str] = {}
    for axis, count in zip("xyz", counts, strict=True):
        if count < 2 or count % 2:
            r.problems.error(
                r.where(block, f"cube{axis}"), f"cube{axis} = {count}", "an even number of cubes, 2 or more"
            )
        tags = {end: r.get(block, f"cube{end}{axis}", 6) for end in ("min", "max")}
        for end, tag in tags.items():
            if tag not in _CUBE_SIDES:
                allowed = ", ".join(f"{n} {kind}" for n, kind in _CUBE_SIDES.items())
                r.problems.error(r.where(block, f"cube{end}{axis}"), f"cube{end}{axis} = {tag}", allowed)
        kinds = [_CUBE_SIDES.get(tags[end], "absorbing") for end in ("min", "max")]
        if kinds == ["periodic", "periodic"]:
            sides[axis] = "periodic"
        else:
            sides |= {f"{axis}{sign}": kind for sign, kind in zip("-+", kinds, strict=True)}
        if kinds.count("periodic") == 1:
            r.problems.error(r.where(block, f"cubemin{axis}"), f"one side along {axis} is periodic", "both or none")
    if min(lengths) <= 0:
        r.problems.error(r.where(block, "cubes"), f"a box of {lengths} m", "edges longer than zero")
    if r.problems.errors:
        sides, lengths, counts = {}, [1.0] * 3, [2] * 3  # placeholder; the case is rejected anyway
    r.put((*where, "shape"), "box", "meshnml", "meshgenerator")
    r.put((*where, "cells"), counts, block, "cubex")
    r.put((*where, "tetrahedra"), 5)
    r.put((*where, "lower"), [t - 0.5 * s for s, t in zip(lengths, shifts, strict=True)], block, "cubes")
    r.put((*where, "upper"), [t + 0.5 * s for s, t in zip(lengths, shifts, strict=True)], block, "cubes")
    r.put((*where, "boundaries"), sides, block, "cubeminx")


__all__ = ["read_mesh"]
