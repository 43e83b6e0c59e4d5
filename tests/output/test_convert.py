"""From a run to SAC, miniSEED, CSV and SCEC files."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.observe.dataset import FaultFrame, fault_receivers_from_arrays, receivers_from_arrays
from faultwave.output.faultplane import fit_plane, orient_hanging_wall_left, plane_of_normal, plane_through
from faultwave.output.formats.receivers_hdf5 import read_receivers, write_receivers
from faultwave.output.formats.scec import NEVER, body_station_name, fault_station_name, read_table
from faultwave.output.formats.vtkhdf import VtkHdfWriter
from faultwave.output.formats.waveforms import channel
from faultwave.output.manifest import build_manifest, write_manifest
from faultwave.output.results import convert
from tests.messages import raises

TIME = 0.01 * np.arange(101)
FAULT = ["SRs", "SRd", "Ts0", "Td0", "Pn0", "Sls", "Sld", "StV"]


EAST_WEST = np.eye(3)
NORTH_SOUTH = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # x becomes y, y becomes -x


def make_run(
    folder: Path,
    normal: float = 1.0,
    state: float = 0.0,
    unit: str = "",
    turn: np.ndarray = EAST_WEST,
    shift: float = 0.0,
) -> None:
    """Receivers on and off a vertical fault along x, turned and then moved by ``shift`` [m] across itself."""
    away = shift * turn @ [0.0, 1.0, 0.0]
    velocity = np.stack([np.sin(TIME), TIME**2, np.cos(3 * TIME)], axis=-1)
    values = np.stack([velocity, -velocity], axis=1) @ turn.T
    places = np.array([[-12e3, -3e3, 0.0], [0.0, 2e3, -7.5e3]]) @ turn.T + away
    off = receivers_from_arrays(TIME, values, ["v1", "v2", "v3"], places)
    slip = np.stack([np.full(101, x) for x in (1.0, 2.0, 70e6, 3e6, -120e6, 4.0, 5.0, state)], axis=-1)[:, None]
    frame = (normal * turn[:, 1], normal * turn[:, 0], np.array([0.0, 0.0, -1.0]), np.array([-120e6, 70e6, 0.0]))
    on = fault_receivers_from_arrays(
        *(TIME[:, None], slip, FAULT, np.array([[-2e3, 0.0, -5.5e3]]) @ turn.T + away),
        frame=FaultFrame(*[vector[None] for vector in frame]),
        attrs={"units": {"StV": unit}},
    )
    write_receivers(folder / "run-receivers.h5", [off, on])
    case = {"title": "SCEC TPV5: a fault", "numerics": {"order": 4}}
    write_manifest(folder / "run-manifest.json", build_manifest(case))


def test_names() -> None:
    assert fault_station_name(-2e3, 5.5e3) == "faultst-020dp055"
    assert fault_station_name(-1e-9, 0.0) == "faultst000dp000"
    assert fault_station_name(12e3, 1234.0) == "faultst120dp012"
    assert body_station_name(-3e3, -12e3, 0.0) == "body-030st-120dp000"
    assert [channel(rate, "Z") for rate in (2000, 250, 200, 100, 20, 2, 0.5)] == [
        *("FXZ", "CXZ", "HXZ", "HXZ", "BXZ", "MXZ", "LXZ")
    ]


def test_scec_stations(tmp_path: Path) -> None:
    make_run(tmp_path)
    paths = convert(tmp_path, "scec", tmp_path / "out")
    assert [p.name for p in paths] == ["faultst-020dp055", "body-030st-120dp000", "body020st000dp075"]
    text = paths[0].read_text()
    assert text.startswith("# problem=TPV5\n")
    assert "# element_size=order 4\n" in text
    assert "# location= on fault, -2 km along strike, 5.5 km down-dip\n" in text
    on = read_table(paths[0])
    assert list(on) == [
        *("t", "h-slip", "h-slip-rate", "h-shear-stress", "v-slip", "v-slip-rate", "v-shear-stress", "n-stress")
    ]
    np.testing.assert_allclose([column[7] for column in on.values()], [0.07, 4, 1, 70, 5, 2, 3, -120])
    off = read_table(paths[1])
    np.testing.assert_allclose(off["h-vel"], np.sin(TIME), atol=1e-9)
    np.testing.assert_allclose(off["v-vel"], -np.cos(3 * TIME), atol=1e-9)  # positive down
    np.testing.assert_allclose(off["n-disp"], TIME**3 / 3, atol=2e-5)
    np.testing.assert_allclose(off["v-disp"], -np.sin(3 * TIME) / 3, atol=1e-4)


def test_scec_does_not_depend_on_the_names_of_the_sides(tmp_path: Path) -> None:
    """With the sides exchanged the run's dip components change sign; the station file must not show it."""
    make_run(tmp_path, normal=-1.0)
    table = read_table(convert(tmp_path, "scec", tmp_path / "out")[0])
    np.testing.assert_allclose(
        [table[n][0] for n in ("h-slip", "v-slip", "v-slip-rate", "v-shear-stress")], [4, -5, -2, -3]
    )


