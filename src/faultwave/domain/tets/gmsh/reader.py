"""Gmsh .msh files: versions 2.2 and 4.1, ASCII and binary."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, NotBuiltError, Problem
from faultwave.domain.tets.assemble import Parts, assemble
from faultwave.domain.tets.gmsh.streams import NODES, BinaryStream, Stream, TextStream, binary_runs, elements_of, whole
from faultwave.domain.tets.mesh import Floats, Integers, Mesh

TRIANGLE, TETRAHEDRON = 2, 4
SHIFT = 100
"""Offset of the numbers of physical surfaces from face tags."""
HEADER = 512
"""Number of bytes that identify the format of a file."""

_CURVED = {
    8: "second-order lines",
    9: "second-order triangles",
    11: "second-order tetrahedra",
    21: "third-order triangles",
    29: "third-order tetrahedra",
    30: "fourth-order tetrahedra",
    31: "fifth-order tetrahedra",
}
_OTHER_SHAPES = {3: "quadrangles", 5: "hexahedra", 6: "prisms", 7: "pyramids"}


def read_gmsh(path: str | Path, name: str | None = None) -> Mesh:
    """Read a Gmsh mesh of linear tetrahedra, called ``name`` (default: its path) in messages.

    Physical surfaces give face tags, numbers of 100 and more minus 100 (so 101 and 1 are the free surface, 103 and 3 the
    fault); physical volumes give groups. Cells are oriented, both sides of an inner tagged triangle get its tag, nodes
    outside tetrahedra are dropped, and $Periodic identifies nodes.

    Raises
    ------
    InputError
        For invalid files and other elements.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(Problem(str(path), "the mesh file does not exist"))
    with path.open("rb") as file:
        start = file.read(HEADER)
    try:
        version, binary = file_format(name or str(path), start)
        return _Reader(name or str(path), path.read_bytes()).read(version, binary)
    except (ValueError, IndexError, EOFError, OverflowError, MemoryError) as error:
        raise InputError(
            Problem(str(path), f"cannot be read as a Gmsh mesh: {error}", advice="It may be truncated or corrupt.")
        ) from None


def file_format(name: str, start: bytes) -> tuple[str, bool]:
    """Return the version of a file, and whether it is binary, from its first bytes ``start``.

    Raises
    ------
    InputError
        For other files and versions.
    ValueError
        If the header is incomplete.
    """
    mark, *lines = start.lstrip().split(b"\n", 2)
    if not mark.startswith(b"$MeshFormat"):
        raise InputError(Problem(name, "is not a Gmsh mesh: it does not begin with $MeshFormat"))
    header = lines[0].split() if lines else []
    if len(header) < 3:
        raise ValueError("its $MeshFormat line is incomplete")
    version, binary = header[0].decode(errors="replace"), header[1] == b"1"
    if version not in ("2.2", "2.1", "2", "4.1"):
        what, advice = f"Gmsh mesh format {version}", "Save it again with Mesh.MshFileVersion = 4.1."
        raise InputError(Problem(name, what, "2.2, 4.1", advice))
    return version, binary


