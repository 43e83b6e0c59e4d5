"""What a fault remembers by the jump of the velocity, against sums over points and times done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.dg.fault.points import point_rule, resize_modes
from faultwave.dg.fault.record import jump_energies, recorded
from faultwave.dg.fault.rupture import FrictionOptions, FrictionSizes, rupture
from faultwave.dg.method.predictors.taylor import face_rows
from faultwave.physics import friction as faults
from tests.dg.test_backends_agree import ITEMS, friction_arguments, friction_scalars, launch


@pytest.mark.parametrize("order", [2, 4])
def test_work_slip_and_path_of_the_jump(order: int) -> None:
    """Work is that of the average traction (Z- T+ + Z+ T-)/(Z+ + Z-); every point has the mean of its face."""
    law, rule, rows = faults.law("linear-slip-weakening"), point_rule("symmetric", order - 1), face_rows(order)
    c = law.settings({})
    kernel = rupture(
        law, c, FrictionSizes(tuple(rows), len(rule.weights), 2, FrictionOptions(order, moved=True, breakdown=True))
    )
    data = friction_arguments(law, c, kernel, order, 3)
    scalars = friction_scalars(order, order) | {"damping": 1.0}
    found = launch("numpy", "double", [kernel], [data], [scalars])[0]

    frame = data["frame"].reshape(ITEMS, 3, 3)
    left = data["waves_in_time"][data["slots"][:, :2]].reshape(ITEMS, 2, 2, sum(rows), 3)  # waves and velocities
    inside = np.einsum("nsqrx,nex->nsrqe", left, frame)
    z = data["impedance"].reshape(ITEMS, 2, 2)  # plus and minus side; pressure and shear
    plus, minus = (z[:, side, [0, 1, 1]][:, None] for side in (0, 1))
    phi = np.array(data["phi"])[data["group"][:, 0]]
    work, path = np.zeros(ITEMS), np.zeros((ITEMS, len(rule.weights)))
    for at, lasting in zip(scalars["at_times"], scalars["weight"], strict=True):
        now = np.zeros((ITEMS, 2, rows[0], 2, 3))
        for j, a in enumerate(at):
            now[:, :, : rows[j]] += a * inside[:, :, sum(rows[:j]) : sum(rows[: j + 1])]
        here = np.einsum("npm,nsmqe->nspqe", phi, now)
        jump = here[:, 1, :, 1] - here[:, 0, :, 1]
        traction = (
            here[:, :, :, 0] + np.stack([plus, minus], 1) * here[:, :, :, 1]
        )  # T = w + Z v, each on its own normal
        traction = (minus * traction[:, 0] - plus * traction[:, 1]) / (plus + minus)
        weights = 2.0 * np.where(data["group"] == 0, rule.weights, rule.weights[::-1])
        work -= lasting * np.einsum("np,npe,npe->n", weights, traction, jump)
        path += lasting * np.sqrt((jump**2).sum(-1))
    whole = inside[:, :, : rows[0], 1]  # the first of what cells leave is the integral over the step
    slip = whole[:, 1] - whole[:, 0]
    np.testing.assert_allclose(found["work_moved"][:, 0, 0] - data["work_moved"][:, 0, 0], work, rtol=1e-11)
    np.testing.assert_allclose(recorded(True, True).split(found["record"])["moved"], path, rtol=1e-12)
    np.testing.assert_allclose(found["jumped"] - data["jumped"], slip[..., 1:], rtol=0, atol=1e-12 * np.abs(slip).max())


@pytest.mark.parametrize("plain", [False, True])
def test_energies_by_the_jump(plain: bool) -> None:
    """Against integrals over the points, where slip is worked out from its modes; on faces whose points lie in two orders."""
    rng, rule = np.random.default_rng(4), point_rule("conical", 2)
    columns, modes, points = recorded(True, True), rule.phi.shape[2], len(rule.weights)
    kernel = jump_energies(columns, modes, rule.weights, plain)
    group = np.repeat([[1], [4]], ITEMS // 2, 0)
    data = {
        "record": rng.normal(size=(ITEMS, points, columns.size)), "jumped": rng.normal(size=(ITEMS, modes, 2)),
        "work_moved": rng.normal(size=(ITEMS, 1, 1)), "scale": rng.uniform(1.0, 2.0, (ITEMS, 1, 2)), "group": group,
        "back": rule.back, "energies": np.zeros((ITEMS, 1, 4)),
    }  # fmt: skip
    got = launch("numpy", "double", [kernel], [data], [{}])[0]["energies"][:, 0]
    record = columns.split(data["record"])
    slip = np.einsum("npm,nmc->npc", rule.phi[group[:, 0]], data["jumped"])
    static = (record["traction1"] * slip[..., 0] + record["traction2"] * slip[..., 1]) @ rule.weights
    path = record["moved"].mean(1) if plain else 2.0 * record["moved"] @ rule.weights
    area, rigid = data["scale"][:, 0].T
    want = np.stack([area * data["work_moved"][:, 0, 0], -area * static, rigid * path, area * path], 1)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_modes_at_another_order() -> None:
    """Those of higher degrees are left out, or zero: the polynomial is the same, or its projection."""
    values = np.random.default_rng(0).normal(size=(3, 6, 2))
    assert np.array_equal(resize_modes(values, 3), values[:, :3])
    more = resize_modes(values, 10)
    assert np.array_equal(more[:, :6], values) and not more[:, 6:].any()
