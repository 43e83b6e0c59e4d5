"""Friction under a matrix of radiation damping: direction, rate and normal traction balance together, for every solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.physics import friction as faults
from faultwave.physics.friction.law import COMMON_STATE, Load
from faultwave.physics.friction.load import Coupling, Solved
from faultwave.physics.friction.solvers import in_any_direction, of_slip, sliding

N = 200
ETA = 4.6e6


def load(seed: int, difference: float, sigma: float = -100e6, tau: float = 70e6) -> Load:
    """Random loads; the damping differs from a multiple of one by a share, the coupling to normal traction is as large."""
    rng = np.random.default_rng(seed)
    root = np.eye(3) + difference * rng.uniform(-1, 1, (N, 3, 3))
    eta = ETA * root @ root.transpose(0, 2, 1)
    angle = rng.uniform(-np.pi, np.pi, N)
    coupling = Coupling(eta[:, 1, 1], eta[:, 2, 2], eta[:, 1, 2], eta[:, 0, 1], eta[:, 0, 2])
    zero, size = np.zeros(N), tau * rng.uniform(0.5, 1.2, N)
    return Load(size * np.cos(angle), size * np.sin(angle), zero + sigma, zero + ETA, 0.01, 1.0, coupling=coupling)


def balance(given: Load, found: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the shear traction left by slip is along it and across it, and the normal traction."""
    k = given.coupling
    assert k is not None
    r1, r2 = found.slip_rate1, found.slip_rate2
    left = given.tau1 - k.along11 * r1 - k.along12 * r2, given.tau2 - k.along12 * r1 - k.along22 * r2
    rate = np.where(found.slip_rate > 0, found.slip_rate, 1.0)
    along, across = (left[0] * r1 + left[1] * r2) / rate, (left[1] * r1 - left[0] * r2) / rate
    return along, across, given.sigma - k.normal1 * r1 - k.normal2 * r2


@pytest.mark.parametrize("difference, exact", [(0.05, 1e-9), (0.15, 1e-6)])
def test_slip_weakening_balances(difference: float, exact: float) -> None:
    law = faults.law("linear-slip-weakening")
    p = law.prepare(law.given({"mu_s": 0.6, "mu_d": 0.4, "d_c": 0.5, "cohesion": -1e6}, N), {}, None)
    s = {x.name: np.zeros(N) for x in COMMON_STATE} | {"friction": np.full(N, 0.6)}
    given = load(1, difference)
    found = law.solve(p, law.settings({}), s, given)
    slips = found.slip_rate > 0
    assert 0.1 < slips.mean() < 0.9
    np.testing.assert_allclose(np.hypot(found.slip_rate1, found.slip_rate2), found.slip_rate, rtol=1e-14)
    along, across, sigma = balance(given, found)
    np.testing.assert_allclose(along[slips], 1e6 - 0.6 * np.minimum(sigma, 0.0)[slips], rtol=1e-12)
    np.testing.assert_allclose(across[slips], 0.0, atol=exact * 70e6)
    np.testing.assert_allclose(found.strength[slips], along[slips], rtol=1e-8)
    assert (np.hypot(given.tau1, given.tau2)[~slips] <= found.strength[~slips]).all()
    felt = of_slip(given, found.slip_rate1, found.slip_rate2)
    np.testing.assert_allclose(felt.sigma[slips], sigma[slips], rtol=1e-12)
    np.testing.assert_allclose((felt.shear() - felt.eta * found.slip_rate)[slips], along[slips], rtol=1e-12)


def test_rate_and_state_balances() -> None:
    law = faults.law("rate-and-state-ageing")
    c = law.settings({"rs_f0": 0.6, "rs_b": 0.012, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-12})
    p = law.prepare(law.given({"rs_a": 0.008, "rs_sl0": 0.02}, N), c, None)
    start = law.initial(p, c, np.full(N, 40e6), np.full(N, -100e6))
    s = {x.name: np.zeros(N) for x in (*COMMON_STATE, *law.state)} | start
    given = load(2, 0.1)
    found = law.solve(p, c, s, given)
    assert not found.state["unconverged"].any() and (found.slip_rate > 1e-3).mean() > 0.5
    along, across, sigma = balance(given, found)
    np.testing.assert_allclose(along, -found.friction * sigma, rtol=1e-9)
    np.testing.assert_allclose(across, 0.0, atol=1e-7 * 70e6)


def test_slip_that_opens_a_fault_ends_its_strength() -> None:
    """Under little compression some loads relieve all of it: there the strength is none."""
    given = load(3, 0.3, sigma=-2e6)

    def solve(law: Any, p: Any, c: Any, s: Any, along: Load) -> Solved:
        rate, strength = sliding(lambda at: -0.6 * np.minimum(at.sigma, 0.0), along)
        return Solved(rate, 0.0 * rate, rate, strength, 0.0 * rate)

    found = in_any_direction(solve, None, {}, {}, {}, given)
    along, _, sigma = balance(given, found)
    opened = sigma > 0
    assert 0.1 < opened.mean() < 0.9
    np.testing.assert_allclose(along, -0.6 * np.minimum(sigma, 0.0), atol=1e-5 * 70e6)


def test_a_multiple_of_one_is_isotropic() -> None:
    law = faults.law("linear-slip-weakening")
    p = law.prepare(law.given({"mu_s": 0.6, "mu_d": 0.4, "d_c": 0.5, "cohesion": -1e6}, N), {}, None)
    s = {x.name: np.zeros(N) for x in COMMON_STATE} | {"friction": np.full(N, 0.6)}
    given = load(4, 0.0)
    plain = Load(given.tau1, given.tau2, given.sigma, np.full(N, ETA), 0.01, 1.0)
    found, want = (law.solve(p, law.settings({}), s, x) for x in (given, plain))
    for name in ("slip_rate1", "slip_rate2", "strength"):
        np.testing.assert_allclose(getattr(found, name), getattr(want, name), rtol=1e-13, atol=1e-13)
