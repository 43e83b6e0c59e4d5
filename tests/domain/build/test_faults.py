"""Faults of a mesh: where they dip to, what they stop at, surfaces of triangles, layers."""

import numpy as np
import pytest

pytest.importorskip("gmsh", exc_type=ImportError)

from faultwave.base.errors import InputError
from faultwave.domain import tets
from faultwave.domain.build import Place, build
from faultwave.domain.build.surfaces import read_triangles
from faultwave.domain.tets.mesh import FILE_FACES
from tests.domain.build.places import Even, fault, setting, write_trace
from tests.messages import raises


def faces(mesh, tag):
    return mesh.vertices[mesh.cells[:, FILE_FACES][mesh.tags == tag]]


def area(triangles):
    a, b, c = (triangles[:, k] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2  # both sides


def ramp(xy, width=0.0):
    return 0.1 * xy[:, 1] + 1000.0


def test_a_fault_dips_to_the_right_and_bends_at_depth(tmp_path):
    trace = write_trace(tmp_path / "t.csv", [[-5e3, 0], [5e3, 0]])  # eastwards: to the right is south
    mesh = build(setting(faults=[fault(trace, dip=[(0.0, 60.0), (3e3, 45.0)], depth=8e3)]), Place(Even()))
    x = faces(mesh, 3).reshape(-1, 3)
    depth = -x[:, 2]
    south = np.minimum(depth, 3e3) / np.tan(np.radians(60)) + np.maximum(depth - 3e3, 0)
    np.testing.assert_allclose(-x[:, 1], south, atol=1.0)
    assert depth.max() == pytest.approx(8e3) and depth.min() == pytest.approx(0, abs=1e-6)
    assert area(faces(mesh, 3)) == pytest.approx(
        10e3 * (3e3 / np.sin(np.radians(60)) + 5e3 / np.sin(np.radians(45))), rel=1e-6
    )


def test_the_dip_is_right_below_a_ground_that_is_not_flat(tmp_path):
    trace = write_trace(tmp_path / "t.csv", [[-5e3, 2e3], [5e3, 2e3]])
    mesh = build(setting(faults=[fault(trace, dip=50.0, dip_direction=0.0, depth=6e3)]), Place(Even(), ramp))
    x = faces(mesh, 3).reshape(-1, 3)
    outcrop = 1200.0  # of the trace
    low = x[x[:, 2] < -5.9e3]
    np.testing.assert_allclose(low[:, 1] - 2e3, (outcrop - low[:, 2]) / np.tan(np.radians(50)), atol=60.0)
    top = x[np.abs(x[:, 2] - outcrop) < 1.0]
    np.testing.assert_allclose(top[:, 1], 2e3, atol=1.0)


def test_a_branch_stops_at_the_fault_that_its_trace_ends_at(tmp_path):
    main = fault(write_trace(tmp_path / "a.csv", [[-7e3, 0], [7e3, 0]]), name="main", dip=70.0, depth=8e3)
    branch = fault(write_trace(tmp_path / "b.csv", [[0, 6e3], [0, 200.0]]), name="branch", depth=6e3)
    mesh = build(setting(faults=[main, branch]), Place(Even()))
    x = faces(mesh, 65).reshape(-1, 3)
    across = -x[:, 2] / np.tan(np.radians(70))  # main lies at y = -across
    assert (x[:, 1] + across).min() > -1.0  # nothing beyond it
    foot = 0.5 * 6e3 * 6e3 / np.tan(np.radians(70))
    assert area(faces(mesh, 65)) == pytest.approx(6e3 * 6e3 + foot, rel=1e-3)
    assert not tets.check_mesh(mesh).errors


def test_a_fault_that_cannot_stop_where_it_was_asked_to_is_told(tmp_path):
    main = fault(write_trace(tmp_path / "a.csv", [[-7e3, 0], [7e3, 0]]), name="main", depth=4e3)
    deeper = fault(write_trace(tmp_path / "b.csv", [[0, 6e3], [0, 200.0]]), name="deeper", depth=8e3, stops_at=["main"])
    with raises(InputError):
        build(setting(faults=[main, deeper]), Place(Even()))
    deeper.stops_at = []  # unasked, its trace stays as it is
    mesh = build(setting(faults=[main, deeper]), Place(Even()))
    assert faces(mesh, 65)[..., 2].min() == pytest.approx(-8e3)


def write_ts(path, corners):
    """Two triangles of a rectangle (4, 3)."""
    rows = "".join(f"VRTX {k} {x} {y} {z}\n" for k, (x, y, z) in enumerate(corners, 1))
    head = "GOCAD TSurf 1\nHEADER {\nname:f\n}\nGOCAD_ORIGINAL_COORDINATE_SYSTEM\nZPOSITIVE Elevation\n"
    path.write_text(f"{head}END_ORIGINAL_COORDINATE_SYSTEM\nTFACE\n{rows}TRGL 1 2 3\nTRGL 1 3 4\nEND\n")
    return path


def test_surfaces_of_triangles_are_faults(tmp_path):
    corners = [[-4e3, 0, 0], [4e3, 0, 0], [4e3, 3e3, -6e3], [-4e3, 3e3, -6e3]]
    path = write_ts(tmp_path / "f.ts", corners)
    mesh = build(setting(faults=[fault(None, surface=path, name="ts")]), Place(Even()))
    assert area(faces(mesh, 3)) == pytest.approx(8e3 * np.hypot(3e3, 6e3), rel=1e-6)
    stl = tmp_path / "f.stl"
    loops = "".join(
        "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in t) + "endloop\nendfacet\n"
        for t in read_triangles(path, None)
    )
    stl.write_text(f"solid f\n{loops}endsolid f\n")
    np.testing.assert_array_equal(read_triangles(stl, None), read_triangles(path, None))
    (tmp_path / "bad.ts").write_text("GOCAD TSurf 1\nVRTX 1 0 0 0\nTRGL 1 2 3\nEND\n")
    with raises(InputError):
        read_triangles(tmp_path / "bad.ts", None)


@pytest.mark.parametrize(
    ("header", "factors"),
    [
        ('AXIS_NAME "X" "Y" "Z"\nAXIS_UNIT "km" "km" "km"\nZPOSITIVE Elevation', (1e3, 1e3, 1e3)),
        ("AXIS_UNIT m m ft\nZPOSITIVE Depth", (1, 1, -0.3048)),
        ('AXIS_NAME "Easting" "Northing" "Depth"\nAXIS_UNIT "km" "km" "m"', (1e3, 1e3, -1)),
        ("ZPOSITIVE Depth", (1, 1, -1)),
        ("", (1, 1, 1)),
    ],
)
def test_units_and_axes_of_a_gocad_surface(tmp_path, header, factors):
    """Each surface of a file by its own header: a second one counts in metres and upwards again."""
    corners = np.array([[-4.0, 0, 1], [4, 0, 2], [4, 3, 6]])
    rows = "".join(f"VRTX {k} {x} {y} {z}\n" for k, (x, y, z) in enumerate(corners, 1))
    tface = f"TFACE\n{rows}TRGL 1 2 3\nEND\n"
    head = "GOCAD TSurf 1\nHEADER {\nname:f\n}\n"
    system = f"GOCAD_ORIGINAL_COORDINATE_SYSTEM\nNAME Default\n{header}\nEND_ORIGINAL_COORDINATE_SYSTEM\n"
    path = tmp_path / "two.ts"
    path.write_text(head + system + tface + head + tface)
    found = read_triangles(path, None)
    np.testing.assert_allclose(found, [corners * factors, corners])


@pytest.mark.parametrize(
    "line",
    [
        'AXIS_UNIT "deg" "deg" "m"',
        'AXIS_UNIT "km"',
        "ZPOSITIVE Sideways",
        'AXIS_NAME "Northing" "Easting" "Z"',
    ],
)
def test_declarations_of_a_gocad_surface_that_are_not_understood(tmp_path, line):
    path = tmp_path / "two.ts"
    path.write_text(f"GOCAD TSurf 1\n{line}\nVRTX 1 0 0 0\nVRTX 2 1 0 0\nVRTX 3 0 0 1\nTRGL 1 2 3\nEND\n")
    with raises(InputError):
        read_triangles(path, None)


def test_a_surface_smaller_than_an_element_is_in_other_units(tmp_path):
    path = write_ts(tmp_path / "f.ts", np.array([[-4, 0, 0], [4, 0, 0], [4, 3, -6], [-4, 3, -6.0]]))
    with raises(InputError):
        build(setting(faults=[fault(None, surface=path, name="ts")]), Place(Even()))


def test_layers_are_volumes_whose_faces_lie_on_their_surfaces(tmp_path):
    def basin(xy, width):
        return -3e3 + 1e3 * np.exp(-(xy**2).sum(1) / 5e3**2)

    crossing = fault(write_trace(tmp_path / "a.csv", [[-5e3, 1e3], [5e3, -1e3]]), dip=60.0, depth=8e3)
    mesh = build(setting(faults=[crossing]), Place(Even(), ramp, (("the basin", basin),)))
    assert set(np.unique(mesh.groups)) == {1, 2} and mesh.named(3) == {"layer-1": 1, "layer-2": 2}
    shared = np.intersect1d(np.unique(mesh.cells[mesh.groups == 1]), np.unique(mesh.cells[mesh.groups == 2]))
    x = mesh.vertices[shared]
    assert np.abs(x[:, 2] - basin(x[:, :2], 0)).max() < 60.0
    assert not tets.check_mesh(mesh).errors


def test_planes_of_a_finite_source_are_meshed_and_long_traces_cut_off(tmp_path):
    from faultwave.base.projection import Projection

    (tmp_path / "a.srf").write_text("2.0\nPLANE 1\n -117.0 34.0 8 5 8 5\n 0 60 1.5 0 0\nPOINTS 0\n")
    planes = fault(None, planes=tmp_path / "a.srf", name="slip")
    long = fault(write_trace(tmp_path / "t.csv", [[-40e3, -8e3], [40e3, -8e3]]), outside="clip", depth=30e3)
    mesh = build(setting(faults=[planes, long]), Place(Even(), projection=Projection("EPSG:32611", (-117.0, 34.0))))
    assert area(faces(mesh, 3)) == pytest.approx(8e3 * 5e3, rel=1e-3)
    x = faces(mesh, 65).reshape(-1, 3)
    assert x[:, 0].min() == pytest.approx(-13950, abs=1) and x[:, 2].min() == pytest.approx(-13950, abs=1)
