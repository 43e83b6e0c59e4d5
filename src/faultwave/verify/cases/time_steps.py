"""Stability limit of the time step at every order: growth of white noise on small meshes.

Theory: docs/theory/time-stepping.md, "Stable time step". The largest modulus of the one-step operator is estimated by applying it many
times: noise contains every mode, and the fastest growing one dominates in the end. The default step and the largest one that a case
may set are judged, for both laws, on a distorted periodic mesh and in a box with free sides, which needs the smallest step of all
in a fluid.
"""

from __future__ import annotations

import numpy as np

from faultwave.dg.planning.plan import LARGEST_CFL
from faultwave.physics.waves import law as find_law
from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.cases.energy import noise
from faultwave.verify.exact import Medium

ORDERS = tuple(range(2, 9))
MEDIA = {"elastic": Medium(1.0, 2.0, 1.0), "acoustic": Medium(1.0, 1.0)}
STEPS = 2000


def growth(law: str, order: int, sides: str, cfl: float | None = None, steps: int = STEPS) -> float:
    """Return the growth of the state (root of the energy) per step over the second half of ``steps``; infinite if unstable."""
    perturb = 0.2 if sides == "periodic" else 0.0
    mesh = setups.box((2,) * 3, (0.0,) * 3, (1.0,) * 3, dict.fromkeys("xyz", sides), shuffle=True, perturb=perturb)
    numerics = {} if cfl is None else {"cfl": cfl}
    case = setups.settings(law, mesh, setups.uniform(MEDIA[law], law), 1e9, order, numerics=numerics)
    sim = setups.started(case, noise(4 if law == "acoustic" else 9))
    total = setups.energies_every(sim, steps / 2 * setups.largest_step(sim), 2)
    return float(np.log(total[2] / total[1]) / steps) if len(total) == 3 else float("inf")


def run(progress: Progress, orders: tuple[int, ...] = ORDERS, steps: int = STEPS) -> Result:
    """Judge every order at its default step and at its limit."""
    rows: list[Row] = []
    for order in orders:
        progress(f"order {order}")
        for law in MEDIA:
            for sides in ("periodic", "free-surface"):
                limit = LARGEST_CFL[order] * find_law(law).stability
                for label, cfl in (("default", None), (f"limit {limit:g}", limit)):
                    measured = growth(law, order, sides, cfl, steps)
                    rows.append(at_most(f"O={order} {law}, {sides}, CFL {label}: growth a step", measured, 1e-4))
    return Result(tuple(rows))


TIME_STEPS = VerificationCase("time-step-limits", "the time steps of every order are stable", run, 6.0)
