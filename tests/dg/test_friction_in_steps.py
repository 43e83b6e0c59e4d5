"""What modifiers of friction remember within and between steps: vectors that never leave the kernel, or only that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.backends.numpy.runtime import execute
from faultwave.base.quantities import State
from faultwave.dg.fault.record import CLOCK
from faultwave.dg.fault.rupture import FrictionOptions, FrictionSizes, rupture
from faultwave.physics import friction
from faultwave.physics.friction.modifier import Modified, Modifier

LENGTHS = [0.25, 0.5, 1.0]
ELAPSED = State("elapsed", "s", "time since the start", 2, inner=True)


class Elapsed(Modifier):
    """Time since the start, taken at the ends of steps."""

    name = title = "elapsed"
    state = (ELAPSED,)

    def end_step(self, p: Any, c: Any, s: Any, lengths: Any) -> dict[str, Any]:
        return {"elapsed": [x + sum(lengths) for x in s["elapsed"]]}


class Ahead(Modifier):
    """The same, taken at the starts of steps."""

    name = title = "ahead"
    state = (ELAPSED,)

    def begin_step(self, p: Any, c: Any, s: Any, lengths: Any) -> dict[str, Any]:
        return {"elapsed": [x + sum(lengths) for x in s["elapsed"]]}


class Left(Modifier):
    """Time that is left of a step, counted down within it."""

    name = title = "left"
    state = (State("elapsed", "s", "time of the step that was left in the middle"),)

    def of_step(self, times: int) -> tuple[State, ...]:
        return (State("left", "s", "time that is left", times),)

    def begin_step(self, p: Any, c: Any, s: Any, lengths: Any) -> dict[str, Any]:
        return {"left": list(lengths)}

    def end_substep(self, p: Any, c: Any, s: Any) -> dict[str, Any]:
        return {"left": [*s["left"][1:], 0.0 * s["left"][0]]}

    def end_step(self, p: Any, c: Any, s: Any, lengths: Any) -> dict[str, Any]:
        return {"elapsed": sum(lengths) + sum(s["left"])}


@pytest.mark.parametrize("modifier", [Elapsed(), Ahead(), Left()], ids=lambda m: m.name)
def test_vectors_are_kept_within_steps_between_them_or_both(modifier: Modifier) -> None:
    law = Modified(friction.law("linear-slip-weakening"), (modifier,))
    kernel = rupture(
        law, {x.name: x.default for x in law.constants}, FrictionSizes((3, 1), 9, 0, FrictionOptions(len(LENGTHS)))
    )
    data: dict[str, np.ndarray] = {}
    for a in kernel.arguments:
        shape = {"matrix": (6, a.rows, a.cols), "store": (4, a.rows * a.cols), "index": (1, a.cols)}
        kind = int if a.space == "index" else float
        data[a.name] = np.zeros(shape.get(a.space, (1, a.rows, a.cols)), kind)
    data["slots"][:] = [0, 1, 2, 3]
    for name in ("impedance", "parameter"):
        data[name][:] = 1.0
    scalars = {a.name: np.zeros((a.rows, a.cols)) for a in kernel.scalars}
    scalars["clock"][:, CLOCK.places["duration"]] = np.array(LENGTHS)[:, None]
    execute(kernel, data, scalars)
    where = "inner_state" if modifier.state[0].inner else "state"
    columns = law.inner_columns if modifier.state[0].inner else law.shown_columns
    assert (data[where][..., columns.places["elapsed"]] == sum(LENGTHS)).all()
