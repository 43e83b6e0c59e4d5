"""Observed records in files of seismology find their receivers and are processed as they are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.observe.motions.processing import Processing
from faultwave.observe.stations.files import read_station_file
from faultwave.output.observed import read_records
from faultwave.output.pairs import pairs
from faultwave.output.results import convert, load_results
from tests.messages import raises

obspy = pytest.importorskip("obspy")
spec = importlib.util.spec_from_file_location("waves", Path(__file__).with_name("waves.py"))
assert spec is not None and spec.loader is not None
waves = importlib.util.module_from_spec(spec)
spec.loader.exec_module(waves)


PLAIN = Processing()


def alike(run: Path, data: Path, processing: Processing = PLAIN, units: str | None = None, rtol: float = 0.02) -> None:
    found, _ = pairs(load_results(run), data, processing, units)
    for pair in found:
        size = np.abs(pair.observed).max()
        some = slice(50, -150)  # filters feel the ends of the records
        np.testing.assert_allclose(pair.synthetic[:, some], pair.observed[:, some], atol=rtol * size)


@pytest.mark.parametrize("kind", ["sac", "mseed"])
def test_what_we_write_is_what_we_read(tmp_path: Path, kind: str) -> None:
    run = waves.run(tmp_path / "run")
    data = tmp_path / "data"
    convert(run, kind, data)
    convert(run, "stationxml", data)
    records, warnings = read_records(data)
    assert [r.name for r in records] == ["CI.CCC", "CI.TOW2"] and not warnings
    assert records[0].place == pytest.approx((-117.6, 35.7))
    np.testing.assert_allclose(records[0].motion, waves.to_map(waves.motion(1)), atol=1e-8)
    alike(run, data, rtol=1e-6)


def test_records_in_another_quantity_direction_and_time(tmp_path: Path) -> None:
    """Acceleration along two odd horizontal directions, from 8 s before the origin, at twice the rate, with an offset."""
    run, data = waves.run(tmp_path / "run"), tmp_path / "data"
    data.mkdir()
    fine = np.arange(-8.0, 30.0, 0.5 * waves.STEP)
    velocity = np.array(
        [np.interp(fine, waves.TIME, row, left=0.0, right=0.0) for row in waves.to_map(waves.motion(1))]
    )
    acceleration = np.gradient(velocity, fine[1] - fine[0], axis=1) + 0.003
    a = np.radians(30.0)
    rows = [
        np.sin(a) * acceleration[0] + np.cos(a) * acceleration[1],
        np.cos(a) * acceleration[0] - np.sin(a) * acceleration[1],
    ]
    for row, code, azimuth, dip in zip(
        [*rows, acceleration[2]], ("HN1", "HN2", "HNZ"), (30.0, 120.0, 0.0), (90, 90, 0), strict=True
    ):
        from obspy.io.sac import SACTrace

        sac = SACTrace(
            data=row.astype(np.float32),
            delta=fine[1] - fine[0],
            kstnm="CCC",
            knetwk="CI",
            kcmpnm=code,
            cmpaz=azimuth,
            cmpinc=dip,
        )
        sac.reftime = obspy.UTCDateTime(waves.ORIGIN)
        sac.b = -8.0
        sac.write(str(data / f"{code}.sac"))
    for quantity in ("velocity", "acceleration", "displacement"):
        alike(run, data, Processing(quantity, low=0.2, high=4.0), rtol=0.06)


def test_counts_become_motion_by_a_response(tmp_path: Path) -> None:
    run, data = waves.run(tmp_path / "run"), tmp_path / "data"
    data.mkdir()
    counts = np.round(1e9 * waves.to_map(waves.motion(1))).astype(np.int32)
    waves.stream(counts).write(str(data / "c.mseed"), format="MSEED")
    with raises(InputError):
        read_records(data)
    write_response(data / "stations.xml")
    alike(run, data, Processing(low=0.2, high=5.0))
    (listed,) = read_station_file(data / "stations.xml")
    assert (listed.codes, listed.place) == (("CCC", "CI"), (-117.6, 35.7, 0.0))


def test_a_record_that_begins_with_the_motion_keeps_its_beginning(tmp_path: Path) -> None:
    """What takes the response out fades records in and out: not within the record."""
    truth = waves.to_map(waves.motion(1))[:, 350:1200]
    truth -= truth.mean(axis=1, keepdims=True)
    counts = np.round(1e9 * truth).astype(np.int32)
    waves.stream(counts).write(str(tmp_path / "c.mseed"), format="MSEED")
    write_response(tmp_path / "stations.xml")
    (record,), _ = read_records(tmp_path)
    assert np.abs(truth[:, :40]).max() > 0.1 * np.abs(truth).max()
    np.testing.assert_allclose(record.motion, truth, atol=0.01 * np.abs(truth).max())


@pytest.mark.parametrize("feels", [True, False])
def test_net_displacement_stays_where_the_instrument_feels_it(tmp_path: Path, feels: bool) -> None:
    """From the origin on, so that no rest before it tells the offset: a flat response loses nothing, a seismometer what is steady."""
    truth = waves.to_map(waves.motion(1)) + 0.02 * np.exp(-((waves.TIME - 9.0) ** 2))
    counts = np.round(1e9 * truth).astype(np.int32)
    waves.stream(counts).write(str(tmp_path / "c.mseed"), format="MSEED")
    write_response(tmp_path / "stations.xml", corner=None if feels else 0.01)
    (record,), _ = read_records(tmp_path)
    moved = record.motion.sum(axis=1) * waves.STEP
    if feels:
        np.testing.assert_allclose(record.motion, truth, atol=1e-6 * np.abs(truth).max())
        np.testing.assert_allclose(moved, truth.sum(axis=1) * waves.STEP, rtol=1e-6)
    else:
        assert np.isfinite(record.motion).all() and np.abs(record.motion).max() < 2 * np.abs(truth).max()


@pytest.mark.parametrize("stages", [True, False])
@pytest.mark.parametrize("unit", ["PA", "V", "RAD/S"])
def test_what_is_no_motion_is_left_out(tmp_path: Path, unit: str, stages: bool) -> None:
    values = waves.to_map(waves.motion(1))
    waves.stream(np.round(1e9 * values).astype(np.int32) if stages else values).write(
        str(tmp_path / "c.mseed"), format="MSEED"
    )
    write_response(tmp_path / "stations.xml", unit, stages)
    with pytest.raises(InputError, match=f"is in {unit}, which is not a motion.*M/S"):
        read_records(tmp_path)


def test_channel_codes_of_other_instruments(tmp_path: Path) -> None:
    values = waves.to_map(waves.motion(1))
    waves.stream(values, ("HDE", "HDN", "HDZ")).write(str(tmp_path / "c.mseed"), format="MSEED")
    with raises(InputError):
        read_records(tmp_path)
    assert read_records(tmp_path, "velocity")[0][0].quantity == "velocity", "who says what they hold is believed"
    waves.stream(values, ("E", "N", "Z")).write(str(tmp_path / "c.mseed"), format="MSEED")
    (record,), (warning, *_) = read_records(tmp_path)
    assert record.quantity == "velocity" and "read as velocity" in str(warning)


def test_millimetres_a_second(tmp_path: Path) -> None:
    waves.stream(np.round(1e9 * waves.to_map(waves.motion(1))).astype(np.int32)).write(
        str(tmp_path / "c.mseed"), format="MSEED"
    )
    write_response(tmp_path / "stations.xml", "MM/S", gain=1e6)
    (record,), warnings = read_records(tmp_path)
    truth = waves.to_map(waves.motion(1))
    np.testing.assert_allclose(record.motion, truth - truth.mean(1, keepdims=True), atol=0.01 * np.abs(truth).max())
    assert record.quantity == "velocity" and not warnings


def moved(records: Path, degrees: float, network: str) -> None:
    for file in records.iterdir():
        trace = obspy.read(str(file))[0]
        trace.stats.network = network
        trace.stats.sac["stlo"] += degrees
        trace.write(str(file), format="SAC")


@pytest.mark.parametrize(("network", "kept"), [("CI", 2), ("XX", 0)])
def test_a_record_far_from_the_receiver_of_its_name_is_told(tmp_path: Path, network: str, kept: int) -> None:
    """Of the same network it is taken with a warning; of another one the station is another one."""
    run, data = waves.run(tmp_path / "run"), tmp_path / "data"
    convert(run, "sac", data)
    moved(data, 0.05, network)
    if not kept:
        with raises(InputError):
            pairs(load_results(run), data, PLAIN)
        return
    found, warnings = pairs(load_results(run), data, PLAIN)
    assert len(found) == kept
    assert (
        all("4.5" in str(w) and "km from receiver" in str(w) and "projection" in str(w) for w in warnings)
        and len(warnings) == 2
    )


def write_response(
    path: Path, unit: str = "M/S", stages: bool = True, gain: float = 1e9, corner: float | None = None
) -> None:
    """StationXML of CI.CCC, whose response is flat, or from a ``corner`` [Hz] on."""
    from obspy.core.inventory import Channel, Inventory, Network, Station
    from obspy.core.inventory.response import InstrumentSensitivity, PolesZerosResponseStage, Response

    turn = 2 * np.pi * (corner or 0.0)
    poles = [] if corner is None else [turn * (-0.7071 + 0.7071j), turn * (-0.7071 - 0.7071j)]
    zeros = [0j for _ in poles]
    stage = PolesZerosResponseStage(
        1, gain, 1.0, unit, "COUNTS", "LAPLACE (RADIANS/SECOND)", 1.0, zeros, poles, normalization_factor=1.0
    )
    response = Response(
        instrument_sensitivity=InstrumentSensitivity(gain, 1.0, unit, "COUNTS"),
        response_stages=[stage] if stages else [],
    )
    directions = (("HHE", 90.0, 0.0), ("HHN", 0.0, 0.0), ("HHZ", 0.0, -90.0))
    channels = [
        Channel(code, "", 35.7, -117.6, 0.0, 0.0, azimuth=a, dip=d, sample_rate=50, response=response)
        for code, a, d in directions
    ]
    made = Inventory([Network("CI", [Station("CCC", 35.7, -117.6, 0.0, channels=channels)])], source="test")
    made.write(str(path), format="STATIONXML")


def test_a_record_without_known_codes_belongs_to_the_receiver_at_its_place(tmp_path: Path) -> None:
    run, data = waves.run(tmp_path / "run"), tmp_path / "data"
    convert(run, "sac", data)
    for file in data.iterdir():
        trace = obspy.read(str(file))[0]
        trace.stats.network, trace.stats.station = "XX", f"S{trace.stats.station[:1]}"
        trace.write(str(file), format="SAC")
    alike(run, data, rtol=1e-6)


def test_horizontal_records_alone(tmp_path: Path) -> None:
    run, data = waves.run(tmp_path / "run"), tmp_path / "data"
    data.mkdir()
    waves.stream(waves.to_map(waves.motion(1)))[:2].write(str(data / "h.mseed"), format="MSEED")
    (pair,) = pairs(load_results(run), data, Processing())[0]
    assert pair.recorded == (True, True, False)
    np.testing.assert_allclose(pair.synthetic[:2], pair.observed[:2], atol=1e-9)


def test_what_cannot_be_compared_is_told(tmp_path: Path) -> None:
    run, data = waves.run(tmp_path / "run"), tmp_path / "data"
    data.mkdir()
    with raises(InputError):
        read_records(data)
    rows = waves.to_map(waves.motion(1))
    waves.stream(rows, station="ELSE").write(str(data / "a.mseed"), format="MSEED")
    with raises(InputError):
        pairs(load_results(run), data, Processing())
    waves.stream(rows, start=4000.0).write(str(data / "b.mseed"), format="MSEED")
    (data / "broken.sac").write_bytes(b"no seismogram")
    with raises(InputError) as found:
        pairs(load_results(run), data, Processing())
    assert "broken.sac: cannot be read" in str(found.value)
    with raises(InputError):
        pairs(load_results(run), data, Processing("speed"))


def test_a_station_code_of_another_network_is_doubted_where_coordinates_are_missing(tmp_path: Path) -> None:
    run, data = waves.run(tmp_path / "run"), tmp_path / "data"
    data.mkdir()
    for network, doubted in (("CI", False), ("NC", True)):
        stream = waves.stream(waves.to_map(waves.motion(1)))
        for trace in stream:
            trace.stats.network = network
        stream.write(str(data / "a.mseed"), format="MSEED")
        found, warned = pairs(load_results(run), data, Processing())
        assert len(found) == 1
        assert any("is compared with receiver CI.CCC, because no coordinates" in w.what for w in warned) == doubted


def test_gaps_and_unknown_directions_are_left_out(tmp_path: Path) -> None:
    run, data = waves.run(tmp_path / "run"), tmp_path / "data"
    data.mkdir()
    rows = waves.to_map(waves.motion(1))
    waves.stream(rows, codes=("HH1", "HH2", "HHZ")).write(str(data / "a.mseed"), format="MSEED")
    with raises(InputError):
        pairs(load_results(run), data, Processing())
    (data / "a.mseed").unlink()
    torn = waves.stream(rows)
    torn += waves.stream(rows, start=100.0)
    torn.write(str(data / "b.mseed"), format="MSEED")
    with raises(InputError):
        pairs(load_results(run), data, Processing())


def test_pieces_that_do_not_fit_and_numbers_that_are_none_are_left_out(tmp_path: Path) -> None:
    run, data = waves.run(tmp_path / "run"), tmp_path / "data"
    data.mkdir()
    rows = waves.to_map(waves.motion(1))
    waves.stream(rows).write(str(data / "a.mseed"), format="MSEED")
    coarse = waves.stream(rows)[:1]
    coarse[0].stats.sampling_rate /= 2
    coarse.write(str(data / "b.mseed"), format="MSEED")
    with raises(InputError):
        pairs(load_results(run), data, Processing())
    (data / "b.mseed").unlink()
    rows[0][5] = np.nan
    waves.stream(rows).write(str(data / "a.mseed"), format="MSEED")
    with raises(InputError):
        pairs(load_results(run), data, Processing())
