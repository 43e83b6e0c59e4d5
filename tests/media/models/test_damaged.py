"""Models with headers and attributes that say anything: sound values, or an InputError that names the file."""

from __future__ import annotations

import shutil
import struct

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultwave.base.errors import InputError
from faultwave.media.homogenise import at_points
from faultwave.media.models import open_models

from . import files

AT = np.stack([np.linspace(60, 900, 20), np.linspace(80, 800, 20), np.linspace(-250, -1550, 20)], 1)
FEW = settings(
    max_examples=60, deadline=4000, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
NUMBERS = [float("nan"), float("inf"), -1.0, 0.0, 1e308, 1e-300, 1e30, 91.0]
COUNTS = [0, -1, 1, 2, 3, 5, 10**6, 10**9, 2**31 - 1, -(2**31)]
SAID = [
    *NUMBERS, "text", "", b"\xff\xfe", np.zeros(0), np.array([1.0, 2.0]), np.int64(2**62), np.array([b"a", b"b"]), "EPSG:4326", "EPSG:3857",
]  # fmt: skip
HELD = [
    np.zeros(3), np.zeros((2, 2)), np.zeros((0, 2, 2)), np.array([b"x"]), np.zeros((1, 1, 1, 5)), np.zeros((1, 1)), np.float64(5),
    np.zeros((3, 3, 3, 5), complex),
]  # fmt: skip


def judge(made):
    try:
        found = at_points(open_models([made], "m", files.CASE), ["rho", "vp", "vs"], AT, np.ones(len(AT), np.int64))
    except InputError as error:
        assert all(str(made.file) in p.where for p in error.problems), error
        assert len(str(error)) < 3000
        return str(error)
    assert all((np.isfinite(v) & (v > 0)).all() for v in found.values())
    return ""


def fields(projection):
    """Where the numbers of an rfile's header are, and their types."""
    at = 44 + projection
    listed = [(4, "i"), (8, "i"), (12, "d"), (20, "d"), (28, "d"), (36, "i"), (at - 4, "i")]
    for block in range(3):
        first = at + 40 * block
        listed += [(first + 8 * n, "d") for n in range(3)] + [(first + 24 + 4 * n, "i") for n in range(4)]
    return listed


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A sound file of each kind, written once."""
    folder = tmp_path_factory.mktemp("sound")
    made = {kind: getattr(files, kind)(folder / kind) for kind in ("rfile", "sfile", "geomodelgrids", "awp_mesh")}
    hill = {"topography": lambda x, y: 10 + 0 * x}
    return made | {
        f"{k} with topography": getattr(files, k)(folder / f"{k}2", **hill) for k in ("sfile", "geomodelgrids")
    }


def copied(sound, kind, folder):
    made = sound[kind]
    changed = files.setting(
        made.kind, folder / "file", **{k: v for k, v in vars(made).items() if k not in ("kind", "file")}
    )
    shutil.copy(made.file, changed.file)
    return changed


@FEW
@given(changes=st.lists(st.tuples(st.integers(0, 27), st.integers(0, 9)), min_size=1, max_size=3))
def test_header_of_an_rfile(tmp_path, sound, changes):
    made = copied(sound, "rfile", tmp_path)
    data = bytearray(made.file.read_bytes())
    known = fields(struct.unpack_from("<i", data, 36)[0])
    for place, value in changes:
        at, kind = known[place]
        struct.pack_into(f"<{kind}", data, at, COUNTS[value] if kind == "i" else NUMBERS[value % len(NUMBERS)])
    made.file.write_bytes(data)
    judge(made)


@pytest.mark.parametrize("kind", ["sfile", "geomodelgrids", "sfile with topography", "geomodelgrids with topography"])
@FEW
@given(item=st.integers(0, 99), name=st.integers(0, 99), value=st.integers(0, len(SAID) - 1), whole=st.integers(0, 3))
def test_attributes_and_datasets(tmp_path, sound, kind, item, name, value, whole):
    made = copied(sound, kind, tmp_path)
    with h5py.File(made.file, "r+") as file:
        listed = ["/"]
        file.visit(listed.append)
        found = file[listed[item % len(listed)]]
        if isinstance(found, h5py.Dataset) and whole == 0:
            name = found.name
            del file[name]
            file[name] = HELD[value % len(HELD)]
        elif isinstance(found, h5py.Dataset) and whole == 1:
            found[0] = [np.nan, np.inf, -999.0, 0.0, 1e38][value % 5]
        elif found.name != "/" and whole == 2:
            del file[found.name]
        elif len(found.attrs):
            found.attrs[sorted(found.attrs)[name % len(found.attrs)]] = SAID[value]
    judge(made)


@pytest.mark.parametrize("kind", ["rfile", "sfile", "geomodelgrids", "awp_mesh"])
@FEW
@given(data=st.binary(max_size=200), keep=st.integers(0, 80))
def test_garbage(tmp_path, sound, kind, data, keep):
    """Nothing but garbage, or behind a beginning that promises more."""
    made = copied(sound, kind, tmp_path)
    made.file.write_bytes(made.file.read_bytes()[:keep] + data)
    assert judge(made)


@pytest.mark.parametrize(
    ("at", "form", "value", "words"),
    [
        (12, "d", float("nan"), "azimuth nan"),
        (20, "d", 1e308, "longitude 1e+308"),
        (28, "d", 91.0, "latitude 91"),
        (36, "i", 2**31 - 1, "its projection string has 2147483647 characters"),
        ("blocks", "i", 10**6, "1000000 blocks in its header"),
        ("first", "d", float("inf"), "spacing inf"),
    ],
)
def test_what_the_header_of_an_rfile_says(tmp_path, sound, at, form, value, words):
    made = copied(sound, "rfile", tmp_path)
    data = bytearray(made.file.read_bytes())
    length = struct.unpack_from("<i", data, 36)[0]
    places = {"blocks": 40 + length, "first": 44 + length + 40}
    struct.pack_into(f"<{form}", data, places.get(at, at), value)
    made.file.write_bytes(data)
    assert words in judge(made)


def test_points_that_a_projection_does_not_reach(tmp_path, sound):
    made = copied(sound, "geomodelgrids with topography", tmp_path)
    with h5py.File(made.file, "r+") as file:
        file.attrs["crs"] = "EPSG:3413"  # of the pole; its x and y are not those of the file's origin
    assert "outside of the model" in judge(made)
