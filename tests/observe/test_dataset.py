"""Named arrays: shapes are checked, quantities found, xarray optional."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from faultwave.observe.dataset import (
    Dataset,
    FaultFrame,
    Variable,
    energies_from_arrays,
    fault_receivers_from_arrays,
    receivers_from_arrays,
)

VALUES = np.arange(24.0).reshape(4, 2, 3)


def sample() -> Dataset:
    return receivers_from_arrays(np.arange(4.0), VALUES, ["v1", "v2", "v3"], np.zeros((2, 3)), attrs={"run": "a"})


def test_receivers() -> None:
    data = sample()
    assert data.sizes == {"time": 4, "receiver": 2, "quantity": 3, "component": 3}
    np.testing.assert_array_equal(data.quantity("v2"), VALUES[:, :, 1])
    np.testing.assert_array_equal(data["requested"], data["location"])
    assert data.attrs["units"] == ["m/s"] * 3
    with pytest.raises(KeyError, match="no quantity 's_xx', only v1, v2, v3"):
        data.quantity("s_xx")


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="cannot have the dimensions"):
        Variable(np.zeros(3), ("time", "receiver"))
    with pytest.raises(ValueError, match="4 entries along 'time', others 5"):
        receivers_from_arrays(np.arange(5.0), VALUES, ["v1", "v2", "v3"], np.zeros((2, 3)))
    with pytest.raises(ValueError, match="do not hold"):
        receivers_from_arrays(np.arange(4.0), VALUES, ["v1"], np.zeros((2, 3)))
    with pytest.raises(ValueError, match="along 'receiver'"):
        receivers_from_arrays(np.arange(4.0), VALUES, ["v1", "v2", "v3"], np.zeros((3, 3)))


def test_fault_receivers() -> None:
    frame = {name: np.eye(3)[:2] for name in ("normal", "strike", "dip", "initial_traction")}
    data = fault_receivers_from_arrays(
        np.zeros((4, 2)), VALUES, ["SRs", "SRd", "Mud"], np.zeros((2, 3)), frame=FaultFrame(**frame)
    )
    assert data.variables["time"].dims == ("time", "receiver")
    assert data.variables["initial_traction"].unit == "Pa"
    assert data.attrs["units"] == ["m/s", "m/s", ""]


def test_energies() -> None:
    data = energies_from_arrays([0.0, 1.0], {"seismic_moment": [0.0, 1e18]})
    assert data.variables["seismic_moment"].unit == "N*m"
    assert "potency" not in data


def test_xarray() -> None:
    pytest.importorskip("xarray", reason="the xarray package is not installed")
    array = sample().to_xarray()
    np.testing.assert_array_equal(array["values"].sel(quantity="v3"), VALUES[:, :, 2])
    assert array["time"].attrs["units"] == "s"
    assert array.attrs["run"] == "a"


def test_xarray_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match="pip install xarray"):
        sample().to_xarray()
