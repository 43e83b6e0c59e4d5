"""AWP-ODC moment rates as text or binary: grid indices and six components per time step of every subfault.

A record is three integers, the node counted from 1 with z downwards, and steps times six numbers, xx yy zz xz yz xy [N
m/s] in axes with z up; as text separated by blanks, or little-endian int32 and float32 (read_src of AWP-ODC).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection
from faultwave.base.types import Setting
from faultwave.base.units import as_float, finite_number
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import Samples

ORDER = (0, 1, 2, 5, 4, 3)
"""Position of xx yy zz xy yz xz among the components of the file."""
SAME = 1e-6
"""Relative tolerance within which components share one time function and form one source (float32 rounds at 6e-8)."""

STRAY = 0.05
"""Largest fraction of non-text bytes in a text file."""
LARGEST = 2**31 - 1
"""Largest grid index, limited by the 32 bits of the format."""
LARGEST_RATE = 1e38
"""Largest moment rate [N m/s], close to the limit of single precision."""

Record = tuple[str, np.ndarray, np.ndarray]
"""Location in the file, grid indices (3,), and rates (steps, 6) in the order of the file."""


def read(
    path: Path, setting: Setting, projection: Projection | None, warned: Problems | None = None
) -> list[PointSource]:
    """Return the point sources of a file, as every module of this folder does."""
    return read_awp(path, setting.nodes)


def read_awp(path: Path, nodes: Setting) -> list[PointSource]:
    """Return one source per subfault, or one per component if these do not share one time function.

    Parameters
    ----------
    path
        File.
    nodes
        Spacing [m], origin (x, y, z) of node (1, 1, 1) [m], interval [s] and number of steps.

    Raises
    ------
    InputError
        With line or subfault of every problem.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    problems, records = Problems(), list[PointSource]()
    read = _binary if _is_binary(data[:4096]) else _text
    count = 0
    for where, node, rates in read(path, data, int(nodes.steps)):
        count += 1
        wrong = np.argwhere(~(np.abs(rates) <= LARGEST_RATE))  # also true for NaN
        if len(wrong):
            step, component = wrong[0]
            what = f"subfault {count} has {len(wrong)} rates that are not finite numbers, the first at step {step + 1}"
            problems.error(where, f"{what}, component {component + 1}")
        elif not all(1 <= n <= LARGEST for n in node.tolist()):
            problems.error(
                where, f"subfault {count} is at node {tuple(node.tolist())}", f"counted from 1, to {LARGEST}"
            )
        else:
            records += _sources(path, count, node, rates, nodes)
    if not count:
        problems.error(str(path), "holds no subfaults", "three integers and six numbers a step")
    problems.raise_errors()
    return records


def _is_binary(beginning: bytes) -> bool:
    """Return True for binary data, in which many bytes are not printable; a few stray ones are tolerated in text."""
    return sum(b < 9 or b > 126 for b in beginning) > STRAY * len(beginning)


def _binary(path: Path, data: bytes, steps: int) -> Iterator[Record]:
    size = 12 + 24 * steps
    if len(data) % size:
        what = f"has {len(data):,} bytes, which is no multiple of the {size:,} of a subfault with {steps} steps"
        raise InputError(Problem(str(path), what, advice="Check steps; a copy may be truncated."))
    for number in range(len(data) // size):
        part = data[number * size : (number + 1) * size]
        node, rates = np.frombuffer(part, "<i4", 3), np.frombuffer(part, "<f4", 6 * steps, 12)
        yield f"{path}: byte {number * size}", node.astype(np.int64), rates.reshape(steps, 6).astype(float)


def _text(path: Path, data: bytes, steps: int) -> Iterator[Record]:
    rows = [(k, line.split()) for k, line in enumerate(data.decode("ascii", "replace").splitlines(), 1)]
    words = [w for _, line in rows for w in line]
    lines = [k for k, line in rows for _ in line]
    size = 3 + 6 * steps
    for first in range(0, len(words), size):
        part, where = words[first : first + size], f"{path}:{lines[first]}"
        try:
            node = np.array([int(w) for w in part[:3]])
        except ValueError:
            what = f"'{' '.join(part[:3])}' where the node of subfault {first // size + 1} is expected"
            raise InputError(Problem(where, what, "three integers", "Check steps.")) from None
        if len(part) < size:
            what = f"the file ends in subfault {first // size + 1}: {len(part)} of {size} numbers"
            raise InputError(Problem(f"{path}:{lines[-1]}", what, f"3 integers and 6 x {steps} rates", "Check steps."))
        try:
            rates = np.array(part[3:], float)
        except ValueError:  # Fortran exponents, or not numbers
            given = [as_float(w) if finite_number(w) is None else finite_number(w) for w in part[3:]]
            rates = np.array([np.nan if v is None else v for v in given])
            bad = next((k for k, v in enumerate(given, first + 3) if v is None), None)
        else:
            bad = None
        if bad is not None:
            raise InputError(Problem(f"{path}:{lines[bad]}", f"'{words[bad]}' is not a number")) from None
        yield where, node, rates.reshape(steps, 6)


def _sources(path: Path, number: int, node: np.ndarray, rates: np.ndarray, nodes: Setting) -> list[PointSource]:
    h = float(nodes.spacing)
    location = np.array(nodes.origin, float) + h * (node - 1) * np.array([1.0, 1.0, -1.0])
    tensor_rate = rates[:, ORDER]
    if not tensor_rate.any():
        return []
    padded = np.concatenate([tensor_rate, np.zeros((1, 6))])  # the last rate is held for one step
    strongest = int(np.abs(padded).max(0).argmax())
    shape = padded[:, strongest]
    shares = padded.T @ shape / (shape @ shape)
    name = f"{path.name} subfault {number}"
    if np.abs(padded - np.outer(shape, shares)).max() <= SAME * np.abs(padded).max():
        return [PointSource(location, Samples(shape, float(nodes.interval)), moment=shares, name=name)]
    return [
        PointSource(location, Samples(padded[:, c], float(nodes.interval)), moment=np.eye(6)[c], name=name)
        for c in range(6)
        if padded[:, c].any()
    ]
