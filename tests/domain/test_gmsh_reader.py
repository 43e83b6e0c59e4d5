import struct
from pathlib import Path

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.domain import tets
from faultwave.domain.tets.gmsh.reader import read_gmsh
from faultwave.domain.tets.mesh import signed_volumes
from tests.messages import raises

NODES = {10: (0, 0, 0), 20: (1, 0, 0), 30: (0, 1, 0), 40: (0, 0, 1), 55: (1, 1, 1), 99: (9, 9, 9)}
# One tetrahedron is given the wrong way round; node 99 belongs to no tetrahedron.
TETS = [(3, (10, 30, 20, 40)), (4, (20, 30, 40, 55))]
TRIANGLES = [(103, (20, 30, 40)), (101, (10, 20, 30)), (5, (40, 30, 55))]

V2 = (
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n2 103 \"the fault\"\n$EndPhysicalNames\n"
    "$Nodes\n6\n" + "".join(f"{i} {x} {y} {z}\n" for i, (x, y, z) in NODES.items()) + "$EndNodes\n"
    "$Elements\n6\n7 15 2 1 1 10\n"
    + "".join(f"{i} 2 2 {t} 1 {' '.join(map(str, n))}\n" for i, (t, n) in enumerate(TRIANGLES, 20))
    + "".join(f"{i} 4 {3 if i == 31 else 2} {g} 1 {'0 ' if i == 31 else ''}{' '.join(map(str, n))}\n"
              for i, (g, n) in enumerate(TETS, 30)) + "$EndElements\n"
)  # fmt: skip


class Writer:
    """Version 4.1 in text or binary, written here from the format's description."""

    def __init__(self, binary, order="<"):
        self.binary, self.order = binary, order
        self.out = f"$MeshFormat\n4.1 {int(binary)} 8\n".encode()
        self.out += struct.pack(order + "i", 1) + b"\n" if binary else b""
        self.out += b"$EndMeshFormat\n"

    def put(self, kinds, *values):
        if self.binary:
            codes = {"i": "i", "s": "Q", "d": "d"}
            self.out += struct.pack(self.order + "".join(codes[k] for k in kinds), *values)
        else:
            self.out += (" ".join(repr(v) for v in values) + "\n").encode()

    def section(self, name, fill):
        self.out += f"${name}\n".encode()
        fill()
        self.out += (b"\n" if self.binary else b"") + f"$End{name}\n".encode()

    def entities(self):
        self.put("ssss", 1, 0, 3, 2)
        self.put("idddsi", 1, 0.0, 0.0, 0.0, 1, 7)
        for tag, physical in ((1, 103), (2, 101), (3, 5)):
            self.put("iddddddsis", tag, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1, physical, 0)
        for tag, physical in ((1, 3), (2, 4)):
            self.put("iddddddsisii", tag, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1, physical, 2, 1, -2)

    def nodes(self):
        self.put("ssss", 2, 6, 10, 99)
        self.put("iiis", 2, 1, 1, 2)  # a parametric block: two more numbers a node
        self.put("ss", 10, 20)
        for i in (10, 20):
            self.put("ddddd", *map(float, NODES[i]), 0.25, 0.75)
        self.put("iiis", 3, 1, 0, 4)
        self.put("ssss", 30, 40, 55, 99)
        for i in (30, 40, 55, 99):
            self.put("ddd", *map(float, NODES[i]))

    def elements(self):
        self.put("ssss", 6, 6, 1, 6)
        self.put("iiis", 0, 1, 15, 1)
        self.put("ss", 1, 10)
        for entity, (_, nodes) in enumerate(TRIANGLES, 1):
            self.put("iiis", 2, entity, 2, 1)
            self.put("ssss", entity, *nodes)
        for entity, (_, nodes) in enumerate(TETS, 1):
            self.put("iiis", 3, entity, 4, 1)
            self.put("sssss", entity + 10, *nodes)

    def mesh(self):
        self.section("Entities", self.entities)
        self.section("Nodes", self.nodes)
        self.section("Elements", self.elements)
        return self.out


