"""Child process that opens files which a C library may fail on.

It probes HDF5 files: all of their structure and as much of their data as is quick. It reads NetCDF files in place of the parent, because
after a damaged file that library may crash on a sound one.

It runs as ``python -P probe_child.py``, without the rest of the package, and receives requests line by line. It forks for every request,
within limits of memory and time: a file that crashes a library ends only that process.
"""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import sys
from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import netCDF4

    from faultwave.base.types import Settings


Send = Callable[[bytes], object]
Allow = Callable[[int, int], object]
"""Function that extends the limits of memory [bytes] and processor time [s]."""

READ = 1 << 26
"""Amount of data [bytes] that is read completely; of larger datasets only the first and last value are."""

PACKED = 1100
"""Largest ratio of data size to file size; deflate compresses up to 1032 times."""

SPARE = 1 << 20
"""Size [bytes] of a dataset that is accepted in any file, as it may contain only fill values."""

DEEPEST = 64
MEMORY = 1 << 32
MOST = 500
"""Largest length of an error text."""

PATIENCE = 120.0
"""Time limit without an answer [s], including disk access; processor time is limited more tightly."""

PIECE = 1 << 20
"""Size [bytes] of the pieces in which an answer is forwarded."""

IDLE = 3.0
"""Idle time [s] after which the process exits."""


class Unsound(Exception):
    """Raised with the defect of the file."""


