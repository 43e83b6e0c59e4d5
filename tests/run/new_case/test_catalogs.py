"""Events of QuakeML and ndk: their numbers with line and field, against those of the files; and files that are wrong."""

import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from faultwave.base.errors import InputError, Problems
from faultwave.base.formulas import moment_of_magnitude
from faultwave.run.new_case.event_source import EventRequest
from faultwave.run.new_case.events.read import read_event
from tests.messages import expect, raises
from tests.run.new_case.events import CMT, NDK, PARTS, identifier, quake, quakeml, write

PLANES = [{"strike": 10.0, "dip": 80.0, "rake": 5.0}, {"strike": 280.0, "dip": 70.0, "rake": 170.0}]


def read(path, warned=None, identifier=None, mechanism=None):
    return read_event(EventRequest(path, identifier, mechanism), warned or Problems())


def line_of(path, text):
    """Return the number of the first line with a text."""
    return next(k for k, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_tensor_and_centroid_of_quakeml(tmp_path):
    function = quakeml.SourceTimeFunction(type="triangle", duration=3.0)
    path = write(tmp_path / "quake.xml", quake(tensor={"parts": PARTS, "function": function}))
    event = read(path)
    assert event.place == (20.1, 40.05, 11e3)  # of the centroid, not the hypocentre
    assert event.tensor == tuple(PARTS.values()) and event.angles is None
    assert event.moment == pytest.approx(np.sqrt(0.5 * (1 + 9 + 4) + 16 + 25 + 36) * 1e16)
    assert event.half_duration == 1.5 and event.time == datetime(2020, 1, 1, 0, 0, 2, tzinfo=UTC)
    assert event.name == "Somewhere of quake"
    lines = path.read_text().splitlines()
    centroid = next(k for k, line in enumerate(lines) if "quake/centroid" in line)
    latitude = next(k for k, line in enumerate(lines, 1) if k > centroid and "<latitude>" in line) + 1
    assert event.fields["place"] == f"quake.xml:{latitude}, latitude, longitude and depth of the origin (centroid)"
    assert event.fields["mechanism"] == f"quake.xml:{line_of(path, '<tensor>')}, momentTensor/tensor"
    assert event.fields["duration"].startswith(f"quake.xml:{line_of(path, '<duration>')}, half the duration")


@pytest.mark.parametrize(
    "derived, kind, delay",
    [
        ("quake/centroid", "centroid", 2.0),
        ("quake/centroid", None, 2.0),
        ("quake/centroid", "hypocenter", 3.5),
        ("quake/origin", "hypocenter", 1.5),
        ("absent", "centroid", 1.5),
        (None, "centroid", 1.5),
    ],
)
def test_times_of_hypocentres_are_half_a_duration_before_the_centroid(tmp_path, derived, kind, delay):
    """Of the origin from which the tensor was derived, else of the preferred one, a hypocentre."""
    function = quakeml.SourceTimeFunction(type="triangle", duration=3.0)
    found = quake(tensor={"parts": PARTS, "function": function})
    found.origins[1].origin_type = kind
    found.focal_mechanisms[0].moment_tensor.derived_origin_id = identifier(derived) if derived else None
    path = write(tmp_path / "quake.xml", found)
    if derived is None:  # ObsPy writes another
        text = path.read_text()
        path.write_text(re.sub("<derivedOriginID>.*</derivedOriginID>", "", text))
    event = read(path)
    assert event.time == datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=delay)
    assert ("+ half duration 1.5 s" in event.fields["time"]) == (delay in (1.5, 3.5))


def test_origins_without_a_type_are_centroids_only_of_their_tensor(tmp_path):
    found = quake(tensor={"parts": PARTS, "function": quakeml.SourceTimeFunction(type="triangle", duration=3.0)})
    found.origins[0].origin_type = None
    for derived, delay in (("quake/origin", 0.0), ("absent", 1.5)):
        found.focal_mechanisms[0].moment_tensor.derived_origin_id = identifier(derived)
        event = read(write(tmp_path / "quake.xml", found))
        assert event.time == datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=delay)


