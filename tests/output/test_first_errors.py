"""HDF5 files name the first write that failed, also if the library reads back what was not written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from faultwave.base.errors import FaultwaveError
from faultwave.output.field_files import hdf5
from tests.messages import raises


@pytest.mark.parametrize("written", [0, 1, 3, 10])
def test_a_full_disk_is_reported_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int) -> None:
    left, write = [written], os.write

    def limited(descriptor: int, data: memoryview) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data)

    monkeypatch.setattr(hdf5.os, "write", limited)
    with raises(FaultwaveError), hdf5.atomic_hdf5(tmp_path / "a.h5") as file:
        for k in range(40):
            file.create_group(f"group{k}")["values"] = np.arange(3000.0)
            file.flush()
        for k in range(40):  # from what was not written
            assert file[f"group{k}"]["values"][:].sum() >= 0
    assert list(tmp_path.iterdir()) == []


def test_other_errors_pass(tmp_path: Path) -> None:
    with pytest.raises(KeyError), hdf5.atomic_hdf5(tmp_path / "a.h5") as file:
        file["nothing"]
    assert list(tmp_path.iterdir()) == []
