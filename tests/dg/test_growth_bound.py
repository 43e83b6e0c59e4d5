"""The bound of energy beyond which a run on tetrahedra ends as unstable."""

from types import SimpleNamespace

import pytest

from faultwave.dg.capabilities.growth import EnergyMonitor, InstabilityPlan
from faultwave.engine.solver import BlowUp


def attached(energy, before=2.0, given=0.0, least=0.0, others=()):
    """A look at waves of so much energy [J], where there may be ``before`` and what was ``given``."""
    made = object.__new__(EnergyMonitor)
    made.part, made.due, made.end, made.apart = InstabilityPlan(0.5), 0.0, 10.0, 1.0
    made.before, made.start, made.solver = before, 0.0, SimpleNamespace(parts={}, wrong="")
    made._energy, made._given = lambda: energy, lambda: (given, least, 0.0)
    made._given_by_others = lambda: dict(others)
    return made


@pytest.mark.parametrize(
    ("allowed", "known"),
    [(2.0, {}), (5.0, {"given": 3.0}), (7.0, {"least": 7.0}), (6.0, {"others": {"plasticity": 4.0}})],
)
def test_ten_times_the_energy_there_can_be_is_the_bound(allowed, known):
    attached(9.9 * allowed, **known)._look(0, 1.0, 0.1)
    wrong = attached(10.1 * allowed, **known)
    with pytest.raises(BlowUp):
        wrong._look(0, 1.0, 0.1)
    assert f"the waves hold {10.1 * allowed:.3g} J" in wrong.solver.wrong
