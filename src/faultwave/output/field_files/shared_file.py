"""File that several processes write at disjoint positions, by MPI-IO or POSIX calls.

See docs/decisions/0012-shared-files.md for the choice between them.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from faultwave.base.errors import BackendError
from faultwave.comm import World
from faultwave.output.atomic import translate_os_errors
from faultwave.output.field_files.fields import put

if TYPE_CHECKING:
    from mpi4py import MPI

Way = Literal["auto", "mpi", "posix"]

MOST = 1 << 30
"""Maximum size of one call [bytes], since MPI counts in 32 bits."""


class SharedFile:
    """File opened collectively by all processes; ``put`` may be called by any thread of any process at any time."""

    def __init__(self, world: World, path: Path, way: Way = "auto"):
        from mpi4py import MPI

        threads = MPI.Query_thread() >= MPI.THREAD_MULTIPLE
        if way == "mpi" and not threads:
            raise BackendError("output.shared_files: mpi needs an MPI that several threads may call: take posix")
        self.path, self.file = path, None
        self.way = ("mpi" if threads else "posix") if way == "auto" else way
        if self.way == "mpi":
            try:
                self.file = MPI.File.Open(world.mpi, str(path), MPI.MODE_WRONLY)
            except MPI.Exception as error:
                with translate_os_errors(path):
                    raise _as_system(error) from None
        with translate_os_errors(path):
            self.descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))

    def put(self, data: np.ndarray, offset: int) -> None:
        """Write all of ``data`` at ``offset`` [bytes] without waiting for other processes; raise OSError on failure."""
        if self.file is None:
            put(self.descriptor, data, offset)
            return
        from mpi4py import MPI

        view, status = np.ascontiguousarray(data).reshape(-1).view(np.uint8), MPI.Status()
        for start in range(0, len(view), MOST):
            piece = view[start : start + MOST]
            try:
                self.file.Write_at(offset + start, piece, status)
            except MPI.Exception as error:
                raise _as_system(error) from None
            if status.Get_count(MPI.BYTE) != len(piece):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self) -> None:
        """Flush the data written by this process to disk; MPI does not buffer independent writes."""
        os.fsync(self.descriptor)

    def close(self, together: bool = True) -> None:
        """Close the file, collectively unless ``together`` is False, as after a failure the other processes do not know of."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        if self.file is not None and together:
            self.file.Close()
        self.file = None


def _as_system(error: MPI.Exception) -> OSError:
    """Return the operating system error that caused an MPI error."""
    from mpi4py import MPI

    known = {
        MPI.ERR_NO_SPACE: errno.ENOSPC, MPI.ERR_QUOTA: errno.EDQUOT, MPI.ERR_ACCESS: errno.EACCES,
        MPI.ERR_READ_ONLY: errno.EROFS, MPI.ERR_NO_SUCH_FILE: errno.ENOENT,
    }  # fmt: skip
    text = " ".join(error.Get_error_string().split())
    # MPICH states the system error only in the text
    reported = (n for n in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) if os.strerror(n) in text)
    return OSError(known.get(error.Get_error_class()) or next(reported, errno.EIO), text)
