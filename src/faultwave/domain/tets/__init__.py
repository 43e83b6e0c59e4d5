"""Tetrahedral meshes: reading, generation, checks, numbering, geometry, search and clustering."""

from faultwave.domain.tets.ahead import cells_ahead
from faultwave.domain.tets.clusters import Clustering, Wiggle, assign_clusters
from faultwave.domain.tets.connectivity.topology import build_topology, check_mesh
from faultwave.domain.tets.formats.puml import read_puml, write_puml
from faultwave.domain.tets.generators.generate import reads_other_files
from faultwave.domain.tets.geometry import BadCell, Geometry, flatness, geometry, worst_cells
from faultwave.domain.tets.load import load_mesh
from faultwave.domain.tets.locate import FaultPoints, Located, as_near, cells_about, locate, nearest_fault_face
from faultwave.domain.tets.mesh import FILE_FACES, SORTED_FACES, BoundaryKind, Mesh, Topology
from faultwave.domain.tets.partition import hilbert_order
from faultwave.domain.tets.triangles import height_at

__all__ = [
    "FILE_FACES",
    "SORTED_FACES",
    "BadCell",
    "BoundaryKind",
    "Clustering",
    "FaultPoints",
    "Geometry",
    "Located",
    "Mesh",
    "Topology",
    "Wiggle",
    "as_near",
    "assign_clusters",
    "build_topology",
    "cells_about",
    "cells_ahead",
    "check_mesh",
    "flatness",
    "geometry",
    "height_at",
    "hilbert_order",
    "load_mesh",
    "locate",
    "nearest_fault_face",
    "read_puml",
    "reads_other_files",
    "worst_cells",
    "write_puml",
]
