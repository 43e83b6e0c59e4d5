"""Runs whose kernels Zig compiles have the results of runs with the machine's compiler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

import faultwave as fw
from faultwave.backends import zig
from faultwave.backends.cpu import compile as compilation
from faultwave.case.load import example_text
from tests.run.test_devices import close, on
from tests.run.test_restart import contents

CACHED = (compilation.compiler, compilation._identity, compilation._macros, compilation._version_text)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(zig.missing()), reason=zig.missing())]


def forget() -> None:
    for function in CACHED:
        function.cache_clear()


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    forget()
    yield
    forget()


def test_rupture_with_every_output(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fw.simulate(on("cpu", tmp_path, "usual")).run()
    monkeypatch.setenv("CC", "zig")
    forget()
    fw.simulate(on("cpu", tmp_path, "zig")).run()
    assert compilation.compiler() == zig.command()
    close(contents(tmp_path / "zig"), contents(tmp_path / "usual"), 1e-12)


@pytest.mark.parametrize(("precision", "tolerance"), [("double", 1e-12), ("single", 2e-5)])
def test_waves_on_a_grid(precision: str, tolerance: float, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def traces() -> dict[str, Any]:
        case = YAML(typ="safe").load(example_text("two-engines")) | {"grid": {"spacing": 200}}
        sim: Any = fw.simulate(
            case, engine="fd", precision=precision, until=1.0, output=tmp_path / str(compilation._is_zig())
        )
        receivers = sim.run().receivers
        return {name: receivers.quantity(name) for name in receivers.quantities}

    usual = traces()
    monkeypatch.setenv("CC", "zig")
    forget()
    for name, found in traces().items():
        size = np.abs(usual[name]).max()
        assert size > 0
        np.testing.assert_allclose(found, usual[name], rtol=0, atol=tolerance * size, err_msg=name)