class _Reader:
    def __init__(self, name: str, data: bytes):
        self.name, self.data = name, data
        self.physical: dict[tuple[int, int], list[int]] = {}
        self.ids: list[Integers] = []
        self.coordinates: list[Floats] = []
        self.elements: dict[int, list[tuple[Integers, Integers]]] = {TRIANGLE: [], TETRAHEDRON: []}
        self.periodic: list[Integers] = []

    def read(self, version: str, binary: bool) -> Mesh:
        stream: Stream = BinaryStream(self.data) if binary else TextStream(self.data)
        sections = _SECTIONS_4 if version == "4.1" else _SECTIONS_2B if binary else _SECTIONS_2
        seen = set()
        for section in stream.sections():
            seen.add(section)
            if section == "PartitionedEntities":
                raise NotBuiltError(
                    Problem(
                        self.name,
                        "partitioned Gmsh meshes are not read",
                        advice="Save it without partitions; Faultwave makes its own.",
                    )
                )
            if section in sections:
                sections[section](self, stream)
            else:
                stream.skip(section)
        for needed in ("Nodes", "Elements"):
            if needed not in seen:
                raise ValueError(f"it has no ${needed}")
        return assemble(self.parts(), self.name)

    def names(self) -> dict[tuple[int, str], int]:
        """Return the physical names of surfaces and volumes, a section that is text in binary files, too."""
        section = re.search(rb"\$PhysicalNames\s+(.*?)\$EndPhysicalNames", self.data, re.DOTALL)
        found: dict[tuple[int, str], int] = {}
        for dimension, number, name in re.findall(rb'(\d)\s+(\d+)\s+"([^"]*)"', section[1] if section else b""):
            key, tag = (int(dimension), name.decode(errors="replace")), int(number)
            if key[0] == 2 and tag >= SHIFT:
                tag -= SHIFT
            same = [n for (d, n), t in found.items() if d == key[0] and t == tag]
            if same:
                raise InputError(
                    Problem(self.name, f"physical groups '{same[0]}' and '{key[1]}' both mean tag {tag}", "tags apart")
                )
            found[key] = tag
        return found

    def parts(self) -> Parts:
        triangles, tags = self.joined(TRIANGLE)
        tetrahedra, groups = self.joined(TETRAHEDRON)
        shifted = {int(t): int(t) - SHIFT for t in np.unique(tags) if t >= SHIFT}
        both = [f"{t} and {s}" for t, s in shifted.items() if (tags == s).any()]
        if both:
            what = f"physical surfaces {', '.join(both)} would get the same face tag"
            raise InputError(
                Problem(self.name, what, f"{SHIFT} was subtracted from numbers of {SHIFT} and more to separate tags")
            )
        tags = np.where(tags >= SHIFT, tags - SHIFT, tags)
        pairs = np.concatenate([np.empty((0, 2), np.int64), *self.periodic])
        return Parts(
            np.concatenate(self.ids),
            np.concatenate(self.coordinates),
            tetrahedra,
            groups,
            triangles,
            tags,
            pairs,
            self.names(),
            shifted,
        )

    def joined(self, kind: int) -> tuple[Integers, Integers]:
        blocks = [(np.empty((0, NODES[kind]), np.int64), np.empty(0, np.int64)), *self.elements[kind]]
        return np.concatenate([nodes for nodes, _ in blocks]), np.concatenate([tags for _, tags in blocks])

    def check_type(self, kind: int, where: str) -> None:
        if kind in _CURVED:
            raise InputError(
                Problem(
                    self.name,
                    f"the mesh has {_CURVED[kind]}{where}",
                    "linear tetrahedra and triangles",
                    "Mesh with order 1 (Mesh.ElementOrder = 1).",
                )
            )
        if kind in _OTHER_SHAPES:
            raise InputError(
                Problem(
                    self.name,
                    f"the mesh has {_OTHER_SHAPES[kind]}{where}",
                    "tetrahedra and triangles",
                    "Do not recombine surfaces or volumes.",
                )
            )
        if kind not in NODES:
            raise InputError(
                Problem(self.name, f"element type {kind} is unknown{where}", "2 (triangle), 4 (tetrahedron)")
            )

    # Version 4.1 -----------------------------------------------------------------------------------------------------

    def entities(self, stream: Stream) -> None:
        counts = stream.sizes(4)
        for dimension, count in enumerate(counts.tolist()):
            for _ in range(count):
                tag = int(stream.ints(1)[0])
                stream.reals(3 if dimension == 0 else 6)
                groups = np.abs(stream.ints(int(stream.sizes(1)[0]))).tolist()
                if groups:
                    self.physical[dimension, tag] = groups
                if dimension:
                    stream.ints(int(stream.sizes(1)[0]))

    def nodes(self, stream: Stream) -> None:
        blocks = int(stream.sizes(4)[0])
        for _ in range(blocks):
            dimension, _, parametric = stream.ints(3).tolist()
            count = int(stream.sizes(1)[0])
            width = 3 + (dimension if parametric else 0)
            self.ids.append(stream.sizes(count))
            self.coordinates.append(stream.reals(width * count).reshape(count, width)[:, :3])

    def element_blocks(self, stream: Stream) -> None:
        for _ in range(int(stream.sizes(4)[0])):
            dimension, entity, kind = stream.ints(3).tolist()
            count = int(stream.sizes(1)[0])
            self.check_type(kind, f" on entity {entity} of dimension {dimension}")
            rows = stream.sizes((1 + NODES[kind]) * count).reshape(count, -1)
            if kind in self.elements:
                tag = self.physical_tag(dimension, entity, kind)
                self.elements[kind].append((rows[:, 1:], np.full(count, tag, np.int64)))

    def physical_tag(self, dimension: int, entity: int, kind: int) -> int:
        groups = sorted(set(self.physical.get((dimension, entity), [0])))
        if len(groups) > 1:
            what = "surface" if kind == TRIANGLE else "volume"
            raise InputError(Problem(self.name, f"{what} {entity} is in physical groups {groups}", "one group"))
        return groups[0]

    def periodic_links(self, stream: Stream) -> None:
        for _ in range(int(stream.sizes(1)[0])):
            stream.ints(3)
            stream.reals(int(stream.sizes(1)[0]))
            self.periodic.append(stream.sizes(2 * int(stream.sizes(1)[0])).reshape(-1, 2))

    # Version 2.2 -----------------------------------------------------------------------------------------------------

    def nodes_2(self, stream: Stream) -> None:
        count = int(stream.sizes(1)[0])
        rows = stream.reals(4 * count).reshape(count, 4)
        self.ids.append(whole(rows[:, 0]))
        self.coordinates.append(rows[:, 1:])

    def elements_2(self, stream: Stream) -> None:
        assert isinstance(stream, TextStream)
        numbers, starts = stream.lines()
        declared, starts = int(numbers[0]), starts[1:]
        if declared != len(starts):
            raise ValueError(f"$Elements announces {declared} elements and holds {len(starts)}")
        values = whole(numbers)
        kinds, tag_counts = values[starts + 1], values[starts + 2]
        lengths = np.diff(np.append(starts, len(values)))
        if (lengths < 3).any() or (tag_counts < 0).any():
            raise ValueError("$Elements has a line without number, type and tags")
        for kind in np.unique(kinds).tolist():
            self.check_type(kind, f", for instance element {values[starts[kinds == kind][0]]}")
            mine = kinds == kind
            if (lengths[mine] != 3 + tag_counts[mine] + NODES[kind]).any():
                wrong = values[starts[mine][lengths[mine] != 3 + tag_counts[mine] + NODES[kind]][0]]
                raise ValueError(f"element {wrong} has the wrong number of entries")
            if kind not in self.elements:
                continue
            first = starts[mine]
            nodes = values[(first + 3 + tag_counts[mine])[:, None] + np.arange(NODES[kind])]
            tags = np.where(tag_counts[mine] > 0, values[np.minimum(first + 3, len(values) - 1)], 0)
            self.elements[kind].append(_once(nodes, tags, self.name) if kind == TETRAHEDRON else (nodes, tags))

    def nodes_2_binary(self, stream: Stream) -> None:
        assert isinstance(stream, BinaryStream)
        rows = stream.take(stream.announced(), "i4, 3f8", 28)
        self.ids.append(rows["f0"].astype(np.int64))
        self.coordinates.append(rows["f1"].astype(np.float64))

    def elements_2_binary(self, stream: Stream) -> None:
        assert isinstance(stream, BinaryStream)
        count = stream.announced()
        for run in binary_runs(stream.data, stream.at, count, stream.order):
            self.check_type(run.kind, "")
            stream.at = run.start + run.stride * (run.count - 1) + 4 * (1 + run.tags + NODES[run.kind])
            if run.kind in self.elements:
                rows = elements_of(stream.data, run, stream.order)
                nodes, tags = rows[:, 1 + run.tags :], rows[:, 1] if run.tags else np.zeros(len(rows), np.int64)
                self.elements[run.kind].append((nodes, tags))
        if self.elements[TETRAHEDRON]:
            self.elements[TETRAHEDRON] = [_once(*self.joined(TETRAHEDRON), self.name)]

    def periodic_2(self, stream: Stream) -> None:
        lines = stream.raw_lines()

        def line() -> bytes:
            found = next(lines, None)
            if found is None:
                raise EOFError("$Periodic ends before its last line")
            return found

        for _ in range(int(line())):
            line()
            count_line = line()
            if count_line.startswith(b"Affine"):
                count_line = line()
            pairs = [line().split() for _ in range(int(count_line))]
            self.periodic.append(np.array(pairs, np.int64).reshape(-1, 2))