@pytest.mark.parametrize(("shift", "normal"), [(0.0, 1.0), (40e3, -1.0)])
def test_scec_takes_the_strike_from_the_fault(tmp_path: Path, shift: float, normal: float) -> None:
    """A north-south fault gives the files of the same fault along x, wherever it lies across itself."""
    for name, turn, moved in (("along-x", EAST_WEST, 0.0), ("along-y", NORTH_SOUTH, shift)):
        (tmp_path / name).mkdir()
        make_run(tmp_path / name, normal=normal, turn=turn, shift=moved)
        convert(tmp_path / name, "scec", tmp_path / name / "out")
    expected, found = (sorted((tmp_path / name / "out").iterdir()) for name in ("along-x", "along-y"))
    assert [p.name for p in found] == [p.name for p in expected]
    for one, other in zip(expected, found, strict=True):
        heads = [[line for line in path.read_text().splitlines() if line.startswith("#")] for path in (one, other)]
        assert heads[0] == heads[1]
        tables = [read_table(path) for path in (one, other)]
        assert list(tables[0]) == list(tables[1])
        np.testing.assert_allclose(list(tables[1].values()), list(tables[0].values()), atol=1e-12)


def test_scec_needs_to_know_the_strike(tmp_path: Path) -> None:
    """SeisSol's text files state no directions: places of fault receivers tell the strike, none does not."""
    body = 'TITLE = "x"\nVARIABLES = "Time","v1","v2","v3"\n# x1 -3000\n# x2 12000\n# x3 0\n0 1 2 3\n1 1 2 3\n'
    (tmp_path / "run-receiver-00001.dat").write_text(body)
    with raises(InputError):
        convert(tmp_path, "scec", prefix="run")
    names = '"SRs" ,"SRd" ,"Ts0" ,"Td0" ,"Pn0" ,"Sls" ,"Sld"'
    for number, y in enumerate((0.0, 5e3), start=1):
        text = f'TITLE = "x"\nVARIABLES = "Time" ,{names}\n# x1 0\n# x2 {y}\n# x3 -1000\n0 1 2 3 4 5 6 7\n1 1 2 3 4 5 6 7\n'
        (tmp_path / f"run-faultreceiver-{number:05d}.dat").write_text(text)
    paths = convert(tmp_path, "scec", prefix="run")
    assert [p.name for p in paths] == ["faultst000dp010", "faultst050dp010", "body030st120dp000"]
    off = read_table(paths[-1])
    np.testing.assert_allclose([off["h-vel"][0], off["n-vel"][0], off["v-vel"][0]], [2.0, -1.0, -3.0], atol=1e-12)


