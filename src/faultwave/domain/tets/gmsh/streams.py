"""Number streams of the sections of Gmsh files, text or binary, and elements of binary files of version 2.2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from faultwave.domain.tets.mesh import Floats, Integers

_LONG = re.compile(rb"\S{65}")


class Stream(Protocol):
    """Interface of a file read section by section, with numbers in order."""

    def sections(self) -> Iterator[str]: ...

    def skip(self, section: str) -> None: ...

    def ints(self, count: int) -> Integers: ...

    def sizes(self, count: int) -> Integers: ...

    def reals(self, count: int) -> Floats: ...

    def raw_lines(self) -> Iterator[bytes]: ...


class TextStream:
    """Sections of ASCII files; the numbers of a section are parsed together."""

    def __init__(self, data: bytes):
        self.data, self.at, self.body = data, 0, b""
        self.numbers: Floats | None = None

    def sections(self) -> Iterator[str]:
        while (start := self.data.find(b"$", self.at)) >= 0:
            line_end = self.data.find(b"\n", start)
            line_end = len(self.data) if line_end < 0 else line_end
            name = self.data[start + 1 : line_end].strip().decode(errors="replace")
            end = self.data.find(b"$End" + name.encode(), line_end)
            if end < 0:
                raise EOFError(f"section ${name} does not end")
            self.body, self.numbers, self.taken = self.data[line_end + 1 : end], None, 0
            self.at = end + len(name) + 4
            yield name

    def skip(self, section: str) -> None:
        """Do nothing: the next section starts after the end mark of this one."""

    def take(self, count: int) -> Floats:
        if self.numbers is None:
            self.numbers = _numbers(self.body)
        part = self.numbers[self.taken : self.taken + count]
        if count < 0 or len(part) < count:
            raise EOFError("a section ends before its last number")
        self.taken += count
        return part

    def ints(self, count: int) -> Integers:
        return whole(self.take(count))

    sizes = ints

    def reals(self, count: int) -> Floats:
        return self.take(count)

    def lines(self) -> tuple[Floats, Integers]:
        """Return all numbers of the section, and the index of the first one on each line."""
        buffer = np.frombuffer(b"\n" + self.body, np.uint8)
        blank = (buffer == 32) | ((buffer >= 9) & (buffer <= 13))
        begins = ~blank[1:] & blank[:-1]
        line = np.cumsum(buffer == 10)[1:][begins]
        first = np.ones(len(line), bool)
        first[1:] = line[1:] != line[:-1]
        numbers = _numbers(self.body)
        if len(numbers) != len(line) or not len(numbers):
            raise ValueError("a section contains values that are not numbers")
        return numbers, np.flatnonzero(first)

    def raw_lines(self) -> Iterator[bytes]:
        return (line for line in self.body.split(b"\n") if line.strip())


def whole(numbers: Floats) -> Integers:
    """Return numbers as integers; raise ValueError if one is not an integer."""
    with np.errstate(invalid="ignore"):
        found = numbers.astype(np.int64)
    if (found != numbers).any():
        raise ValueError(f"{numbers[found != numbers][0]:g} found where a whole number is expected")
    return found


def _numbers(text: bytes) -> NDArray[np.float64]:
    # An array of words uses the length of the longest for each.
    if long := _LONG.search(text):
        raise ValueError(f"'{long[0][:20].decode(errors='replace')}...' found where a number is expected")
    # Words are split first, because a parser of continuous text would stop at the first word that is not a number.
    return np.array(text.split(), dtype="S").astype(np.float64)


class BinaryStream:
    """Sections of binary files of versions 2.2 and 4.1, of either byte order."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0
        end = data.index(b"\n", data.index(b"$MeshFormat") + 12)
        size = data[:end].split()[-1]
        if size != b"8":
            raise ValueError(f"size_t of {size.decode(errors='replace')} bytes; only 8 are supported")
        one = data[end + 1 : end + 5]
        orders = {b"\x01\x00\x00\x00": "<", b"\x00\x00\x00\x01": ">"}
        if one not in orders:
            raise ValueError("its byte-order mark is broken")
        self.order = orders[one]
        self.at = data.index(b"$EndMeshFormat", end) + len(b"$EndMeshFormat")

    def sections(self) -> Iterator[str]:
        yield "MeshFormat"
        while (start := self.data.find(b"$", self.at)) >= 0:
            if self.data[self.at : start].strip():
                raise ValueError(f"unexpected bytes at position {self.at}")
            line_end = self.data.index(b"\n", start)
            name = self.data[start + 1 : line_end].decode(errors="replace").strip()
            self.at = line_end + 1
            yield name
            mark = b"$End" + name.encode()
            end = self.data.find(mark, self.at)
            if end < 0 or self.data[self.at : end].strip():
                raise EOFError(f"section ${name} does not end where it should")
            self.at = end + len(mark)

    def skip(self, section: str) -> None:
        if section == "MeshFormat":
            return
        end = self.data.find(b"$End" + section.encode(), self.at)
        if end < 0:
            raise EOFError(f"section ${section} does not end")
        self.at = end

    def take(self, count: int, kind: str, size: int) -> np.ndarray:
        if count < 0 or self.at + count * size > len(self.data):
            raise EOFError("the file ends in the middle of a section")
        part = np.frombuffer(self.data, np.dtype(kind).newbyteorder("<" if self.order == "<" else ">"), count, self.at)
        self.at += count * size
        return part

    def ints(self, count: int) -> Integers:
        return self.take(count, "i4", 4).astype(np.int64)

    def sizes(self, count: int) -> Integers:
        return self.take(count, "u8", 8).astype(np.int64)

    def reals(self, count: int) -> Floats:
        return self.take(count, "f8", 8).astype(np.float64)

    def announced(self) -> int:
        """Return the number on the next line, which is text in version 2.2."""
        end = self.data.index(b"\n", self.at)
        count = int(self.data[self.at : end])
        self.at = end + 1
        return count

    def raw_lines(self) -> Iterator[bytes]:
        """Return the lines of a text section, and move to its end."""
        end = self.data.find(b"$End", self.at)
        if end < 0:
            raise EOFError("a section does not end")
        body, self.at = self.data[self.at : end], end
        return (line for line in body.split(b"\n") if line.strip())


