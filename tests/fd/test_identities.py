"""Histories on faults in grids obey their identities, for every friction law: slip, strength, peaks, times, moments."""

import numpy as np
import pytest

from faultwave.observe.dataset import receivers_from_arrays
from faultwave.observe.identities import check_identities, violations
from faultwave.output.formats.image import ImageReader
from faultwave.run import simulate

from .test_fault_laws import LAWS, MORE, uniform
from .test_faults import ended
from .test_grids import case

PLACES = [[0.0, 0.0, -3250.0], [2000.0, 0.0, -4250.0]]
FIELDS = ["SRs", "SRd", "Ts0", "Td0", "Pn0", "Mud", "Sls", "Sld", "ASl", "PSR", "RT"]
GIVEN = {n: (n, parameters, constants, {}) for n, (parameters, constants, _) in LAWS.items()} | MORE
LATE = {"prakash-clifton"}
"""Strength follows the normal traction with a delay, and is not friction times compression."""


@pytest.mark.parametrize("name", GIVEN)
def test_every_law_obeys_its_identities(name):
    law, parameters, constants, settings = GIVEN[name]
    made = uniform(law, parameters, constants, settings)
    made["output"] = {
        "fault_receivers": {"points": PLACES, "fields": FIELDS},
        "rupture": {"interval": 0.05},
        "energies": {"interval": 0.05},
    }
    made["end_time"] = 0.4
    sim = ended(made)
    data = sim.fault_receivers
    data["values"][-1] = np.nan  # whose tractions are extrapolated
    at_once = 0.02  # points beyond their strength at t = 0 slide at their full rate half a step later
    # the kinetic energy of a row is half a step earlier: 4 % where slip imposed in 11 steps ends, which halves with the step
    tolerances = {"slip": at_once, "path": at_once, "energy": 0.05}
    found = check_identities([data, sim.result("moment_rate"), sim.result("energies")], tolerances)
    wrong = [text for text in violations(found) if not (name in LATE and "strength" in text)]
    assert not wrong
    expected = {"slip", "path", "peak slip rate", "rupture time", "moment", "energy"}
    assert {f.identity for f in found} >= expected | (set() if law.startswith("imposed") else {"strength"})


def test_tractions_of_the_last_sample_become_exact_with_the_next_step():
    """At most a step of their change is extrapolated; runs that go on replace it."""
    law, parameters, constants, settings = GIVEN["linear-slip-weakening"]
    made = uniform(law, parameters, constants, settings)
    made["output"] = {"fault_receivers": {"points": PLACES[:1], "fields": FIELDS}}
    longer = ended(made)
    n = longer.solver.plan.steps - 4
    made["grid"]["step"] = longer.solver.plan.scheme.step
    made["end_time"] = n * made["grid"]["step"]
    one, other = ended(made).fault_receivers, longer.fault_receivers
    np.testing.assert_array_equal(one["values"][:n], other["values"][:n])
    traction = FIELDS.index("Ts0")
    apart = np.abs(one["values"][n] - other["values"][n])[0]
    assert apart[traction] <= np.abs(np.diff(other["values"][n - 1 : n + 1, 0, traction]))[0]
    assert not np.delete(apart, [traction, FIELDS.index("Td0"), FIELDS.index("Pn0")]).any()


def test_displacement_of_surface_snapshots_is_the_integral_of_their_velocity(tmp_path):
    names = ["v1", "v2", "v3", "u1", "u2", "u3"]
    made = case(end_time=1.2, numerics__precision="double")
    step = simulate(made).plan.scheme.step
    made["output"] = {"surface": {"interval": step, "fields": names}}
    simulate(made, output=tmp_path / "out").run()
    with ImageReader(next((tmp_path / "out").glob("*-surface.vtkhdf"))) as file:
        time = np.asarray(file.times)
        values = np.stack([[file.field(n, i).ravel() for n in names] for i in range(len(time))]).transpose(0, 2, 1)
    moved = np.abs(values[..., :3]).max((0, 2)) > 0.1 * np.abs(values[..., :3]).max()
    found = check_identities([receivers_from_arrays(time, values[:, moved], names, np.zeros((moved.sum(), 3)))])
    assert len(found) > 20 and {f.identity for f in found} == {"displacement"} and not violations(found)