@pytest.mark.parametrize(("unit", "column", "value"), [("s", "log-theta", 9.0), ("", "psi", 1e9)])
def test_scec_state(tmp_path: Path, unit: str, column: str, value: float) -> None:
    """The unit of the friction law's state variable tells what it is."""
    make_run(tmp_path, state=1e9, unit=unit)
    table = read_table(convert(tmp_path, "scec", tmp_path / "out")[0])
    np.testing.assert_allclose(table[column], value)
    assert "psi" in read_table(convert(tmp_path, "scec", tmp_path / "psi", state="psi")[0])
    make_run(tmp_path, state=-1.0)
    with raises(InputError):
        convert(tmp_path, "scec", tmp_path / "out", state="log-theta")


def test_scec_contours(tmp_path: Path) -> None:
    make_run(tmp_path)
    dip = np.radians(60.0)
    down = np.array([0.0, np.cos(dip), -np.sin(dip)])
    corners = np.array([x * np.array([1.0, 0, 0]) + d * down for x in (0.0, 9e3) for d in (0.0, 3e3)])
    cells = np.array([[0, 1, 2], [3, 2, 1], [0, 2, 1]])  # any orientation
    with VtkHdfWriter(tmp_path / "run-fault.vtkhdf", corners, cells, {}, ["RT", "PSR"], np.float64) as file:
        file.append(0.0, {"RT": np.zeros(3), "PSR": np.zeros(3)})
        file.append(1.0, {"RT": np.array([0.0, 1.5, 0.0]), "PSR": np.array([0.0, 2.0, 0.5])})
    path = convert(tmp_path, "scec", tmp_path / "out")[-1]
    assert path.name == "cplot"
    assert "\nj k t\n" in path.read_text()
    assert "1.0000000E+09" in path.read_text()
    table = read_table(path)
    np.testing.assert_allclose(table["j"], [3e3, 6e3, 3e3])
    np.testing.assert_allclose(table["k"], [1e3, 2e3, 1e3], rtol=1e-6)  # along dip, not depth
    np.testing.assert_allclose(table["t"], [NEVER, 1.5, 0.0])  # the last one ruptured in the first step


def test_scec_contours_of_maps(tmp_path: Path) -> None:
    """Where no snapshots were written the map of the finished rupture tells the times."""
    make_run(tmp_path)
    points = np.array([[0.0, 0, 0], [0, 1e3, 0], [0, 0, -1e3], [0, 1e3, -1e3]])
    cells = np.array([[0, 1, 2], [1, 3, 2]])
    with VtkHdfWriter(tmp_path / "run-rupture.vtkhdf", points, cells, {}, ["rupture_time"], np.float64) as file:
        file.append(4.0, {"rupture_time": np.array([0.5, np.nan])})
    paths = convert(tmp_path, "scec", tmp_path / "out")
    table = read_table(paths[-1])
    np.testing.assert_allclose(table["t"], [0.5, NEVER])
    np.testing.assert_allclose(table["j"], [1e3 / 3, 2e3 / 3], rtol=1e-6)  # along y, as this fault strikes


def test_scec_contours_of_several_faults(tmp_path: Path) -> None:
    make_run(tmp_path)
    points = np.array([[0.0, 0, 0], [1e3, 0, 0], [0, 0, -1e3], [0, 1e3, 0]])
    cells = np.array([[0, 1, 2], [0, 3, 2]])
    with VtkHdfWriter(tmp_path / "run-fault.vtkhdf", points, cells, {"fault-tag": np.array([3, 65])}, ["RT"]) as file:
        for time in (0.0, 1.0):
            file.append(time, {"RT": np.array([0.5, 0.7])})
    paths = convert(tmp_path, "scec", tmp_path / "out")[-2:]
    assert [p.name for p in paths] == ["cplot-3", "cplot-65"]
    np.testing.assert_allclose(read_table(paths[1])["j"], 1e3 / 3, rtol=1e-6)


