"""Files cut short or damaged by a byte, of every format that is read: an InputError that names the file, or numbers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultwave.base.errors import InputError
from faultwave.media.load import read_layers
from faultwave.observe.dataset import Dataset, Variable, receivers_from_arrays
from faultwave.observe.stations.points import read_points
from faultwave.output.formats.image import ImageReader, ImageWriter, Lattice, PlaneReader
from faultwave.output.formats.maps_netcdf import read_maps, write_maps
from faultwave.output.formats.receivers_hdf5 import read_receivers, write_receivers
from faultwave.output.formats.vtkhdf import VtkHdfReader, VtkHdfWriter
from faultwave.physics.sources.readers.fsrm import read_fsrm
from faultwave.physics.sources.readers.nrf import read_nrf
from tests.physics.sources.test_readers import write_nrf

FSRM = """Seismic Moment Tensor
0.0 1e15 0.0
1e15 0.0 0.0
0.0 0.0 0.0
Number of subfaults
1
x y z strike dip rake area onset
0.0 0.0 -2000.0 0.0 0.0 0.0 1.0 0.0
dt and samples
0.1 5
samples
0.0
1.0
2.0
1.0
0.0
"""


def image(path):
    with ImageWriter(path, Lattice((0.0, 0.0, 0.0), 100.0, (6, 5)), ["v1", "v3"], np.float32, 3) as writer:
        for k in range(3):
            writer.append(float(k), {n: np.full((6, 5), k + 1.0) for n in ("v1", "v3")})


def triangles(path):
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    with VtkHdfWriter(path, points, np.array([[0, 1, 2], [1, 3, 2]]), {}, ["v1"], np.float32, 2) as writer:
        for k in range(2):
            writer.append(float(k), {"v1": np.full(2, k + 1.0)})


def maps(path):
    x = np.arange(5.0)
    variables = {
        "x": Variable(x, ("x",), "m"),
        "y": Variable(x, ("y",), "m"),
        "PGV": Variable(np.ones((5, 5)), ("y", "x"), "m/s"),
    }
    write_maps(path, Dataset("maps", variables, {"end_time": 1.0}))


def receivers(path):
    write_receivers(path, [receivers_from_arrays(np.arange(9.0), np.ones((9, 2, 1)), ["v1"], np.zeros((2, 3)))])


def read_image(path):
    with ImageReader(path) as file:
        return [file.field(n, k) for n in file.fields for k in range(len(file.times))]


def read_plane(path):
    with PlaneReader(path) as file:
        return [file.field(n) for n in file.fields]


def read_triangles(path):
    with VtkHdfReader(path) as file:
        return [file.field(n) for n in file.fields]


LAYERS = "depth[km] vp[km/s] vs[km/s] rho[g/cm^3]\n0 4 2 2.6\n1 6 3.464 2.7\n"
FORMATS = {
    "fsrm": (lambda p: p.write_text(FSRM), read_fsrm), "nrf": (write_nrf, read_nrf),
    "layers": (lambda p: p.write_text(LAYERS), read_layers),
    "stations": (lambda p: p.write_text("0 0 0\n1e3 2d3 -5\n"), lambda p: read_points(SimpleNamespace(points=[], file=p))),
    "image": (image, read_image), "plane": (image, read_plane), "triangles": (triangles, read_triangles),
    "maps": (maps, read_maps), "receivers": (receivers, read_receivers),
}  # fmt: skip
WITHOUT_LENGTH = {"layers", "stations"}
"""Tables of lines: a shorter one is another sound table, if it ends with a line."""
WHOLE: dict[str, bytes] = {}


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(part=st.floats(0, 0.97), place=st.integers(0, 3000), byte=st.integers(0, 255), cut=st.booleans())
def test_torn_and_damaged(tmp_path, kind, part, place, byte, cut):
    write, read = FORMATS[kind]
    if kind not in WHOLE:
        write(tmp_path / "whole.vtkhdf")
        WHOLE[kind] = (tmp_path / "whole.vtkhdf").read_bytes()
    data = bytearray(WHOLE[kind])
    if cut:
        del data[int(part * len(data)) :]
    else:
        data[place % len(data)] = byte
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.vtkhdf"
    path.write_bytes(bytes(data))
    try:
        read(path)
        assert not cut or kind in WITHOUT_LENGTH
    except InputError as error:
        assert str(path) in str(error)
