"""Cells of Gmsh files are counted before these are read."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

from faultwave.base.errors import InputError
from faultwave.domain import tets
from faultwave.domain.tets import ahead as gmsh_ahead
from faultwave.domain.tets.gmsh.reader import read_gmsh
from tests.domain.test_gmsh_reader import CONTENTS, Writer


def ahead(folder: Path, data: bytes | str) -> int | None:
    path = folder / "m.msh"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return tets.cells_ahead(SimpleNamespace(file=path))


@pytest.mark.parametrize("version", CONTENTS)
@pytest.mark.parametrize("block", [7, 1 << 20])
def test_cells_are_known_before_the_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, block: int
) -> None:
    monkeypatch.setattr(gmsh_ahead, "BLOCK", block)
    assert ahead(tmp_path, CONTENTS[version]) == 2


def test_elements_between_blocks_are_stepped_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Volumes of several cells, with triangles after them."""

    class Mixed(Writer):
        def elements(self) -> None:
            self.put("ssss", 3, 7, 1, 7)
            self.put("iiis", 3, 1, 4, 3)
            for i in range(3):
                self.put("sssss", i + 1, 10, 20, 30, 40)
            self.put("iiis", 2, 1, 2, 2)
            for i in range(2):
                self.put("ssss", i + 4, 10, 20, 30)
            self.put("iiis", 3, 2, 4, 2)
            for i in range(2):
                self.put("sssss", i + 6, 20, 30, 40, 55)

    for block in (11, 1 << 20):
        monkeypatch.setattr(gmsh_ahead, "BLOCK", block)
        for written in (Mixed(False), Mixed(True), Mixed(True, ">")):
            assert ahead(tmp_path, written.mesh()) == 5


@pytest.mark.parametrize("version", CONTENTS)
def test_what_breaks_off_is_told_where_it_is_read(tmp_path: Path, version: str) -> None:
    """No count, or one of what there is; never an error, nor more than there was."""
    data = CONTENTS[version]
    for end in range(len(data)):
        found = ahead(tmp_path, data[:end])
        assert found is None or found <= 2, end


def test_numbers_that_no_file_can_hold_are_no_count(tmp_path: Path) -> None:
    text = CONTENTS["4.1"].replace(b"3 2 4 1\n", b"3 2 4 1000000000000\n")
    assert text != CONTENTS["4.1"] and ahead(tmp_path, text) is None
    binary, header = CONTENTS["4.1 binary"], struct.pack("<3iQ", 3, 2, 4, 1)
    assert header in binary
    assert ahead(tmp_path, binary.replace(header, struct.pack("<3iQ", 3, 2, 4, 10**12))) is None


@pytest.mark.parametrize("version", CONTENTS)
def test_the_first_lines_are_read_as_the_reader_reads_them(tmp_path: Path, version: str) -> None:
    """Blank lines before them do not matter; versions that are refused are not counted."""
    data, written = CONTENTS[version], version.split()[0].encode()
    assert data.split()[:2] == [b"$MeshFormat", written]
    assert ahead(tmp_path, b"\n" + data) == 2
    assert len(read_gmsh(tmp_path / "m.msh").cells) == 2
    for other in (data.replace(written, b"4.0", 1), data.replace(b"$MeshFormat", b"$Format", 1)):
        assert ahead(tmp_path, other) is None
        with pytest.raises(InputError):
            read_gmsh(tmp_path / "m.msh")
