"""Drucker-Prager: relaxation in a point, plastic strain in both ways, distance to yield, energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.base.errors import Problems
from faultwave.physics.rheology import STRESS, rheology

LAW = rheology("drucker-prager")
MU, COHESION, FRICTION, RELAXATION = 3e10, 2e6, 0.6, 0.03
PHI = np.arctan(FRICTION)
GIVEN = {"plastic_cohesion": COHESION, "bulk_friction": FRICTION}


def constants(seissol: float = 0.0, relaxation: float = RELAXATION) -> dict[str, float]:
    return {"relaxation_time": relaxation, "seissol_strain": seissol}


def prepared(shape: Any = ()) -> Any:
    p = {n: np.full(shape, v) for n, v in GIVEN.items()}
    return LAW.parameter_columns.row(list(LAW.prepare(p, constants(), {"mu": np.full(shape, MU)}).values()))


def at_rest(shape: Any = ()) -> dict[str, Any]:
    return {s.name: np.zeros(shape) for s in LAW.state}


def some_stress(count: int = 400, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 6)) * 3e6 - np.array([4e6] * 3 + [0.0] * 3)


def size(stress: Any) -> Any:
    x = np.stack([stress[n] for n in STRESS], -1)
    dev = x - x[..., :3].mean(-1, keepdims=True) * np.array([1.0] * 3 + [0.0] * 3)
    return np.sqrt(0.5 * (dev[..., :3] ** 2).sum(-1) + (dev[..., 3:] ** 2).sum(-1))


def limit(stress: Any) -> Any:
    mean = (stress["s_xx"] + stress["s_yy"] + stress["s_zz"]) / 3.0
    return np.maximum(COHESION * np.cos(PHI) - mean * np.sin(PHI), 0.0)


def relaxed(stress: Any, steps: int, dt: float, c: dict[str, float]) -> tuple[Any, dict[str, Any]]:
    shape = np.shape(stress["s_xx"])
    p, s = prepared(shape), at_rest(shape)
    for _ in range(steps):
        found = LAW.return_map(p, c, stress, s, dt)
        stress, s = found.stress, {**s, **found.state}
    return stress, s


@pytest.mark.parametrize("steps, dt", [(1, 0.05), (7, 0.004), (100, 0.0003)])
def test_relaxation_in_a_point(steps: int, dt: float) -> None:
    """tau(t) = tau_c + (tau_0 - tau_c) exp(-t / T) whatever the step; eta is what tau lost over 2 mu, the work what the energy lost."""
    start = STRESS.split(some_stress())
    yields = size(start) > limit(start)
    assert 0.2 < yields.mean() < 0.9
    end, s = relaxed(start, steps, dt, constants())
    want = limit(start) + (size(start) - limit(start)) * np.exp(-steps * dt / RELAXATION)
    np.testing.assert_allclose(size(end)[yields], want[yields], rtol=1e-12)
    for name in STRESS:
        np.testing.assert_array_equal(end[name][~yields], start[name][~yields])
    lost = (size(start) - size(end)) / (2 * MU)
    np.testing.assert_allclose(s["eta"][yields], lost[yields], rtol=1e-12)
    assert (s["eta"][~yields] == 0).all()
    work = (size(start) ** 2 - size(end) ** 2) / (2 * MU)
    np.testing.assert_allclose(s["plastic_work"], work, rtol=1e-9, atol=1e-9 * work.max())
    mean = [(x["s_xx"] + x["s_yy"] + x["s_zz"]) for x in (start, end)]
    np.testing.assert_allclose(mean[1], mean[0], atol=1e-7)


def test_plastic_strain_is_what_stress_has_lost() -> None:
    start = STRESS.split(some_stress())
    end, s = relaxed(start, 5, 0.01, constants())
    for name in STRESS:
        np.testing.assert_allclose(s["ep" + name[1:]], (start[name] - end[name]) / (2 * MU), atol=1e-17)


def test_plastic_strain_as_seissol_adds_it_up() -> None:
    """The rate at the start of each step held over it, and eta of the six components, each once: both forms differ by a factor
    r T / dt where there is no shear, and eta by another 1 / sqrt 2 in pure shear."""
    dt, steps = 0.01, 6
    r = -np.expm1(-dt / RELAXATION)
    normal = dict(zip(STRESS, [-9e6, -1e6, -2e6, 0.0, 0.0, 0.0], strict=True))
    shear = dict(zip(STRESS, [-1e6, -1e6, -1e6, 5e6, 0.0, 0.0], strict=True))
    for start, factor in ((normal, 1.0), (shear, 0.5**0.5)):
        _, own = relaxed(start, steps, dt, constants())
        _, theirs = relaxed(start, steps, dt, constants(1.0))
        assert own["eta"] * dt / (r * RELAXATION) * factor == pytest.approx(theirs["eta"], rel=1e-12)
        tau = limit(start) + (size(start) - limit(start)) * np.exp(-np.arange(steps) * dt / RELAXATION)
        rates = (tau - limit(start)) / (2 * MU * RELAXATION)
        assert theirs["eta"] == pytest.approx(factor * dt * rates.sum(), rel=1e-12)


def test_returns_at_once_without_relaxation_time() -> None:
    """In both forms of the strain: SeisSol's own would be infinite."""
    start = STRESS.split(some_stress())
    for seissol in (0.0, 1.0):
        end, s = relaxed(start, 1, 1e-4, constants(seissol, 0.0))
        np.testing.assert_allclose(size(end), np.minimum(size(start), limit(start)), rtol=1e-12)
        np.testing.assert_allclose(s["eta"], (size(start) - size(end)) / (2 * MU), atol=1e-17)


