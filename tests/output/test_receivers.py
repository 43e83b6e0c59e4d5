"""Receiver and energy files: round trips, the reference's own files byte for byte, every older shape."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultwave.base.errors import InputError, RunError
from faultwave.observe.dataset import (
    Dataset,
    FaultFrame,
    energies_from_arrays,
    fault_receivers_from_arrays,
    receivers_from_arrays,
)
from faultwave.output.formats import seissol_dat
from faultwave.output.formats.csv_tables import read_energies, write_energies
from faultwave.output.formats.receivers_hdf5 import read_receivers, write_receivers
from faultwave.output.formats.seissol_dat import read_dat
from faultwave.output.results import load_results
from tests.messages import raises

CASES = Path(__file__).parents[3] / "shared" / "cases"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason=f"no reference cases in {CASES}")


def off_fault() -> Dataset:
    values = np.random.default_rng(1).normal(size=(7, 3, 2))
    return receivers_from_arrays(0.1 * np.arange(7), values, ["v1", "s_xx"], np.arange(9.0).reshape(3, 3))


def on_fault() -> Dataset:
    rng = np.random.default_rng(2)
    time = np.repeat(0.01 * np.arange(6.0)[:, None], 2, axis=1)
    values = rng.normal(size=(6, 2, 3))
    time[4:, 1], values[4:, 1] = np.nan, np.nan
    frame = {name: rng.normal(size=(2, 3)) for name in ("normal", "strike", "dip", "initial_traction")}
    return fault_receivers_from_arrays(
        time, values, ["SRs", "Ts0", "RT"], rng.normal(size=(2, 3)), frame=FaultFrame(**frame)
    )


def assert_same(found: Dataset, expected: Dataset) -> None:
    assert found.name == expected.name
    assert found.attrs == expected.attrs
    assert set(found.variables) == set(expected.variables)
    for name, variable in expected.variables.items():
        np.testing.assert_array_equal(found[name], variable.data)
        assert found.variables[name].dims == variable.dims
        assert found.variables[name].unit == variable.unit
        assert found.variables[name].description == variable.description


def test_hdf5_round_trip(tmp_path: Path) -> None:
    datasets = [off_fault(), on_fault()]
    path = write_receivers(tmp_path / "run-receivers.h5", datasets)
    found = read_receivers(path)
    assert list(tmp_path.iterdir()) == [path]
    assert set(found) == {"receivers", "fault_receivers"}
    for dataset in datasets:
        assert_same(found[dataset.name], dataset)


def test_hdf5_of_seissol(tmp_path: Path) -> None:
    path = tmp_path / "tpv-receivers.h5"
    table = np.random.default_rng(3).normal(size=(5, 2, 3))
    table[:, :, 0] = 0.1 * np.arange(5.0)[:, None]
    with h5py.File(path, "w") as file:
        file["ReceiverData"] = table
        file["ReceiverData"].attrs["VariableNames"] = ["Time", "xx", "u"]
        file["Coordinates"] = np.arange(6.0).reshape(2, 3)
    data = read_receivers(path)["receivers"]
    assert data.quantities == ["s_xx", "v1"]
    np.testing.assert_array_equal(data["values"], table[:, :, 1:])
    np.testing.assert_array_equal(data["time"], table[:, 0, 0])
    np.testing.assert_array_equal(data["location"], [[0, 1, 2], [3, 4, 5]])


def test_dat_round_trip(tmp_path: Path) -> None:
    off, on = off_fault(), on_fault()
    seissol_dat.write_receivers(tmp_path, "tpv", off)
    seissol_dat.write_fault_receivers(tmp_path, "tpv", on)
    results = load_results(tmp_path)
    assert results.prefix == "tpv"
    assert list(results.traces["receiver"]) == [1, 2, 3]
    for i, trace in enumerate(results.traces["receiver"].values()):
        np.testing.assert_allclose(trace.columns["s_xx"], off.quantity("s_xx")[:, i], rtol=1e-15)
        np.testing.assert_allclose(trace.location, off["location"][i])
    for i, trace in enumerate(results.traces["faultreceiver"].values()):
        count = [6, 4][i]  # padding is not written
        np.testing.assert_array_equal(trace.time, on["time"][:count, i])
        np.testing.assert_array_equal(trace.columns["Ts0"], on.quantity("Ts0")[:count, i])
        np.testing.assert_array_equal(trace.vectors["initial_traction"], on["initial_traction"][i])
        np.testing.assert_array_equal(trace.location, on["location"][i])


@needs_cases
@pytest.mark.parametrize("case, number", [("tpv5", 1), ("tpv13", 8)])
def test_receiver_files_equal_the_reference_byte_for_byte(tmp_path: Path, case: str, number: int) -> None:
    """The deck's own coordinates are printed with 13 digits, so they survive reading."""
    source = CASES / case / "reference-head" / f"tpv-receiver-{number:05d}.dat"
    file = read_dat(source)
    columns = {name: values for name, values in file.columns.items() if name != "Time"}
    values = np.stack(list(columns.values()), axis=-1)[:, None]
    # the file's number is its place in the list
    data = receivers_from_arrays(
        file.columns["Time"], np.repeat(values, number, axis=1), list(columns), np.tile(file.location, (number, 1))
    )
    paths = seissol_dat.write_receivers(tmp_path, "tpv", data)
    assert paths[-1].name == source.name
    assert paths[-1].read_bytes() == source.read_bytes()