def test_numbers_of_ndk(tmp_path):
    path = tmp_path / "month.ndk"
    path.write_text(NDK.replace("C200604092050A", "C200604090000A") + NDK)
    event = read(path, identifier="C200604092050A")
    assert event.name == "C200604092050A" and event.place == (-70.73, -20.46, 39e3)
    assert event.tensor == pytest.approx(np.array([4.18, -1.7, -2.48, -1.05, -2.41, -2.28]) * 1e17)
    assert event.half_duration == 1.8 and event.magnitude == pytest.approx((np.log10(event.moment) - 9.1) / 1.5)
    assert event.time == datetime(2006, 4, 9, 20, 50, 51, 300000, tzinfo=UTC)
    where = {name: words.partition(",")[0] for name, words in event.fields.items()}
    assert (
        where["place"] == "month.ndk:8" and where["mechanism"] == "month.ndk:9" and where["duration"] == "month.ndk:7"
    )
    with raises(InputError):
        read(path)


def test_preferred_plane_and_magnitude(tmp_path):
    path = write(tmp_path / "quake.xml", quake(planes=PLANES))
    event = read(path)
    assert event.tensor is None and event.angles == (280.0, 70.0, 170.0) and event.place == (20.0, 40.0, 9e3)
    assert event.moment == moment_of_magnitude(5.0)
    half = 1.05e-8 * (1e7 * event.moment) ** (1 / 3)
    assert event.half_duration == pytest.approx(half)
    assert abs(event.time - datetime(2020, 1, 1, tzinfo=UTC) - timedelta(seconds=half)) < timedelta(microseconds=2)
    assert event.fields["mechanism"] == f"quake.xml:{line_of(path, '<nodalPlane2>')}, nodalPlane2"


def test_hypocentre_with_a_mechanism_of_the_user(tmp_path):
    path = write(tmp_path / "quake.xml", quake())
    event = read(path, mechanism=(320.0, 85.0, 178.0))
    assert event.angles == (320.0, 85.0, 178.0) and event.fields["mechanism"] == "--mechanism"
    with raises(InputError):
        read(path)
    with raises(InputError):
        read(path, mechanism=(90.0,))
    with raises(InputError):
        read(path, mechanism=(0.0, 95.0, 0.0))


def test_one_of_several_events(tmp_path):
    path = write(
        tmp_path / "quakes.xml", quake("one", planes=PLANES), quake("one1", planes=PLANES), quake("two", planes=PLANES)
    )
    assert read(path, identifier="ONE").name == "Somewhere of one"  # a part of two identifiers, and all of one
    assert read(path, identifier="tw").name == "Somewhere of two"
    for wanted in (None, "three", "o"):
        with raises(InputError):
            read(path, identifier=wanted)


def test_magnitudes_of_other_types_are_a_warning(tmp_path):
    event = quake(planes=PLANES)
    event.magnitudes[0].magnitude_type = "mb"
    warned = Problems()
    read(write(tmp_path / "quake.xml", event), warned)
    expect(warned.warnings)


@pytest.mark.parametrize("kind", ["Mw", "Mwc", "mww", None])
def test_moment_magnitudes_come_first_without_a_preferred_one(tmp_path, kind):
    event, warned = quake(planes=PLANES), Problems()
    event.magnitudes[0].magnitude_type = kind
    event.magnitudes.insert(0, quakeml.Magnitude(resource_id=identifier("mb"), mag=5.9, magnitude_type="mb"))
    assert read(write(tmp_path / "preferred.xml", event)).moment == moment_of_magnitude(5.0)
    event.preferred_magnitude_id = None
    found = read(write(tmp_path / "quake.xml", event), warned)
    assert found.moment == moment_of_magnitude(5.0 if kind else 5.9) and bool(warned.warnings) == (kind is None)
    event.preferred_magnitude_id = identifier("mb")
    assert read(write(tmp_path / "mb.xml", event)).moment == moment_of_magnitude(5.9)


