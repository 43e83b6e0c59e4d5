"""Error messages for files whose values cannot be processed.

Readers check what they read and name the file. Values that pass these checks can still be unusable, such as a time axis that runs
backwards; the resulting errors become messages here, where the files of a run are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from faultwave.base.errors import FaultwaveError, InputError, Problem
from faultwave.base.sanitise import printable

VALUE_ERRORS = (
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
"""Exceptions that libraries and arrays raise for unsuitable values."""
LONGEST = 200  # characters of a library's message


@contextmanager
def describe_bad_values(where: str, failed: str) -> Iterator[None]:
    """Turn any error caused by values of files within the block into an InputError.

    Parameters
    ----------
    where : str
        Folder or path of the files.
    failed : str
        Failed action, such as 'cannot be drawn'.
    """
    try:
        yield
    except FaultwaveError:
        raise
    except VALUE_ERRORS as error:
        said = printable(" ".join(str(error).split()))[:LONGEST]
        what = f"{failed}: its values do not go together ({type(error).__name__}: {said})"
        advice = "The files are damaged, or of another run: restore them, or run again."
        raise InputError(Problem(where, what, advice=advice)) from error


__all__ = ["describe_bad_values"]