def limit(size: int, seconds: int = 5) -> None:
    """Limit the memory and processor time of this process to what reading ``size`` bytes may take."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    for kind, most in ((resource.RLIMIT_AS, MEMORY + 2 * size), (resource.RLIMIT_CPU, seconds + size // 50_000_000)):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, hard))


def check_dataset_size(name: str, shape: tuple[int, ...], item: int, size: int) -> int:
    """Return the size [bytes] of a dataset. Raises Unsound if a file of ``size`` bytes cannot contain it."""
    count = item
    for n in shape:
        count *= int(n)
    if count > SPARE + PACKED * size:
        raise Unsound(
            f"'{name}' says it has shape {shape}, {count:,} bytes, more than the {size:,} bytes of the file can hold"
        )
    return count


def probe_hdf5(path: str, size: int, wanted: Settings, send: Send, allow: Allow) -> None:
    """Walk through an HDF5 file and read its data up to ``READ`` bytes.

    Raises
    ------
    Unsound
        If it is too small for its content, nested too deeply, or refers to other files.
    """
    import h5py

    left, seen = READ, set()

    def look(item: h5py.HLObject, name: str, depth: int) -> None:
        nonlocal left
        info = h5py.h5o.get_info(item.id)
        token = (info.fileno, info.addr)
        if token in seen:
            return
        seen.add(token)
        if depth > DEEPEST:
            raise Unsound(f"'{name}' is nested {depth} groups deep")
        for key in item.attrs:
            about = item.attrs.get_id(key)
            check_dataset_size(f"{name}@{key}", about.shape, about.dtype.itemsize, size)
            item.attrs[key]
        if isinstance(item, h5py.Dataset):
            left -= data(item, name)
        elif isinstance(item, h5py.Group):
            for key in item:
                link, below = item.get(key, getlink=True), f"{name.rstrip('/')}/{key}"
                if isinstance(link, h5py.ExternalLink):
                    raise Unsound(f"'{below}' is a link to another file, '{link.filename}'")
                found = item.get(key)
                if found is None:
                    raise Unsound(f"'{below}' is a link that leads nowhere")
                look(found, below, depth + 1)

    def data(found: h5py.Dataset, name: str) -> int:
        if found.shape is None:
            return 0
        if found.external:
            raise Unsound(f"'{name}' stores its values in another file, '{os.fsdecode(found.external[0][0])}'")
        if found.is_virtual:
            raise Unsound(f"'{name}' is composed of other files")
        count = check_dataset_size(name, found.shape, found.dtype.itemsize, size)
        if found.chunks is not None:
            check_dataset_size(f"a chunk of {name}", found.chunks, found.dtype.itemsize, size)
            found.id.get_num_chunks()
        if count <= left:
            found[()]
            return count
        found[tuple(0 for _ in found.shape)], found[tuple(n - 1 for n in found.shape)]
        return 0

    with h5py.File(path, "r") as file:
        look(file, "/", 0)


def refuse_other_files(path: str) -> None:
    """Raise Unsound for an HDF5 file with external links, virtual datasets or external raw data.

    Such content would be read from other files. No data of the file is read.
    """
    import h5py

    if not h5py.is_hdf5(path):
        return
    seen = set()

    def look(group: h5py.Group, depth: int) -> None:
        if depth > DEEPEST:
            raise Unsound(f"'{group.name}' is nested {depth} groups deep")
        for key in group:
            link, below = group.get(key, getlink=True), f"{group.name.rstrip('/')}/{key}"
            if isinstance(link, h5py.ExternalLink):
                raise Unsound(f"'{below}' is a link to another file, '{link.filename}'")
            if isinstance(link, h5py.SoftLink):
                continue  # leads to an object of this file, which is checked at its own place
            found = group[key]
            info = h5py.h5o.get_info(found.id)
            if (info.fileno, info.addr) in seen:
                continue
            seen.add((info.fileno, info.addr))
            if isinstance(found, h5py.Group):
                look(found, depth + 1)
            elif isinstance(found, h5py.Dataset):
                if found.external:
                    other = os.fsdecode(found.external[0][0])
                    raise Unsound(f"'{below}' stores its values in another file, '{other}'")
                if found.is_virtual:
                    raise Unsound(f"'{below}' is composed of other files")

    with h5py.File(path, "r") as file:
        look(file["/"], 0)


def describe_netcdf(path: str, size: int, wanted: Settings, send: Send, allow: Allow) -> None:
    """Send JSON with the attributes, and the dimensions, shape, kind of type and attributes of each variable."""
    import netCDF4

    refuse_other_files(path)

    def attributes(item: netCDF4.Dataset | netCDF4.Variable) -> Settings:
        found = {key: item.getncattr(key) for key in item.ncattrs()}
        return {
            k: v if isinstance(v, str) else v.tolist() if hasattr(v, "tolist") else str(v) for k, v in found.items()
        }

    with netCDF4.Dataset(path) as file:
        variables = {}
        for name, variable in file.variables.items():
            check_dataset_size(name, variable.shape, getattr(variable.dtype, "itemsize", 1), size)
            variables[name] = {
                "dimensions": variable.dimensions,
                "shape": variable.shape,
                "kind": getattr(variable.dtype, "kind", ""),
                "attributes": attributes(variable),
            }
        said = {"variables": variables, "attributes": attributes(file)}
    send(json.dumps(said, default=str).encode())


def read_netcdf(path: str, size: int, wanted: Settings, send: Send, allow: Allow) -> None:
    """Send the values of variable ``name`` within ``window`` in NumPy's file format.

    They are converted to type ``dtype`` with NaN where missing, or unmasked in their own type if ``dtype`` is null.
    """
    import netCDF4
    import numpy as np

    with netCDF4.Dataset(path) as file:
        variable, dtype = file.variables[wanted["name"]], wanted["dtype"]
        window = tuple(slice(*bounds) for bounds in wanted["window"]) if wanted["window"] else (...,)
        count = check_dataset_size(wanted["name"], variable.shape, 8, size)
        allow(size + 4 * count, 60)
        variable.set_auto_mask(dtype is not None)
        values = variable[window]
    if dtype is not None:
        values = np.ma.filled(np.ma.asarray(values, dtype), np.nan)
    values = np.ascontiguousarray(values)
    head = BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(values))
    send(head.getvalue())
    data = values.reshape(-1).view(np.uint8)
    for start in range(0, len(data), PIECE):
        send(data[start : start + PIECE].tobytes())


TASKS = {
    "probe HDF5": ("h5py", probe_hdf5),
    "describe NetCDF": ("netCDF4", describe_netcdf),
    "read NetCDF": ("netCDF4", read_netcdf),
}


def look(task: str, path: str, wanted: Settings, send: Send) -> str:
    """Execute a task within limits and return the defect of the file, '' if there is none."""
    size = os.path.getsize(path)
    limit(size)
    try:
        TASKS[task][1](path, size, wanted, send, limit)
    except MemoryError:
        return f"reading it takes more than {(MEMORY + 2 * size) >> 30} GiB"
    except Exception as error:
        return " ".join(str(error).split())[:MOST] or type(error).__name__
    return ""


def answer(task: str, path: str, wanted: Settings, send: Send) -> str:
    """Execute a task in a forked process, forward its output to ``send`` and return the defect of the file."""
    pipe, errors = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(pipe[0])
            os.close(errors[0])
            with os.fdopen(pipe[1], "wb") as out:
                wrong = look(task, path, wanted, out.write)
            os.write(errors[1], wrong.encode(errors="replace"))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(pipe[1])
    os.close(errors[1])
    in_time = True
    while in_time := bool(select.select([pipe[0]], [], [], PATIENCE)[0]):
        part = os.read(pipe[0], PIECE)
        if not part:
            break
        send(part)
    if not in_time:
        os.kill(child, signal.SIGKILL)
    os.close(pipe[0])
    with os.fdopen(errors[0], "rb") as reported:
        said = reported.read()
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        return said.decode() if not os.WEXITSTATUS(status) else "the library could not tell what"
    if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return "reading it does not finish"
    return f"it makes the library {TASKS[task][0]} crash ({signal.Signals(os.WTERMSIG(status)).name})"


def serve() -> None:
    """Answer requests, one per line of standard input, until idle.

    A request is JSON [number, task, path, wanted]. The answer consists of pieces, each preceded by its length: data, an empty piece, and
    JSON [number, defect], where the defect is null if the library is not installed. An empty piece is sent once at the start.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends first, and then this process
    out = sys.stdout.buffer

    def send(piece: bytes) -> None:
        out.write(struct.pack("<I", len(piece)) + piece)

    send(b"")
    out.flush()
    while select.select([sys.stdin], [], [], IDLE)[0]:
        line = sys.stdin.readline()
        if not line:
            return
        number, task, path, wanted = json.loads(line)
        wrong = None
        try:
            __import__(TASKS[task][0])
            wrong = answer(task, path, wanted, send)
        except ImportError:
            pass
        send(b"")
        send(json.dumps([number, wrong]).encode())
        out.flush()


if __name__ == "__main__":
    serve()
