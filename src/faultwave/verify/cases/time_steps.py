"""The time step limit of every order: growth of white noise on a distorted periodic mesh (NUMERICS 3.3).

The largest modulus of the one-step operator is estimated by letting it act many times: rounding and noise bring in
every mode, and the fastest growing one dominates in the end.
"""

from __future__ import annotations

from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.cases.energy import CFL, noise
from faultwave.verify.exact.medium import Medium

ORDERS = tuple(range(2, 9))
MEDIUM = Medium(1.0, 2.0, 1.0)
STEPS = 4000


def growth(order: int, cfl: float, steps: int = STEPS, cells: int = 3) -> float:
    """Growth of the state a step over the second half of ``steps`` steps (root of the energy ratio), minus one."""
    mesh = setups.box((cells,) * 3, (0.0,) * 3, (1.0,) * 3, setups.periodic(), shuffle=True, perturb=0.2)
    material = setups.uniform(MEDIUM, "elastic")
    # The undistorted step is an upper bound of the true one, so that at least ``steps`` steps are made.
    end = steps * setups.kuhn_step(1.0 / cells, MEDIUM.cp, order, cfl)
    case = setups.settings("elastic", mesh, material, end, order, numerics={"cfl": cfl})
    _, total, _ = setups.energy_history(case, noise(9), end / 2)
    return float((total[-1] / total[1]) ** (1.0 / steps)) - 1.0


def run(progress: Progress, orders: tuple[int, ...] = ORDERS) -> Result:
    """Every order at its default."""
    rows: list[Row] = []
    for order in orders:
        progress(f"order {order} at CFL {CFL[order]:g}")
        rows.append(at_most(f"O={order} growth a step at CFL {CFL[order]:g}", growth(order, CFL[order]), 1e-4))
    return Result(tuple(rows))


TIME_STEPS = VerificationCase("time-step-limits", "the default time step of every order is stable", run, 6.0)