@pytest.mark.parametrize("seissol", [0.0, 1.0])
def test_the_stress_at_rest_gives_no_more_than_is_told(seissol: float) -> None:
    """Its work on the plastic strain, whatever comes on top of it; exactly that where nothing does."""
    rest = some_stress(400, 5)
    for waves in (0.0, 2e6, 2e7):
        whole = rest + np.random.default_rng(7).normal(size=rest.shape) * waves
        _, s = relaxed(STRESS.split(whole), 4, 0.01, constants(seissol))
        strain = [s[f"ep_{n[2:]}"] * (1.0 if n[2] == n[3] else 2.0) for n in STRESS]
        work = sum(rest[:, i] * e for i, e in enumerate(strain))
        most = LAW.initial_stress_gives(constants(seissol), s, STRESS.split(rest))
        assert most is not None and (work <= most * (1 + 1e-9)).all() and (most > 0).any()
        if not waves and not seissol:
            np.testing.assert_allclose(most, work, rtol=1e-9, atol=1e-3)


def test_yields_says_what_the_return_map_does() -> None:
    start = STRESS.split(some_stress(4000, 1))
    p, s = prepared(4000), at_rest(4000)
    asked = LAW.yields(p, constants(), start, s, 0.01)
    np.testing.assert_array_equal(asked, size(start) > limit(start))
    super_yields = super(type(LAW), LAW).yields(p, constants(), start, s, 0.01)
    np.testing.assert_array_equal(super_yields, asked)


def test_nothing_yields_nearer_than_the_distance() -> None:
    """A change of this Frobenius norm never makes a point yield, and hardly more does in the worst direction."""
    rng = np.random.default_rng(3)
    rest = rng.normal(size=(300, 6)) * 1e6 - np.array([8e6] * 3 + [0.0] * 3)
    p = prepared(300)
    distance = LAW.distance(p, constants(), STRESS.split(rest))
    assert distance is not None and (distance > 0).mean() > 0.9
    for _ in range(200):
        way = rng.normal(size=(300, 6))
        norm = np.sqrt((way[:, :3] ** 2).sum(1) + 2 * (way[:, 3:] ** 2).sum(1))
        there = STRESS.split(rest + way * (0.999999 * distance / norm)[:, None])
        assert not (size(there) > limit(there)).any()
    mean = rest[:, :3].mean(1, keepdims=True)
    dev = rest - mean * np.array([1.0] * 3 + [0.0] * 3)
    tau = size(STRESS.split(rest))[:, None]
    way = dev / (2 * tau) + np.sin(PHI) / 3.0 * np.array([1.0] * 3 + [0.0] * 3)  # up the yield function
    norm = np.sqrt((way[:, :3] ** 2).sum(1) + 2 * (way[:, 3:] ** 2).sum(1))
    near = distance > 0
    there = STRESS.split((rest + way * (1.000001 * distance / norm)[:, None])[near])
    assert (size(there) > limit(there)).all()


def test_what_is_missing_or_out_of_bounds_is_told_at_once() -> None:
    problems = Problems()
    LAW.given({"plastCo": np.ones(3), "plastic_cohesion": np.ones(3)}, 3, "plasticity.parameters", problems)
    LAW.settings({"relaxation_time": -1.0, "viscosity": 2.0, "seissol_strain": 0.5}, "plasticity.constants", problems)
    text = str(problems)
    for part in (
        "defined twice, as plastic_cohesion and plastCo",
        "bulk_friction: missing",
        "no such constant",
        "is -1",
        "seissol_strain: is 0.5 (allowed: 0 or 1)",
    ):
        assert part in text
