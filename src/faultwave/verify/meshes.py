"""Meshes that the settings of a built-in box do not cover: graded ones and boxes with a fault, written as files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.domain.tets import Mesh, write_puml
from faultwave.domain.tets.box import Box, box_mesh


def graded_cube(n: int, grading: float) -> Mesh:
    """The periodic cube [-1, 1]^3 of n bricks a side, x -> x + grading sin(pi x)/pi on every axis.

    Edges shrink by 1 - grading towards the sides and grow by 1 + grading in the middle; opposite sides stay congruent.
    """
    periodic = dict.fromkeys("xyz", "periodic")
    mesh = box_mesh(Box((n, n, n), (-1.0,) * 3, (1.0,) * 3, periodic, shuffle=True), "graded cube")
    return replace(mesh, vertices=mesh.vertices + grading * np.sin(np.pi * mesh.vertices) / np.pi)


def fault_column(cells: tuple[int, int, int], edge: float) -> Mesh:
    """A column along y, centred, periodic in x and z, absorbing ends, a fault across it at y = 0; cells[1] is even."""
    half = tuple(0.5 * n * edge for n in cells)
    lower, upper = (-half[0], -half[1], -half[2]), (half[0], half[1], half[2])
    kinds = {"x": "periodic", "z": "periodic", "y": "absorbing"}
    return box_mesh(Box(cells, lower, upper, kinds, shuffle=True, fault=("y", 0.0)), "fault column")


@contextmanager
def as_setting(mesh: Mesh) -> Iterator[dict[str, Any]]:
    """The ``mesh`` group of a case that reads this mesh from a scratch file, which goes away afterwards."""
    with tempfile.TemporaryDirectory(prefix="faultwave-verify-") as folder:
        path = Path(folder) / "mesh.puml.h5"
        write_puml(path, mesh)
        yield {"file": str(path)}
