"""Files of sources with words replaced, cut and filled with garbage: sources that are finite, or an InputError with file and line."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from faultwave.base.errors import InputError
from faultwave.base.projection import Projection
from faultwave.physics.sources.readers.awp import read_awp
from faultwave.physics.sources.readers.cmtsolution import read_cmt
from faultwave.physics.sources.readers.fsp import read_fsp
from faultwave.physics.sources.readers.param import read_param
from faultwave.physics.sources.readers.srf import read_srf

from .test_fsp import model as fsp_model
from .test_geographic import CMT, subfault
from .test_param import PARAM

HERE = Projection("EPSG:32611", (-117.0, 34.0))
NODES = SimpleNamespace(spacing=100.0, origin=(1000.0, 2000.0, 0.0), interval=0.1, steps=4)
RATES = "\n".join("1.0 2.0 3.0 4.0 5.0 6.0" for _ in range(4))
SRF = (
    "2.0\n# a comment\nPLANE 2\n -117 34 2 1 4 2\n 30 60 8 0 1\n -117.1 34 1 1 4 2\n 40 60 8 0 1\nPOINTS 2\n"
    + subfault(more="3e5 2.7") + subfault(more="-1 -1", second="3 2", rates="0 10 20 10 0 5 5")
    + "POINTS 1\n" + subfault(lat=34.1, more="2e5 2.5")
)  # fmt: skip
FORMATS = {
    "srf": (lambda p: read_srf(p, HERE), SRF),
    "cmt": (lambda p: read_cmt(p, HERE), CMT + CMT),
    "fsp": (lambda p: read_fsp(p, HERE), fsp_model()),
    "param": (lambda p: read_param(p, HERE), PARAM),
    "awp": (lambda p: read_awp(p, NODES), f"3 4 5\n{RATES}\n1 1 1\n{RATES}\n"),
}
WORDS = [
    "nan", "inf", "-inf", "1e308", "1e400", "-1", "0", "1e-320", "1e18", "1000000000", "2147483648", "9223372036854775808",
    "99999999999999999999", "1.5", "1_000", "x", "", "#", "\x00", "\u0663", "POINTS", "PLANE", "time shift:",
]  # fmt: skip
ONCE = settings(
    max_examples=120, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)


def sound(source):
    numbers = (
        source.location,
        source.moment_tensor(1e10, 1e10),
        source.onset,
        source.integral(0.0, np.arange(1.0, 9.0)),
    )
    return all(np.isfinite(n).all() for n in numbers)


def judge(read, path):
    try:
        found = read(path)
    except InputError as error:
        for problem in error.problems:
            assert re.match(re.escape(str(path)) + r":( byte )?\d+", problem.where), problem
            assert len(str(problem)) < 1000
        return False
    assert all(map(sound, found))
    return True


@pytest.mark.parametrize("kind", FORMATS)
def test_sound_files_are_read(tmp_path, kind):
    read, text = FORMATS[kind]
    (tmp_path / "file").write_text(text)
    assert judge(read, tmp_path / "file")


@pytest.mark.parametrize("kind", FORMATS)
@ONCE
@given(changes=st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from(WORDS)), min_size=1, max_size=3))
@example(changes=[(2 * 44, "1e308")])
def test_words_replaced(tmp_path, kind, changes):
    """What no file holds: no numbers, numbers beyond all bounds, counts of a billion."""
    read, text = FORMATS[kind]
    words = re.split(r"(\s+)", text)
    for place, word in changes:
        words[place % len(words)] = word
    (tmp_path / "file").write_text("".join(words))
    judge(read, tmp_path / "file")


@pytest.mark.parametrize("kind", FORMATS)
@ONCE
@given(place=st.integers(0, 10_000), filling=st.binary(max_size=60), cut=st.booleans())
def test_garbage(tmp_path, kind, place, filling, cut):
    """Bytes in the middle, or from there on; so few that text remains text."""
    read, text = FORMATS[kind]
    data = text.encode()
    place %= len(data)
    tail = b"" if cut else data[place + len(filling) :]
    path = tmp_path / "file"
    path.write_bytes(data[:place] + filling + tail)
    try:
        assert all(map(sound, read(path)))
    except InputError as error:
        assert str(path) in str(error)


@ONCE
@given(data=st.binary(max_size=400), kind=st.sampled_from(sorted(FORMATS)))
def test_nothing_but_garbage(tmp_path, kind, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    try:
        assert all(map(sound, FORMATS[kind][0](path)))
    except InputError as error:
        assert str(path) in str(error)


@pytest.mark.parametrize(
    ("kind", "old", "new", "place", "words"),
    [
        ("srf", "POINTS 2", "POINTS 2000000000", 16, "'POINTS' is not a number"),
        ("srf", "PLANE 2", "PLANE 1000000000", 8, "'POINTS' is not a number"),
        ("srf", "0 10 20\n10 0", "0 10 1e300\n10 0", 11, "'1e300' is not a finite number"),
        ("srf", "POINTS 1\n", "POINTS 0\n", 17, "where a block begins"),
        ("srf", " 30 60 8 0 1", " 30 60 8 0 1\n0", 8, "'1' where a block begins"),
        ("cmt", "Mrr:       1.0e+26", "Mrr:       1.0e+99", 8, "Mrr is 1e+99"),
        ("cmt", "depth:          16.8000\n", "", 7, "'depth:' is expected"),
        ("cmt", "time shift:      2.0000", "time shift: nan", 3, "time shift is nan"),
        ("awp", "3 4 5", "3 4 99999999999999999999", 1, "(3, 4, 99999999999999999999)"),
        ("awp", "1 1 1\n", "1 1\n", 6, "where the node of subfault 2 is expected"),
        ("awp", "6.0\n1 1 1", "6.0 \xe9\n1 1 1", 5, "where the node of subfault 2 is expected"),
    ],
)
def test_where_it_is(tmp_path, kind, old, new, place, words):
    read, text = FORMATS[kind]
    assert old in text
    path = tmp_path / "file"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as found:
        read(path)
    assert any(
        f"{p.where}".startswith(f"{path}:{place}") and words in f"{p.where} {p.what}" for p in found.value.problems
    ), found.value