@needs_cases
@pytest.mark.parametrize("case, number", [("tpv5", 1), ("tpv105", 2)])
def test_fault_receiver_files_equal_the_reference_byte_for_byte(tmp_path: Path, case: str, number: int) -> None:
    source = CASES / case / "reference-head" / f"tpv-faultreceiver-{number:05d}.dat"
    file = read_dat(source)
    columns = {name: values for name, values in file.columns.items() if name != "Time"}
    values = np.repeat(np.stack(list(columns.values()), axis=-1)[:, None], number, axis=1)
    time = np.repeat(file.columns["Time"][:, None], number, axis=1)
    unit = np.tile([1.0, 0.0, 0.0], (number, 1))
    data = fault_receivers_from_arrays(
        *(time, values, list(columns), np.tile(file.location, (number, 1))),
        frame=FaultFrame(unit, unit, unit, np.tile(file.initial_traction, (number, 1))),
    )
    paths = seissol_dat.write_fault_receivers(tmp_path, "tpv", data)
    assert paths[-1].name == source.name
    assert paths[-1].read_bytes() == source.read_bytes()


@needs_cases
def test_energy_table_equals_the_reference(tmp_path: Path) -> None:
    """Byte for byte but for the order within a time, where the reference repeats one name."""
    source = CASES / "tpv13" / "reference-head" / "tpv-energy.csv"
    path = seissol_dat.write_energy(tmp_path / "tpv-energy.csv", read_energies(source))
    found, expected = path.read_text().splitlines(), source.read_text().splitlines()
    assert found[0] == expected[0]
    assert sorted(found[1:]) == sorted(set(expected[1:]))


@needs_cases
def test_every_reference_file_is_read() -> None:
    files = sorted(CASES.glob("*/reference*/*.dat"))
    assert len(files) > 100
    for path in files:
        file = read_dat(path)
        names = set(file.columns)
        wanted = {"Time", "SRs", "Ts0", "ASl", "RT"} if "faultreceiver" in path.name else {"Time", "s_xy", "s_yz", "v3"}
        assert wanted <= names, path
        assert np.all(np.diff(file.columns["Time"]) > 0), path
        assert np.isfinite(file.location).all(), path
        if path.parent.name == "reference-head":  # the versions of 2023 leave the initial traction out
            assert np.isfinite(file.initial_traction).all() == ("faultreceiver" in path.name), path


