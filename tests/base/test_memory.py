"""What memory holds is asked of the system, which may not tell."""

from __future__ import annotations

import ctypes

import pytest

from faultwave.base.processes.host import release_freed


@pytest.mark.parametrize("error", [OSError, AttributeError, TypeError])
def test_systems_that_cannot_release_memory(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows' Python raises TypeError for a library without a name."""

    def refuse(name: str | None) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    release_freed()