@pytest.mark.parametrize("factor", [1e7, 3.0, 1.2])
def test_tensors_that_contradict_their_moment(tmp_path, factor):
    moment = factor * np.sqrt(0.5 * 14 + 77) * 1e16
    path, warned = write(tmp_path / "quake.xml", quake(tensor={"parts": PARTS, "moment": moment})), Problems()
    if factor > 100:
        with raises(InputError):
            read(path)
    else:
        read(path, warned)
        expect(warned.warnings or "no warning")


@pytest.mark.parametrize(
    "old, new",
    [
        ("<value>9000.0</value>", "<value>deep</value>"),
        ("<value>9000.0</value>", "<value>-300.0</value>"),
        ("<value>40.0</value>", "<value>140.0</value>"),
        ("<value>5.0</value>", "<value>12.0</value>"),
        ("<dip>", "<dips>"),
        ("<?xml", "<!DOCTYPE a><?xml"),
        ("</event>", ""),
    ],
)
def test_quakeml_that_is_wrong(tmp_path, old, new):
    path = write(tmp_path / "quake.xml", quake(planes=PLANES[1:]))
    text = path.read_text()
    assert old in text
    text = text.replace(old, new).replace("</dip>", "</dips>" if "dip" in new else "</dip>")
    path.write_text(text)
    with raises(InputError):
        read(path)


def test_several_problems_are_reported_together(tmp_path):
    event = quake(tensor={"parts": {**PARTS, "m_rp": None}})
    event.origins[1].depth = None
    with raises(InputError):
        read(write(tmp_path / "quake.xml", event), mechanism=(0.0, 90.0, 0.0))


def test_depths_in_kilometres_are_a_warning(tmp_path):
    warned = Problems()
    read(write(tmp_path / "quake.xml", quake(planes=PLANES, depth=9.0)), warned)
    expect(warned.warnings)


@pytest.mark.parametrize(
    "old, new", [("-20.46", "-AA.46"), ("20:50:46.0", "20:99:46.0"), (NDK.splitlines()[4] + "\n", "")]
)
def test_ndk_that_is_wrong(tmp_path, old, new):
    path = tmp_path / "month.ndk"
    path.write_text(NDK.replace(old, new))
    with pytest.raises(InputError) as caught:
        read(path)
    assert f"{path}" in str(caught.value) and "five lines" in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n# a comment\n4 5 6\n", '<?xml version="1.0"?>\n<kml/>\n'])
def test_files_that_are_no_events(tmp_path, text):
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read(path)
    expect(
        str(caught.value)
        if "kml" not in text
        else str(caught.value).partition(" (allowed")[0].partition(": is no QuakeML")[0]
    )


def test_choices_that_a_format_does_not_have(tmp_path):
    path = tmp_path / "CMTSOLUTION"
    path.write_text(CMT)
    with raises(InputError):
        read(path, identifier="a", mechanism=(0.0, 90.0, 0.0))
    with raises(InputError):
        read(tmp_path / "CMTSOLUTIONS")


def test_objects_without_an_identifier_are_the_first_of_their_kind(tmp_path):
    path = write(tmp_path / "quake.xml", quake(planes=PLANES))
    text = path.read_text()
    for name in ("origin", "magnitude", "planes"):
        assert f' publicID="smi:local/quake/{name}"' in text
        text = text.replace(f' publicID="smi:local/quake/{name}"', "")
    path.write_text(text)
    event = read(path)
    assert event.place == (20.0, 40.0, 9e3) and event.angles == (280.0, 70.0, 170.0)
    assert event.fields["place"].startswith("quake.xml, latitude")  # no identifier by which its line could be found


def test_names_stay_within_a_line(tmp_path):
    event = quake(planes=PLANES)
    event.event_descriptions[0].text = "M 5\nsomewhere\u202e: yes"
    path = tmp_path / "a\nb.xml"
    write(tmp_path / "a.xml", event).rename(path)
    found = read(path)
    assert "\n" not in found.name and "\u202e" not in found.name and "somewhere" in found.name
    assert all("\n" not in words for words in found.fields.values())
