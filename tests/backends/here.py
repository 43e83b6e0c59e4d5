"""Backends as parameters of tests: those that cannot run on this machine are skipped, and the report says why."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

from faultwave import backends

DEVICE = os.environ.get("FAULTWAVE_TEST_DEVICE", "opencl")
"""The backend that tests of whole runs on a device take."""

needs_device = pytest.mark.skipif(bool(backends.missing(DEVICE)), reason=backends.missing(DEVICE))


def present(names: Sequence[str]) -> list[Any]:
    return [
        pytest.param(n, marks=pytest.mark.skipif(bool(backends.missing(n)), reason=backends.missing(n))) for n in names
    ]
