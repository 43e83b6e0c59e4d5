"""Process that computes members, one after the other.

It imports once, compiled kernels stay loaded, and the results of planning that members have in common are reused (``base.reuse``).

    python -m faultwave.ensemble.worker             serve calls from standard input, as ``process.MemberProcess`` sends them
    python -m faultwave.ensemble.worker FILE        compute the task of a file, on the processes of an MPI launcher

The process ends when its standard input is closed, also in the middle of a member: so none outlives its ensemble.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import queue
import struct
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

HEAD = struct.Struct("<Q")
"""Length of a message, which precedes it."""
READY = "ready"
"""First message of a process, once it has imported everything."""


def write_message(stream: BinaryIO, message: object) -> None:
    """Write a message."""
    data = pickle.dumps(message)
    stream.write(HEAD.pack(len(data)) + data)
    stream.flush()


def read_message(stream: BinaryIO) -> Any:
    """Return the next message. Raises EOFError if the other side has closed the stream or ended."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        raise EOFError
    (size,) = HEAD.unpack(head)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


def serve() -> None:
    """Compute the calls that arrive on standard input and write their results to standard output."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints of libraries must not mix with replies
    calls: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()

    def receive() -> None:
        try:
            while True:
                calls.put(read_message(sys.stdin.buffer))
        except BaseException:  # the ensemble has ended, or its messages are damaged
            os._exit(1)

    threading.Thread(target=receive, name="faultwave-calls", daemon=True).start()
    tasks = importlib.import_module("faultwave.ensemble.tasks")  # time limits are those of members, without imports
    write_message(replies, READY)
    with tasks.reusing_plans():
        while True:
            function, argument = calls.get()
            write_message(replies, answer(function, argument))
            if not gc.get_freeze_count():
                gc.collect()
                gc.freeze()  # modules and recorded kernels stay: later collections skip them


def answer(function: Any, argument: Any) -> tuple[bool, Any]:
    """Return True and the result of a call, or False and its exception."""
    from faultwave.base.errors import FaultwaveError

    try:
        return True, function(argument)
    except FaultwaveError as error:
        return False, error
    except MemoryError:
        return False, FaultwaveError("the memory of the machine does not suffice")
    except Exception as error:
        return False, FaultwaveError(f"{type(error).__name__}: {error}")


def compute_file(path: Path) -> int:
    """Compute the task in a file on all processes of a launcher; process 0 writes the reply next to it."""
    from faultwave.comm import world
    from faultwave.ensemble.tasks import compute

    done, result = answer(compute, pickle.loads(path.read_bytes()))
    if world().first or not done:
        partial = path.with_suffix(f".{world().rank}")
        partial.write_bytes(pickle.dumps((done, result)))
        partial.replace(path.with_suffix(".reply"))
    if not done:
        world().abort(result)
    return 0 if done else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(compute_file(Path(sys.argv[1])))
    serve()
