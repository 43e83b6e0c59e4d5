"""Number of cells of a mesh before it is read or generated.

The file is memory-mapped, and only what is needed is copied. Anything that does not fit the format counts as unknown;
errors are reported when the file is read.
"""

from __future__ import annotations

import math
import mmap
import re
import struct
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np

from faultwave.base.errors import InputError
from faultwave.base.files.hdf5 import opened
from faultwave.domain.tets.gmsh.reader import HEADER, TETRAHEDRON, file_format
from faultwave.domain.tets.gmsh.streams import NODES, binary_runs

BLOCK = 1 << 20
"""Size of a block of text in which line ends are searched [bytes]."""

_OF_KIND = re.compile(rb"\n[ \t]*\d+[ \t]+%d[ \t]" % TETRAHEDRON)
_MIN_LINE = 10
"""Smallest size of a tetrahedron's number and its four nodes [bytes]."""


def gmsh_cells(path: Path) -> int | None:
    """Return the number of tetrahedra that the elements of a file announce; None if it is not a readable Gmsh mesh."""
    with (
        suppress(ValueError, IndexError, KeyError, EOFError, OSError, struct.error, InputError),
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        return _counted(data, *file_format(str(path), data[:HEADER]))
    return None


def _counted(data: mmap.mmap, version: str, binary: bool) -> int | None:
    begin = _elements_of_version_2(data) if binary and version != "4.1" else data.find(b"\n$Elements")
    if begin < 0:
        return None
    at = _end_of_line(data, begin + 1)
    if version == "4.1":
        found = _of_binary_blocks(data, at) if binary else _of_blocks(data, at)
    elif binary:
        first = _end_of_line(data, at)
        found = sum(
            r.count for r in binary_runs(data, first, int(data[at:first]), _order(data)) if r.kind == TETRAHEDRON
        )
    else:
        found = _of_lines(data, begin)
    return found if found * _MIN_LINE <= len(data) else None


def _end_of_line(data: mmap.mmap, at: int) -> int:
    """Return the position of the line after the one at ``at``."""
    end = data.find(b"\n", at)
    if end < 0:
        raise ValueError("the file ends")
    return end + 1


def _after(data: mmap.mmap, at: int, lines: int) -> int:
    """Return the position ``lines`` lines after ``at``."""
    while lines > 0:
        block = data[at : at + BLOCK]
        if not block:
            raise ValueError("the file ends")
        here = block.count(b"\n")
        if here >= lines:
            return at + int(np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))[lines - 1]) + 1
        lines, at = lines - here, at + len(block)
    return at


def _of_blocks(data: mmap.mmap, at: int) -> int:
    """Count tetrahedra in text of version 4.1, whose blocks have a header and a line per element."""
    next_line, found = _end_of_line(data, at), 0
    blocks = int(data[at:next_line].split()[0])
    for left in range(blocks, 0, -1):
        at, next_line = next_line, _end_of_line(data, next_line)
        _, _, kind, count = map(int, data[at:next_line].split())
        found += count if kind == TETRAHEDRON else 0
        next_line = _after(data, next_line, count) if left > 1 else next_line
    return found


def _of_binary_blocks(data: mmap.mmap, at: int) -> int:
    """Count tetrahedra in binary files of version 4.1; the byte order follows from the number 1 after the first lines."""
    order = _order(data)
    found, (blocks, *_) = 0, struct.unpack_from(f"{order}4Q", data, at)
    at += 32
    for _ in range(blocks):
        _, _, kind, count = struct.unpack_from(f"{order}3iQ", data, at)
        found += count if kind == TETRAHEDRON else 0
        at += 20 + 8 * count * (1 + NODES[kind])
    return found


def _order(data: mmap.mmap) -> str:
    start = _end_of_line(data, _end_of_line(data, data.find(b"$MeshFormat")))
    return "<" if data[start] == 1 else ">"


def _elements_of_version_2(data: mmap.mmap) -> int:
    """Return the start of the elements of a binary file of version 2.2, after its nodes, which may contain any bytes."""
    begin = data.find(b"\n$Nodes")
    if begin < 0:
        return -1
    at = _end_of_line(data, begin + 1)
    first = _end_of_line(data, at)
    return data.find(b"\n$Elements", first + 28 * int(data[at:first]))


def _of_lines(data: mmap.mmap, begin: int) -> int:
    """Count tetrahedra in text of version 2.2: lines that begin with a number and the element type."""
    end = data.find(b"$EndElements", begin)
    return sum(1 for _ in _OF_KIND.finditer(data, begin, end if end >= 0 else len(data)))


def cells_ahead(setting: object) -> int | None:
    """Return the number of cells of a box, or of a PUML, netCDF or Gmsh file from its headers; None if unknown.

    ``setting`` is as for ``load_mesh``. None means that only reading or generating the mesh determines the number.
    """
    box, path = getattr(setting, "generate", None), getattr(setting, "file", None)
    if box is not None:
        return box.tetrahedra * math.prod(box.cells) if box.shape == "box" else None
    if path is None or not Path(path).is_file():
        return None
    if not h5py.is_hdf5(path):
        return gmsh_cells(Path(path))
    with (
        suppress(InputError, OSError),
        opened(path, "mesh") as file,
    ):  # errors are reported when the mesh is read
        if isinstance(file.get("element_size"), h5py.Dataset):
            return int(np.sum(file["element_size"][()]))
        connections = file.get("connect")
        return len(connections) if isinstance(connections, h5py.Dataset) and connections.ndim == 2 else None
    return None
