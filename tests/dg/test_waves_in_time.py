"""What cells leave on faces that are solved: the wave, and where asked for the velocity, at any time of a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.dg.method.forms import FORMS, Form
from faultwave.dg.method.forms import form as find_form
from faultwave.dg.method.outgoing_waves import rows_left, store_rows, weights_left
from faultwave.dg.operators import kernels
from faultwave.kernels.language import Kernel
from tests.dg.test_backends_agree import ITEMS, VARIANTS, Random, launch

STEP = 0.07  # that of ``Random.scalars``
SOLID = ("elastic", "anisotropic", "viscoelastic-2", "poroelastic-viscous")


def trace_kernel(form: Form, flows: bool) -> Kernel:
    """Waves and velocities of a state on the four faces, each in rows of its own."""
    k, rows = Kernel("traced"), form.b2
    q, cell, face = k.batch("q", form.b3, form.Q), form.cell(k), form.face(k)
    out = k.batch("traced", 8 * rows, form.faced, "out")
    for i in range(4):
        form.face_wave(k, q.view(), i, out.view(2 * i * rows, rows), cell, face)
        trace = k.scratch("trace", rows, 2 * form.faced)

        def flow(t: Any, cell: Any, side: Any, i: int = i) -> Any:
            return [form.flow(t, cell, side, i)] if flows else [[0.0 * x for x in t[: form.faced]]]

        k.pointwise(flow, [trace, cell, face.view(i, 1)], [out.view((2 * i + 1) * rows, rows)])
    return k


@pytest.mark.parametrize("law", [*SOLID, "acoustic"])
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", ["numpy", "cpu"])
def test_waves_at_any_time_are_those_of_the_predictor(law: str, fast: bool, name: str) -> None:
    """Against traces of the sum of all kept coefficients."""
    if fast and not any(kind.suits(VARIANTS[law]) for kind in FORMS):
        pytest.skip("has the plain form only")
    form, flows = find_form(VARIANTS[law], 4, 0.7, fast), law in SOLID
    kernel, make = kernels.predict(form, kernels.StoringVariant(fault=True, flows=flows)), Random(form, 3)
    data = {a.name: make(a) for a in kernel.arguments}
    found = launch(name, "double", [kernel], [data], [make.scalars(kernel)])[0]
    rows, predictor, m = rows_left(form.predictor), form.predictor, form.faced
    left = found["friction"].reshape(len(found["friction"]), -1, m)
    assert left.shape[1] == store_rows(form, flows) == kernel.arrays["friction"].rows
    stored, probe = data["slot"][:, 0] > 0, trace_kernel(form, flows)
    history = found["history"][data["slot"][:, 0]].reshape(ITEMS, -1, form.Q)
    assert stored.any() and not stored.all()
    for tau in (0.0, 0.3 * STEP, STEP):
        values, state = predictor.at(tau, STEP), np.zeros((ITEMS, form.b3, form.Q))
        for j, count in enumerate(predictor.rows):
            state[:, :count] += values[j] * history[:, sum(predictor.rows[:j]) :][:, :count]
        given = {a.name: state if a.name == "q" else data[a.name] for a in probe.arguments if a.name != "traced"}
        given["traced"] = np.zeros((ITEMS, 8 * form.b2, m))
        want = launch("numpy", "double", [probe], [given], [{}])[0]["traced"].reshape(ITEMS, 4, 2, form.b2, m)
        weights = weights_left(predictor, values, STEP)
        for face in range(4):
            here = stored & (data["friction_slots"][:, face] > 0)
            assert here.any()
            both = left[data["friction_slots"][here, face]].reshape(here.sum(), -1, sum(rows), m)
            got = np.zeros((here.sum(), both.shape[1], form.b2, m))
            for j, (count, weight) in enumerate(zip(rows, weights, strict=True)):
                got[:, :, :count] += weight * both[:, :, sum(rows[:j]) :][:, :, :count]
            exact = want[here, face, : both.shape[1]]
            np.testing.assert_allclose(got, exact, rtol=0, atol=1e-11 * np.abs(exact).max())


def test_the_whole_step_is_the_first_part() -> None:
    """Integrals over a step give it the weight one and the others none."""
    for law in SOLID:
        predictor = find_form(VARIANTS[law], 5, 0.7).predictor
        weights = weights_left(predictor, predictor.integral(0.0, STEP, STEP), STEP)
        np.testing.assert_allclose(weights, [1.0, *[0.0] * (len(weights) - 1)], atol=1e-15)
        assert len(weights) == len(rows_left(predictor))