def test_scec_stations_of_a_branch(tmp_path: Path) -> None:
    """Each station is named and turned by the fault that it is nearest to; those off the fault by the largest."""
    make_run(tmp_path)
    turn = np.array([[np.cos(0.5), np.sin(0.5), 0], [-np.sin(0.5), np.cos(0.5), 0], [0, 0, 1]])  # a branch towards -y
    main = np.array([[-9e3, 0, 0], [0, 0, 0], [-9e3, 0, -9e3], [0, 0, -9e3]])
    branch = np.array([[0.0, 0, 0], [5e3, 0, 0], [0, 0, -9e3], [5e3, 0, -9e3]]) @ turn.T
    cells = np.array([[4, 5, 6], [7, 6, 5], [0, 1, 2], [3, 2, 1]])
    tags = {"fault-tag": np.array([65, 65, 66, 66])}
    with VtkHdfWriter(tmp_path / "run-fault.vtkhdf", np.concatenate([main, branch]), cells, tags, ["RT"]) as file:
        file.append(1.0, {"RT": np.full(4, 0.5)})
    on = read_receivers(tmp_path / "run-receivers.h5")
    places = np.array([[-2e3, 0, -5.5e3], turn @ [3e3, 0, -4e3]])
    frame = [np.stack([v, turn @ v]) for v in np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])]
    both = fault_receivers_from_arrays(
        *(
            np.repeat(on["fault_receivers"]["time"], 2, 1),
            np.repeat(on["fault_receivers"]["values"], 2, 1),
            FAULT,
            places,
        ),
        frame=FaultFrame(*frame, np.zeros((2, 3))),
    )
    write_receivers(tmp_path / "run-receivers.h5", [on["receivers"], both])
    paths = convert(tmp_path, "scec", tmp_path / "out")
    assert [p.name for p in paths] == [
        *("faultst-020dp055", "branchst030dp040", "body-030st-120dp000", "body020st000dp075", "cplot-66", "cplot-65")
    ]
    assert "# location= on branch, 3 km along strike, 4 km down-dip\n" in paths[1].read_text()
    for column, values in read_table(paths[0]).items():
        np.testing.assert_allclose(read_table(paths[1])[column], values)


@pytest.mark.parametrize("normal", [[0, 1, 0], [0, -2, 0], [1, 0, 0], [1, 1, 0.5], [-1, 0.3, -0.2], [0, 0, 1]])
def test_fault_plane(normal: list[float]) -> None:
    plane = plane_of_normal(np.array(normal))
    frame = np.array([plane.normal, plane.strike, plane.dip])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
    assert plane.dip[2] <= 0
    assert plane.strike[0] > 1e-9 or plane.strike[1] >= 0
    assert abs(plane.normal @ normal) == pytest.approx(np.linalg.norm(normal))
    corners = np.array([plane.strike, plane.dip, -plane.strike - plane.dip, np.zeros(3)]) * 1e3
    fitted = fit_plane(corners, np.array([[0, 1, 2], [1, 0, 3]]))
    np.testing.assert_allclose(np.abs([fitted.strike @ plane.strike, fitted.dip @ plane.dip]), 1.0)


def test_the_far_side_of_a_dipping_fault_is_its_hanging_wall() -> None:
    for down in ([0.0, 0.5, -0.8], [0.0, -0.5, -0.8], [0.5, 0.0, -0.8]):
        along = [1.0, 0.0, 0.0] if down[0] == 0 else [0.0, 1.0, 0.0]
        plane = orient_hanging_wall_left(plane_of_normal(np.cross(along, down)))
        assert plane.left @ down > 0
        np.testing.assert_allclose(np.cross([0.0, 0.0, 1.0], plane.strike), plane.left, atol=1e-12)
        # below the trace of a fault through (0, 0, -1 km)
        moved = plane_of_normal(np.cross(along, down), np.array([0.0, 0.0, -1e3]))
        expected = 1e3 * np.hypot(*down[:2]) / 0.8
        assert orient_hanging_wall_left(moved).off_trace(np.zeros(3)) == pytest.approx(expected)
    steep = plane_of_normal(np.array([0.0, -1.0, 0.01]))
    assert orient_hanging_wall_left(steep) is steep