def binary_2(order="<", each=True):
    """Version 2.2 in binary: a block for each element, as Gmsh writes, or for all of a kind."""
    elements = [(15, (1, 1), (10,))]
    elements += [(2, (t, 1), nodes) for t, nodes in TRIANGLES]
    elements += [(4, (g, 1), nodes) for g, nodes in TETS]
    out = b"$MeshFormat\n2.2 1 8\n" + struct.pack(order + "i", 1) + b"\n$EndMeshFormat\n"
    out += b'$PhysicalNames\n1\n2 103 "the fault"\n$EndPhysicalNames\n$Nodes\n6\n'
    out += b"".join(struct.pack(order + "i3d", i, *map(float, x)) for i, x in NODES.items())
    out += b"\n$EndNodes\n$Elements\n6\n"
    number = 0
    for kind in (15, 2, 4):
        mine = [e for e in elements if e[0] == kind]
        if not each:
            out += struct.pack(order + "3i", kind, len(mine), 2)
        for _, tags, nodes in mine:
            number += 1
            head = struct.pack(order + "3i", kind, 1, 2) if each else b""
            out += head + struct.pack(order + f"{3 + len(nodes)}i", number, *tags, *nodes)
    return out + b"\n$EndElements\n"


CONTENTS = {
    "2.2 binary": binary_2(),
    "2.2 big-endian": binary_2(">", False),
    "2.2": V2.encode(),
    "2.2 dos": V2.replace("\n", "\r\n").encode(),
    "4.1": Writer(False).mesh(),
    "4.1 binary": Writer(True).mesh(),
    "4.1 big-endian": Writer(True, ">").mesh(),
}


def read(folder, data):
    path = Path(folder) / "m.msh"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_gmsh(path)


@pytest.mark.parametrize("version", CONTENTS)
def test_versions(tmp_path, version):
    mesh = read(tmp_path, CONTENTS[version])
    assert np.array_equal(mesh.vertices, [NODES[i] for i in (10, 20, 30, 40, 55)])
    assert mesh.groups.tolist() == [3, 4]
    assert (signed_volumes(mesh) > 0).all()
    topology = tets.build_topology(mesh, {"fault": [3], "free-surface": [0, 1, 5], "regular": [9]})
    fault = topology.tags == 3
    assert fault.sum() == 2 and fault.any(axis=1).all(), "both sides of the fault"
    assert topology.neighbours[fault].tolist() == [1, 0]
    for tag, nodes in ((1, (0, 1, 2)), (5, (2, 3, 4))):
        cell, face = np.argwhere(topology.tags == tag)[0]
        assert sorted(np.delete(topology.cells[cell], face).tolist()) == list(nodes)
    assert (topology.tags == 0).sum() == 4


def test_numbers_of_the_file_are_known_and_kept_apart(tmp_path):
    mesh = read(tmp_path, V2)
    assert mesh.written == {101: 1, 103: 3}
    assert mesh.surface(103) == mesh.surface("3") == mesh.surface("the fault") == 3
    with raises(InputError):
        read(tmp_path, V2.replace("22 2 2 5 ", "22 2 2 3 "))


def test_second_order_is_refused(tmp_path):
    text = V2.replace("30 4 2 3 1 10 30 20 40", "30 11 2 3 1 10 30 20 40 1 2 3 4 5 6")
    with raises(InputError):
        read(tmp_path, text)
    with raises(InputError):
        read(tmp_path, CONTENTS["4.1"].replace(b"2 1 2 1\n", b"2 1 9 1\n"))
    with raises(InputError):
        read(tmp_path, V2.replace("30 4 2 3 1 10 30 20 40", "30 5 2 3 1 10 30 20 40 1 2 3 4"))


def test_contradictions(tmp_path):
    twice = V2.replace("$Elements\n6", "$Elements\n7").replace("22 2 2 5", "23 2 2 165 1 30 20 40\n22 2 2 5")
    with raises(InputError):
        read(tmp_path, twice)
    same = twice.replace("2 2 165 1", "2 2 103 1")
    assert (read(tmp_path, same).tags == 3).sum() == 2
    lost = V2.replace("20 2 2 103 1 20 30 40", "20 2 2 103 1 10 30 55")
    with raises(InputError):
        read(tmp_path, lost)
    with raises(InputError):
        read(tmp_path, V2.replace("20 30 40 55", "20 30 40 77"))
    with raises(InputError):
        read(tmp_path, V2.split("$Elements")[0] + "$Elements\n1\n1 15 2 1 1 10\n$EndElements\n")