# Number of nodes of each element type, including those that are only skipped.
NODES = {1: 2, 2: 3, 3: 4, 4: 4, 5: 8, 6: 6, 7: 5, 8: 3, 9: 6, 10: 9, 11: 10, 12: 27, 13: 18, 14: 14, 15: 1, 16: 8,
         17: 20, 18: 15, 19: 13, 20: 9, 21: 10, 22: 12, 23: 15, 24: 15, 25: 21, 26: 4, 27: 5, 28: 6, 29: 20, 30: 35,
         31: 56}  # fmt: skip

_HEADER = 3
"""Number of integers before the elements of a block: type, number of elements, number of tags."""
_FIRST_PROBE, _LONGEST_PROBE = 64, 1 << 16
"""Number of blocks of one element that are compared together, at first and at most."""


class Bytes(Protocol):
    """Bytes in memory or of a mapped file."""

    def __getitem__(self, piece: slice, /) -> bytes: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Run:
    """Consecutive elements of one type: type, count, number of tags, start of the first, and stride [bytes]."""

    kind: int
    count: int
    tags: int
    start: int
    stride: int


def binary_runs(data: Bytes, at: int, count: int, order: str) -> Iterator[Run]:
    """Yield the runs of equal elements of a section.

    Parameters
    ----------
    data, at
        File, and start of the first block.
    count : int
        Number of elements of the section.
    order : str
        Byte order, "<" or ">".

    Raises
    ------
    EOFError, ValueError
        If the file ends too early or an element has an unknown type.
    """
    while count > 0:
        kind, number, tags = _ints(data, at, _HEADER, order).tolist()
        if kind not in NODES:
            raise ValueError(f"an element has type {kind}")
        if not (0 < number <= count and 0 <= tags <= len(data)):
            raise ValueError(f"a block announces {number} of {count} elements with {tags} tags")
        width = 1 + tags + NODES[kind]
        start, stride = at + 4 * _HEADER, 4 * width
        if number == 1:  # consecutive blocks of one element
            stride += 4 * _HEADER
            number = _alike(data, at, width + _HEADER, count, order)
        end = start + number * stride - (stride - 4 * width)
        if end > len(data):
            raise EOFError("the file ends in the middle of a section")
        yield Run(kind, number, tags, start, stride)
        count, at = count - number, end


def _alike(data: Bytes, at: int, width: int, most: int, order: str) -> int:
    """Return how many blocks of one element, of ``width`` integers each, have the same header as the one at ``at``."""
    found, look = 0, _FIRST_PROBE
    first = _ints(data, at, _HEADER, order)
    most = min(most, max(1, (len(data) - at) // (4 * width)))
    while found < most:
        look = min(look, most - found)
        rows = _ints(data, at + 4 * width * found, width * look, order).reshape(look, width)
        differ = np.flatnonzero((rows[:, :_HEADER] != first).any(axis=1))
        if len(differ):
            return found + int(differ[0])
        found, look = found + look, min(2 * look, _LONGEST_PROBE)
    return found


def _ints(data: Bytes, at: int, count: int, order: str) -> np.ndarray:
    piece = data[at : at + 4 * count]
    if len(piece) < 4 * count:
        raise EOFError("the file ends in the middle of a section")
    return np.frombuffer(piece, f"{order}i4")


def elements_of(data: Bytes, run: Run, order: str) -> np.ndarray:
    """Return number, tags and nodes (n, 1 + tags + nodes) of the elements of a run."""
    width = 1 + run.tags + NODES[run.kind]
    size = run.stride * (run.count - 1) + 4 * width
    numbers = np.frombuffer(data[run.start : run.start + size] + b"\0" * (run.stride - 4 * width), f"{order}i4")
    return np.asarray(numbers.reshape(run.count, run.stride // 4)[:, :width].astype(np.int64))