def test_plane_through_places() -> None:
    places = np.array([[0.0, 1.0, -2.0], [3.0, 1.0, -1.0], [0.0, 1.0, -7.0]])
    plane = plane_through(places)
    assert plane is not None
    np.testing.assert_allclose(np.abs(plane.normal), [0.0, 1.0, 0.0], atol=1e-12)
    line = plane_through(np.array([[5.0, 0.0, 0.0], [5.0, 9.0, 0.0]]))
    assert line is not None
    np.testing.assert_allclose(line.strike, [0.0, 1.0, 0.0], atol=1e-12)
    assert plane_through(np.array([[5.0, 0.0, 0.0], [5.0, 0.0, -9.0]])) is None
    assert plane_through(np.array([[5.0, 0.0, 0.0]])) is None


def test_csv(tmp_path: Path) -> None:
    make_run(tmp_path)
    paths = convert(tmp_path, "csv")
    assert [p.name for p in paths] == [
        *("run-receiver-00001.csv", "run-receiver-00002.csv", "run-faultreceiver-00001.csv")
    ]
    lines = paths[0].read_text().splitlines()
    assert lines[:2] == ["# location [m]: -12000 -3000 0", "time [s],v1 [m/s],v2 [m/s],v3 [m/s]"]
    table = np.loadtxt(paths[0], delimiter=",", skiprows=2)
    np.testing.assert_array_equal(table, np.column_stack([TIME, np.sin(TIME), TIME**2, np.cos(3 * TIME)]))


def test_sac(tmp_path: Path) -> None:
    obspy = pytest.importorskip("obspy", reason="the obspy package is not installed")
    make_run(tmp_path)
    paths = convert(tmp_path, "sac", tmp_path / "sac")
    assert len(paths) == 6
    trace = obspy.read(str(tmp_path / "sac" / "FW.R0002..HXN.sac"))[0]
    np.testing.assert_allclose(trace.data, -(TIME**2), rtol=1e-6)
    assert trace.stats.sampling_rate == pytest.approx(100.0)
    assert trace.stats.starttime == obspy.UTCDateTime(0)
    header = trace.stats.sac
    assert (header.o, header.stdp, header.user0, header.user1, header.user2) == (0.0, 7500.0, 0.0, 2000.0, -7500.0)
    assert (header.cmpaz, header.cmpinc, header.kcmpnm) == (0.0, 90.0, "HXN")


def test_mseed(tmp_path: Path) -> None:
    obspy = pytest.importorskip("obspy", reason="the obspy package is not installed")
    make_run(tmp_path)
    (path,) = convert(tmp_path, "mseed")
    stream = obspy.read(str(path))
    assert {trace.id for trace in stream} == {f"FW.R000{i}..HX{c}" for i in (1, 2) for c in "ENZ"}
    np.testing.assert_array_equal(stream.select(id="FW.R0001..HXZ")[0].data, np.cos(3 * TIME))


@pytest.mark.parametrize("kind", ["sac", "mseed"])
def test_obspy_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    make_run(tmp_path)
    monkeypatch.setitem(sys.modules, "obspy", None)
    with raises(InputError):
        convert(tmp_path, kind, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_what_cannot_be_converted(tmp_path: Path) -> None:
    make_run(tmp_path)
    with raises(InputError):
        convert(tmp_path, "msed")
    pytest.importorskip("obspy", reason="the obspy package is not installed")
    uneven = receivers_from_arrays([0.0, 0.1, 0.3], np.zeros((3, 1, 3)), ["v1", "v2", "v3"], [[0.0, 0, 0]])
    write_receivers(tmp_path / "run-receivers.h5", [uneven])
    with raises(InputError):
        convert(tmp_path, "sac")
    write_receivers(tmp_path / "run-receivers.h5", [])
    for kind in ("sac", "mseed", "csv", "scec"):
        with raises(InputError):
            convert(tmp_path, kind)
