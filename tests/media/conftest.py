"""Helpers for field tests: write a model, load it, evaluate it at a few points."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from faultwave.media.easi import EasiField, load_easi


@pytest.fixture
def easi(tmp_path: Path) -> Callable[..., EasiField]:
    """``easi(text, time=None)``: the field of an easi model written to model.yaml."""

    def load(text: str, time: bool | None = None) -> EasiField:
        path = tmp_path / "model.yaml"
        path.write_text(textwrap.dedent(text))
        return load_easi(path, time)

    return load


@pytest.fixture
def at() -> Callable[..., list[float]]:
    """``at(field, name, points, groups=None, time=None)``: values of one parameter as a list."""

    def evaluate(field, name: str, points: Sequence, groups: Sequence[int] | None = None, time=None) -> list[float]:
        places = np.asarray(points, dtype=float).reshape(-1, 3)
        where = np.ones(len(places), dtype=int) if groups is None else np.asarray(groups)
        return field.evaluate(places, where, [name], time)[name].tolist()

    return evaluate
