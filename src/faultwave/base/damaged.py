"""What is made of files that may be damaged: whatever goes wrong with their values is a message, not a traceback.

Readers check what they read and name the file. Values that pass them can still be such that nothing can be drawn or written of them, as
a time axis that runs backwards; what follows from that is told here, at the seam where the files of a run are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from faultwave.base.errors import FaultwaveError, InputError, Problem
from faultwave.base.words import printable

UNFIT = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What libraries and arrays raise of values that do not suit."""
LONGEST = 200  # characters of what a library says


@contextmanager
def explaining_values(where: str, failed: str) -> Iterator[None]:
    """Raise an InputError, within the block, in place of any error that values of files cause.

    Parameters
    ----------
    where : str
        The files: a folder, or a path.
    failed : str
        What could not be done, as 'cannot be drawn'.
    """
    try:
        yield
    except FaultwaveError:
        raise
    except UNFIT as error:
        said = printable(" ".join(str(error).split()))[:LONGEST]
        what = f"{failed}: its values do not go together ({type(error).__name__}: {said})"
        advice = "The files are damaged, or of another run: restore them, or run again."
        raise InputError(Problem(where, what, advice=advice)) from error


__all__ = ["explaining_values"]
