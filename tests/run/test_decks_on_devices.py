"""Decks with friction on devices: after a hundred of the smallest steps every number is that of the processor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.run import simulate
from tests.backends.here import present

ROOT = Path(__file__).parents[2]
CASES = next((c for c in (ROOT.parent / "shared" / "cases", ROOT / "shared" / "cases") if c.is_dir()), ROOT)
DEVICES = present([n for n in backends.names() if n not in ("cpu", "numpy")])
STEPS, ORDER = 100, 3
LIMITS = {"tpv5": 1e-9, "tpv5-nuc": 1e-9, "tpvyoffe": 1e-9, "tpv101": 1e-6}
"""Rate and state iterates: a round may end earlier or later."""


def state(deck: Path, backend: str, folder: Path) -> dict[str, np.ndarray]:
    """Dofs (cells, modes, quantities), state of the fault (faces, points, columns), seismograms."""
    sim: Any = simulate(deck, order=ORDER, backend=backend, output=folder / backend)
    engine = sim.solver
    sim.run(until=STEPS * engine.march.tick, write=False)
    if backend != "cpu" and STEPS * engine.march.tick > 3 * engine.march.longest:
        assert engine.replays.replayed > 0
    return {"dofs": engine.operator.dofs(), "receivers": sim.receivers["values"], **engine.fault.state()}


@pytest.mark.slow
@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("case", LIMITS)
def test_a_hundred_steps(case: str, name: str, tmp_path: Path) -> None:
    deck = CASES / case / "parameters.par"
    if not deck.is_file():
        pytest.skip("the decks are not here")
    want, found = (state(deck, backend, tmp_path) for backend in ("cpu", name))
    for key, values in want.items():
        size = np.abs(values).max(tuple(range(values.ndim - 1)))  # of each quantity
        assert key == "stress" or (size > 0).sum() >= min(3, len(size)), key  # imposed slip knows no stress
        error = np.abs(found[key] - values).max(tuple(range(values.ndim - 1)))
        worst = (error / np.maximum(size, 1e-300)).max()
        assert worst < LIMITS[case], f"{key}: {worst:.2e} in column {(error / np.maximum(size, 1e-300)).argmax()}"
