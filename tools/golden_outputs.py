"""Every number in an output folder as named arrays, read without any help of the program that wrote them.

HDF5 (VTKHDF and NetCDF-4 are HDF5, too), GeoTIFF, tables of text (csv, dat, Touchstone), XML and plain binary files. What differs
from run to run is left out: manifests, checkpoints, pictures, dates.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

SKIPPED_FILES = re.compile(r"manifest.*\.json$|\.(png|pdf|svg|log|lock|yaml|par)$")
"""Dates, machines and pictures."""
SKIPPED_FOLDERS = re.compile(r"checkpoints$")
"""The state inside the program, which is free to change; what a resumed run writes is compared."""
SKIPPED_NAMES = re.compile(
    r"date|created|history|version|wall|elapsed|checksum|_NCProperties|_Netcdf4|DIMENSION_LIST|REFERENCE_LIST"
)
HDF5 = b"\x89HDF\r\n\x1a\n"
TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?|[-+]?(?:nan|inf)(?:inity)?", re.IGNORECASE)


def read_folder(folder: Path) -> dict[str, np.ndarray]:
    """Arrays by 'file/name in the file', of all files below ``folder``."""
    found: dict[str, np.ndarray] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        inside = path.relative_to(folder)
        if SKIPPED_FILES.search(path.name) or any(SKIPPED_FOLDERS.search(part) for part in inside.parts[:-1]):
            continue
        for name, values in read_file(path):
            found[f"{inside.as_posix()}/{name}"] = np.asarray(values)
    return found


def read_file(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Name and values of every array of a file."""
    with path.open("rb") as file:
        head = file.read(8)
    if head == HDF5:
        yield from _hdf5(path)
    elif head[:4] in TIFF:
        yield from _tiff(path)
    elif path.suffix == ".csv":
        yield from _csv(path)
    elif path.suffix == ".json":
        yield "text", _text(json.dumps(json.loads(path.read_text()), sort_keys=True))
    elif path.suffix in (".xml", ".xdmf"):
        yield from _markup(path)
    elif _is_text(path):
        yield from _table(path)
    else:
        yield from _binary(path)


def _text(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def _hdf5(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    with h5py.File(path) as file:
        named: list[tuple[str, Any]] = [("", file)]
        file.visititems(lambda name, item: named.append((name, item)))
        for name, item in named:
            if SKIPPED_NAMES.search(name):
                continue
            if isinstance(item, h5py.Dataset):
                yield from _fields(name, item[()])
            for key, value in item.attrs.items():
                if not SKIPPED_NAMES.search(key) and np.asarray(value).dtype.kind in "fiub":
                    yield f"{name}@{key}", np.asarray(value)


def _fields(name: str, values: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield a dataset, or each field of a dataset of records; text as bytes."""
    array = np.asarray(values)
    if array.dtype.names:
        for field in array.dtype.names:
            yield from _fields(f"{name}.{field}", array[field])
    elif array.dtype.kind in "fiubc":
        yield name, array
    elif array.dtype.kind in "OSU":
        parts = [x.decode() if isinstance(x, bytes) else str(x) for x in array.reshape(-1)]
        yield name, _text("\n".join(parts))


def _tiff(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    import tifffile

    with tifffile.TiffFile(path) as file:
        for number, page in enumerate(file.pages):
            yield f"page{number}", page.asarray()
            for tag in page.tags:
                if tag.name.startswith(("Model", "Geo")) and not isinstance(tag.value, str):
                    yield f"page{number}.{tag.name}", np.asarray(tag.value, float)


def _csv(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        yield "text", _text(path.read_text())
        return
    header = None if all(map(_is_number, rows[0])) else rows[0]
    for n, column in enumerate(zip(*rows[header is not None :], strict=True)):
        name = header[n] if header else f"column{n}"
        if not SKIPPED_NAMES.search(name):
            yield name, np.array(column, float) if all(map(_is_number, column)) else _text("\n".join(column))


def _table(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Rows of numbers; neighbouring rows of one length are a block. Other lines are words, but '# x1 3.0' is a place."""
    blocks: list[list[list[float]]] = []
    places: list[float] = []
    for line in path.read_text(errors="replace").splitlines():
        words = line.replace(",", " ").split()
        if words and all(map(_is_number, words)):
            row = [float(_plain(w)) for w in words]
            if not blocks or len(blocks[-1][-1]) != len(row):
                blocks.append([])
            blocks[-1].append(row)
        elif line.startswith("#") and len(words) == 3 and _is_number(words[2]):
            places.append(float(_plain(words[2])))
    for number, block in enumerate(blocks):
        for column, values in enumerate(np.array(block).T):
            yield f"block{number}.column{column}", values
    if places:
        yield "places", np.array(places)


def _markup(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Numbers of the text between tags, and what the tags say but for dates."""
    text = path.read_text()
    tags = [t for t in re.findall(r"<[^>]*>", text) if not re.search(r"timestamp|\d{4}-\d\d-\d\d", t)]
    yield "tags", _text("\n".join(tags))
    words = re.sub(r"<[^>]*>", " ", text).split()
    yield "numbers", np.array([float(w) for w in words if _is_number(w)])


def _binary(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Raw files of AWP-ODC's kind are float32; what does not divide by four is compared by bytes."""
    data = path.read_bytes()
    yield "bytes", np.frombuffer(data, np.float32 if len(data) % 4 == 0 else np.uint8)


def _is_number(word: str) -> bool:
    return NUMBER.fullmatch(word.strip()) is not None


def _plain(word: str) -> str:
    return word.replace("d", "e").replace("D", "e") if re.search(r"\d[dD][-+\d]", word) else word


def _is_text(path: Path) -> bool:
    with path.open("rb") as file:
        part = file.read(4096)
    return b"\0" not in part and all(b >= 32 or b in b"\t\n\r\f" for b in part)
