"""SW4 rfile: blocks of a binary raster, the first one topography (SW4 user's guide, appendix on rfile).

The header gives a projection string, the corner in degrees and the azimuth of x; heights are depths below sea level.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.projection import Projection
from faultwave.media.models.lattice import Columns, Lattice
from faultwave.media.models.model import Block, Model, needed, on_nodes, project, projected, sw4_axes
from faultwave.media.points import Floats

if TYPE_CHECKING:
    from faultwave.media.models.model import ModelSettings

NAMES = {3: ("rho", "vp", "vs"), 5: ("rho", "vp", "vs", "Qp", "Qs")}
LONGEST = 10_000  # characters of a projection string


@dataclass(frozen=True)
class Header:
    """Block of an rfile.

    Attributes
    ----------
    h, hv : float
        Horizontal and vertical spacing [m].
    top : float
        Depth of the top [m].
    components : int
        Number of values per point.
    shape : tuple of int
        Numbers of points along x, y and z.
    offset : int
        Position of the values in the file [bytes].
    """

    h: float
    hv: float
    top: float
    components: int
    shape: tuple[int, int, int]
    offset: int


def read(path: Path, setting: ModelSettings, projection: Projection | None) -> Model:
    """Read an rfile; raises InputError with the file and its problem."""
    with path.open("rb") as file:
        order, kind, attenuation, azimuth, lon, lat, crs, headers = _header(path, file)
    size, last = path.stat().st_size, headers[-1]
    expected = last.offset + last.components * int(np.prod(last.shape)) * kind.itemsize
    if size != expected:
        raise InputError(
            Problem(
                str(path),
                f"has {size:,} bytes, its header says {expected:,}",
                advice="Was the file truncated during a transfer?",
            )
        )
    needed(path, projection)
    to_own = projected(path, projection, crs, project(crs, lon, lat, path), sw4_axes(azimuth))
    topography, *solid = headers
    wrong = [b for b in solid if b.components != (5 if attenuation else 3)]
    if topography.components != 1 or topography.shape[2] != 1 or not solid or wrong:
        counts = ", ".join(str(b.components) for b in headers)
        raise InputError(
            Problem(str(path), f"its blocks have {counts} components", "1 of topography, then 3, or 5 with attenuation")
        )
    heights = np.array(_values(path, kind, topography)[:, :, 0, 0], float)
    if not np.isfinite(heights).all():
        raise InputError(
            Problem(str(path), f"its topography is not finite at {int((~np.isfinite(heights)).sum())} points")
        )
    ground = on_nodes(_nodes(topography, 0), _nodes(topography, 1), heights)
    blocks = tuple(_block(path, kind, b, ground) for b in solid)
    return Model(str(path), blocks, to_own, ground, setting.vertical == "ground", setting.outside, setting.water)


def _header(path: Path, file: BinaryIO) -> tuple[str, np.dtype, bool, float, float, float, str, list[Header]]:
    def take(form: str, what: str) -> tuple[Any, ...]:
        data = file.read(struct.calcsize("=" + form))
        if len(data) < struct.calcsize("=" + form):
            raise InputError(Problem(str(path), f"ends in its header, at {what}"))
        return struct.unpack(order + form, data)

    order = "<"
    magic = file.read(4)
    if magic == b"\x00\x00\x00\x01":
        order = ">"
    elif magic != b"\x01\x00\x00\x00":
        raise InputError(Problem(str(path), "is not an rfile: it does not begin with the number 1"))
    precision, attenuation = take("ii", "precision and attenuation")
    if precision not in (4, 8) or attenuation not in (0, 1):
        raise InputError(
            Problem(str(path), f"precision {precision}, attenuation {attenuation} in its header", "4 or 8, 0 or 1")
        )
    azimuth, lon, lat, length = take("dddi", "azimuth and origin")
    if not (np.isfinite([azimuth, lon, lat]).all() and abs(lon) <= 360.0 and abs(lat) <= 90.0):
        what = f"azimuth {azimuth:g}, origin at longitude {lon:g}, latitude {lat:g} in its header"
        raise InputError(Problem(str(path), what, "degrees"))
    if not 0 < length <= LONGEST:
        raise InputError(Problem(str(path), f"its projection string has {length} characters", f"1 to {LONGEST}"))
    (text,) = take(f"{length}s", "the projection")
    crs = text.split(b"\x00")[0].decode("ascii", "replace").strip()
    (count,) = take("i", "the number of blocks")
    if not 2 <= count <= 1000:
        raise InputError(Problem(str(path), f"{count} blocks in its header", "topography and at least one block"))
    headers_at = file.tell()
    described = [take("dddiiii", f"block {b + 1}") for b in range(count)]
    offset, headers = file.tell(), []
    for number, (h, hv, top, components, ni, nj, nk) in enumerate(described, 1):
        sound = np.isfinite([h, hv, top]).all() and h > 0 and (hv > 0 or nk == 1)
        if not (sound and components >= 1 and min(ni, nj, nk) >= 1):
            what = f"block {number}: spacing {h:g} and {hv:g} m, {components} components, {ni} x {nj} x {nk} points, top at {top:g} m"
            raise InputError(Problem(f"{path}: byte {headers_at + 40 * (number - 1)}", what, "positive numbers"))
        headers.append(Header(h, hv, top, components, (ni, nj, nk), offset))
        offset += components * ni * nj * nk * precision
    return order, np.dtype(f"{order}f{precision}"), bool(attenuation), azimuth, lon, lat, crs, headers


def _values(path: Path, kind: np.dtype, header: Header) -> np.ndarray:
    """Return the values (ni, nj, nk, components) as a memory map."""
    return np.memmap(path, kind, "r", header.offset, (*header.shape, header.components))


def _nodes(header: Header, axis: int) -> Floats:
    return header.h * np.arange(header.shape[axis], dtype=float)


def _block(path: Path, kind: np.dtype, header: Header, ground: Callable[[Floats, Floats], Floats]) -> Block:
    values, names = _values(path, kind, header), NAMES[header.components]
    x, y = _nodes(header, 0), _nodes(header, 1)
    heights = -(header.top + header.hv * np.arange(header.shape[2]))

    def columns(i: slice, j: slice) -> tuple[Columns, np.ndarray]:
        part = np.array(values[i, j], np.float32)
        at = np.stack(np.meshgrid(x[i], y[j], indexing="ij"), -1).reshape(-1, 2)
        surface = ground(at[:, 0], at[:, 1]).reshape(part.shape[:2])
        air = heights > surface[..., None] - header.hv  # the ground cuts through cells
        return {n: np.ascontiguousarray(part[..., c]) for c, n in enumerate(names)}, air

    vertical = header.hv if header.shape[2] > 1 else 1.0
    return Block(Lattice(header.shape, names, columns), x, y, lambda x, y, z: (-z - header.top) / vertical)
