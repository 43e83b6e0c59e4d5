"""The same step in narrower vectors than this machine has."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from faultwave.backends.cpu import compile as compilation

from .driver import Waves, cube, plane_waves


@pytest.fixture
def fresh() -> Iterator[None]:
    for cached in (compilation.compiler, compilation._identity, compilation._macros):
        cached.cache_clear()
    yield
    for cached in (compilation.compiler, compilation._identity, compilation._macros):
        cached.cache_clear()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names processors of the x86 family")
@pytest.mark.parametrize("march, lanes", [("x86-64", 2), ("x86-64-v3", 4)])
def test_runs_narrower(march: str, lanes: int, monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    """The same step in narrower vectors gives the same numbers."""

    found = []
    for chosen in (None, march):
        if chosen:
            if "avx2" not in Path("/proc/cpuinfo").read_text() and lanes == 4:
                pytest.skip("this processor has no AVX2")
            monkeypatch.setenv("FAULTWAVE_MARCH", chosen)
            for cached in (compilation._identity, compilation._macros):
                cached.cache_clear()
        waves = Waves(cube(2), order=4).start(plane_waves(0.0))
        if chosen:
            assert waves.backend.lanes == lanes
        found.append(waves.run(3 * waves.march.longest).operator.dofs())
    np.testing.assert_allclose(found[1], found[0], atol=1e-13 * np.abs(found[0]).max())