def _once(nodes: Integers, groups: Integers, name: str) -> tuple[Integers, NDArray[np.int64]]:
    """Remove copies of elements, which version 2.2 repeats for every physical group; raise InputError for contradictions."""
    _, first, where = np.unique(np.sort(nodes, axis=1), axis=0, return_index=True, return_inverse=True)
    if len(first) == len(nodes):
        return nodes, groups
    clash = np.flatnonzero(groups != groups[first][where.ravel()])
    if len(clash):
        raise InputError(
            Problem(
                name,
                f"{len(clash)} tetrahedra are in two physical volumes, one with nodes {nodes[clash[0]].tolist()}",
                "one group",
            )
        )
    keep = np.sort(first)
    return nodes[keep], groups[keep]


_SECTIONS_4 = {"Entities": _Reader.entities, "Nodes": _Reader.nodes, "Elements": _Reader.element_blocks,
               "Periodic": _Reader.periodic_links}  # fmt: skip
_SECTIONS_2 = {"Nodes": _Reader.nodes_2, "Elements": _Reader.elements_2, "Periodic": _Reader.periodic_2}
_SECTIONS_2B = {"Nodes": _Reader.nodes_2_binary, "Elements": _Reader.elements_2_binary, "Periodic": _Reader.periodic_2}
