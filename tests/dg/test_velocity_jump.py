"""What a fault remembers by the jump of the velocity traces, against sums over points and times done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.dg.fault_points import point_rule
from faultwave.dg.fault_record import recorded
from faultwave.dg.predictors.taylor import face_rows
from faultwave.dg.rupture import Sizes, rupture
from faultwave.physics import friction as faults
from tests.dg.test_backends_agree import ITEMS, friction_arguments, friction_scalars, launch


@pytest.mark.parametrize("order", [2, 4])
def test_work_slip_and_path_of_the_jump(order: int) -> None:
    """Work is that of the average traction (Z- T+ + Z+ T-)/(Z+ + Z-); every point has the mean of its face."""
    law, rule, rows = faults.law("linear-slip-weakening"), point_rule("symmetric", order - 1), face_rows(order)
    c = law.settings({})
    kernel = rupture(law, c, Sizes(tuple(rows), len(rule.weights), order, 2, True, True))
    data = friction_arguments(law, c, kernel, order, 3)
    scalars = friction_scalars(order, order) | {"damping": 1.0}
    got = recorded(True, True).split(launch("numpy", "double", [kernel], [data], [scalars])[0]["record"])

    frame = data["frame"].reshape(ITEMS, 3, 3)
    traces = data["traces"][data["slots"][:, :2]].reshape(ITEMS, 2, sum(rows), 2, 3)  # traction and velocity
    inside = np.einsum("nsrqx,nex->nsrqe", traces, frame)
    z = data["impedance"].reshape(ITEMS, 2, 2)  # plus and minus side; pressure and shear
    plus, minus = (z[:, side, [0, 1, 1]][:, None] for side in (0, 1))
    phi = np.array(data["phi"])[data["group"][:, 0]]
    work, slip, path = np.zeros(ITEMS), np.zeros((ITEMS, len(rule.weights), 3)), np.zeros((ITEMS, len(rule.weights)))
    for at, lasting in zip(scalars["at_times"], scalars["weight"], strict=True):
        now = np.zeros((ITEMS, 2, rows[0], 2, 3))
        for j, a in enumerate(at):
            now[:, :, : rows[j]] += a * inside[:, :, sum(rows[:j]) : sum(rows[: j + 1])]
        here = np.einsum("npm,nsmqe->nspqe", phi, now)
        jump = here[:, 1, :, 1] - here[:, 0, :, 1]
        traction = (minus * here[:, 0, :, 0] - plus * here[:, 1, :, 0]) / (plus + minus)  # each on its own normal
        weights = 2.0 * np.where(data["group"] == 0, rule.weights, rule.weights[::-1])
        work -= lasting * np.einsum("np,npe,npe->n", weights, traction, jump)
        slip += lasting * jump
        path += lasting * np.sqrt((jump**2).sum(-1))
    np.testing.assert_allclose(got["work_moved"], np.repeat(work[:, None], len(rule.weights), 1), rtol=1e-11)
    np.testing.assert_allclose(got["moved"], path, rtol=1e-12)
    for i in (1, 2):
        np.testing.assert_allclose(got[f"moved{i}"], slip[..., i], rtol=0, atol=1e-12 * np.abs(slip).max())
