"""What a child process does with a file that a C library is to read: all of its structure and as much of its data as is quick.

Runs as ``python -P probe_child.py``, with nothing of the package around it, and is asked line by line. For every file it forks, within
limits of memory and time: a file that makes a library crash ends that process only.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from typing import Any

READ = 1 << 26
"""Bytes of data that are read; beyond, single values at the ends of a dataset are."""

PACKED = 1100
"""How many times larger than in the file data can be: deflate packs up to 1032 times."""

SPARE = 1 << 20
"""Bytes of a small dataset, which may say that it holds nothing but a fill value."""

DEEPEST = 64
MEMORY = 1 << 32
MOST = 500
"""Letters of what is said of a file."""

PATIENCE = 120.0
"""Seconds that a file may take, waiting for disks included; the time of the processor is limited more closely."""

IDLE = 3.0
"""Seconds without a question after which the process goes."""


class Unsound(Exception):
    """What is wrong with the file."""


def limit(size: int) -> None:
    """Bound the memory and processor time of this process by what reading a file of ``size`` bytes may take."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    for kind, most in ((resource.RLIMIT_AS, MEMORY + 2 * size), (resource.RLIMIT_CPU, 5 + size // 50_000_000)):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, hard))


def whole(name: str, shape: tuple[int, ...], item: int, size: int) -> int:
    """Bytes of a dataset. Raises Unsound where it says that it has more than ``size`` bytes of a file can hold."""
    count = item
    for n in shape:
        count *= int(n)
    if count > SPARE + PACKED * size:
        raise Unsound(
            f"'{name}' says it has shape {shape}, {count:,} bytes, more than the {size:,} bytes of the file can hold"
        )
    return count


def probe_hdf5(path: str, size: int) -> None:
    import h5py

    left, seen = READ, set()

    def look(item: Any, name: str, depth: int) -> None:
        nonlocal left
        info = h5py.h5o.get_info(item.id)
        token = (info.fileno, info.addr)
        if token in seen:
            return
        seen.add(token)
        if depth > DEEPEST:
            raise Unsound(f"'{name}' lies {depth} groups deep")
        for key in item.attrs:
            about = item.attrs.get_id(key)
            whole(f"{name}@{key}", about.shape, about.dtype.itemsize, size)
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

    def data(found: Any, name: str) -> int:
        if found.shape is None:
            return 0
        if found.external:
            raise Unsound(f"'{name}' keeps its values in another file, '{os.fsdecode(found.external[0][0])}'")
        if found.is_virtual:
            raise Unsound(f"'{name}' is put together from other files")
        count = whole(name, found.shape, found.dtype.itemsize, size)
        if found.chunks is not None:
            whole(f"a chunk of {name}", found.chunks, found.dtype.itemsize, size)
            found.id.get_num_chunks()
        if count <= left:
            found[()]
            return count
        found[tuple(0 for _ in found.shape)], found[tuple(n - 1 for n in found.shape)]
        return 0

    with h5py.File(path, "r") as file:
        look(file, "/", 0)


def probe_netcdf(path: str, size: int) -> None:
    import netCDF4

    left = READ

    def attributes(item: Any) -> None:
        for key in item.ncattrs():
            item.getncattr(key)

    def look(group: Any, depth: int) -> None:
        nonlocal left
        if depth > DEEPEST:
            raise Unsound(f"'{group.path}' lies {depth} groups deep")
        attributes(group)
        for name, variable in group.variables.items():
            attributes(variable)
            kind = variable.dtype
            count = whole(name, variable.shape, getattr(kind, "itemsize", 1), size)
            if count <= left:
                variable[...]
                left -= count
            elif variable.shape:
                variable[tuple(0 for _ in variable.shape)], variable[tuple(-1 for _ in variable.shape)]
        for below in group.groups.values():
            look(below, depth + 1)

    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        look(file, 0)


PROBES = {"h5py": probe_hdf5, "netCDF4": probe_netcdf}


def look(library: str, path: str) -> str:
    """What is wrong with the file; '' where nothing is."""
    size = os.path.getsize(path)
    limit(size)
    try:
        PROBES[library](path, size)
    except MemoryError:
        return f"reading it takes more than {(MEMORY + 2 * size) >> 30} GiB"
    except Exception as error:
        return " ".join(str(error).split())[:MOST] or type(error).__name__
    return ""


def answer(library: str, path: str) -> str:
    """What is wrong with the file, found by a process that may crash."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        try:
            os.write(write, look(library, path).encode(errors="replace"))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(write)
    said, until = b"", time.monotonic() + PATIENCE
    while select.select([read], [], [], max(0.0, until - time.monotonic()))[0] and (part := os.read(read, 1 << 16)):
        said += part
    os.close(read)
    if time.monotonic() >= until:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        return said.decode() if not os.WEXITSTATUS(status) else "the library could not tell what"
    if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return "reading it does not come to an end"
    return f"it makes the library {library} crash ({signal.Signals(os.WTERMSIG(status)).name})"


def serve() -> None:
    """Answer requests, a line each: JSON [library, path] comes, JSON of what is wrong goes back, null where the library is not there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asks ends first, and then this process
    while select.select([sys.stdin], [], [], IDLE)[0]:
        line = sys.stdin.readline()
        if not line:
            return
        library, path = json.loads(line)
        try:
            __import__(library)
        except ImportError:
            print("null", flush=True)
            continue
        print(json.dumps(answer(library, path)), flush=True)


if __name__ == "__main__":
    serve()
