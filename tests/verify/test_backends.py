"""The verification of backends: it sees what differs, and says what is absent."""

from __future__ import annotations

from typing import Any

import pytest

from faultwave import backends
from faultwave.verify.cases import backends as case


@pytest.mark.skipif(bool(backends.missing("opencl")), reason=backends.missing("opencl"))
def test_one_law_and_order_on_opencl(monkeypatch: Any) -> None:
    monkeypatch.setattr(case, "MATERIALS", {"acoustic": case.MATERIALS["acoustic"]})
    monkeypatch.setattr(case, "LIMITS", {"double": 1e-11})
    (row,) = case.wave_rows("opencl", lambda text: None, (2,))
    assert row.ok and 0.0 < row.measured < 1e-12
    right = case.evolved
    monkeypatch.setattr(case, "evolved", lambda b, *more: right(b, *more) * (1 + 1e-10 * (b == "opencl")))
    (row,) = case.wave_rows("opencl", lambda text: None, (2,))
    assert not row.ok


def test_nothing_to_verify_is_skipped_with_the_reasons(monkeypatch: Any) -> None:
    monkeypatch.setattr(backends, "missing", lambda name: f"no {name} here" if name not in ("cpu", "numpy") else "")
    result = case.run(lambda text: None)
    assert result.status == "skipped" and "no opencl here" in result.skipped
