"""Single precision: constants rounded so that waves keep their speed, sums of the state that are compensated, and rests of constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.dg.method.forms import elastic
from faultwave.dg.operators.rounding import spread
from tests.dg.driver import Waves, cube, plane_waves

ROCK = {"rho": 2.67, "lambda": 32.04, "mu": 32.038}


def test_spread_constants_keep_their_mean() -> None:
    values = np.tile([32.038, 1.0, 0.0, 1e-3, -7.7], (2000, 1))
    found = spread(values, np.arange(2000) + 123_456)
    assert (found == found.astype(np.float32)).all()
    assert (found[:, 1:3] == values[:, 1:3]).all()  # exact ones stay
    off = np.abs(found - values) / np.maximum(np.abs(values), 1e-30)
    assert off.max() < 2**-23
    plain = np.abs(values[0].astype(np.float32) - values[0])
    means = np.abs(found.mean(0) - values[0])
    assert (means[[0, 3, 4]] < 0.02 * plain[[0, 3, 4]]).all()


def test_constants_of_a_cell_do_not_depend_on_its_process() -> None:
    values = np.random.default_rng(1).uniform(1, 2, (50, 3))
    numbers = np.random.default_rng(2).permutation(50)
    assert np.array_equal(spread(values[numbers], numbers), spread(values, np.arange(50))[numbers])


def run(precision: str, order: int = 3, until: float = 0.5, **more: Any) -> Waves:
    mesh = cube(3, perturb=0.1)
    return Waves(mesh, order=order, precision=precision, material=ROCK, rates=(2,), **more)


def remainders(operator: Any) -> np.ndarray:
    return np.asarray(operator.remainder.get(operator.layout.position))


def difference(order: int, compensated: bool, drift: float) -> float:
    """Of velocities, relative to those of the waves without the drift."""
    found = []
    for precision in ("single", "double"):
        waves = run(precision, order, compensated=compensated and precision == "single")
        found.append(waves.start(plane_waves(0.0, (drift, 0.0, 0.0))).run(1.0).operator.dofs()[..., 6:].astype(float))
    return float(np.linalg.norm(found[0] - found[1]) / np.linalg.norm(found[1]))


@pytest.mark.parametrize("order, gain", [(3, 0.85), (4, 0.75)])
def test_compensated_sums_are_nearer_to_double(order: int, gain: float) -> None:
    plain, kept = (difference(order, compensated, 30.0) for compensated in (False, True))
    assert kept < gain * plain < 1e-5


@pytest.mark.parametrize("name", ["numpy", "opencl"])
def test_backends_compensate_alike(name: str) -> None:
    if name not in backends.names():
        pytest.skip(f"no {name}")
    found = [
        run("single", compensated=True, backend=b).start(plane_waves(0.0)).run(0.05).operator for b in ("cpu", name)
    ]
    states, rest = ([f(op).astype(float) for op in found] for f in (lambda op: op.dofs(), remainders))
    assert np.abs(states[0] - states[1]).max() < 3e-6 * np.abs(states[0]).max()
    largest = [np.abs(r).max() for r in rest]
    assert 0.3 < largest[0] / largest[1] < 3.0 and largest[0] > 0.0


def test_what_is_left_of_sums_is_below_their_rounding() -> None:
    op = run("single", compensated=True).start(plane_waves(0.0)).run(0.1).operator
    state, rest = op.state(), remainders(op)
    below = np.abs(rest) <= 0.5 * np.spacing(np.abs(state))  # above only where a state is smaller than what is added
    assert below.mean() > 0.98 and np.count_nonzero(rest) > rest.size // 2


def test_a_run_goes_on_from_state_and_remainders_to_the_bit() -> None:
    whole = run("single", compensated=True).start(plane_waves(0.0))
    longest = whole.clustering.steps[-1]
    whole.run(4 * longest)
    rest = run("single", compensated=True)
    rest.operator.set_state(whole.operator.state())
    rest.operator.remainder.put(remainders(whole.operator), rest.operator.layout.position)
    whole.run(8 * longest)
    rest.run(4 * longest)
    assert np.array_equal(whole.operator.state(), rest.operator.state())
    assert np.array_equal(remainders(whole.operator), remainders(rest.operator))


def drifted(steps: int, records: int, precisions: tuple[str, ...] = ("single", "double")) -> list[np.ndarray]:
    """Mean velocities (records, cells, 3) of waves in a box of 162 irregular cells at order 5, in each precision; single: compensated. The
    kernels' unit of time is the step, as in runs."""
    mesh, found = cube(3, perturb=0.1), []
    step = float(Waves(mesh, order=5, material=ROCK).clustering.steps[0])
    for precision in precisions:
        settings = {"material": ROCK, "precision": precision, "time_unit": step, "compensated": precision == "single"}
        waves = Waves(mesh, order=5, **settings).start(plane_waves(0.0))
        ends = steps // records * (1 + np.arange(records))
        found.append(np.array([waves.run(n * step).operator.means()[:, 6:].astype(float) for n in ends]))
    return found


def apart(found: list[np.ndarray]) -> float:
    return float(np.linalg.norm(found[0] - found[1]) / np.linalg.norm(found[1]))


def test_waves_drift_less_with_rests_of_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    single, double = drifted(6000, 3)
    kept = apart([single, double])
    monkeypatch.setattr(elastic, "rest", np.zeros_like)
    dropped = apart([*drifted(6000, 3, ("single",)), double])
    print(f"{kept:.2e} with rests, {dropped:.2e} without rests of cells and derivatives")
    assert kept < 1.3e-6 and dropped > 2.0 * kept


@pytest.mark.slow
def test_a_hundred_thousand_steps_are_those_of_double_precision() -> None:
    """To 1e-5 of all records, of which two hundredths are left at the end."""
    found = drifted(100_000, 500)
    size = [np.linalg.norm(part) for part in np.array_split(found[1], 10)]
    assert size[-1] < 0.05 * size[0]
    assert apart(found) < 1e-5
