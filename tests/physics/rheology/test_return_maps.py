"""The protocol of rheologies: one return map on NumPy arrays, on NumPy's kernels and in generated code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.base.errors import InputError
from faultwave.base.quantities import Output, Parameter, State
from faultwave.kernels import math as m
from faultwave.kernels.language import Kernel
from faultwave.physics.rheology import STRESS, Returned, Rheology, rheologies, rheology, statement
from tests.messages import raises
from tests.physics.friction.plug_ins import installed


class RelaxingCap(Rheology):
    """Von Mises: the deviator's size tau = sqrt(J2) relaxes to a cap within ``relaxation`` [s] (Duvaut & Lions 1972)."""

    name = "relaxing-cap"
    title = "Von Mises cap with relaxation"
    parameters = (Parameter("cap", "Pa", "largest sqrt(J2) that lasts", positive=True),)
    constants = (Parameter("relaxation", "s", "relaxation time", 0.1, positive=True),)
    kernel_parameters = ("cap", "mu")
    state = (
        State("plastic_strain", "", "accumulated plastic shear strain"),
        State("yielding", "", "1 where it yields", 1),
    )
    outputs = (Output("eta", "", "accumulated plastic shear strain", lambda p, c, s: s["plastic_strain"]),)

    def prepare(self, p: Any, c: Any, medium: Any) -> dict[str, np.ndarray]:
        return {"cap": np.array(p["cap"], float), "mu": np.array(medium["mu"], float)}

    def return_map(self, p: Any, c: Any, stress: Any, s: Any, step: Any) -> Returned:
        xx, yy, zz, xy, yz, xz = stress.values()
        mean = (xx + yy + zz) / 3.0
        dev = [xx - mean, yy - mean, zz - mean, xy, yz, xz]
        tau = m.sqrt(0.5 * (dev[0] * dev[0] + dev[1] * dev[1] + dev[2] * dev[2]) + xy * xy + yz * yz + xz * xz)
        yields = tau > p["cap"]
        share = -m.expm1(-step / c["relaxation"])
        factor = m.where(yields, (p["cap"] / m.where(yields, tau, 0.0 * tau + 1.0) - 1.0) * share, 0.0 * tau)
        new = [x + factor * d for x, d in zip((xx, yy, zz, xy, yz, xz), dev, strict=True)]
        strain = s["plastic_strain"] - factor * tau / (2.0 * p["mu"])
        flag = m.where(yields, 0.0 * tau + 1.0, 0.0 * tau)
        return Returned(dict(zip(STRESS, new, strict=True)), {"plastic_strain": strain, "yielding": [flag]})


CAP = RelaxingCap()
POINTS, ITEMS, STEP = 10, 16, 0.02


def given(seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray, dict[str, np.ndarray]]:
    """Parameters, stress (ITEMS, POINTS, 6) and state, about half of the points above the cap."""
    rng = np.random.default_rng(seed)
    shape = (ITEMS, POINTS)
    p = CAP.prepare({"cap": rng.uniform(4e7, 8e7, shape)}, {}, {"mu": rng.uniform(2e10, 4e10, shape)})
    stress = rng.normal(size=(*shape, 6)) * 4e7
    return p, stress, {"plastic_strain": rng.uniform(0, 1e-4, shape), "yielding": np.zeros((*shape, 1))}


def mapped(p: Any, stress: np.ndarray, s: Any, step: float) -> tuple[np.ndarray, dict[str, Any]]:
    """On NumPy arrays, directly."""
    state = {"plastic_strain": s["plastic_strain"], "yielding": [s["yielding"][..., 0]]}
    found = CAP.return_map(p, {"relaxation": 0.1}, STRESS.split(stress), state, step)
    return STRESS.join(dict(found.stress)), dict(found.state)


def size(stress: np.ndarray) -> np.ndarray:
    mean = stress[..., :3].mean(-1, keepdims=True)
    return np.sqrt(0.5 * ((stress[..., :3] - mean) ** 2).sum(-1) + (stress[..., 3:] ** 2).sum(-1))


def test_the_return_map_relaxes_to_the_cap() -> None:
    """tau(t) = cap + (tau_0 - cap) exp(-t/T), whatever the steps; below the cap nothing changes; the mean stays."""
    p, stress, s = given()
    new, state = mapped(p, stress, s, STEP)
    above = size(stress) > p["cap"]
    assert 0.2 < above.mean() < 0.8
    wanted = p["cap"] + (size(stress) - p["cap"]) * np.exp(-STEP / 0.1)
    np.testing.assert_allclose(size(new)[above], wanted[above], rtol=1e-12)
    np.testing.assert_array_equal(new[~above], stress[~above])
    np.testing.assert_allclose(new[..., :3].sum(-1), stress[..., :3].sum(-1), atol=1e-6)
    removed = (size(stress) - size(new)) / (2.0 * p["mu"])
    np.testing.assert_allclose(state["plastic_strain"] - s["plastic_strain"], removed, atol=1e-15)
    halves, half_state = stress, s
    for _ in range(2):
        halves, made = mapped(p, halves, half_state, STEP / 2)
        half_state = {"plastic_strain": made["plastic_strain"], "yielding": made["yielding"][0][..., None]}
    np.testing.assert_allclose(halves, new, rtol=1e-12)
    np.testing.assert_allclose(half_state["plastic_strain"], state["plastic_strain"], rtol=1e-12)


@pytest.mark.parametrize("backend", ["numpy", "cpu"])
def test_generated_code_does_the_same(backend: str) -> None:
    """As a statement of a kernel, the state kept in a buffer by its columns."""
    p, stress, s = given(1)
    want, state = mapped(p, stress, s, STEP)
    made = backends.make(backend, "double")
    kernel = Kernel("yielding")
    columns, parameters = CAP.state_columns, CAP.parameter_columns
    arrays = {
        "parameter": (kernel.batch("parameter", POINTS, parameters.size), parameters.join(p)),
        "stress": (kernel.batch("stress", POINTS, STRESS.size, "inout"), stress),
        "state": (kernel.batch("state", POINTS, columns.size, "inout"), columns.join(s)),
    }
    step = kernel.scalar("step")
    held = [array for array, _ in arrays.values()]
    kernel.pointwise(statement(CAP, {"relaxation": 0.1}), [*held, step], held[1:])
    buffers = {}
    for name, (array, values) in arrays.items():
        buffers[name] = made.batch(ITEMS, POINTS, array.cols)
        buffers[name].put(values)
    made.compile([kernel])["yielding"](buffers)(0, ITEMS, step=STEP)
    np.testing.assert_allclose(buffers["stress"].get(), want, rtol=1e-13, atol=1e-6)
    found = columns.split(buffers["state"].get())
    np.testing.assert_allclose(found.plastic_strain, state["plastic_strain"], rtol=1e-12)
    np.testing.assert_array_equal(found.yielding[..., 0], state["yielding"][0])
    assert 0.2 < found.yielding.mean() < 0.8


def test_a_rheology_without_state() -> None:
    class Halved(Rheology):
        name = "halved"

        def return_map(self, p: Any, c: Any, stress: Any, s: Any, step: Any) -> Returned:
            return Returned({name: 0.5 * x for name, x in stress.items()})

    assert statement(Halved(), {})([], [2.0] * 6, [0.1]) == [[1.0] * 6]


def test_rheologies_are_found_by_the_registry() -> None:
    assert "relaxing-cap" not in rheologies()
    with installed(faultwave_physics_rheology=f"{__name__}:CAP"):
        assert rheology("relaxing-cap") is CAP
        with raises(InputError):
            rheology("relaxing-cup")