@needs_cases
def test_old_and_new_headers_agree() -> None:
    old = read_dat(CASES / "tpv5" / "reference" / "tpv-faultreceiver-00001-00000.dat")
    new = read_dat(CASES / "tpv5" / "reference-head" / "tpv-faultreceiver-00001.dat")
    np.testing.assert_allclose(old.location, new.location, atol=1e-6)
    np.testing.assert_allclose(old.initial_traction, new.initial_traction, atol=1e-6)
    np.testing.assert_allclose(new.initial_traction, [-120e6, 70e6, 0.0], atol=1e-6)


@needs_cases
def test_energies_of_every_shape() -> None:
    wide = read_energies(CASES / "tpv5" / "reference" / "tpv-energy.csv")
    long = read_energies(CASES / "tpv13" / "reference" / "tpv-energy.csv")
    indexed = read_energies(CASES / "tpv13" / "reference-head" / "tpv-energy.csv")
    assert wide["seismic_moment"][-1] == 1.80049e18
    assert list(long["time"]) == list(indexed["time"]) == [0.0, 1.0, 2.0]
    assert indexed["plastic_moment"][-1] == 1.68284856456491008e17
    assert "momentumX" in indexed and "momentumX" not in long


def test_fortran_numbers_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "tpv-receiver-00007-00003.dat"
    path.write_text(
        'TITLE = "x"\nVARIABLES = "Time","xx","v"\n# x1  1.0\n# x2 2.0\n# x3 -3\n\n'
        "  1.0E+00  -1.5-105  2\n  2.0e0  3.0+100\t 4 \n"
    )
    file = read_dat(path)
    np.testing.assert_array_equal(file.columns["s_xx"], [-1.5e-105, 3e100])
    np.testing.assert_array_equal(file.columns["v2"], [2, 4])
    np.testing.assert_array_equal(file.location, [1, 2, -3])
    assert list(load_results(tmp_path).traces["receiver"]) == [7]


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no VARIABLES line or no samples"),
        ('VARIABLES = "Time","v1"\n', "no VARIABLES line or no samples"),
        ('VARIABLES = "Time","v1"\n0 1\n1 x\n', r"dat:3: cannot be understood: .*'x'"),
        ('VARIABLES = "Time","v1"\n0 1\n1\n', r"sample 2 has 1 numbers for 2 columns"),
        ('VARIABLES = "t","v1"\n0 1\n', "no column 'Time'"),
    ],
)
def test_broken_dat(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.dat"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_dat(path)


def test_missing_files(tmp_path: Path) -> None:
    for read in (read_dat, read_energies, read_receivers):
        with raises(InputError):
            read(tmp_path / "absent")


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 1e9), st.floats(allow_nan=False), st.floats()), min_size=1, unique_by=lambda r: r[0]
    )
)
def test_energies_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, float, float]]) -> None:
    time, moment, work = np.array(sorted(rows), dtype=float).T
    data = energies_from_arrays(time, {"seismic_moment": moment, "total_frictional_work": work})
    folder = tmp_path_factory.mktemp("energies")
    for path in (write_energies(folder / "a.csv", data), seissol_dat.write_energy(folder / "b.csv", data)):
        found = read_energies(path)
        np.testing.assert_array_equal(found["time"], time)
        np.testing.assert_array_equal(found["seismic_moment"], moment)
        # NaN is 'not computed': an empty field, or no row
        if "total_frictional_work" in found:
            np.testing.assert_array_equal(found["total_frictional_work"], work)
        else:
            assert np.isnan(work).all()


def test_energy_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,seismic_moment\n0,1\n1,abc\n")
    with raises(InputError):
        read_energies(path)
    path.write_text("a,b\n0,1\n")
    with raises(InputError):
        read_energies(path)


def test_full_disk_while_writing_receivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno
    import os

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with raises(RunError):
        write_receivers(tmp_path / "run-receivers.h5", [off_fault()])
    assert list(tmp_path.iterdir()) == []


def test_full_disk_while_writing_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savetxt", full)
    with raises(RunError):
        seissol_dat.write_receivers(tmp_path, "tpv", off_fault())
    assert list(tmp_path.iterdir()) == []
