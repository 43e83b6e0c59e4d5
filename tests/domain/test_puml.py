from dataclasses import replace

import h5py
import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.domain import tets
from faultwave.domain.tets.generators.box import Box, box_mesh
from tests.messages import raises


def same(a, b):
    assert np.array_equal(a.vertices, b.vertices) and np.array_equal(a.cells, b.cells)
    assert np.array_equal(a.groups, b.groups) and np.array_equal(a.tags, b.tags)
    assert (a.identify is None) == (b.identify is None)
    assert a.identify is None or np.array_equal(a.identify, b.identify)


def write(path, mesh, boundary, **attributes):
    with h5py.File(path, "w") as file:
        file["geometry"], file["connect"] = mesh.vertices, mesh.cells.astype(np.uint64)
        file["group"], file["boundary"] = mesh.groups, boundary
        file.attrs.update(attributes)


@pytest.mark.parametrize(("largest", "packing"), [(255, "i32"), (65535, "i64"), (10**6, "i32x4")])
def test_round_trip(tmp_path, box, largest, packing):
    tags = np.where(box.tags == 3, largest, box.tags).astype(np.int32)
    mesh = replace(box, tags=tags)
    tets.write_puml(tmp_path / "m.h5", mesh)
    with h5py.File(tmp_path / "m.h5") as file:
        assert file.attrs["boundary-format"] == packing
    same(tets.read_puml(tmp_path / "m.h5"), mesh)
    assert [p.name for p in tmp_path.iterdir()] == ["m.h5"]
    for narrow in {"i32": (), "i64": ("i32",), "i32x4": ("i32", "i64")}[packing]:
        with raises(InputError):
            tets.write_puml(tmp_path / "n.h5", mesh, narrow)
    assert not (tmp_path / "n.h5").exists()


def test_round_trip_of_a_periodic_mesh(tmp_path):
    mesh = box_mesh(Box((3, 3, 3), (0, 0, 0), (1, 1, 1), dict.fromkeys("xyz", "periodic"), 0.1, 1, True))
    tets.write_puml(tmp_path / "m.h5", mesh)
    back = tets.read_puml(tmp_path / "m.h5")
    same(back, mesh)
    assert (tets.build_topology(back).neighbours >= 0).all()


def test_packing_is_not_guessed_from_the_integer_width(tmp_path, box):
    """Real files hold the 8-bit packing in 64-bit integers."""
    shifts = 8 * np.arange(4)
    narrow = (box.tags.astype(np.int64) << shifts).sum(axis=1)
    write(tmp_path / "wide.h5", box, narrow)
    same(tets.read_puml(tmp_path / "wide.h5"), box)
    wide = (box.tags.astype(np.int64) << 2 * shifts).sum(axis=1)
    write(tmp_path / "i64.h5", box, wide)
    same(tets.read_puml(tmp_path / "i64.h5", "i64"), box)
    with raises(InputError):
        tets.read_puml(tmp_path / "i64.h5")
    write(tmp_path / "told.h5", box, wide, **{"boundary-format": np.bytes_("i64")})
    same(tets.read_puml(tmp_path / "told.h5"), box)
    write(tmp_path / "columns.h5", box, box.tags.astype(np.int8))
    same(tets.read_puml(tmp_path / "columns.h5"), box)


def test_sign_bit_is_part_of_the_pattern(tmp_path, box):
    tags = np.where(box.tags == 3, 200, box.tags).astype(np.int32)
    packed = (tags.astype(np.int64) << (8 * np.arange(4))).sum(axis=1).astype(np.uint32).view(np.int32)
    assert (packed < 0).any()
    write(tmp_path / "m.h5", box, packed)
    assert np.array_equal(tets.read_puml(tmp_path / "m.h5").tags, tags)


def test_second_connectivity(tmp_path):
    """identify-face: a second connectivity names topological vertices, also where one place is two of them."""
    mesh = box_mesh(Box((3, 3, 3), (0, 0, 0), (1, 1, 1), {"x": "periodic"}))
    write(tmp_path / "m.h5", mesh, mesh.tags)
    with h5py.File(tmp_path / "m.h5", "a") as file:
        file["topology"] = mesh.identify[mesh.cells]
    back = tets.read_puml(tmp_path / "m.h5")
    topology = tets.build_topology(back)
    assert np.array_equal(topology.neighbours, tets.build_topology(mesh).neighbours)
    assert tets.read_puml(tmp_path / "m.h5", topology_format="geometric").identify is None
    cut = np.where(np.arange(len(mesh.cells))[:, None] < 10, mesh.cells + 10**4, mesh.cells)
    with h5py.File(tmp_path / "m.h5", "a") as file:
        file["topology"][...] = cut
    crack = tets.read_puml(tmp_path / "m.h5")
    corners = mesh.vertices[mesh.cells]
    assert np.array_equal(crack.vertices[crack.cells], corners)
    with raises(InputError):
        tets.build_topology(crack)


def test_corrupt_files(tmp_path, box):
    with raises(InputError):
        tets.read_puml(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("not a mesh")
    with raises(InputError):
        tets.read_puml(tmp_path / "text.h5")
    tets.write_puml(tmp_path / "m.h5", box)
    data = (tmp_path / "m.h5").read_bytes()
    for share in (0.2, 0.6, 0.95):
        (tmp_path / "cut.h5").write_bytes(data[: int(share * len(data))])
        with raises(InputError):
            tets.read_puml(tmp_path / "cut.h5")


def test_everything_wrong_is_reported_at_once(tmp_path, box):
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["geometry"] = box.vertices[:, :2]
        file["connect"] = box.cells.astype(float)
        file["group"] = box.groups
        file.attrs["boundary-format"] = "i16"
    with pytest.raises(InputError) as caught:
        tets.read_puml(tmp_path / "m.h5", topology_format="geometrik")
    assert len(caught.value.problems) == 5
    for part in ("/geometry: holds float64", "/connect: holds float64", "/boundary: dataset is missing", "'i16'",
                 "'geometrik' (allowed: auto, geometric"):  # fmt: skip
        assert part in str(caught.value)


def test_lengths_that_disagree(tmp_path, box):
    write(tmp_path / "m.h5", box, box.tags[:-1])
    with raises(InputError):
        tets.read_puml(tmp_path / "m.h5")
    write(tmp_path / "m.h5", box, box.tags, **{"boundary-format": "i32"})
    with raises(InputError):
        tets.read_puml(tmp_path / "m.h5")