@pytest.mark.parametrize("version", CONTENTS)
@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9, 0.97])
def test_truncated_files(tmp_path, version, share):
    data = CONTENTS[version]
    with raises(InputError):
        read(tmp_path, data[: int(share * len(data))])


def test_damaged_text(tmp_path):
    for old, new in (("1 0 0\n", "1 0 x\n"), ("$Nodes\n6", "$Nodes\n7"), ("$Elements\n6", "$Elements\n5"),
                     ("2.2 0 8", "2.2"), ("20 30 40 55", "20 30 40")):  # fmt: skip
        assert old in V2
        with raises(InputError):
            read(tmp_path, V2.replace(old, new))


def test_unknown_versions(tmp_path):
    with raises(InputError):
        read(tmp_path, V2.replace("2.2 0 8", "4 0 8"))
    with raises(InputError):
        read(tmp_path, "solid\n")
    with raises(InputError):
        read_gmsh(tmp_path / "none.msh")


def test_periodic_links(tmp_path):
    """Node pairs of $Periodic become one, also through a chain."""
    link = "$Periodic\n2\n2 2 1\nAffine 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1\n1\n30 20\n2 3 2\n1\n55 30\n$EndPeriodic\n"
    assert read(tmp_path, V2 + link).identify.tolist() == [0, 1, 1, 3, 1]
    link = b"$Periodic\n1\n2 2 1\n0\n2\n30 20\n55 99\n$EndPeriodic\n"
    assert read(tmp_path, CONTENTS["4.1"] + link).identify.tolist() == [0, 1, 1, 3, 4]


@pytest.fixture
def gmsh():
    gmsh = pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    gmsh.initialize(argv=[], readConfigFiles=False, interruptible=False)
    gmsh.option.setNumber("General.Verbosity", 1)
    yield gmsh
    gmsh.finalize()


@pytest.mark.parametrize(("version", "binary"), [(2.2, 0), (2.2, 1), (4.1, 0), (4.1, 1)])
def test_files_of_gmsh_itself(tmp_path, gmsh, version, binary):
    """A box with an embedded fault and periodic sides, as Gmsh writes it."""
    occ = gmsh.model.occ
    box, fault = occ.addBox(0, 0, 0, 1, 1, 1), occ.addRectangle(0.2, 0.3, 0.5, 0.6, 0.4)
    occ.fragment([(3, box)], [(2, fault)])
    occ.synchronize()
    sides = {}
    for _, tag in gmsh.model.getEntities(2):
        sides[tuple(np.round(occ.getCenterOfMass(2, tag), 6))] = tag
    left, right = sides.pop((0, 0.5, 0.5)), sides.pop((1, 0.5, 0.5))
    inner = sides.pop((0.5, 0.5, 0.5))
    gmsh.model.addPhysicalGroup(2, [inner], 165)
    gmsh.model.addPhysicalGroup(2, [left, right], 106)
    gmsh.model.addPhysicalGroup(2, list(sides.values()), 105)
    gmsh.model.addPhysicalGroup(3, [1], 17)
    gmsh.model.mesh.setPeriodic(2, [right], [left], [1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])
    gmsh.option.setNumber("Mesh.MeshSizeMax", 0.2)
    gmsh.option.setNumber("Mesh.MshFileVersion", version)
    gmsh.option.setNumber("Mesh.Binary", binary)
    gmsh.model.mesh.generate(3)
    path = tmp_path / "box.msh"
    gmsh.write(str(path))
    mesh = read_gmsh(path)
    assert not tets.check_mesh(mesh).items
    topology = tets.build_topology(mesh)
    shape = tets.geometry(mesh, topology)
    assert shape.volume.sum() == pytest.approx(1) and (mesh.groups == 17).all()
    assert shape.areas[topology.tags == 65].sum() == pytest.approx(2 * 0.24)
    assert shape.areas[topology.kinds == tets.BoundaryKind.ABSORBING].sum() == pytest.approx(4)
    assert (topology.neighbours[topology.tags == 6] >= 0).all() and (topology.tags == 6).any()
