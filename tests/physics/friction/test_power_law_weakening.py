"""Slip weakening by a power law against its formula, and its exponent per point or once for all."""

import numpy as np
import pytest

from faultwave.physics import friction as faults
from faultwave.physics.friction.law import COMMON_STATE, Load

LAW = faults.law("power-law-slip-weakening")
GIVEN = {"mu_s": 0.6, "mu_d": 0.2, "d_c": 0.5, "cohesion": -1e6}


def ready(n, c, **more):
    return LAW.prepare(LAW.given({k: np.full(n, v, float) for k, v in (GIVEN | more).items()}, n), c, None)


def friction(slip, c=None, **more):
    """Friction after a sub-step in which the slip, ``slip`` before it, grows by a tenth."""
    c, n = LAW.settings(c or {}), len(slip)
    s = {x.name: np.zeros(n) for x in COMMON_STATE} | {"friction": np.full(n, 0.6), "accumulated_slip": slip}
    load = Load(np.zeros(n), np.zeros(n), np.full(n, -100e6), 4e6, 0.1, 1.0)
    p = ready(n, c, **more)
    return LAW.advance(p, c, s, LAW.solve(p, c, s, load), slip, load)["friction"]


def test_friction_falls_by_the_power_law_and_never_stops():
    slip = np.array([0.0, 1e-12, 1e-3, 0.1, 0.5, 5.0, 5000.0])
    expected = 0.2 + 0.4 * (1.0 + 1.1 * slip / 0.5) ** (-1 / 3)
    assert friction(slip) == pytest.approx(expected, rel=1e-14)
    assert (np.diff(friction(slip)) < 0).all() and friction(slip)[-1] > 0.2


def test_exponent_once_or_per_point():
    slip = np.full(3, 0.7)
    exponent = np.array([0.2, np.nan, 1.5])
    expected = 0.2 + 0.4 * (1.0 + 1.1 * 0.7 / 0.5) ** -np.array([0.2, 0.9, 1.5])
    found = friction(slip, {"TpProxyExponent": 0.9}, weakening_exponent=exponent)
    assert found == pytest.approx(expected, rel=1e-14)


def test_what_is_wrong_is_told():
    p = LAW.given({**GIVEN, "weakening_exponent": np.array([1.0, -1.0])}, 2)
    found = str(LAW.check(p, LAW.settings({}), np.ones(2), -np.ones(2), np.zeros((2, 3))).errors)
    assert "weakening_exponent is -1" in found
    with pytest.raises(Exception, match="weakening_exponent: is 0"):
        LAW.settings({"weakening_exponent": 0.0})


def test_forced_rupture_weakens_here_too():
    c = {"forced_rupture_ramp": 0.5}
    assert friction(np.zeros(2), c, forced_rupture_time=0.8) == pytest.approx(0.6 - 0.4 * 0.4)
