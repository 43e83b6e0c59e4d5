"""One file, several processes: every byte at its place, from threads, by MPI-IO and without; a disk that is full."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from faultwave.cli.launch import mpiexec

pytestmark = pytest.mark.mpi

BODY = """
import errno, sys, threading
import numpy as np
{rc}
from faultwave.comm import world
from faultwave.output.field_files.shared import SharedFile
from faultwave.base.errors import BackendError, FaultwaveError
path, way = sys.argv[1:3]

def tell(what):
    found = world().gather(what)
    print(*found or [], flush=True)
"""

WRITE = """
file, rank = SharedFile(world(), path, way), world().rank
def write(start):
    for i in range(start, 40, 2):
        file.put(np.full(100, 1000 * rank + i, np.float32), 400 * (2 * i + rank) + 8)
threads = [threading.Thread(target=write, args=(start,)) for start in (0, 1)]
[t.start() for t in threads]
[t.join() for t in threads]
file.sync()
file.close()
tell(file.way)
"""

FULL = """
file = SharedFile(world(), "/dev/full", way)
try:
    file.put(np.zeros(1 << 16), 0)
except OSError as error:
    told = error.errno == errno.ENOSPC
tell(f"{told} {file.way}")
file.close()
"""


def launch(body: str, way: str, path: Path, rc: str = "") -> str:
    command = [mpiexec(), "-n", "2", sys.executable, "-c", BODY.format(rc=rc) + body, str(path), way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("way", ["mpi", "posix"])
def test_every_byte_at_its_place(tmp_path: Path, way: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(8 + 400 * 80))
    assert launch(WRITE, way, path).split() == [way] * 2
    found = np.frombuffer(path.read_bytes()[8:], np.float32).reshape(40, 2, 100)
    np.testing.assert_array_equal(found, np.broadcast_to(np.arange(40)[:, None, None] + [[0.0], [1000.0]], found.shape))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only")
@pytest.mark.parametrize("way", ["mpi", "posix"])
def test_a_full_disk_is_told_as_such(tmp_path: Path, way: str) -> None:
    assert launch(FULL, way, tmp_path).split() == ["True", way] * 2


def test_without_threads_in_mpi(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(8 + 400 * 80))
    serialized = "import mpi4py; mpi4py.rc.thread_level = 'serialized'"
    assert launch(WRITE, "auto", path, serialized).split() == ["posix"] * 2
    refused = "try:\n    SharedFile(world(), path, way)\nexcept BackendError as error:\n    tell(str(error))"
    assert launch(refused, "mpi", path, serialized).count("use posix") == 2
