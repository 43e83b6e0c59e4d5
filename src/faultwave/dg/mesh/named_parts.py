"""Lookup of the surfaces and volumes that a case names in the mesh."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from faultwave.base.errors import Problems, suggest
from faultwave.domain import tets


def surface_tag(key: str | int, mesh: tets.Mesh, topology: tets.Topology, where: str, problems: Problems) -> int | None:
    """Return the tag of a surface by name or number; report a problem if the mesh has none."""
    names, tag = mesh.named(2), mesh.surface(key)
    if tag is None or not (topology.tags == tag).any():
        allowed = ", ".join(names) or ", ".join(map(str, np.unique(topology.tags[topology.tags > 0])))
        problems.error(where, f"the mesh has no surface '{key}'", allowed, suggest(str(key), names))
        return None
    return tag


def volume_numbers(keys: Iterable[str | int], mesh: tets.Mesh, where: str, problems: Problems) -> list[int]:
    """Return the numbers of volume groups by name or number."""
    names, found = mesh.named(3), []
    for key in keys:
        group = names.get(str(key), int(key) if str(key).isdigit() else None)
        if group is None or not (mesh.groups == group).any():
            allowed = ", ".join(names) or ", ".join(map(str, np.unique(mesh.groups)))
            problems.error(where, f"the mesh has no volume '{key}'", allowed, suggest(str(key), names))
        else:
            found.append(group)
    return found


__all__ = ["surface_tag", "volume_numbers"]
